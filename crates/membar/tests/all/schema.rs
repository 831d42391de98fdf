//! The JSON schemas in `docs/schema` against what the real binary writes. Catches what no other test does: a property that the
//! schema does not know, that no output has, or that the book's reference/json.md does not name; and a schema that lets anything pass.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common;

use common::{BAD, FINE, Files, MALFORMED, SB, hard_trace};
use jsonschema::{Registry, Validator};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Commands, the schema of what they write, and their exit codes. The files are those of [`files`].
const COMMANDS: &[(&str, i32, &str)] = &[
    ("check", 0, "check sb.trace -v"),
    ("check", 1, "check sb.trace --model sc --model tso --model pso"),
    ("check", 1, "check sb.trace --model mine.toml"),
    ("check", 1, "check end.trace own.trace unwritten.trace init.trace fence.trace order.trace"),
    ("check", 1, "check locks.trace --model rc -v"),
    ("check", 1, "check times.trace --model tso --clock global"),
    ("check", 1, "check search.trace --model tso"),
    ("check", 3, "check hard.trace --time 0s"),
    ("check", 3, "check hard.trace --memory 1KB"),
    ("check", 2, "check mixed.trace missing.trace --keep-going"),
    ("check", 2, "check malformed.trace --keep-going"),
    ("check", 2, "check empty.trace"),
    ("check", 1, "check lost.trace corrupt.trace open.trace"),
    ("check", 3, "check lost.trace --model lc"),
    ("monitor", 1, "monitor open.trace --monitor tso"),
    ("monitor", 1, "monitor labelled.trace"),
    ("monitor", 0, "monitor locked.trace --monitor tso --monitor sober-fixed"),
    ("monitor", 1, "monitor labelled.trace --stop-at-first --monitor sober --window 1"),
    ("monitor", 1, "monitor many.trace --monitor tso"),
    ("monitor", 3, "monitor locked.trace --memory 1B"),
    ("monitor", 2, "monitor bad.trace missing.trace --monitor tso"),
    ("monitor", 2, "monitor malformed.trace"),
    ("litmus", 0, "litmus SB.litmus --model sc --model tso --model pso"),
    ("litmus", 0, "litmus c-pointers.litmus x86-wait.litmus"),
    ("litmus", 1, "litmus never.litmus"),
    ("litmus", 3, "litmus bakery.litmus --time 0s"),
    ("litmus", 2, "litmus SB.litmus wrong.litmus missing.litmus"),
    ("verify", 1, "verify SB.litmus"),
    ("verify", 0, "verify safe.litmus --model pso"),
    ("verify", 1, "verify deadlock.litmus"),
    ("verify", 1, "verify amo.litmus"),
    ("verify", 3, "verify safe.litmus --strategy random --executions 10"),
    ("verify", 3, "verify safe.litmus --strategy bounded --preemptions 0"),
    ("verify", 3, "verify safe.litmus --monitor tso"),
    ("verify", 1, "verify SB.litmus safe.litmus deadlock.litmus"),
    ("verify", 2, "verify SB.litmus wrong.litmus missing.litmus"),
    ("verify", 1, "verify peterson.c -v"),
    ("verify", 1, "verify peterson.c --property errors"),
    ("verify", 0, "verify allowed.c --allow allowed.c:99"),
    ("verify", 1, "verify message.c --model pso"),
    ("verify", 0, "verify message.c"),
    ("verify", 0, "verify alike.c"),
    ("verify", 1, "verify copy.c --model pso"),
    ("verify", 3, "verify large.c --executions 100"),
    ("verify", 1, "verify relaxed.c --model c11"),
    ("verify", 1, "verify assembly.c --model c11"),
    ("verify", 1, "verify race.c --races on"),
    ("verify", 1, "verify deadlock.c"),
    ("verify", 1, "verify assert.c"),
    ("verify", 3, "verify notes.c -- -Wall -flto"),
    ("verify", 2, "verify broken.c"),
    ("replay", 0, "replay SB.litmus a2b2"),
    ("replay", 0, "replay SB.litmus a2b2 --model tso"),
    ("replay", 0, "replay SB.litmus a2bb~1 --model tso"),
    ("replay", 0, "replay message.c a2 --model pso"),
    ("replay", 0, "replay threads.cpp a5"),
    ("campaign", 0, "simulate --machine tso --tests 17 --operations 50"),
    ("campaign", 0, "simulate --machine tso --buffer 64 --drain 50 --tests 3 --operations 50"),
    ("campaign", 1, "simulate --machine mesi-tso --bug stale-forward --operations 200"),
    (
        "campaign",
        1,
        "simulate --machine pso --model tso --buffer 64 --drain 50 --tests 100 --keep-going --max-violations 2 -o kept",
    ),
    ("campaign", 1, "simulate --machine godson-t --bug stale-region --profile locks --timestamps sampled=5"),
    ("campaign", 3, "simulate --machine tso --tests 1 --check-time 0s"),
    ("campaign", 3, "simulate --machine tso --time 0s"),
    ("campaign", 0, "stress --tests 3 --operations 50 --threads 2 --timestamps 16 --cores 0"),
    ("campaign", 0, "stress --tests 3 --operations 50 --threads 2 --portable"),
    ("stress-litmus", 0, "stress SB.litmus --tests 1000"),
    ("models-diff", 1, "models diff sc tso"),
    ("models-diff", 0, "models diff tso tso --operations 4"),
    ("models-diff", 3, "models diff rc scope --time 0s"),
];

