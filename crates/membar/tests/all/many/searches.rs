//! Searches in shards: each class is explored once, and what is found is reported as by one machine.

use super::{PADDED, Place, flowing, stores, timeless, within};
use crate::common::Ran;
use serde_json::Value;

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

#[test]
fn findings_of_parts_are_those_of_one_machine_in_every_format() {
    let place = Place::new();
    place.write("padded.litmus", PADDED);
    place.write("stores.litmus", stores(2, 6).as_bytes());
    place.write("dekker.c", include_bytes!("../../../../../examples/programs/dekker.c"));
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
    place.write("treiber.c", include_bytes!("../../../../../benches/programs/treiber.c"));
    place.write("dekker.c", include_bytes!("../../../../../examples/programs/dekker.c"));
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

/// A part of a search may find out something about the program that all of it has to rest on.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_plan_that_knew_too_little_is_made_again_with_what_was_learnt() {
    let place = Place::new();
    place.write("tree.c", include_bytes!("../../../../../corpus/programs/thread-tree.c"));
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
    place.write("assume.c", include_bytes!("../../../../../corpus/programs/assume.c"));
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
