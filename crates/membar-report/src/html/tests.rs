use super::*;
use crate::kinds::ShownVerdict;
use crate::{Blame, Decided, Report};
use membar_core::{
    Algorithm, Lemma, Model, OpId, Ppo, Proof, ProofStep, Rule, Source, Trace, Verdict, VerdictKind, When, Witness,
};

fn trace(text: &str) -> Trace {
    membar_trace::parse("t", text.as_bytes()).unwrap().remove(0)
}

fn sc() -> Model {
    Model::new("sc", Ppo::new(When::ALWAYS, When::ALWAYS, When::ALWAYS, When::ALWAYS))
}

fn step(from: u32, to: u32, rule: Rule, premises: &[u32]) -> ProofStep {
    let event = |op: u32| if op == 9 { membar_core::Event::INIT } else { OpId(op).into() };
    ProofStep { from: event(from), to: event(to), rule, premises: premises.to_vec() }
}

/// Store buffering with its proof, as the checker finds it.
fn store_buffering() -> (Trace, Proof) {
    let trace = trace("0: x := 1\n0: y == 0\n1: y := 1\n1: x == 0\ncheck\n");
    let steps = vec![
        step(9, 0, Rule::Init, &[]),
        step(9, 2, Rule::Init, &[]),
        step(0, 1, Rule::StoreLoad, &[]),
        step(1, 2, Rule::AfterRead, &[1]),
        step(2, 3, Rule::StoreLoad, &[]),
        step(3, 0, Rule::AfterRead, &[0]),
    ];
    (trace, Proof::Cycle(vec![Lemma { assume: Vec::new(), steps, cycle: vec![2, 3, 4, 5] }]))
}

fn store_buffering_case(file: &str) -> Case {
    let (trace, proof) = store_buffering();
    let (model, verdict) = (sc(), Verdict::Forbidden(proof));
    let blame = Blame { read: OpId(1), legal: vec![(1, Source::op(OpId(2)))], complete: true };
    let decided = Decided {
        algorithm: Algorithm::Conflict,
        certified: true,
        blame: Some(blame),
        ..Decided::new(file, 0, &trace, &model, &verdict)
    };
    let answer = |name: &str, verdict| ModelVerdict { name: name.into(), title: String::new(), verdict };
    let aside = PageContext {
        models: vec![
            answer("sc", VerdictKind::Forbidden),
            answer("tso", VerdictKind::Allowed),
            answer("pso", VerdictKind::Allowed),
        ],
        prefix: Some(Prefix {
            ops: (0..4).map(OpId).collect(),
            steps: vec![(false, OpId(2)), (false, OpId(3)), (false, OpId(0))],
            stuck: vec![(OpId(1), Some(1))],
            longest: true,
        }),
        model_arg: "sc".into(),
        ..PageContext::default()
    };
    case(&decided, &Report::new(&decided), &aside)
}

fn page_of(name: &str, case: Case) -> Page {
    let made = Made { command: "membar check".into(), version: "membar".into(), host: "a machine".into() };
    let mut pages = Pages::new(made);
    let (model, verdict) = (case.model.clone(), case.verdict);
    let row = Row { name: name.into(), subject: name.into(), model, verdict, ..Row::default() };
    pages.add(row, Some(case));
    pages.finish()
}

