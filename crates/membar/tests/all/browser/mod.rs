//! Reports in a browser. Catches what no other test does: a page that does not work, or not by keyboard, or not for everybody.
//!
//! `reports.rs` has the pages, `checks.rs` what has to be so on each of them, `devtools.rs` drives the browser. All of it needs
//! Chromium, so it runs where it is asked for: `cargo test -p membar --test all browser:: -- --ignored`. Accessibility is checked by axe-core,
//! whose script `MEMBAR_AXE` names; `screenshots` writes pictures of every report to look at.
#![allow(missing_docs)]

mod axe;
mod checks;
use crate::common;
mod devtools;
mod reports;

use checks::{CHECKS, Check};
use common::Files;
use devtools::{Browser, Outcome, Tab};
use reports::{Report, reports};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// Where pictures are kept.
const KEPT: &str = env!("CARGO_TARGET_TMPDIR");

fn browser() -> Browser {
    let program = devtools::installed().expect("Chromium (`apt-get install chromium`)");
    Browser::start(program).unwrap_or_else(|error| panic!("{program} does not start: {error}"))
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
        let flag = if report.args[0] == "report" { "-o" } else { "--html" };
        let ran = files.run(&[report.args, &[flag, "page.html"]].concat());
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

/// Does something with each of many in a tab, in two tabs at the same time.
fn each<T: Send, R: Send>(browser: &Browser, all: Vec<T>, work: impl Fn(&mut Tab, T) -> R + Sync) -> Vec<R> {
    let left = Mutex::new(all.into_iter().enumerate());
    let take = || left.lock().expect("no panic").next();
    let worker = || {
        let mut tab = browser.tab().expect("a tab");
        let mut done = Vec::new();
        while let Some((at, one)) = take() {
            done.push((at, work(&mut tab, one)));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let other = scope.spawn(worker);
        let mut done = worker();
        done.extend(other.join().expect("no panic"));
        done
    });
    done.sort_by_key(|&(at, _)| at);
    done.into_iter().map(|(_, one)| one).collect()
}

/// The checks that a page has what they need for.
fn applicable<'c>(tab: &mut Tab, checks: &[&'c Check], url: &str) -> Outcome<Vec<Option<&'c Check>>> {
    tab.open(url)?;
    let has = |check: &&'c Check| {
        let has = tab.eval(&format!("!!one({})", serde_json::json!(check.needs)))? == true;
        Ok(has.then_some(*check))
    };
    checks.iter().map(has).collect()
}

/// A check of a page that it applies to.
fn run(tab: &mut Tab, check: &Check, report: &Report, url: &str) -> Outcome {
    // Leftovers of an earlier check are not this one's fault.
    tab.problems();
    tab.load(url)?;
    if tab.eval("localStorage.length > 0")? == true {
        tab.eval("localStorage.clear()")?;
        tab.load(url)?;
    }
    tab.look(1280, "light")?;
    (check.run)(tab, report)?;
    // Everything before this answer was heard before it.
    tab.settle()?;
    match &tab.problems()[..] {
        [] => Ok(()),
        problems => Err(problems.join("; ")),
    }
}

#[test]
#[ignore = "needs Chromium"]
fn every_report_passes_every_check_and_every_check_can_fail() {
    pass_and_can_fail(&CHECKS.iter().collect::<Vec<_>>());
}

#[test]
#[ignore = "needs Chromium, and axe-core in MEMBAR_AXE"]
fn every_report_is_accessible() {
    pass_and_can_fail(&[&axe::CHECK]);
}

fn pass_and_can_fail(checks: &[&Check]) {
    let browser = browser();
    let outcomes = each(&browser, reports(), |tab, report| {
        let page = Written::new(report);
        let applicable = applicable(tab, checks, &page.url()).expect("it opens");
        let mut run = |check| run(tab, check, &page.report, &page.url());
        let outcomes: Vec<Option<Outcome>> = applicable.into_iter().map(|check| check.map(&mut run)).collect();
        (page, outcomes)
    });
    let mut failures = String::new();
    for (at, check) in checks.iter().enumerate() {
        let mut times = 0;
        for (page, outcomes) in &outcomes {
            match &outcomes[at] {
                Some(Err(error)) => failures += &format!("{}, {}: {error}\n", page.report.name, check.name),
                outcome => times += usize::from(outcome.is_some()),
            }
        }
        if times == 0 {
            failures += &format!("{} never passed\n", check.name);
        }
    }
    assert!(failures.is_empty(), "{failures}");
    // It has every view.
    let page = outcomes.iter().map(|(page, _)| page).find(|page| page.report.name == "unsafe-c").expect("the report");
    every_check_can_fail(&browser, checks, page);
}

/// Each check fails on a page that is broken for it, and everything that pages must not do is seen.
fn every_check_can_fail(browser: &Browser, checks: &[&Check], page: &Written) {
    let text = std::fs::read_to_string(page.files.path("page.html")).expect("a page");
    let broken = |name: &str, end: &str| {
        let file = page.files.path(name);
        std::fs::write(&file, text.replace("</body>", &format!("{end}</body>"))).expect("a file");
        url(&file)
    };
    let passed = each(browser, checks.iter().enumerate().collect(), |tab, (at, check)| {
        let url = broken(&format!("broken{at}.html"), check.sabotage);
        // Most of them fail by waiting in vain.
        tab.patience = Duration::from_secs(3);
        let outcome = run(tab, check, &page.report, &url);
        outcome.is_ok().then_some(check.name)
    });
    let passed: Vec<&str> = passed.into_iter().flatten().collect();
    assert!(passed.is_empty(), "these checks pass on pages that are broken: {passed:?}");
    let misbehaviour = [
        ("console", "<script nonce=membar>console.debug('x')</script>"),
        ("exception", "<script nonce=membar>null.x</script>"),
        ("log", "<script>1</script>"),
        ("log", "<img src='https://example.invalid/x.png'>"),
        ("request", "<meta http-equiv=refresh content='0; url=page.html'>"),
        ("dialog", "<script nonce=membar>setTimeout(() => alert(1))</script>"),
    ];
    let missed = each(browser, misbehaviour.into_iter().enumerate().collect(), |tab, (at, (what, end))| {
        (!tab.misbehaves(&broken(&format!("bad{at}.html"), end), what)).then_some(end)
    });
    let missed: Vec<&str> = missed.into_iter().flatten().collect();
    assert!(missed.is_empty(), "these are not seen: {missed:?}");
}

/// Pictures to look at: every report on a phone and on a large screen, light and dark, and on paper.
#[test]
#[ignore = "writes pictures to look at"]
fn screenshots() {
    let browser = browser();
    let directory = Path::new(KEPT).join("screenshots");
    std::fs::create_dir_all(&directory).expect("a directory");
    each(&browser, reports(), |tab, report| {
        let page = Written::new(report);
        for (width, theme) in [(400, "light"), (400, "dark"), (1600, "light"), (1600, "dark")] {
            tab.open(&page.url()).expect("it opens");
            tab.look(width, theme).expect("it is drawn");
            let picture = tab.picture(width).expect("a picture");
            let file = directory.join(format!("{}-{width}-{theme}.png", page.report.name));
            std::fs::write(file, picture).expect("a file");
        }
    });
    println!("{}", directory.display());
}
