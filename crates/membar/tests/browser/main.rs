//! Reports in a browser. What only this suite catches: a page that does not work, or not by keyboard, or not for everybody.
//!
//! `reports.rs` has the pages, `checks.rs` what has to be so on each of them, `devtools.rs` drives the browser. Without a browser
//! nothing is tested, and a line on standard error says so; with `MEMBAR_REQUIRE_BROWSER=1` that is a failure.
//!
//! `cargo test -p membar --test browser -- --ignored` writes pictures of every report to look at.
#![allow(missing_docs)]

mod axe;
mod checks;
#[path = "../common/mod.rs"]
mod common;
mod devtools;
mod reports;

use checks::{CHECKS, Check};
use common::Files;
use devtools::{Browser, Outcome, Tab};
use reports::{Report, reports};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// Where pictures and what was downloaded are kept.
const KEPT: &str = env!("CARGO_TARGET_TMPDIR");

/// A browser, if there is one.
fn browser() -> Option<Browser> {
    match devtools::installed() {
        Some(program) => Some(Browser::start(program).unwrap_or_else(|error| panic!("{program} does not start: {error}"))),
        None => {
            not_tested("the HTML reports, because there is no Chromium; install it with `apt-get install chromium`");
            None
        }
    }
}

/// Says it past the harness, which keeps what tests print to itself; or fails, where everything has to be tested.
fn not_tested(what: &str) {
    use std::io::Write;
    assert!(std::env::var_os("MEMBAR_REQUIRE_BROWSER").is_none_or(|value| value != "1"), "not tested: {what}");
    let _ = writeln!(std::io::stderr(), "NOT TESTED: {what}");
}

/// A report and the page that the command wrote for it.
struct Written {
    report: Report,
    files: Files,
}

impl Written {
    fn new(report: Report) -> Written {
        let bytes: Vec<(&str, &[u8])> = report.files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        let files = Files::new(&bytes);
        let ran = files.run(&[report.args, &["--html", "page.html"]].concat());
        assert_eq!(ran.code, report.code, "{}: {}{}", report.name, ran.out, ran.err);
        let bytes = std::fs::metadata(files.path("page.html")).map_or(0, |page| page.len());
        assert!((1..=5_000_000).contains(&bytes), "{}: {bytes} bytes", report.name);
        Written { report, files }
    }

    fn url(&self) -> String {
        url(&self.files.path("page.html"))
    }
}

fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// All of them, on both cores.
fn written() -> Vec<Written> {
    let left = Mutex::new(reports().into_iter().enumerate().collect::<Vec<_>>());
    let done = Mutex::new(BTreeMap::new());
    let take = || left.lock().expect("no panic").pop();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((at, report)) = take() {
                    let report = Written::new(report);
                    done.lock().expect("no panic").insert(at, report);
                }
            });
        }
    });
    done.into_inner().expect("no panic").into_values().collect()
}

/// A check of a page, if the page has what it needs: `None` otherwise.
fn run(tab: &mut Tab, check: &Check, report: &Report, url: &str) -> Option<Outcome> {
    let outcome = (|| {
        tab.open(url)?;
        tab.look(1280, "light")?;
        if tab.eval(&format!("!one({})", serde_json::json!(check.needs)))? == true {
            return Ok(None);
        }
        (check.run)(tab, report)?;
        match &tab.problems()?[..] {
            [] => Ok(Some(())),
            problems => Err(problems.join("; ")),
        }
    })();
    outcome.transpose()
}

#[test]
fn every_report_passes_every_check_and_every_check_can_fail() {
    let Some(mut browser) = browser() else { return };
    let written = written();
    let axe = axe::check().map_err(|why| not_tested(&format!("whether the HTML reports are accessible: {why}"))).ok();
    let checks: Vec<&Check> = CHECKS.iter().chain(&axe).collect();
    let mut failures = Vec::new();
    let mut times = vec![0; checks.len()];
    for Written { report, .. } in &written {
        assert!(report.views.starts_with("verdict"), "{}", report.name);
    }
    for page in &written {
        let mut tab = browser.tab().expect("a tab");
        for (check, times) in checks.iter().zip(&mut times) {
            let begin = std::time::Instant::now();
            let outcome = run(&mut tab, check, &page.report, &page.url());
            eprintln!("TIME {} {} {:?}", page.report.name, check.name, begin.elapsed());
            match outcome {
                None => {}
                Some(Ok(())) => *times += 1,
                Some(Err(error)) => {
                    eprintln!("{}, {}: {error}", page.report.name, check.name);
                    failures.push(format!("{}, {}: {error}", page.report.name, check.name));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
    for (check, times) in checks.iter().zip(times) {
        assert!(times > 0, "{} was never checked", check.name);
    }
    every_check_can_fail(&mut browser, &checks, &written);
}

/// Each check fails on a page that is broken for it.
fn every_check_can_fail(browser: &mut Browser, checks: &[&Check], written: &[Written]) {
    // It has every view.
    let page = written.iter().find(|page| page.report.name == "unsafe-c").expect("the report");
    let text = std::fs::read_to_string(page.files.path("page.html")).expect("a page");
    let mut tab = browser.tab().expect("a tab");
    for check in checks {
        let broken = page.files.path("broken.html");
        std::fs::write(&broken, text.replace("</body>", &format!("{}</body>", check.sabotage))).expect("a file");
        let outcome = run(&mut tab, check, &page.report, &url(&broken));
        assert!(matches!(outcome, Some(Err(_))), "{}: passes on a page that is broken", check.name);
    }
    drop(tab);
    for (what, broken) in [
        ("console", "<script nonce=membar>console.debug('x')</script>"),
        ("exception", "<script nonce=membar>null.x</script>"),
        ("log", "<script>1</script>"),
        ("log", "<img src='https://example.invalid/x.png'>"),
        ("request", "<meta http-equiv=refresh content='0; url=page.html'>"),
        ("dialog", "<script nonce=membar>setTimeout(() => alert(1))</script>"),
    ] {
        let file = page.files.path("broken.html");
        std::fs::write(&file, text.replace("</body>", &format!("{broken}</body>"))).expect("a file");
        let mut tab = browser.tab().expect("a tab");
        // A dialog stops the page, so that it may never be complete.
        let _ = tab.call("Page.navigate", serde_json::json!({ "url": url(&file) }));
        let seen = tab.wait_for_problem(what);
        assert!(seen, "{broken} is not seen");
    }
}

/// Pictures to look at: every report on a phone and on a large screen, light and dark, and on paper.
#[test]
#[ignore = "writes pictures to look at"]
fn screenshots() {
    let Some(mut browser) = browser() else { return };
    let directory = Path::new(KEPT).join("screenshots");
    std::fs::create_dir_all(&directory).expect("a directory");
    for page in &written() {
        let mut tab = browser.tab().expect("a tab");
        for (width, theme) in [(400, "light"), (400, "dark"), (1600, "light"), (1600, "dark")] {
            tab.open(&page.url()).expect("it opens");
            tab.look(width, theme).expect("it is drawn");
            let picture = tab.picture(width).expect("a picture");
            let file = directory.join(format!("{}-{width}-{theme}.png", page.report.name));
            std::fs::write(file, picture).expect("a file");
        }
    }
    println!("{}", directory.display());
}