/// Properties that cannot be had at will: a violation of the machine that runs the tests, 10,000 files that are not there.
const RARE: &[(&str, &str)] = &[("machine", "engine"), ("monitor", "errors_omitted")];

const DEADLOCK_LITMUS: &str = "X86 deadlock
{ x=0; }
 P0             ;
 L:             ;
 MOV EAX,[x]    ;
 CMP EAX,$1     ;
 JNE L          ;
exists (0:EAX=1)
";
const NEVER_LITMUS: &str = "X86 never
\"Hash of its own\"
Hash=0123456789abcdef
{ x=0; y=0; }
 P0          | P1          ;
 MOV [x],$1  | MOV [y],$1  ;
 MOV EAX,[y] | MOV EAX,[x] ;
~exists (0:EAX=0 /\\ 1:EAX=0)
";
/// Two threads of a C program, with what is shared.
fn threads(shared: &str, one: &str, two: &str, end: &str) -> String {
    format!(
        "#include <assert.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdatomic.h>\n{shared}\nstatic void *one(void *arg)\n{{\n    {one}\n    \
         return arg;\n}}\nint main(void)\n{{\n    pthread_t t;\n    pthread_create(&t, 0, one, 0);\n    {two}\n    \
         pthread_join(t, 0);\n    {end}\n    return 0;\n}}\n"
    )
}

/// A trace whose proof needs case splits.
fn cases() -> String {
    let ring: Vec<(u32, u32)> = (0..3).map(|i| (i, (i + 1) % 3)).collect();
    let mut text = Vec::new();
    membar_trace::write_trace(&membar_testkit::figures::implied_orders(3, &ring), &mut text).expect("a trace");
    String::from_utf8(text).expect("UTF-8")
}

