//! Plans: what many machines give is what one gives, whatever happens to workers on the way.

use crate::common::{BAD, FINE, Files, MALFORMED, Ran, SB, command, run_in};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// A directory with plans, and another one in which single machines work.
pub(crate) struct Place {
    files: Files,
    pub many: PathBuf,
    pub one: PathBuf,
}

impl Place {
    pub fn new() -> Place {
        let files = Files::new(&[]);
        let (many, one) = (files.path("many"), files.path("one"));
        for directory in [&many, &one] {
            std::fs::create_dir(directory).unwrap();
        }
        Place { files, many, one }
    }

    /// A file for both.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        for directory in [&self.many, &self.one] {
            std::fs::write(directory.join(name), bytes).unwrap();
        }
    }

    pub fn run(&self, line: &str) -> Ran {
        within(&self.many, line)
    }

    pub fn plan(&self, line: &str) {
        let ran = self.run(line);
        assert_eq!(ran.code, 0, "{line}: {}{}", ran.out, ran.err);
    }

    /// Merges the plan and compares with the command, in each of the formats.
    fn same(&self, plan: &str, line: &str, formats: &[&str]) {
        for format in formats {
            let one = within(&self.one, &format!("{line} --format {format} --html one.html"));
            let many =
                self.run(&format!("merge {plan} --format {format} --html {}", self.many.join("many.html").display()));
            assert_eq!(many.code, one.code, "{plan}, {format}: {}", many.err);
            assert_eq!(timeless(&many.out), timeless(&one.out), "{plan}, {format}");
            let page = |file: PathBuf| {
                let text = std::fs::read_to_string(file).unwrap();
                let data =
                    text.split_once("id=\"data\" nonce=\"membar\">").unwrap().1.split_once("</script>").unwrap().0;
                timeless(&data.replace(" --html one.html", "").replace(&format!(" --format {format}"), ""))
            };
            assert!(page(self.many.join("many.html")) == page(self.one.join("one.html")), "{plan}: pages differ");
        }
    }
}

pub(crate) fn within(directory: &Path, line: &str) -> Ran {
    run_in(directory, &words(line))
}

pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split(' ').filter(|word| !word.is_empty()).collect()
}

/// Without times: numbers of seconds, and what is computed from them.
pub(crate) fn timeless(text: &str) -> String {
    // `made` and `line` have the command, with other files.
    const TIMES: [&str; 9] = [
        "seconds",
        "run_seconds",
        "check_seconds",
        "operations_per_second",
        "speed",
        "rates",
        "made",
        "statistics",
        "commandLine",
    ];
    fn without(value: &mut Value) {
        match value {
            Value::Object(entries) => {
                TIMES.iter().for_each(|name| drop(entries.remove(*name)));
                let is_time = |value: &Value| {
                    let text = value.as_str().unwrap_or_default();
                    text.ends_with(" per second")
                        || text.contains(" s to run")
                        || text.ends_with(" s")
                        || text.ends_with(" ms")
                };
                entries.retain(|_, value| !is_time(value));
                entries.values_mut().for_each(without);
            }
            Value::Array(entries) => entries.iter_mut().for_each(without),
            _ => {}
        }
    }
    if let Ok(mut value) = serde_json::from_str::<Value>(text) {
        without(&mut value);
        return value.to_string();
    }
    let speed = |line: &&str| !line.trim_start().starts_with("Speed ");
    let mut lines = Vec::new();
    for line in text.lines().filter(speed) {
        let mut line = line.to_owned();
        for name in
            ["\"seconds\":", "\"run_seconds\":", "\"check_seconds\":", "\"operations_per_second\":", "\"speed\":{"]
        {
            while let Some(at) = line.find(name) {
                let end = line[at..].find(['}', ',']).map_or(line.len(), |end| at + end);
                let end = if name.ends_with('{') { line[at..].find('}').map_or(end, |end| at + end) } else { end };
                line.replace_range(at..end, "");
            }
        }
        // `operations in 0.3 s`, `(dpor, 0.01 s, 12345/s);`
        let is_unit = |word: &str| ["s", "ms", "µs"].contains(&word.trim_end_matches([',', ')', ']', ';', '.']));
        let is_rate = |word: &str| word.trim_end_matches([',', ')', ']', ';', '.']).ends_with("/s");
        let words: Vec<&str> = line.split(' ').collect();
        let is_time =
            |i: usize| is_unit(words[i]) || is_rate(words[i]) || words.get(i + 1).is_some_and(|unit| is_unit(unit));
        let kept = words.iter().enumerate().filter(|(i, _)| !is_time(*i)).map(|(_, word)| *word);
        lines.push(kept.collect::<Vec<_>>().join(" "));
    }
    lines.join("\n")
}

const BROKEN: &str = "simulate --machine mesi-tso --bug no-replay --operations 600";