fn written(page: &Page) -> String {
    let mut out = Vec::new();
    write(page, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_data_of_store_buffering() {
    insta::assert_json_snapshot!(store_buffering_case("sb.trace"));
}

#[test]
fn the_data_of_an_allowed_trace() {
    let trace = trace("0: x := 1 @ 5:9\n0: y == 0\n1: y := 1\n1: x == 0\ncheck\n");
    let mut tso = sc();
    tso.name = "tso".into();
    let verdict = Verdict::Allowed(Witness { order: [1, 3, 0, 2].map(OpId).to_vec() });
    let found = Decided::new("sb.trace", 0, &trace, &tso, &verdict);
    let decided = Decided { certified: true, algorithm: Algorithm::Too, ..found };
    insta::assert_json_snapshot!(case(&decided, &Report::new(&decided), &PageContext::default()));
}

#[test]
fn an_unwritten_value_is_explained_without_a_cycle() {
    let trace = trace("0: x := 1\n1: x == 7\ncheck\n");
    let (model, verdict) = (sc(), Verdict::Forbidden(Proof::Unwritten(OpId(1))));
    let decided = Decided::new("t", 0, &trace, &model, &verdict);
    let case = case(&decided, &Report::new(&decided), &PageContext::default());
    assert!(case.lemmas.is_empty() && case.shape.is_none() && case.no_machine.is_some());
    let read = case.read.unwrap();
    assert_eq!((read.values[0].value.as_str(), read.values[0].what), ("7", "returned"));
    assert!(case.graph.nodes[read.node].wrong.is_some());
}

/// All text written by users is data in the page: the only elements are our own.
#[test]
fn nothing_that_a_user_wrote_is_markup() {
    let evil = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>&amp;\u{2028}\u{2029}'\"";
    let mut case = store_buffering_case(evil);
    case.graph.nodes[0].text = evil.into();
    case.sources.push(super::Source { file: evil.into(), lines: vec![(1, evil.into())], ..super::Source::default() });
    let page = page_of(evil, case);
    let text = written(&page);
    let ours = written(&page_of("plain", store_buffering_case("plain")));
    for tag in ["<script", "</script", "<img", "<!--", "<p", "&amp;amp;"] {
        let (here, there) = (text.matches(tag).count(), ours.matches(tag).count());
        assert!(here == there || tag == "&amp;amp;", "{tag}: {here}, not {there}");
    }
    assert!(!text.contains(['\u{2028}', '\u{2029}']));
    // And it is all there: the data comes back as it was.
    let start = text.find("nonce=\"membar\">").unwrap() + "nonce=\"membar\">".len();
    let data = &text[start..start + text[start..].find("</script>").unwrap()];
    let back: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(back, serde_json::to_value(&page).unwrap());
    assert_eq!(back["cases"][0]["graph"]["nodes"][0]["text"], evil);
}

#[test]
fn a_page_asks_for_nothing_from_anywhere() {
    let text = written(&page_of("sb", store_buffering_case("sb.trace")));
    for address in ["http://", "https://", "url(", "@import", "src=\"", "fetch(", "XMLHttpRequest", "innerHTML"] {
        let known = text.replace("url(#", "").matches(address).count();
        let allowed = usize::from(address == "http://"); // the name of the SVG namespace, which is not fetched
        assert!(known <= allowed, "{address}: {known}");
    }
    assert!(text.contains("default-src 'none'"));
}

/// Five megabytes hold, however much there is to say.
#[test]
fn a_page_is_never_too_large() {
    let made = Made::default();
    let mut pages = Pages::new(made);
    let mut case = store_buffering_case("sb.trace");
    case.copies.push(Copy { name: "Trace", about: String::new(), text: "<".repeat(100_000) });
    for i in 0..20_000 {
        let row =
            Row { name: format!("trace {i} {}", "&".repeat(40)), verdict: ShownVerdict::Forbidden, ..Row::default() };
        pages.add(row, (i < 100).then(|| case.clone()));
    }
    let page = pages.finish();
    assert!(page.cases.len() < 100 && !page.cases.is_empty(), "some of them fit");
    assert_eq!(page.rows.len() as u64 + page.rows_omitted, 20_000);
    assert!(page.rows.iter().filter_map(|row| row.case).count() == page.cases.len());
    let bytes = written(&page).len();
    assert!(bytes <= MOST_BYTES, "{bytes}");
}

/// A long trace is drawn where it matters, and the page says what is not drawn.
#[test]
fn long_traces_are_windowed() {
    let mut text = String::new();
    for i in 1..=50_000u32 {
        text.push_str(&format!("{}: M[{}] := {i}\n", i % 4, i % 50));
    }
    text.push_str("2: M[7] == 999999\ncheck\n");
    let trace = trace(&text);
    let (model, verdict) = (sc(), Verdict::Forbidden(Proof::Unwritten(OpId(50_000))));
    let decided = Decided::new("t", 0, &trace, &model, &verdict);
    let case = case(&decided, &Report::new(&decided), &PageContext::default());
    assert!(case.graph.nodes.len() <= 400, "{}", case.graph.nodes.len());
    let drawn: i64 = case.graph.original.iter().flatten().filter(|&&item| item >= 0).count() as i64;
    let hidden: i64 = case.graph.original.iter().flatten().filter(|&&item| item < 0).sum();
    assert_eq!(drawn - hidden, 50_001);
    assert!(case.notes.iter().any(|note| note.contains("50001 operations")));
    assert!(serde_json::to_vec(&case).unwrap().len() < 300_000);
}

/// A timeline in a few lines: lanes, operations with the steps that they take, and memory.
fn drawn(case: &Case) -> String {
    let timeline = case.timeline.as_ref().expect("a timeline");
    let name = |thread: u32| &case.graph.threads[thread as usize];
    let mut text = format!("{}\n", case.headline.join(" | "));
    for lane in &timeline.lanes {
        text += &format!("{}:", name(*lane));
        for mark in timeline.marks.iter().filter(|mark| case.graph.nodes[mark.node].thread == *lane) {
            let node = &case.graph.nodes[mark.node];
            let until = if mark.until > mark.step { format!("-{}", mark.until) } else { String::new() };
            let says = if mark.says.is_empty() { String::new() } else { format!(" ({})", mark.says) };
            text += &format!("  {}{until} {}{says}", mark.step, node.effect);
        }
        text.push('\n');
    }
    for track in &timeline.memory {
        text += &format!("{}: {:?}\n", track.name, track.values);
    }
    let machine = case.machine.as_ref().expect("a machine");
    for view in machine.views.last().into_iter().flatten() {
        text += &format!("{} may read {:?}\n", name(view.thread), view.values);
    }
    let end = timeline.end.as_ref().map_or("", |end| &end.words);
    text + &format!("wrong at {:?}, end: {end}\n", machine.wrong.as_ref().map(|wrong| wrong.step))
}

#[test]
fn failures_come_first_and_are_drawn_in_time() {
    let mut text = String::new();
    for report in crate::verify::tests::reports() {
        let cases = cases(&report, "membar verify", &crate::verify::tests::source);
        let rows: Vec<String> = cases.iter().map(|(row, _)| format!("{} {}", row.verdict, row.name)).collect();
        text += &format!("{}\n\n", rows.join(", "));
        for (_, case) in cases.iter().filter(|(_, case)| case.timeline.is_some()) {
            // Every operation that is mentioned is there.
            let nodes = case.graph.nodes.len();
            let machine = case.machine.as_ref().expect("a machine");
            assert!(machine.steps.iter().all(|step| step.node < nodes));
            text += &format!("{}\n", drawn(case));
        }
    }
    insta::assert_snapshot!(text);
}