/// The directory that the commands run in.
fn files() -> Files {
    let labelled = "0: x := 1 ! a.c:1\n0: y == 0 ! a.c:2\n1: y := 1 ! a.c:7\n1: x == 1 ! a.c:8\ncheck\n";
    let locked = "0: start 1\n0: acq L\n0: x := 1\n0: rel L\n1: acq L\n1: x == 1\n1: rel L\n0: join 1\ncheck\n";
    let mut many = String::new();
    for k in 0..5_100 {
        many += &format!("0: x := {k} ! a:{k}\n0: y == {k} ! b:{k}\n1: y := {} ! c:{k}\n1: x == {k} ! d:{k}\n", k + 1);
    }
    let mutexes = "static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;";
    let both = |one: &str, two: &str| {
        format!(
            "pthread_mutex_lock(&{one}); pthread_mutex_lock(&{two}); pthread_mutex_unlock(&{two}); pthread_mutex_unlock(&{one});"
        )
    };
    let notes = threads(
        "static volatile int x, y;",
        "x = 1; asm volatile(\"cpuid\" : : : \"rax\", \"rbx\", \"rcx\", \"rdx\", \"memory\"); (void)y;",
        "y = 1; int unused;",
        "",
    );
    let user = "name = \"mine\"\n[ppo]\nload-load = \"always\"\nload-store = \"always\"\nstore-load = \"always\"\nstore-store = \"always\"\n";
    let written: Vec<(&str, String)> = vec![
        ("sb.trace", SB.into()),
        ("end.trace", "0: x := 1\nfinal x == 0\ncheck\n".into()),
        (
            "own.trace",
            "0: x := 1\n0: x == 1\n1: x := 2\n1: x == 1\n0: x == 2\norder x: 1 2\n1: x == 2\n0: x == 1\ncheck\n".into(),
        ),
        ("lost.trace", "0: { x == 0; x := 1 }\n1: { x == 0; x := 1 }\n1: x == 1\ncheck\n".into()),
        ("corrupt.trace", "0: x := 1\nfinal x == 3\ncheck\n".into()),
        ("open.trace", "0: x := 1\n0: y == 0\n1: y := 1\n1: x == 1\n".into()),
        ("unwritten.trace", "0: x == 5\ncheck\n".into()),
        ("init.trace", "init x == 3\n0: x := 1\n1: x == 1\n1: x == 3\ncheck\n".into()),
        ("fence.trace", "0: x := 1\n0: sync\n0: y == 0\n1: y := 1\n1: membar #StoreLoad\n1: x == 0\ncheck\n".into()),
        ("order.trace", "0: x := 1\n0: x := 2\norder x: 2 1\ncheck\n".into()),
        ("locks.trace", format!("{BAD}{}", "0: acq L\n0: x := 1\n0: rel L\n1: acq L\n1: x == 1\n1: rel L\ncheck\n")),
        ("times.trace", "0: x := 1 @ 1:2\n1: x == 1 @ 3:4\n2: x == 0 @ 5:6\ncheck\n".into()),
        ("search.trace", cases()),
        ("hard.trace", hard_trace()),
        ("mixed.trace", [FINE, MALFORMED, BAD].concat()),
        ("malformed.trace", MALFORMED.repeat(10_001)),
        ("empty.trace", String::new()),
        ("labelled.trace", labelled.into()),
        ("locked.trace", locked.into()),
        ("many.trace", format!("{many}check\n")),
        ("bad.trace", "0: x := 1\n1: x == 7\ncheck\n".into()),
        ("mine.toml", user.into()),
        ("deadlock.litmus", DEADLOCK_LITMUS.into()),
        ("never.litmus", NEVER_LITMUS.into()),
        ("wrong.litmus", "X86 wrong\n{ x=0; }\n P0 ;\n JUMP x ;\nexists (x=0)\n".into()),
        (
            "alike.c",
            "#include <pthread.h>\n#include <stdatomic.h>\natomic_int n;\nvoid *f(void *p) { n++; return p; }\n\
              int main(void)\n{\n    pthread_t a, b;\n    pthread_create(&a, 0, f, 0);\n    pthread_create(&b, 0, f, 0);\n\
              pthread_join(a, 0);\n    pthread_join(b, 0);\n    return 0;\n}\n"
                .into(),
        ),
        (
            "threads.cpp",
            "#include <atomic>\n#include <thread>\nstd::atomic<int> x;\n\
              int main()\n{\n    int a = 0, b = 0;\n    std::thread s([&] { a = x++; });\n    std::thread t([&] { b = x++; });\n\
              s.join();\n    t.join();\n}\n"
                .into(),
        ),
        (
            "message.c",
            threads(
                "static atomic_int data, flag; static int got;",
                "atomic_store_explicit(&data, 1, memory_order_relaxed); atomic_store_explicit(&flag, 1, memory_order_relaxed);",
                "puts(\"looks\"); if (atomic_load(&flag)) got = atomic_load(&data);",
                "",
            ),
        ),
        (
            "large.c",
            threads(
                "static atomic_int x;",
                "for (int i = 0; i < 9; i++) atomic_fetch_add(&x, 1);",
                "for (int i = 0; i < 9; i++) atomic_fetch_add(&x, 1);",
                "",
            ),
        ),
        (
            "copy.c",
            threads(
                "struct pair { long a, b; }; static struct pair g; static long got;",
                "struct pair v = {1, 1}; g = v;",
                "got = g.b; got += g.a;",
                "",
            ),
        ),
        (
            "allowed.c",
            threads("static volatile int x, y;", "x = 1; (void)y; // membar: allow stale", "y = 1; (void)x;", ""),
        ),
        ("deadlock.c", threads(mutexes, &both("a", "b"), &both("b", "a"), "")),
        (
            "assert.c",
            threads("static volatile int x;", "x = x + 1;", "x = x + 1;", "printf(\"%d\\n\", x); assert(x == 2);"),
        ),
        ("notes.c", notes),
        ("broken.c", "int main(void) { return x; }\n".into()),
    ];
    let copied = [
        ("SB.litmus", "examples/litmus/SB.litmus"),
        ("safe.litmus", "corpus/litmus/c-sb-seq-cst.litmus"),
        ("c-pointers.litmus", "corpus/litmus/c-pointers.litmus"),
        ("x86-wait.litmus", "corpus/litmus/x86-wait.litmus"),
        ("bakery.litmus", "corpus/native/bakery.litmus"),
        ("amo.litmus", "corpus/relaxed/amo-acquire.litmus"),
        ("peterson.c", "examples/programs/peterson.c"),
        ("relaxed.c", "corpus/c11/mp-relaxed.c"),
        ("race.c", "corpus/c11/siblings.c"),
        ("assembly.c", "corpus/c11/assembly.c"),
    ];
    let copied: Vec<(&str, Vec<u8>)> =
        copied.map(|(name, from)| (name, std::fs::read(repository().join(from)).expect("it is there"))).into();
    let written = written.iter().map(|(name, text)| (*name, text.as_bytes()));
    let all: Vec<(&str, &[u8])> = written.chain(copied.iter().map(|(name, bytes)| (*name, bytes.as_slice()))).collect();
    Files::new(&all)
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The output of a command.
struct Document {
    schema: &'static str,
    command: String,
    value: Value,
}

/// Everything that the commands wrote; they run once.
fn documents() -> &'static [Document] {
    static ALL: OnceLock<Vec<Document>> = OnceLock::new();
    ALL.get_or_init(|| {
        let files = files();
        let (mut all, mut surprises) = (Vec::new(), Vec::new());
        for &(schema, code, command) in COMMANDS {
            // Options come before what is for the compiler.
            let (ours, flags) = command.split_once(" -- ").map_or((command, None), |(ours, flags)| (ours, Some(flags)));
            let mut args: Vec<&str> = ours.split(' ').chain(["--format", "json"]).collect();
            if let Some(flags) = flags {
                args.push("--");
                args.extend(flags.split(' '));
            }
            let ran = files.run(&args);
            match serde_json::from_str(&ran.out) {
                Ok(value) if ran.code == code => all.push(Document { schema, command: command.into(), value }),
                _ => surprises.push(format!("{command}: {}\n{:.2000}\n{}", ran.code, ran.out, ran.err)),
            }
        }
        assert!(surprises.is_empty(), "{}", surprises.join("\n"));
        // The files that campaigns have kept.
        for place in ["membar-violations", "kept"] {
            for bundle in std::fs::read_dir(files.path(place)).expect("violations were kept") {
                let bundle = bundle.expect("a directory").path();
                for (file, schema) in [("machine.json", "machine"), ("result.json", "check")] {
                    let path = bundle.join(file);
                    let text = std::fs::read_to_string(&path).expect("it is there");
                    let value = serde_json::from_str(&text).expect("JSON");
                    all.push(Document { schema, command: path.display().to_string(), value });
                }
            }
        }
        all.push(interrupted(&files));
        all.push(failures());
        all.push(progress(&files));
        all.push(merged(&files));
        all
    })
}

