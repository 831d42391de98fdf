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
    const TIMES: [&str; 7] =
        ["seconds", "run_seconds", "check_seconds", "operations_per_second", "speed", "rates", "made"];
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
        assert_eq!(place.run(&format!("status {plan}")).code, if plan == "first" { 3 } else { 0 });
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
        ("quiet", "check --quiet many.trace".to_owned(), &[]),
    ] {
        place.plan(&format!("plan {plan} --shards 9 {line}"));
        let worked = place.run(&format!("work {plan}"));
        assert_eq!(worked.code, 0, "{}", worked.err);
        let (one, merged) = (within(&place.one, &line), place.run(&format!("merge {plan}")));
        assert_eq!((merged.code, timeless(&merged.out)), (one.code, timeless(&one.out)), "{plan}");
        assert_eq!(merged.err.replace("wrote t.html\n", ""), one.err.replace("wrote t.html\n", ""), "{plan}");
        place.same(plan, &line.replace(" --html t.html", ""), formats);
    }
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
    for damaged in [&whole[..whole.len() / 2], &flipped, b"", &other, b"\n\n"] {
        std::fs::write(&result, damaged).unwrap();
        let merged = place.run("merge p");
        assert!(merged.code == 3 && merged.err.contains("the result of shard 3 is damaged"), "{}", merged.err);
        assert!(place.run("status p").out.contains("Damaged"));
        // A worker makes it again.
        assert_eq!(place.run("work p").code, 0);
        place.same("p", line, &["json"]);
    }
    // A shard cannot be made again, and retrying is no use.
    std::fs::write(place.many.join("p/shards/2"), &whole).unwrap();
    std::fs::remove_file(place.many.join("p/results/2")).unwrap();
    let worked = place.run("work p");
    assert!(worked.code == 2 && worked.err.contains("shard 2 is damaged"), "{}: {}", worked.code, worked.err);
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
        ("plan q stress SB.litmus", "not split"),
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
    assert!(merged.code == 1 && merged.err.contains("missing"), "{}", merged.err);
}

#[test]
fn results_of_real_cores_name_their_machine() {
    let place = Place::new();
    place.plan("plan p --shards 2 stress --tests 4 --operations 20 --threads 2");
    assert_eq!(place.run("work p").code, 0);
    let merged = place.run("merge p");
    assert!(merged.code == 0 && merged.out.starts_with("On "), "{}{}", merged.out, merged.err);
    let result = place.many.join("p/results/2");
    // The same result from another machine.
    let text = std::fs::read_to_string(&result).unwrap();
    let at = text.find("\"machine\":\"").unwrap() + "\"machine\":\"".len();
    std::fs::write(&result, format!("{}other {}", &text[..at], &text[at..])).unwrap();
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
