//! Programs that fail under a model, or do not, from results that were made by hand: what people and tools are told.

use super::*;
use crate::kinds::AllowedBy;
use crate::style::Style;
use std::path::Path;

const DOCUMENT: &str = include_str!("fixtures/failures.json");

/// Peterson's lock that fails under tso, a message that fails under c11, and the lock if nothing failed.
pub(crate) fn reports() -> Vec<VerifyReport> {
    let document: Value = serde_json::from_str(DOCUMENT).expect("JSON");
    let reports = document["results"].as_array().expect("a list").iter();
    reports.map(|report| serde_json::from_value(report.clone()).expect("a report")).collect()
}

/// The text of a fixture's source.
pub(crate) fn source(file: &str) -> Option<String> {
    match file {
        "lock.c" => Some(include_str!("fixtures/lock.c").into()),
        "message.c" => Some(include_str!("fixtures/message.c").into()),
        _ => None,
    }
}

/// A program that is not robust, before its executions under the model are explored.
fn open() -> VerifyReport {
    let mut report = reports().remove(0);
    (report.verdict, report.property) = (ProgramVerdict::Unsafe, Property::Robust);
    (report.weak, report.failures) = (None, Vec::new());
    report.violations.iter_mut().for_each(|violation| violation.harm = Harm::Unknown);
    report
}

fn explored(executions: u64, not_sc: u64, complete: bool) -> WeakRef {
    WeakRef { executions, not_sc, complete, seconds: 0.01, ..WeakRef::default() }
}

fn text(report: &VerifyReport) -> String {
    let mut text = Vec::new();
    report.text(Style::default(), 1, &mut text).expect("memory");
    String::from_utf8(text).expect("UTF-8")
}

#[test]
fn a_document_is_read_and_written_again() {
    let mut json = Vec::new();
    verify_json(&reports(), &[], &[], &mut json).expect("memory");
    let (before, after): (Value, Value) =
        (serde_json::from_str(DOCUMENT).expect("JSON"), serde_json::from_slice(&json).expect("JSON"));
    assert_eq!(before, after);
}

#[test]
fn a_failure_in_words() {
    insta::assert_snapshot!(reports().iter().map(text).collect::<Vec<_>>().join("\n--------\n\n"));
}

#[test]
fn the_reason_is_that_of_the_execution_which_fails() {
    let report = reports().remove(0);
    let failure = &report.failures[0];
    let mut violation = report.violations[0].clone();
    let told = failure.because(&violation);
    // Found with the threads in each other's place.
    let ViolationRef { access, store, .. } = &mut violation;
    std::mem::swap(&mut access.thread, &mut store.thread);
    std::mem::swap(&mut access.thread_name, &mut store.thread_name);
    access.address = "wants[1]".into();
    assert_ne!(violation.sentence(), told);
    assert_eq!(failure.because(&violation), told);
}