/// A plan with findings, a worker that is there and one that is not, and a damaged result.
fn progress(files: &Files) -> Document {
    let line =
        "plan night --shards 6 simulate --machine mesi-tso --bug no-replay --operations 600 --tests 60 --keep-going";
    for line in [line, "work night 1-2 5"] {
        let ran = files.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
    }
    let night = |file: &str| files.path("night").join(file);
    for (shard, minutes) in [(3, 0), (4, 5)] {
        let running = std::fs::File::create(night("running").join(shard.to_string())).expect("it can be made");
        let age = std::time::Duration::from_secs(60 * minutes);
        running.set_modified(std::time::SystemTime::now() - age).expect("it has a time");
    }
    std::fs::write(night("results/5"), "nothing").expect("it can be written");
    let ran = files.run(&["status", "night", "--format", "json"]);
    let value: Value = serde_json::from_str(&ran.out).expect("JSON");
    for full in ["found_in", "running", "silent", "damaged"] {
        assert!(value[full].as_array().is_some_and(|all| !all.is_empty()), "{full}: {value}");
    }
    Document { schema: "status", command: "status night".into(), value }
}

/// Litmus tests on real cores, merged.
fn merged(files: &Files) -> Document {
    files.run(&["plan", "cores", "--shards", "2", "stress", "--tests", "1000", "SB.litmus"]);
    assert_eq!(files.run(&["work", "cores"]).code, 0);
    let ran = files.run(&["merge", "cores", "--format", "json"]);
    let value = serde_json::from_str(&ran.out).expect("JSON");
    Document { schema: "stress-litmus", command: "merge cores".into(), value }
}