#[test]
fn campaigns_of_many_machines_are_those_of_one() {
    let place = Place::new();
    for (plan, line) in [
        ("fine", "simulate --machine tso --operations 40 --tests 53 --profile hot --profile atomics".to_owned()),
        ("first", format!("{BROKEN} --tests 60")),
        ("all", format!("{BROKEN} --tests 60 --keep-going")),
        ("some", format!("{BROKEN} --tests 200 --keep-going --max-violations 3")),
    ] {
        place.plan(&format!("plan {plan} --shards 13 {line}"));
        let worked = place.run(&format!("work {plan} 1-5 9/13"));
        assert_eq!(worked.code, 0, "{}", worked.err);
        let worked = place.run(&format!("work {plan}"));
        assert_eq!(worked.code, 0, "{}", worked.err);
        place.same(plan, &line, &["text", "json"]);
        // Once more, since it can be.
        place.same(plan, &line, &["text"]);
        let kept = |directory: &Path| {
            let entries = std::fs::read_dir(directory.join("membar-violations")).into_iter().flatten();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(kept(&place.many), kept(&place.one), "{plan}");
        // From another directory, they are kept there.
        let elsewhere = place.many.join(format!("from-{plan}"));
        std::fs::create_dir(&elsewhere).unwrap();
        within(&elsewhere, &format!("merge ../{plan}"));
        assert_eq!(kept(&elsewhere), kept(&place.one), "{plan}");
        assert_eq!(place.run(&format!("status {plan}")).code, 0);
    }
}

/// Traces of all kinds, in files of all sizes.
fn traces(place: &Place) {
    let (mut many, mut broken) = (String::from("# some\n"), String::new());
    for i in 0..150 {
        many += match i % 7 {
            3 => SB,
            5 if i % 10 == 0 => BAD,
            _ => FINE,
        };
        broken += if i == 90 { MALFORMED } else { FINE };
    }
    place.write("many.trace", many.as_bytes());
    place.write("broken.trace", broken.as_bytes());
    place.write("open.trace", b"0: x := 1\n1: x == 1\n");
    place.write("empty.trace", b"");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gz, many.as_bytes()).unwrap();
    place.write("packed.trace.gz", &gz.finish().unwrap());
}

#[test]
fn traces_split_by_file_and_within_are_answered_as_in_one_go() {
    let place = Place::new();
    traces(&place);
    let files = "many.trace open.trace packed.trace.gz broken.trace empty.trace";
    for (plan, line, formats) in [
        ("text", format!("check {files}"), &["text", "json"][..]),
        ("further", format!("check --model sc --keep-going -v {files}"), &["text", "json"]),
        ("table", format!("check --model sc --model tso --html t.html {files}"), &["text"]),
        ("axe", format!("check --model sc --format axe {files}"), &[]),
        ("quiet", "check --quiet many.trace".to_owned(), &["text", "json"]),
        ("both", format!("check --model sc --model tso {files}"), &["text", "json"]),
    ] {
        place.plan(&format!("plan {plan} --shards 9 {line}"));
        let worked = place.run(&format!("work {plan}"));
        assert_eq!(worked.code, 0, "{}", worked.err);
        let (one, merged) = (within(&place.one, &line), place.run(&format!("merge {plan}")));
        assert_eq!((merged.code, timeless(&merged.out)), (one.code, timeless(&one.out)), "{plan}");
        assert_eq!(merged.err.replace("wrote t.html\n", ""), one.err.replace("wrote t.html\n", ""), "{plan}");
        place.same(plan, &line.replace(" --html t.html", ""), formats);
    }
    // However the format was given.
    let (json, other) = (place.run("merge both --format json"), place.run("merge both --format sarif"));
    place.plan("plan short --shards 3 check -qfjson --model sc --model tso many.trace");
    assert_eq!(place.run("work short").code, 0);
    assert!(place.run("merge short").out.starts_with("{\"schema\":1"), "{}", json.out);
    let (text, quiet) = (place.run("merge short --format text"), "check -q --model sc --model tso many.trace");
    assert_eq!((text.code, text.out), (1, within(&place.one, quiet).out), "{}", text.err);
    assert!(other.code == 2 && other.err.contains("it has text, json, axe"), "{}", other.err);
    let refused = place.run("merge axe --format json");
    assert!(refused.code == 2 && refused.err.contains("verdicts only"), "{}", refused.err);
    std::fs::write(place.many.join("many.trace"), FINE).unwrap();
    std::fs::remove_file(place.many.join("text/results/1")).unwrap();
    let changed = place.run("work text 1");
    assert!(changed.code == 2 && changed.err.contains("another size"), "{}", changed.err);
}

/// A litmus test of threads that all store to one address: as many classes as there are orders.
pub(crate) fn stores(threads: usize, stores: usize) -> String {
    let row = |of: &dyn Fn(usize) -> String| (0..threads).map(of).collect::<Vec<_>>().join(" | ") + " ;\n";
    let mut text = String::from("X86 stores\n{ x=0; }\n ") + &row(&|thread| format!("P{thread}"));
    for i in 0..stores {
        text += &row(&|thread| format!("MOV [x],${}", thread * stores + i + 1));
    }
    text + "exists (x=1)\n"
}

#[test]
fn searches_in_parts_find_every_class_once() {
    let place = Place::new();
    place.write("stores.litmus", stores(3, 4).as_bytes());
    place.write(
        "sb.litmus",
        b"X86 SB\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0)\n",
    );
    for (plan, line) in [
        ("orders", "verify --strategy dpor stores.litmus"),
        ("all", "verify --strategy exhaustive stores.litmus"),
        ("models", "verify --strategy dpor --model tso,pso sb.litmus stores.litmus"),
    ] {
        place.plan(&format!("plan {plan} --shards 4 --explore 50ms {line}"));
        assert_eq!(place.run(&format!("work {plan}")).code, 0);
        let merged = place.run(&format!("merge {plan}"));
        let one = within(&place.one, line);
        assert_eq!((merged.code, timeless(&merged.out)), (one.code, timeless(&one.out)), "{plan}: {}", merged.err);
        let seen = if plan == "all" { "all 34650 interleavings" } else { "all 34650 classes" };
        assert!(merged.out.contains(seen), "{}", merged.out);
    }
    // Slow shards, and one that is missing.
    place.plan("plan slow --shards 5 --explore 1ms --shard-time 40ms verify --strategy dpor stores.litmus");
    assert_eq!(place.run("work slow").code, 0);
    let merged = place.run("merge slow");
    assert!(merged.code == 0 && merged.out.contains("all 34650 classes"), "{}{}", merged.out, merged.err);
    std::fs::remove_file(place.many.join("orders/results/1")).unwrap();
    let merged = place.run("merge orders");
    assert!(merged.code == 3 && merged.out.contains("UNDECIDED"), "{}{}", merged.out, merged.err);
    assert!(merged.err.contains("1 shard missing: 1"), "{}", merged.err);
    for (line, why) in [
        ("plan q verify --strategy random stores.litmus", "cannot be split"),
        ("plan q verify --time 1s stores.litmus", "--time is not for plans"),
        ("plan q verify nothing.c", "nothing.c"),
    ] {
        let ran = place.run(line);
        assert!(ran.code == 2 && ran.err.contains(why), "{line}: {}", ran.err);
    }
}

