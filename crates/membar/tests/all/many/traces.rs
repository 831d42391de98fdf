//! Traces in shards: cuts within files and between them change no answer.

use super::{Place, timeless, within};
use crate::common::{BAD, FINE, MALFORMED, SB};

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