/// Programs that fail under a model, as the report's own tests have them.
fn failures() -> Document {
    let path = repository().join("crates/membar-report/src/verify/fixtures/failures.json");
    let value = serde_json::from_slice(&std::fs::read(&path).expect("it is there")).expect("JSON");
    Document { schema: "verify", command: path.display().to_string(), value }
}

/// A check that was interrupted.
fn interrupted(files: &Files) -> Document {
    use std::io::{Read, Write};
    let mut child = common::command()
        .args(["check", "-", "--format", "json", "--time", "none"])
        .current_dir(files.path(""))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(FINE.as_bytes()).expect("it reads");
    let mut out = child.stdout.take().expect("a pipe");
    let mut text = vec![0];
    out.read_exact(&mut text).expect("the first trace is answered");
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("it runs").success());
    out.read_to_end(&mut text).expect("it ends");
    drop(stdin);
    child.wait().expect("it ends");
    let value = serde_json::from_slice(&text).expect("a whole document");
    Document { schema: "check", command: "check, interrupted".into(), value }
}

/// The schemas by name.
fn schemas() -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(repository().join("docs/schema")).expect("there are schemas") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(&path).expect("UTF-8");
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            all.insert(name, serde_json::from_str(&text).expect("JSON"));
        }
    }
    all
}