#[test]
fn shards_of_a_search_are_of_comparable_size() {
    let place = Place::new();
    place.write("stores.litmus", stores(3, 4).as_bytes());
    place.write("padded.litmus", PADDED);
    for (plan, file) in [("stores", "stores.litmus"), ("padded", "padded.litmus")] {
        place.plan(&format!("plan {plan} --shards 8 verify --strategy dpor {file}"));
        assert_eq!(place.run(&format!("work {plan}")).code, 0);
        let results = std::fs::read_dir(place.many.join(plan).join("results")).unwrap().flatten();
        let run = |entry: std::fs::DirEntry| {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let head: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
            head["done"]["units"].as_u64().unwrap()
        };
        let runs: Vec<u64> = results.map(run).collect();
        let (largest, sum) = (runs.iter().max().copied().unwrap_or(0), runs.iter().sum::<u64>());
        assert!(runs.len() > 2 && largest * runs.len() as u64 <= 3 * sum, "{plan}: {runs:?}");
    }
}

/// Store buffering behind stores whose orders make many classes.
const PADDED: &[u8] = b"X86 padded
{ x=0; y=0; z=0; }
 P0 | P1 | P2 ;
 MOV [z],$1 | MOV [z],$11 | MOV [z],$21 ;
 MOV [z],$2 | MOV [z],$12 | MOV [z],$22 ;
 MOV [z],$3 | MOV [z],$13 | MOV [z],$23 ;
 MOV [x],$1 | MOV [y],$1 |  ;
 MOV EAX,[y] | MOV EAX,[x] |  ;
exists (0:EAX=0 /\\ 1:EAX=0)
";

/// Text without times, and without the lines that they broke.
fn flowing(text: &str) -> String {
    let digits = |word: &&str| !word.trim_matches(['(', ')', ',', ';', '.']).ends_with("/s");
    timeless(&text.split_whitespace().filter(digits).collect::<Vec<_>>().join(" ")).replace(['(', ')', ',', ';'], "")
}

#[test]
fn findings_of_parts_are_those_of_one_machine_in_every_format() {
    let place = Place::new();
    place.write("padded.litmus", PADDED);
    place.write("stores.litmus", stores(2, 6).as_bytes());
    place.write("dekker.c", include_bytes!("../../../../examples/programs/dekker.c"));
    for (plan, line) in [
        ("litmus", "verify --strategy dpor --model tso,pso padded.litmus stores.litmus"),
        ("c", "verify --strategy dpor dekker.c"),
    ] {
        place.plan(&format!("plan {plan} --shards 4 --shard-time 20ms {line}"));
        assert_eq!(place.run(&format!("work {plan}")).code, 0);
        let same = |formats: &[&str]| {
            for format in formats {
                let one = within(&place.one, &format!("{line} --format {format}"));
                let many = place.run(&format!("merge {plan} --format {format}"));
                assert_eq!(many.code, one.code, "{plan}, {format}: {}", many.err);
                let shown = if *format == "text" { flowing } else { timeless };
                let there = one.out.replace(place.one.to_str().unwrap(), place.many.to_str().unwrap());
                assert_eq!(shown(&many.out), shown(&there), "{plan}, {format}");
            }
        };
        same(&["text", "json", "sarif"]);
        let status = place.run(&format!("status {plan}"));
        assert!(status.code == 0 && status.out.contains(" finding"), "{}", status.out);
        let results = std::fs::read_dir(place.many.join(plan).join("results")).unwrap();
        let Some(result) = results.flatten().map(|entry| entry.path()).next() else {
            assert_eq!(plan, "c", "nothing was split");
            continue;
        };
        std::fs::remove_file(&result).unwrap();
        let some = place.run(&format!("merge {plan} --format sarif"));
        assert!(some.code == 1 && some.err.contains("missing"), "{plan}: {} {}", some.code, some.err);
        assert!(some.out.contains("parts are missing"), "{plan}: {}", some.out);
        assert_eq!(place.run(&format!("work {plan}")).code, 0);
        same(&["sarif"]);
    }
    let cost = place.run("merge c --format json").out;
    let cost: Value = serde_json::from_str(&cost).unwrap();
    assert!(cost["results"][0]["statistics"]["accesses"].as_u64() > Some(0), "{cost}");
}