#[test]
fn verdicts_by_question() {
    let failing = || Outcome::Fails(reports().remove(0).failures);
    let unknown = || Outcome::Unknown { why: "the time limit was reached (--time)".into() };
    let result = |asked, strict, weak: WeakRef, outcome| {
        let mut report = open();
        report.settle(asked, strict, Some(Consequence { weak, outcome, harms: Vec::new(), asked: None }));
        (report.verdict, report.property, text(&report).lines().next().unwrap_or_default().to_owned())
    };
    use ProgramVerdict::{Fails, Safe, Undecided, Unsafe};
    use Question::{Auto, Errors, Robust};
    let rows = [
        (Auto, false, explored(9, 3, false), failing(), Fails, Property::Errors),
        (Robust, false, explored(9, 3, false), failing(), Fails, Property::Robust),
        (Auto, false, explored(1204, 12, true), Outcome::NothingFails, Safe, Property::Errors),
        (Robust, false, explored(1204, 12, true), Outcome::NothingFails, Unsafe, Property::Robust),
        (Auto, false, explored(1204, 0, true), Outcome::NothingFails, Safe, Property::Robust),
        (Robust, false, explored(1204, 0, true), Outcome::NothingFails, Safe, Property::Robust),
        (Robust, true, explored(1204, 0, true), Outcome::NothingFails, Unsafe, Property::Robust),
        (Errors, true, explored(1204, 0, true), Outcome::NothingFails, Safe, Property::Errors),
        (Errors, false, explored(512, 4, false), unknown(), Undecided, Property::Errors),
        (Robust, false, explored(512, 4, false), unknown(), Unsafe, Property::Robust),
        // To say that nothing fails, everything has to have been seen.
        (Auto, false, explored(512, 4, false), Outcome::NothingFails, Undecided, Property::Errors),
        (Auto, false, explored(512, 4, false), Outcome::Fails(Vec::new()), Undecided, Property::Errors),
    ];
    let mut lines = String::new();
    for (asked, strict, weak, outcome, verdict, property) in rows {
        let shown = format!("{asked:?}, strict {strict}, {weak:?}");
        let found = result(asked, strict, weak, outcome);
        assert_eq!((found.0, found.1), (verdict, property), "{shown}");
        lines += &format!("{}\n", found.2);
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn the_execution_that_fails_is_not_said_to_be_sc() {
    let mut report = reports().remove(0);
    report.weak = Some(explored(1, 0, false));
    assert!(
        report.explored().ends_with("; 1 execution of tso before one that fails (0.01 s)"),
        "{}",
        report.explored()
    );
    report.weak = Some(explored(9, 3, false));
    assert!(report.explored().ends_with("; 9 executions of tso, 3 of them not SC (0.01 s)"), "{}", report.explored());
    (report.weak, report.failures) = (Some(explored(2, 0, true)), Vec::new());
    let text = report.explored();
    assert!(text.ends_with("; all 2 executions of tso, none of them not SC (0.01 s)"), "{text}");
}

#[test]
fn without_exploration_the_answer_is_about_robustness() {
    let mut report = open();
    let before = text(&report);
    report.settle(Question::Auto, false, None);
    assert_eq!((report.verdict, report.property), (ProgramVerdict::Unsafe, Property::Robust));
    assert_eq!(text(&report), before);
    report.settle(Question::Errors, false, None);
    assert_eq!((report.verdict, report.property), (ProgramVerdict::Undecided, Property::Errors));
}

#[test]
fn an_error_under_sequential_consistency_is_what_goes_wrong() {
    let with_error = || {
        let mut report = open();
        report.errors.push(reports().remove(0).failures.remove(0).error);
        report
    };
    for (asked, checks, verdict, property) in [
        (Question::Auto, true, ProgramVerdict::Error, Property::Errors),
        (Question::Auto, false, ProgramVerdict::Unsafe, Property::Robust),
        (Question::Errors, false, ProgramVerdict::Error, Property::Errors),
        (Question::Robust, true, ProgramVerdict::Unsafe, Property::Robust),
    ] {
        let mut report = with_error();
        if !checks {
            report.checks.clear();
        }
        report.settle(asked, false, None);
        assert_eq!((report.verdict, report.property), (verdict, property));
        assert_eq!(text(&report).starts_with("ERROR"), verdict == ProgramVerdict::Error, "{}", text(&report));
    }
}

#[test]
fn a_program_without_checks_is_asked_about_robustness() {
    let mut report = open();
    report.checks.clear();
    let consequence =
        Consequence { weak: explored(7, 2, true), outcome: Outcome::NothingFails, harms: Vec::new(), asked: None };
    report.settle(Question::Auto, false, Some(consequence));
    assert_eq!((report.verdict, report.property), (ProgramVerdict::Unsafe, Property::Robust));
    assert!(report.violations.iter().all(|violation| violation.harm == Harm::None));
}

#[test]
fn what_cut_both_searches_short_is_said_once() {
    for (before, expected) in [
        (None, "interrupted"),
        (Some("interrupted"), "interrupted"),
        (Some("interrupted; 7 branches left"), "interrupted; 7 branches left"),
        (Some("interrupted early"), "interrupted; interrupted early"),
    ] {
        let mut report = open();
        report.incomplete = before.map(str::to_owned);
        let outcome = Outcome::Unknown { why: "interrupted".into() };
        let consequence = Consequence { weak: explored(7, 2, false), outcome, harms: Vec::new(), asked: None };
        report.settle(Question::Errors, false, Some(consequence));
        assert_eq!(report.incomplete.as_deref(), Some(expected));
    }
}

#[test]
fn code_that_was_not_seen_is_never_safe() {
    for kind in [NoteKind::Opaque, NoteKind::Assembly, NoteKind::Memory, NoteKind::Parts] {
        let mut report = open();
        report.notes.push(NoteRef { kind, message: "something".into(), file: None, line: None });
        let consequence =
            Consequence { weak: explored(7, 2, true), outcome: Outcome::NothingFails, harms: Vec::new(), asked: None };
        report.settle(Question::Errors, false, Some(consequence));
        assert_eq!(report.verdict, ProgramVerdict::Undecided, "{kind}");
        assert!(!report.complete && report.incomplete.is_some_and(|why| why.contains("something")), "{kind}");
    }
}

#[test]
fn an_allowed_violation_does_not_allow_its_failure() {
    let mut report = open();
    let allowed = AllowRef { file: "lock.c".into(), line: 14, by: AllowedBy::Flag };
    report.violations.iter_mut().for_each(|violation| violation.allowed = vec![allowed.clone()]);
    report.verdict = ProgramVerdict::Safe;
    assert_eq!(report.counted(), 0);
    let outcome = Outcome::Fails(reports().remove(0).failures);
    let consequence = Consequence { weak: explored(7, 2, true), outcome, harms: Vec::new(), asked: None };
    report.settle(Question::Auto, false, Some(consequence));
    assert_eq!(report.verdict, ProgramVerdict::Fails);
    assert_eq!(report.violations[0].harm, Harm::Failures(vec![0]));
}

#[test]
fn what_is_not_needed_is_noted_unless_the_search_did_not_end() {
    let used = AllowRef { file: "lock.c".into(), line: 14, by: AllowedBy::Comment };
    let unused = AllowRef { line: 40, ..used.clone() };
    let mut reports = [open()];
    reports[0].violations[0].allowed = vec![used.clone()];
    let allows = [used, unused];
    let mut cut = reports.clone();
    (cut[0].complete, cut[0].incomplete) = (false, Some("the time limit was reached (--time)".into()));
    VerifyReport::note_unneeded(&mut cut, &allows);
    assert_eq!(cut[0].notes, []);
    VerifyReport::note_unneeded(&mut reports, &allows);
    let notes: Vec<_> = reports[0].notes.iter().map(|note| (note.kind, note.line)).collect();
    assert_eq!(notes, [(NoteKind::Allow, Some(40))]);
}

#[test]
fn findings_for_code_review() {
    let reports = reports();
    let run = SarifRun {
        reports: &reports,
        errors: &[],
        exit_code: 1,
        interrupted: false,
        command: "membar verify lock.c".into(),
        version: "0",
        directory: Path::new("/src"),
        root: Path::new("/src"),
        source: &source,
    };
    let mut json = Vec::new();
    run.write(&mut json).expect("memory");
    let document: Value = serde_json::from_slice(&json).expect("JSON");
    let run = &document["runs"][0];
    let rows: Vec<String> = run["results"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|result| {
            let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().expect("a rule") as usize]["id"];
            assert_eq!(rule, &result["ruleId"]);
            let text = |key: &str| result[key].as_str().unwrap_or("-").to_owned();
            let suppressed = result["suppressions"][0]["kind"].as_str().unwrap_or("-");
            let harm = &result["properties"]["harm"];
            let flows = result["codeFlows"][0]["threadFlows"].as_array().map_or(0, Vec::len);
            let line = &result["locations"][0]["physicalLocation"]["region"]["startLine"];
            format!(
                "{} line {line}: {}, {}, {suppressed}, {harm}, {flows} threads",
                text("ruleId"),
                text("kind"),
                text("level")
            )
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn the_first_line_of_a_fault_is_its_heading() {
    let message =
        "P1 cannot continue: assertion `x == 1' failed\n  at check, a.c:7\n  at main, a.c:\x1b[2J12".to_owned();
    let error = ErrorRef {
        other: Vec::new(),
        kind: ErrorKind::Fault,
        message,
        stack: Vec::new(),
        output: None,
        schedule: "ab".into(),
        executions: 1,
    };
    let report = VerifyReport {
        program: "a.c".into(),
        main: "a.c".into(),
        model: ProgramModel::Tso,
        races: false,
        verdict: ProgramVerdict::Error,
        complete: true,
        strategy: "dpor".into(),
        monitor: MonitorName::Class,
        unit: Unit::Class,
        interleavings: 1,
        blocked: 0,
        symmetric: false,
        cut: 0,
        events: 2,
        seconds: 0.0,
        incomplete: None,
        size: Vec::new(),
        advice: None,
        compiler: None,
        notes: Vec::new(),
        statistics: None,
        command: ReplayCommand::of("a.c"),
        plan: None,
        unfixed: None,
        needs: Vec::new(),
        violations: Vec::new(),
        errors: vec![error],
        property: Property::Robust,
        checks: Vec::new(),
        condition: None,
        weak: None,
        failures: Vec::new(),
    };
    let (mut text, mut json) = (Vec::new(), Vec::new());
    report.text(Style::default(), 5, &mut text).unwrap();
    verify_json(&[report], &[], &[], &mut json).unwrap();
    let expected = "\
ERROR  a.c: P1 cannot continue: assertion `x == 1' failed
  Seen: 1 class (dpor, 0.00 s)

fault: P1 cannot continue: assertion `x == 1' failed (1 execution)
      at check, a.c:7
      at main, a.c:\u{FFFD}[2J12
  See it: membar replay a.c ab
";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["results"][0]["errors"][0]["message"].as_str().map(|message| message.lines().count()), Some(3));
}