/// The validators of documents, by name. References between files are relative, so they have a made-up base.
fn validators() -> BTreeMap<String, Validator> {
    let schemas = schemas();
    let mut registry = Registry::new();
    for (name, schema) in &schemas {
        registry = registry.add(format!("file:///{name}.json"), schema).expect("a schema");
    }
    let registry = registry.prepare().expect("references lead somewhere");
    let build = |(name, schema): (&String, &Value)| {
        jsonschema::meta::validate(schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        let options = jsonschema::options().with_registry(&registry).with_base_uri(format!("file:///{name}.json"));
        (name.clone(), options.build(schema).unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    schemas.iter().map(build).collect()
}

/// All names of properties that a schema gives, with those it refers to.
fn properties(schemas: &BTreeMap<String, Value>, name: &str) -> BTreeSet<String> {
    fn walk(
        schemas: &BTreeMap<String, Value>,
        file: &str,
        at: &Value,
        seen: &mut BTreeSet<String>,
        into: &mut BTreeSet<String>,
    ) {
        match at {
            Value::Object(map) => {
                for (key, value) in map {
                    match (key.as_str(), value) {
                        ("properties", Value::Object(properties)) => {
                            into.extend(properties.keys().cloned());
                            properties.values().for_each(|value| walk(schemas, file, value, seen, into));
                        }
                        ("$ref", Value::String(target)) => {
                            let (other, pointer) = target.split_once('#').expect("a place in a file");
                            let other = if other.is_empty() { file } else { other.trim_end_matches(".json") };
                            if seen.insert(format!("{other}#{pointer}")) {
                                let target = schemas[other].pointer(pointer).expect("it leads somewhere");
                                walk(schemas, other, target, seen, into);
                            }
                        }
                        ("$defs", _) => {}
                        _ => walk(schemas, file, value, seen, into),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(schemas, file, item, seen, into)),
            _ => {}
        }
    }
    let mut into = BTreeSet::new();
    walk(schemas, name, &schemas[name], &mut BTreeSet::new(), &mut into);
    into
}

fn keys(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            into.extend(map.keys().cloned());
            map.values().for_each(|value| keys(value, into));
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, into)),
        _ => {}
    }
}

#[test]
fn real_documents_fit() {
    let validators = validators();
    for document in documents() {
        let problems: Vec<String> = validators[document.schema]
            .iter_errors(&document.value)
            .take(5)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{}: {}: {problems:#?}", document.schema, document.command);
    }
}

#[test]
fn real_documents_have_every_property_and_verdict() {
    let schemas = schemas();
    let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut verdicts: BTreeSet<String> = BTreeSet::new();
    for document in documents() {
        keys(&document.value, found.entry(document.schema).or_default());
        let results = document.value["results"].as_array().cloned().unwrap_or_else(|| vec![document.value.clone()]);
        for result in results {
            if let Some(verdict) = result["verdict"].as_str() {
                verdicts.insert(format!("{} {verdict}", document.schema));
            }
        }
    }
    assert_eq!(found.len() + 1, schemas.len(), "each schema but the common one has documents");
    for (name, found) in &found {
        let exempt = |property: &String| RARE.contains(&(name, property));
        let mut missing = properties(&schemas, name);
        missing.retain(|property| !found.contains(property) && !exempt(property));
        assert!(missing.is_empty(), "no document of {name} has {missing:?}");
    }
    for name in ["check", "campaign"] {
        for verdict in ["allowed", "forbidden", "undecided"] {
            assert!(verdicts.contains(&format!("{name} {verdict}")), "{name} {verdict}");
        }
    }
    for (name, all) in [("monitor", 3), ("verify", 5)] {
        assert_eq!(verdicts.iter().filter(|verdict| verdict.starts_with(name)).count(), all, "{verdicts:?}");
    }
}

/// Places in a document, by JSON pointer.
fn places(value: &Value, at: String, into: &mut Vec<String>) {
    into.push(at.clone());
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            places(value, format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), into);
        }),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(k, value)| places(value, format!("{at}/{k}"), into));
        }
        _ => {}
    }
}