#[test]
#[ignore = "long"]
fn programs_in_parts_are_judged_as_in_one_go() {
    let place = Place::new();
    place.write("treiber.c", include_bytes!("../../../../benches/programs/treiber.c"));
    place.write("dekker.c", include_bytes!("../../../../examples/programs/dekker.c"));
    let line = "verify --strategy dpor --no-symmetry treiber.c -- -DW=1 -DR=1 -DRW=2";
    for (plan, line) in [("treiber", line), ("dekker", "verify --strict --strategy dpor dekker.c")] {
        place.plan(&format!("plan {plan} --shards 4 --explore 1ms {line}"));
        let worked = place.run(&format!("work {plan}"));
        assert_eq!(worked.code, 0, "{}", worked.err);
        let counts = |ran: Ran| {
            let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}{}", ran.out, ran.err));
            let result = &document["results"][0];
            let of = |name: &str| result[name].to_string();
            let violations = result["violations"].as_array().unwrap();
            (ran.code, of("verdict"), of("interleavings"), of("blocked"), of("complete"), violations.len())
        };
        let words: Vec<&str> = line.splitn(2, ' ').collect();
        let one = within(&place.one, &format!("{} --format json {}", words[0], words[1]));
        assert_eq!(counts(place.run(&format!("merge {plan} --format json"))), counts(one), "{plan}");
    }
    // Another program than the one that was planned.
    std::fs::remove_file(place.many.join("treiber/results/1")).unwrap();
    let changed = std::fs::read_to_string(place.many.join("treiber.c")).unwrap() + "\n";
    std::fs::write(place.many.join("treiber.c"), changed).unwrap();
    let ran = place.run("work treiber 1");
    assert!(ran.code == 2 && ran.err.contains("treiber.c has changed"), "{}", ran.err);
}

#[test]
fn what_is_missing_is_named_and_can_be_added_later() {
    let place = Place::new();
    let line = "simulate --machine tso --operations 20 --tests 30";
    place.plan(&format!("plan p --shards 6 {line}"));
    let none = place.run("merge p");
    assert!(none.code == 3 && none.err.contains("6 shards missing: 1, 2, 3, 4, 5, 6"), "{}", none.err);
    assert_eq!(place.run("work p 2 5").code, 0);
    let some = place.run("merge p");
    assert!(some.code == 3 && some.err.contains("4 shards missing: 1, 3, 4, 6"), "{}", some.err);
    assert!(some.out.contains("10 tests (some of the seeds 1 to 30)"), "{}", some.out);
    let status = place.run("status p --format json");
    let status: Value = serde_json::from_str(&status.out).unwrap();
    assert_eq!((status["done"].as_u64(), status["units"].as_u64()), (Some(2), Some(10)));
    assert_eq!(place.run("work p").code, 0);
    place.same("p", line, &["text", "json"]);
}

#[test]
fn damaged_files_are_named_and_not_counted() {
    let place = Place::new();
    let line = "simulate --machine tso --operations 20 --tests 30";
    place.plan(&format!("plan p --shards 6 {line}"));
    assert_eq!(place.run("work p").code, 0);
    let result = place.many.join("p/results/3");
    let whole = std::fs::read(&result).unwrap();
    let other = std::fs::read(place.many.join("p/results/4")).unwrap();
    let mut flipped = whole.clone();
    *flipped.iter_mut().rev().nth(20).unwrap() ^= 1;
    // What the first line says counts as well.
    let text = String::from_utf8(whole.clone()).unwrap();
    let (more, huge) =
        (text.replacen("\"rest\":0", "\"rest\":9", 1), text.replacen("\"rest\":0", "\"rest\":4294967295", 1));
    assert!(more != text);
    for damaged in [&whole[..whole.len() / 2], &flipped, b"", &other, b"\n\n", more.as_bytes(), huge.as_bytes()] {
        std::fs::write(&result, damaged).unwrap();
        let merged = place.run("merge p");
        assert!(merged.code == 3 && merged.err.contains("the result of shard 3 is damaged"), "{}", merged.err);
        assert!(place.run("status p").out.contains("Damaged"));
        // A worker makes it again.
        assert_eq!(place.run("work p").code, 0);
        place.same("p", line, &["json"]);
    }
    std::fs::remove_file(&result).unwrap();
    std::fs::create_dir(&result).unwrap();
    let merged = place.run("merge p");
    assert!(merged.code == 3 && merged.err.contains("shard 3 cannot be read: it is not a file"), "{}", merged.err);
    assert_eq!(place.run("work p").code, 0);
    let manifest = place.many.join("p/plan.json");
    let plan = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, plan.replacen("\"shards\": 6", "\"shards\": 4294967295", 1)).unwrap();
    for line in ["work p", "merge p", "status p"] {
        let ran = place.run(line);
        assert!(ran.code == 2 && ran.err.contains("no plan has that many shards"), "{line}: {}", ran.err);
    }
    std::fs::write(&manifest, plan).unwrap();
    // A shard cannot be made again, and retrying is no use.
    std::fs::write(place.many.join("p/shards/2"), &whole).unwrap();
    std::fs::remove_file(place.many.join("p/results/2")).unwrap();
    let worked = place.run("work p");
    assert!(worked.code == 2 && worked.err.contains("shard 2 is damaged"), "{}: {}", worked.code, worked.err);
}

/// Alters the second line of a file of a plan, and puts its hash right.
fn alter(file: &Path, how: impl Fn(&mut Value)) {
    let text = std::fs::read_to_string(file).unwrap();
    let (first, second) = text.split_once('\n').unwrap();
    let mut value: Value = serde_json::from_str(second).unwrap();
    how(&mut value);
    let at = first.find("\"hash\":\"").unwrap() + 8;
    let (before, after) = (&first[..at], format!("{}\n{value}\n", &first[at + 16..]));
    let hash = membar::programs::hash(before.as_bytes()) ^ membar::programs::hash(after.as_bytes());
    std::fs::write(file, format!("{before}{hash:016x}{after}")).unwrap();
}

