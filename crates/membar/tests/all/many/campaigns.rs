//! Campaigns and litmus tests in shards: the counts and violations of one machine, and its end at the first.

use super::{BROKEN, Place, start, timeless, within};
use serde_json::Value;
use std::path::Path;
use std::process::Child;

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