#[test]
fn wrong_documents_are_refused() {
    let validators = validators();
    let mut tried = 0;
    for document in documents() {
        let validator = &validators[document.schema];
        let mut all = Vec::new();
        places(&document.value, String::new(), &mut all);
        // Places all over; shorter documents cover everything in the longest ones.
        if all.len() > 10_000 {
            continue;
        }
        let stride = 1 + all.len() / 200;
        for place in all.iter().step_by(stride) {
            // The locations of a litmus test are its own.
            let open = document.schema == "litmus" && place.contains("/states/");
            let mut wrong = document.value.clone();
            match wrong.pointer_mut(place).expect("it is there") {
                Value::Object(map) if !open => {
                    map.insert("unknown".into(), json!(1));
                }
                other => *other = json!([[["wrong"]]]),
            }
            assert!(!validator.is_valid(&wrong), "{}: {}: wrong at {place}", document.schema, document.command);
            tried += 1;
        }
    }
    assert!(tried > 2_000, "{tried}");
    // Missing or contradictory parts.
    let of = |schema: &str, command: &str| {
        let document = documents().iter().find(|d| d.schema == schema && d.command.starts_with(command));
        document.expect("it ran").value.clone()
    };
    let refused = |schema: &str, mut value: Value, place: &str, change: &dyn Fn(&mut Value)| {
        assert!(validators[schema].is_valid(&value));
        change(value.pointer_mut(place).expect("it is there"));
        assert!(!validators[schema].is_valid(&value), "{schema} {place}");
    };
    let sb = of("check", "check sb.trace -v");
    refused("check", sb.clone(), "", &|value| value["schema"] = json!(2));
    refused("check", sb.clone(), "/results/0", &|value| value["verdict"] = json!("forbidden"));
    refused("check", sb.clone(), "/results/0", &|value| value["certified"] = json!(false));
    refused("check", sb, "/results/0", &|value| drop(value.as_object_mut().map(|map| map.remove("line"))));
    refused("verify", of("verify", "verify SB.litmus"), "", &|value| value["violations"] = json!([]));
    refused("verify", of("verify", "verify SB.litmus"), "", &|value| value["verdict"] = json!("safe"));
    refused("verify", failures().value, "/results/0", &|value| value["verdict"] = json!("unsafe"));
    refused("verify", failures().value, "/results/2/violations/0", &|value| value["harm"] = json!("unknown"));
    refused("monitor", of("monitor", "monitor labelled"), "/results/0", &|value| value["complete"] = json!(false));
    refused("models-diff", of("models-diff", "models diff sc"), "/differences/0", &|value| {
        value["status"] = json!("found")
    });
}

#[test]
fn every_property_is_described_and_documented() {
    fn walk(file: &str, at: &Value, into: &mut BTreeSet<String>) {
        match at {
            Value::Object(map) => {
                for (key, value) in map {
                    if let ("properties", Value::Object(properties)) = (key.as_str(), value) {
                        for (name, property) in properties {
                            into.insert(name.clone());
                            // A condition repeats a property to say more about it.
                            let only_const =
                                property.as_object().is_some_and(|map| map.len() == 1 && map.contains_key("const"));
                            let described = property["description"].as_str().is_some_and(|text| !text.is_empty());
                            assert!(described || only_const, "{file}: {name} has no description");
                        }
                    }
                    walk(file, value, into);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(file, item, into)),
            _ => {}
        }
    }
    let mut names = BTreeSet::new();
    for (file, schema) in &schemas() {
        walk(file, schema, &mut names);
    }
    let page = std::fs::read_to_string(repository().join("book/src/reference/json.md")).expect("the page");
    let missing: Vec<&String> = names
        .iter()
        .filter(|name| !page.contains(&format!("`{name}`")) && !page.contains(&format!("\"{name}\"")))
        .collect();
    assert!(missing.is_empty() && names.len() > 100, "reference/json.md does not name {missing:?}");
    for name in schemas().keys() {
        assert!(page.contains(&format!("schema/{name}.json")), "reference/json.md does not link to schema/{name}.json");
    }
}