/// What is in a shard may not fit the program although its hash does.
#[test]
fn altered_shards_of_a_search_are_refused_with_the_reason() {
    let place = Place::new();
    place.write("t.litmus", stores(3, 6).as_bytes());
    place.plan("plan p --shards 2 --explore 0.1s verify --strategy exhaustive t.litmus");
    let frontier = |shard: &mut Value, of: &str| shard["checkpoint"]["search"]["frontier"][of].take();
    let put = |shard: &mut Value, of: &str, at: usize, name: &str, new: Value| {
        let mut all = frontier(shard, of);
        all[at][name] = new;
        shard["checkpoint"]["search"]["frontier"][of] = all;
    };
    type Alter<'a> = Box<dyn Fn(&mut Value) + 'a>;
    let kinds: [(&str, Alter<'_>, &str); 7] = [
        ("1", Box::new(|shard| put(shard, "items", 0, "step", 7.into())), "steps that the program does not make"),
        (
            "1",
            Box::new(|shard| put(shard, "items", 0, "open", 12345.into())),
            "a subtree is below a node that is not open",
        ),
        ("1", Box::new(|shard| put(shard, "open", 1, "parent", 1.into())), "a node is not below its parent"),
        ("1", Box::new(|shard| put(shard, "open", 1, "users", 0.into())), "a node has fewer users than there are"),
        (
            "1",
            Box::new(|shard| shard["checkpoint"]["search"]["strategy"] = "dpor".into()),
            "the shard is not one of this command",
        ),
        ("1", Box::new(|shard| shard["program"] = 1.into()), "a program that the plan does not have"),
        ("0", Box::new(|root| put(&mut root[0], "open", 1, "users", 0.into())), "shards/0 is damaged"),
    ];
    for (name, how, why) in kinds {
        let file = place.many.join("p/shards").join(name);
        let whole = std::fs::read(&file).unwrap();
        alter(&file, how);
        let ran = place.run("work p");
        assert!(ran.code == 2 && ran.err.contains(why), "{why}: {}: {}", ran.code, ran.err);
        std::fs::write(&file, whole).unwrap();
    }
    assert_eq!(place.run("work p").code, 0);
    let (merged, one) = (place.run("merge p"), within(&place.one, "verify --strategy exhaustive t.litmus"));
    assert_eq!((merged.code, timeless(&merged.out)), (one.code, timeless(&one.out)), "{}", merged.err);
}

#[test]
fn shards_with_tests_that_the_plan_does_not_have_are_refused() {
    let place = Place::new();
    place.write("sb.litmus", b"X86 SB\n{ x=0; y=0; }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\nexists (x=1)\n");
    for (plan, line) in
        [("p", "simulate --machine tso --tests 8 --operations 20"), ("q", "stress --tests 300 sb.litmus")]
    {
        place.plan(&format!("plan {plan} --shards 2 {line}"));
        let file = place.many.join(plan).join("shards/1");
        let whole = std::fs::read(&file).unwrap();
        for (name, new) in [("to", 4_294_967_295u64), ("from", 4_294_967_295), ("to", 0)] {
            alter(&file, |shard| *(if plan == "p" { &mut shard[name] } else { &mut shard[0][name] }) = new.into());
            let ran = place.run(&format!("work {plan} 1"));
            assert!(
                ran.code == 2 && ran.err.contains("tests that the plan does not have"),
                "{}: {}",
                ran.code,
                ran.err
            );
            std::fs::write(&file, &whole).unwrap();
        }
        assert_eq!(place.run(&format!("work {plan} 1")).code, 0);
    }
}

#[test]
fn workers_that_do_not_fit_are_refused_with_the_reason() {
    let place = Place::new();
    place.write("hot.toml", include_bytes!("../../../membar-simulate/profiles/hot.toml"));
    place.plan("plan p --shards 3 simulate --machine tso --profile hot.toml --tests 3 --operations 20");
    let manifest = place.many.join("p/plan.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    for (old, new, why) in [
        (concat!("\"version\": \"", env!("CARGO_PKG_VERSION")), "\"version\": \"0.0.1", "was made by membar 0.0.1"),
        ("\"machine\": \"", "\"machine\": \"pdp11-", "the plan is for pdp11-"),
        ("{", "", "damaged"),
    ] {
        std::fs::write(&manifest, text.replacen(old, new, 1)).unwrap();
        for line in ["work p", "merge p"] {
            let ran = place.run(line);
            assert!(ran.code == 2 && ran.err.contains(why), "{line}: {}", ran.err);
        }
    }
    std::fs::write(&manifest, &text).unwrap();
    let mut changed = include_bytes!("../../../membar-simulate/profiles/hot.toml").to_vec();
    changed.extend(b"# changed\n");
    std::fs::write(place.many.join("hot.toml"), changed).unwrap();
    let ran = place.run("work p");
    assert!(ran.code == 2 && ran.err.contains("hot.toml has changed"), "{}", ran.err);
    for (line, why) in [
        ("plan q simulate --machine tso --time 5s", "by its tests"),
        ("plan q stress nowhere.litmus", "nowhere.litmus"),
        ("plan q stress --model c11 sb.litmus", "not with `c11`"),
        ("plan q models", "cannot be split"),
        ("plan q simulate --machine nope", "nope"),
        ("plan p simulate --machine tso", "exists already"),
        ("work nowhere", "not a plan"),
        ("work p 0", "not a shard"),
        ("work p 4", "no shard 4"),
        ("work p 5/3", "not a shard"),
    ] {
        let ran = place.run(line);
        assert!(ran.code == 2 && ran.err.contains(why), "{line}: {}", ran.err);
    }
}

fn start(place: &Place, line: &str) -> Child {
    let mut command = command();
    command.args(words(line)).current_dir(&place.many).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Random numbers, the same every time.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// Workers and merges are killed at random, two at a time at the same shards; then one worker does what is left.
fn survives(kills: usize, line: &str) {
    let place = Place::new();
    place.plan(&format!("plan p --shards 40 {line}"));
    let mut dice = Dice(kills as u64);
    let mut killed = 0;
    while killed < kills {
        let lines = ["work p", "work p", "merge p"];
        let mut running: Vec<Child> = lines.iter().map(|line| start(&place, line)).collect();
        std::thread::sleep(Duration::from_millis(dice.below(60)));
        for child in &mut running {
            // Some are asked politely, and give back the rest.
            let polite = dice.below(3) == 0;
            if child.try_wait().unwrap().is_none() {
                killed += 1;
            }
            if polite {
                let _ = std::process::Command::new("kill").arg(child.id().to_string()).status();
            } else {
                child.kill().unwrap();
            }
            child.wait().unwrap();
        }
        if place.run("status p").code == 0 {
            // All is done: begin again.
            place.same("p", line, &["json"]);
            std::fs::remove_dir_all(place.many.join("p")).unwrap();
            let _ = std::fs::remove_dir_all(place.many.join("membar-violations"));
            place.plan(&format!("plan p --shards 40 {line}"));
        }
    }
    let worked = place.run("work p");
    assert_eq!(worked.code, 0, "{}", worked.err);
    place.same("p", line, &["text", "json"]);
    assert_eq!(place.run("status p").code, 0);
    drop(place.files);
}

const LONGER: &str = "simulate --machine mesi-tso --bug no-replay --tests 400 --operations 200 --keep-going";

#[test]
fn killed_workers_lose_and_double_nothing() {
    survives(30, LONGER);
}

#[test]
#[ignore = "takes minutes"]
fn a_thousand_kills_lose_and_double_nothing() {
    survives(1000, LONGER);
}

#[test]
fn slow_shards_give_back_their_rest() {
    let place = Place::new();
    let line = "simulate --machine mesi-tso --tests 40 --operations 4000";
    place.plan(&format!("plan p --shards 3 --shard-time 1ms {line}"));
    assert_eq!(place.run("work p").code, 0);
    let status: Value = serde_json::from_str(&place.run("status p --format json").out).unwrap();
    assert!(status["shards"].as_u64() > Some(3), "{status}");
    place.same("p", line, &["text", "json"]);
}

#[test]
fn the_first_violation_can_stop_all() {
    let place = Place::new();
    place.plan(&format!("plan p --shards 20 --stop-at-first {BROKEN} --tests 100 --keep-going"));
    assert_eq!(place.run("work p").code, 0);
    let merged = place.run("merge p");
    assert!(merged.code == 1 && merged.err.contains("left out after the first finding"), "{}", merged.err);
    assert!(!merged.err.contains("missing"), "{}", merged.err);
    let status = place.run("status p");
    assert!(status.code == 0 && status.out.contains("Ended    at the first finding"), "{}", status.out);
    // A finding that is lost is looked for again.
    let found = std::fs::read_dir(place.many.join("p/found")).unwrap().next().unwrap().unwrap().file_name();
    std::fs::write(place.many.join("p/results").join(&found), "lost").unwrap();
    let lost = place.run("merge p");
    assert!(lost.code == 3 && lost.err.contains("1 shard missing"), "{}", lost.err);
    assert_eq!(place.run("work p").code, 0);
    assert_eq!(timeless(&place.run("merge p").out), timeless(&merged.out));
}

#[test]
fn what_somebody_is_at_comes_last() {
    let place = Place::new();
    place.plan("plan p --shards 6 simulate --machine tso --operations 20 --tests 30");
    // One who was just there, and one who has been silent for a day.
    let day = Duration::from_secs(86_400);
    for (shard, silent) in [(2, Duration::ZERO), (4, day)] {
        let marker = std::fs::File::create(place.many.join(format!("p/running/{shard}"))).unwrap();
        marker.set_modified(std::time::SystemTime::now() - silent).unwrap();
    }
    let worked = place.run("work p 1-6");
    let order: Vec<&str> = worked.err.lines().collect();
    let last = "shard 2: done";
    assert!(worked.code == 0 && order.len() == 6 && order[5] == last && order[3] == "shard 5: done", "{}", worked.err);
    assert_eq!(std::fs::read_dir(place.many.join("p/running")).unwrap().count(), 0);
}

#[test]
fn the_first_violation_stops_workers_on_several_machines() {
    let place = Place::new();
    place.plan(&format!("plan p --shards 60 --stop-at-first {BROKEN} --tests 600 --keep-going"));
    let mut workers: Vec<Child> = (0..3).map(|_| start(&place, "work p")).collect();
    for worker in &mut workers {
        assert_eq!(worker.wait().unwrap().code(), Some(0));
    }
    let status: Value = serde_json::from_str(&place.run("status p --format json").out).unwrap();
    assert!(status["found"].as_u64() > Some(0) && status["done"].as_u64() < Some(60), "{status}");
    assert_eq!(place.run("work p").code, 0);
    let merged = place.run("merge p");
    assert!(merged.code == 1 && merged.err.contains("left out"), "{}", merged.err);
}

/// Clocks that go wrong, files of workers that are gone, and several workers and merges at the same shards.
#[test]
fn clocks_and_company_change_nothing() {
    let place = Place::new();
    let line = "simulate --machine tso --operations 200 --tests 60";
    place.plan(&format!("plan p --shards 6 {line}"));
    assert_eq!(place.run("work p 6").code, 0);
    let day = Duration::from_secs(86_400);
    let now = std::time::SystemTime::now();
    for (file, time) in
        [("running/1", now + day), ("running/2", now - day), ("results/6", now + day), ("plan.json", now - day)]
    {
        let path = place.many.join("p").join(file);
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.set_modified(time).unwrap();
    }
    let status = place.run("status p");
    assert!(status.code == 3 && status.out.contains("Silent   1 (), for 86"), "{}", status.out);
    let lines = ["work p 1-6", "work p 1-6", "merge p", "merge p", "work p"];
    let mut running: Vec<Child> = lines.iter().map(|line| start(&place, line)).collect();
    for (line, child) in lines.iter().zip(&mut running) {
        let code = child.wait().unwrap().code();
        assert!(code == Some(0) || (code == Some(3) && line.starts_with("merge")), "{line}: {code:?}");
    }
    place.same("p", line, &["text", "json"]);
    let manifest = place.many.join("p/plan.json");
    let text = std::fs::read(&manifest).unwrap();
    std::fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    for line in ["work p", "merge p", "status p"] {
        let ran = place.run(line);
        assert!(ran.code == 2 && ran.err.contains("plan.json is damaged"), "{line}: {}", ran.err);
    }
}

#[test]
fn plans_move_and_have_names_with_blanks() {
    let place = Place::new();
    let directory = place.many.join("a b");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("my test.litmus"), stores(2, 5)).unwrap();
    let run = |words: &[&str]| run_in(&directory, words);
    let line = ["verify", "--strategy", "dpor", "my test.litmus"];
    assert_eq!(run(&[&["plan", "the plan", "--shards", "3"][..], &line].concat()).code, 0);
    std::fs::rename(directory.join("the plan"), place.many.join("moved")).unwrap();
    assert_eq!(place.run("work moved").code, 0);
    let merged = place.run("merge moved");
    let one = run(&line);
    assert_eq!((merged.code, flowing(&merged.out)), (one.code, flowing(&one.out)), "{}", merged.err);
    // More shards than there is work for, and a plan that has nothing left to do.
    let planned = run(&["plan", "more", "--shards", "50", "simulate", "--machine", "tso", "--tests", "3"]);
    assert!(planned.code == 0 && planned.out.starts_with("3 shards"), "{}", planned.out);
    let planned = run(&["plan", "none", "verify", "--strategy", "dpor", "my test.litmus"]);
    assert!(planned.out.contains("Nothing is left to do for workers"), "{}", planned.out);
    let status = run(&["status", "none"]);
    assert!(status.code == 0 && status.out.contains("0 of 0 shards (100%)"), "{}", status.out);
}

#[test]
fn litmus_tests_on_real_cores_are_split_by_outcomes() {
    let place = Place::new();
    const STORE_BUFFERING: &str = "X86_64 SB\n{ x=0; y=0; }\n P0 | P1 ;\n movl $1,(x) | movl $1,(y) ;\n \
        movl (y),%eax | movl (x),%eax ;\nexists (0:eax=0 /\\ 1:eax=0)\n";
    place.write("sb.litmus", STORE_BUFFERING.as_bytes());
    place.write("other.litmus", STORE_BUFFERING.replace("SB", "OTHER").as_bytes());
    place.plan("plan p --shards 3 stress --tests 20000 sb.litmus other.litmus");
    // The second shard has outcomes of both tests.
    let shard = std::fs::read_to_string(place.many.join("p/shards/2")).unwrap();
    assert!(shard.contains("sb.litmus") && shard.contains("other.litmus"), "{shard}");
    assert_eq!(place.run("work p 2-3").code, 0);
    let some = place.run("merge p");
    assert!(some.code == 3 && some.err.contains("1 shard missing: 1"), "{}{}", some.out, some.err);
    assert_eq!(place.run("work p").code, 0);
    let merged = place.run("merge p");
    assert!(merged.code == 0 && merged.out.starts_with("On "), "{}{}", merged.out, merged.err);
    assert!(merged.out.contains("Test SB") && merged.out.contains("Test OTHER"), "{}", merged.out);
    let json: Value = serde_json::from_str(&place.run("merge p --format json").out).unwrap();
    let outcomes = |of: &Value| -> Vec<u64> {
        of["results"].as_array().unwrap().iter().map(|result| result["outcomes"].as_u64().unwrap()).collect()
    };
    let all = outcomes(&json);
    assert!(all.len() == 2 && all.iter().all(|&n| n >= 20_000), "{json}");
    let counts = json["results"][0]["states"].as_array().unwrap().iter().map(|state| state["count"].as_u64().unwrap());
    assert_eq!(counts.sum::<u64>(), all[0]);
    assert!(json["results"][0]["machine"].is_string(), "{json}");
    // Merged again, it is the same.
    assert_eq!(serde_json::from_str::<Value>(&place.run("merge p --format json").out).unwrap(), json);
    // A shard that runs out of its time gives back the rest; what sc forbids is a finding.
    place.plan("plan q --shards 2 --shard-time 1ms stress --model sc --tests 1000000 sb.litmus");
    assert_eq!(place.run("work q").code, 0);
    assert!(place.many.join("q/results/1.1").exists());
    let merged = place.run("merge q --format json");
    let json: Value = serde_json::from_str(&merged.out).unwrap();
    assert!(outcomes(&json)[0] >= 1_000_000, "{json}");
    let forbidden = json["results"][0]["forbidden"].as_u64().unwrap();
    assert_eq!(merged.code, if forbidden > 0 { 1 } else { 0 }, "{}", merged.err);
}

#[test]
fn results_of_real_cores_name_their_machine() {
    let place = Place::new();
    place.plan("plan p --shards 2 stress --tests 4 --operations 20 --threads 2");
    assert_eq!(place.run("work p").code, 0);
    let merged = place.run("merge p");
    assert!(merged.code == 0 && merged.out.starts_with("On "), "{}{}", merged.out, merged.err);
    let result = place.many.join("p/results/2");
    // The same result from another machine, sealed again.
    let text = std::fs::read_to_string(&result).unwrap().replacen("\"machine\":\"", "\"machine\":\"other ", 1);
    let at = text.find("\"hash\":\"").unwrap() + "\"hash\":\"".len();
    let (before, after) = (&text[..at], &text[at + 16..]);
    let hash = membar::programs::hash(before.as_bytes()) ^ membar::programs::hash(after.as_bytes());
    std::fs::write(&result, format!("{before}{hash:016x}{after}")).unwrap();
    let merged = place.run("merge p");
    assert!(merged.out.contains("On other ") && merged.out.matches("2 tests (some of").count() == 2, "{}", merged.out);
    let json = place.run("merge p --format json").out;
    let machines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(machines.len(), 2);
    assert_ne!(machines[0]["source"]["machine"], machines[1]["source"]["machine"]);
}

#[cfg(unix)]
#[test]
fn disks_that_are_full_or_read_only_lose_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let line = "simulate --machine tso --operations 20 --tests 30";
    place.plan(&format!("plan p --shards 3 {line}"));
    // No file may be longer than one block: a result cannot be written.
    let membar = env!("CARGO_BIN_EXE_membar");
    let limited = std::process::Command::new("sh")
        .args(["-c", &format!("trap '' XFSZ; ulimit -f 1; exec {membar} work p")])
        .current_dir(&place.many)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&limited.stderr);
    assert!(limited.status.code() == Some(3) && said.contains("cannot be written"), "{:?} {said}", limited.status);
    assert_eq!(place.run("merge p").code, 3);
    let results = place.many.join("p/results");
    std::fs::set_permissions(&results, std::fs::Permissions::from_mode(0o555)).unwrap();
    let worked = place.run("work p");
    // Who may do everything may write there.
    let allowed = worked.code == 0;
    assert!(allowed || worked.code == 2 && worked.err.contains("cannot be written"), "{}", worked.err);
    std::fs::set_permissions(&results, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(place.run("work p").code, 0);
    place.same("p", line, &["json"]);
}

