//! Workers that are killed, late, of another version or out of disk space: nothing is lost, counted twice or believed.

use super::{Dice, Place, flowing, start, stores, timeless, within};
use crate::common::run_in;
use serde_json::Value;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

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
fn workers_that_do_not_fit_are_refused_with_the_reason() {
    let place = Place::new();
    place.write("hot.toml", include_bytes!("../../../../membar-simulate/profiles/hot.toml"));
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
    let mut changed = include_bytes!("../../../../membar-simulate/profiles/hot.toml").to_vec();
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