/// A part of a search may find out something about the program that all of it has to rest on.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_plan_that_knew_too_little_is_made_again_with_what_was_learnt() {
    let place = Place::new();
    place.write("tree.c", include_bytes!("../../../../corpus/programs/thread-tree.c"));
    let line = "verify --strategy dpor tree.c";
    place.plan(&format!("plan p0 --shards 4 --explore 1ms {line}"));
    let mut last = 0;
    loop {
        let worked = place.run(&format!("work p{last}"));
        if worked.code == 0 {
            break;
        }
        assert!(worked.code == 2 && worked.err.contains("found out something about the program"), "{}", worked.err);
        assert!(worked.err.contains("membar plan NEW --again"), "{}", worked.err);
        // Nobody does any more.
        let again = place.run(&format!("work p{last}"));
        assert!(again.code == 2 && again.err.contains("its shards are of no use"), "{}", again.err);
        let (merged, status) = (place.run(&format!("merge p{last}")), place.run(&format!("status p{last}")));
        assert!(merged.code == 3 && merged.err.contains("--again"), "{}", merged.err);
        assert!(status.code == 3 && status.out.contains("Outdated shard "), "{}", status.out);
        assert!(last < 5, "it learns without end");
        place.plan(&format!("plan p{} --shards 4 --explore 1ms --again p{last}", last + 1));
        last += 1;
    }
    assert!(last > 0, "nothing was found out");
    let (merged, one) = (place.run(&format!("merge p{last}")), within(&place.one, line));
    assert_eq!((merged.code, flowing(&merged.out)), (one.code, flowing(&one.out)), "{}", merged.err);
    let both = place.run("plan q --again p0 verify tree.c");
    assert!(both.code == 2 && both.err.contains("cannot be used with"), "{}", both.err);
}

/// `membar.h` is in a directory that has another name in each process.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn programs_that_include_our_header_are_the_same_elsewhere() {
    let place = Place::new();
    place.write("assume.c", include_bytes!("../../../../corpus/programs/assume.c"));
    let line = "verify --strategy dpor assume.c";
    place.plan(&format!("plan p --shards 2 --explore 1ms {line}"));
    let worked = place.run("work p");
    assert_eq!(worked.code, 0, "{}", worked.err);
    let (merged, one) = (place.run("merge p"), within(&place.one, line));
    assert_eq!((merged.code, flowing(&merged.out)), (one.code, flowing(&one.out)), "{}", merged.err);
    assert_eq!(place.run(&format!("{line} --resume state --executions 1")).code, 3);
    let resumed = place.run(&format!("{line} --resume state"));
    assert_eq!((resumed.code, flowing(&resumed.out)), (one.code, flowing(&one.out)), "{}", resumed.err);
}

#[test]
fn scripts_are_not_written_with_what_would_break_them() {
    let place = Place::new();
    let command = ["simulate", "--machine", "tso", "--tests", "3"];
    for words in [
        &["plan", "a\nb", "--submit", "slurm", "--script-only"][..],
        &["plan", "ab", "--submit", "slurm", "--script-only", "--engine-option", "--x\nrm -rf ~"][..],
    ] {
        let ran = run_in(&place.many, &[words, &command].concat());
        assert!(ran.code == 2 && ran.err.contains("a script cannot contain"), "{}{}", ran.out, ran.err);
    }
    let dash = run_in(&place.many, &[&["plan", "-p", "--shards", "1"][..], &command].concat());
    assert!(dash.code == 2, "{}", dash.out);
    let dash = run_in(&place.many, &[&["plan", "--shards", "1", "--", "-p"][..], &command].concat());
    assert!(dash.code == 0 && dash.out.contains("`membar work ./-p`"), "{}{}", dash.out, dash.err);
    assert_eq!(place.run("work ./-p").code, 0);
}
