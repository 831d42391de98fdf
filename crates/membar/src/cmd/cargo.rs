//! `cargo membar`: the tests and programs of a Rust package, built by cargo.
//!
//! Problem: cargo knows how a package is built; its test programs run all tests at once, on threads of their own.
//!
//! Algorithm: 1. cargo builds test programs or an executable, with our wrapper of `rustc` (`membar-native/src/build/rust`), and names
//! what it has made (`--message-format`); 2. the harness in our copy of the standard library lists its tests, or runs the one that
//! it is told to; 3. so each test is a program, which is verified like any other; 4. the lines are those of `cargo test`.

use super::verify::{self, Batch};
use crate::cli::{
    Cargo, CargoCommand, CargoRun, CargoTest, Exploring, Package, StrategyName, Verify, VerifyFormat, VerifyModel,
};
use crate::page::ToFile;
use crate::progress::Line;
use crate::stop::{self, Stdout};
use membar::explore::Strategy;
use membar::programs::{self, Input, NativeOptions, output};
use membar::report::verify::{Question, VerifyReport, verify_json};
use membar::report::{Style, count, safe};
use membar::verify::Verdict;
use membar::{Failure, VerifyOptions, verify_telling};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs the command.
pub fn run(args: &Cargo, style: Style) -> Result<u8, Failure> {
    match &args.what {
        CargoCommand::Setup => {
            membar::programs::rust(&mut tell)?;
            tell("the instrumented standard library is there");
            Ok(stop::ALLOWED)
        }
        CargoCommand::Test(args) => test(args, style),
        CargoCommand::Run(args) => program(args, style),
    }
}

fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "membar: {}", safe(line));
}

/// The models that are asked for: c11 if none is.
fn with_models(how: &Exploring) -> Exploring {
    let mut how = how.clone();
    if how.models.is_empty() {
        how.models.push(VerifyModel::C11);
    }
    how
}

fn program(args: &CargoRun, style: Style) -> Result<u8, Failure> {
    let mut made = build(&args.package, &["build"], &[])?;
    made.retain(|made| !made.test);
    let [one] = &made[..] else {
        let names: Vec<&str> = made.iter().map(|made| &*made.name).collect();
        let message = format!("error: which program? There are {}: {}", made.len(), names.join(", "));
        return Err(Failure::Usage(format!("{message}\n = help: give --bin NAME or --example NAME")));
    };
    let (how, native) = (with_models(&args.how), args.native.clone());
    verify::run_built(&Verify { programs: vec![one.path.clone()], how, native }, one.package.clone(), style)
}

/// A test, and the program that it is in.
struct Test {
    name: String,
    ignored: bool,
    program: PathBuf,
    package: Option<programs::Package>,
    /// It may have limits of its own.
    limited: bool,
    /// It is one of several in its program, which is told its name; otherwise the program is the test (`harness = false`).
    named: bool,
}

/// The tests that were asked for.
struct Wanted {
    filters: Vec<String>,
    exact: bool,
    /// Tests that are marked `#[ignore]`, too,
    ignored: bool,
    /// and the others.
    others: bool,
}

impl Wanted {
    /// What stands after `--` is meant as `cargo test` means it: words for the test programs.
    fn new(args: &CargoTest) -> Result<Wanted, Failure> {
        let mut wanted = Wanted {
            filters: args.filters.clone(),
            exact: args.exact,
            ignored: args.ignored || args.include_ignored,
            others: !args.ignored,
        };
        let mut words = args.native.flags.iter().map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            match &*word {
                "--include-ignored" => wanted.ignored = true,
                "--ignored" => (wanted.ignored, wanted.others) = (true, false),
                "--exact" => wanted.exact = true,
                // Tests run one after the other, and the output of those that fail is shown.
                "--nocapture" | "--no-capture" | "--show-output" => {}
                "--test-threads" => drop(words.next()),
                word if word.starts_with("--test-threads=") => {}
                word if !word.starts_with('-') => wanted.filters.push(word.to_owned()),
                word => {
                    let help =
                        "options of membar come before `--`; after it: names, --exact, --ignored, --include-ignored";
                    let message =
                        format!("error: `{}` is not for tests that are verified\n = help: {help}", safe(word));
                    return Err(Failure::Usage(message));
                }
            }
        }
        Ok(wanted)
    }

    fn has(&self, test: &Test) -> bool {
        let fits = |filter: &String| if self.exact { test.name == *filter } else { test.name.contains(filter) };
        (self.others || test.ignored) && (self.filters.is_empty() || self.filters.iter().any(fits))
    }
}

fn test(args: &CargoTest, style: Style) -> Result<u8, Failure> {
    let wanted = Wanted::new(args)?;
    let mut targets: Vec<OsString> = Vec::new();
    if args.lib {
        targets.push("--lib".into());
    }
    for name in &args.test {
        targets.extend(["--test".into(), name.clone()]);
    }
    let made = build(&args.package, &["test", "--no-run"], &targets)?;
    let how = with_models(&args.how);
    let interrupt = stop::on_key();
    let options = verify::options(&how, args.native.options())?;
    let options = VerifyOptions { interrupt: interrupt.clone(), ..options };
    let page = how.html.as_deref().map(ToFile::create).transpose()?;
    let text = how.format == VerifyFormat::Text;
    let mut out = BufWriter::new(Stdout::new(how.html.is_some()));
    let mut batch = Batch::default();
    for made in made.iter().filter(|made| made.test) {
        let began = Instant::now();
        let tests = tests(made, &options.native)?;
        let chosen: Vec<&Test> = tests.iter().filter(|test| wanted.has(test)).collect();
        let mut counts = Counts { filtered: tests.len() - chosen.len(), ..Counts::default() };
        let mut stories: Vec<VerifyReport> = Vec::new();
        if text && !how.quiet {
            writeln!(out, "     Verifying {}", safe(&made.name))?;
            writeln!(out, "\nrunning {}", count(chosen.len(), "test"))?;
        }
        for test in chosen {
            if interrupt.pressed() {
                counts.undecided += 1;
                continue;
            }
            let mut line = format!("test {} ... ", safe(&test.name));
            if test.ignored && !wanted.ignored {
                counts.ignored += 1;
                line += "ignored";
            } else {
                match one(test, &options, &how) {
                    Ok(reports) => {
                        line += &counts.add(&reports, style);
                        stories.extend(reports.iter().filter(|report| report.verdict != Verdict::Safe).cloned());
                        batch.reports.extend(reports);
                    }
                    // The other tests are still answered.
                    Err(failure) => {
                        batch.fail(failure)?;
                        counts.undecided += 1;
                        line += &format!("{} (not verified)", style.open("undecided"));
                    }
                }
            }
            if text && !how.quiet {
                writeln!(out, "{line}")?;
                out.flush()?;
            }
        }
        if text {
            let in_full = if how.verbose { usize::MAX } else { 1 };
            if !stories.is_empty() {
                writeln!(out, "\nfailures:\n")?;
            }
            for report in &stories {
                report.text(style, in_full, &mut out)?;
                writeln!(out)?;
            }
            if !how.quiet || !stories.is_empty() {
                writeln!(out, "\n{}\n", counts.summary(began, style))?;
            }
            out.flush()?;
        }
    }
    match how.format {
        VerifyFormat::Json => verify_json(&batch.reports, &[], &batch.errors, &mut out)?,
        VerifyFormat::Sarif => batch.sarif(&mut out)?,
        VerifyFormat::Text => {}
    }
    out.flush()?;
    if let Some(mut page) = page {
        batch.reports.iter().for_each(|report| page.add_program(report));
        page.finish()?;
    }
    Ok(if interrupt.pressed() && batch.code() == stop::ALLOWED { stop::UNDECIDED } else { batch.code() })
}

/// Verifies one test.
fn one(test: &Test, options: &VerifyOptions, how: &Exploring) -> Result<Vec<VerifyReport>, Failure> {
    let words = test.named.then(|| ["--membar-test".into(), OsString::from(&test.name)]);
    let args = words.into_iter().flatten().chain(options.native.args.iter().cloned()).collect();
    let native = NativeOptions { args, package: test.package.clone(), ..options.native.clone() };
    let mut options = VerifyOptions { native, ..options.clone() };
    // Nothing fails, or it is not known: a test asks for no more.
    if options.property == Question::Auto {
        options.property = Question::Errors;
    }
    let bound = if test.limited { limit(test, &mut options, how) } else { None };
    let line = Line::new(how.quiet);
    let program = Input::Executable(test.program.clone());
    let all = VerifyOptions { time: options.time.or(bound.map(|_| BEFORE_BOUND)), ..options.clone() };
    let mut reports = verify_telling(&program, &all, &line)?;
    if let Some(preemptions) = bound.filter(|_| reports.iter().any(|report| report.verdict == Verdict::Undecided)) {
        let bounded = VerifyOptions { strategy: Strategy::Bounded { preemptions }, ..options };
        reports = verify_telling(&program, &bounded, &line)?;
    }
    for report in &mut reports {
        report.program.clone_from(&test.name);
    }
    Ok(reports)
}

/// All executions of a test with a bound on preemptions are often fewer than those within it, without reduction: they are tried first.
const BEFORE_BOUND: Duration = Duration::from_secs(5);

/// Keeps to the limits that a test sets itself (`Builder` of membar-test), where no flag says otherwise; returns its bound on preemptions. The test is
/// run once to ask for them; one that fails then fails again when it is explored.
fn limit(test: &Test, options: &mut VerifyOptions, how: &Exploring) -> Option<u32> {
    let mut bound = None;
    let args = options.native.args.iter().cloned().chain(["--membar-limits".into()]).collect();
    let native = NativeOptions { args, ..options.native.clone() };
    let said = output(&Input::Executable(test.program.clone()), &native).unwrap_or_default();
    for line in said.lines().filter_map(|line| line.strip_prefix(LIMIT)) {
        let Some((name, Ok(value))) = line.split_once('\t').map(|(name, value)| (name, value.parse::<u64>())) else {
            continue;
        };
        match name {
            "time" if how.time.0.is_none() => options.time = Some(Duration::from_millis(value)),
            "executions" if how.executions.is_none() => options.max_executions = Some(value),
            "preemptions" if how.preemptions.is_none() && how.strategy == StrategyName::Auto && !how.strict => {
                bound = Some(value.try_into().unwrap_or(u32::MAX));
            }
            _ => {}
        }
    }
    bound
}

/// What came of the tests of a program.
#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    undecided: usize,
    ignored: usize,
    filtered: usize,
}

impl Counts {
    /// The rest of a test's line.
    fn add(&mut self, reports: &[VerifyReport], style: Style) -> String {
        let is = |verdict: Verdict| reports.iter().any(|report| report.verdict == verdict);
        let classes = reports.iter().map(|report| report.interleavings).max().unwrap_or(0);
        let seconds: f64 = reports.iter().map(|report| report.seconds).fold(0.0, f64::max);
        let cost = format!(" ({}, {seconds:.2} s)", count(classes as usize, "class").replace("classs", "classes"));
        if is(Verdict::Unsafe) || is(Verdict::Fails) || is(Verdict::Error) {
            self.failed += 1;
            format!("{}{cost}", style.bad("FAILED"))
        } else if is(Verdict::Undecided) {
            self.undecided += 1;
            format!("{}{cost}", style.open("undecided"))
        } else {
            self.passed += 1;
            format!("{}{cost}", style.good("ok"))
        }
    }

    fn summary(&self, began: Instant, style: Style) -> String {
        let Counts { passed, failed, undecided, ignored, filtered } = self;
        let word = match () {
            () if *failed > 0 => style.bad("FAILED").to_string(),
            () if *undecided > 0 => style.open("undecided").to_string(),
            () => style.good("ok").to_string(),
        };
        format!(
            "test result: {word}. {passed} passed; {failed} failed; {undecided} undecided; {ignored} ignored; {filtered} \
             filtered out; finished in {:.2}s",
            began.elapsed().as_secs_f64()
        )
    }
}

/// The function of the standard library's harness that is in every program with tests.
const HARNESS: &str = "test_main_static";
/// How a line about a limit begins.
const LIMIT: &str = "membar-limit\t";

/// The tests that are in a program, as it lists them.
fn tests(made: &Made, native: &NativeOptions) -> Result<Vec<Test>, Failure> {
    let program = std::fs::read(&made.path).unwrap_or_default();
    let contains = |text: &str| program.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    let limited = contains(LIMIT);
    if !contains(HARNESS) {
        let (name, program, package) = (made.name.clone(), made.path.clone(), made.package.clone());
        return Ok(vec![Test { name, ignored: false, program, package, limited, named: false }]);
    }
    let native = NativeOptions { args: vec!["--membar-list".into()], ..native.clone() };
    let listed = output(&Input::Executable(made.path.clone()), &native)?;
    let test = |line: &str| {
        let (name, how) = line.strip_prefix("membar-test\t")?.split_once('\t')?;
        let (name, ignored) = (name.to_owned(), how == "ignored");
        Some(Test { name, ignored, program: made.path.clone(), package: made.package.clone(), limited, named: true })
    };
    Ok(listed.lines().filter_map(test).collect())
}

/// Something that cargo has made.
struct Made {
    name: String,
    path: PathBuf,
    package: Option<programs::Package>,
    test: bool,
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Has cargo build; its messages go to standard error as they are.
fn build(package: &Package, what: &[&str], targets: &[OsString]) -> Result<Vec<Made>, Failure> {
    let (variables, target) = membar::programs::rust(&mut tell)?;
    let mut words: Vec<OsString> = what.iter().map(OsString::from).collect();
    words.extend(["--message-format=json-render-diagnostics", "--target", target].map(OsString::from));
    words.extend(targets.iter().cloned());
    for (flag, values) in [
        ("--package", &package.package),
        ("--features", &package.features),
        ("--bin", &package.bin),
        ("--example", &package.example),
    ] {
        words.extend(values.iter().flat_map(|value| [flag.into(), value.clone()]));
    }
    words.extend(package.profile.iter().flat_map(|name| ["--profile".into(), name.clone()]));
    for (flag, given) in [
        ("--workspace", package.workspace),
        ("--all-features", package.all_features),
        ("--no-default-features", package.no_default_features),
        ("--release", package.release),
    ] {
        words.extend(given.then(|| flag.into()));
    }
    let manifest = package.manifest_path.iter().flat_map(|path| ["--manifest-path".into(), path.clone()]);
    let manifest: Vec<OsString> = manifest.collect();
    let metadata = metadata(&manifest)?;
    let directory = package.target_dir.clone();
    let directory = directory.or_else(|| Some(Path::new(metadata["target_directory"].as_str()?).join("membar")));
    let directory = directory.ok_or_else(|| Failure::Usage(NO_PACKAGE.into()))?;
    let directory = std::path::absolute(&directory).unwrap_or(directory);
    let built_with = note(&directory, &variables, target, package.target_dir.is_some());
    let mut command = cargo();
    command.args(&words).args(manifest).arg("--target-dir").arg(&directory).envs(variables.iter().cloned());
    let cannot = |error: io::Error| Failure::Usage(format!("error: cannot run cargo: {error}"));
    let ran = command.stderr(Stdio::inherit()).stdin(Stdio::null()).output().map_err(cannot)?;
    // Without it everything is built once more next time.
    let _ = std::fs::write(directory.join(NOTE), built_with);
    if !ran.status.success() {
        return Err(Failure::Usage("error: the package does not build: cargo's messages are above".into()));
    }
    let messages = String::from_utf8_lossy(&ran.stdout).into_owned();
    let named = package.manifest_path.as_deref().map(Path::new);
    let made = |message: Value| {
        let path = message["executable"].as_str()?;
        let target = &message["target"];
        let name = target["name"].as_str().unwrap_or_default().to_owned();
        let kinds = target["kind"].as_array().into_iter().flatten();
        if kinds.into_iter().any(|kind| kind == "proc-macro") {
            // Cargo builds it for the compiler, as it does build scripts.
            tell(&format!("the tests of `{name}`, a procedural macro, are not verified"));
            return None;
        }
        let test = message["profile"]["test"].as_bool().unwrap_or(false);
        let source = Path::new(target["src_path"].as_str().unwrap_or_default());
        if test && targets.is_empty() && target["doctest"] == true && source.parent().is_some_and(has_doc_tests) {
            tell(&format!("the tests in the documentation of `{name}` are not verified"));
        }
        let all = metadata["packages"].as_array().into_iter().flatten();
        if let Some(about) = all.into_iter().find(|package| package["id"] == message["package_id"])
            && let Err(error) = programs::note_around(Path::new(path), test, about)
        {
            tell(&format!("{name} is not run where cargo would: {error}"));
        }
        Some(Made {
            name,
            path: shown(path),
            package: programs::package(&message, &words, &variables, named, &directory),
            test,
        })
    };
    Ok(messages.lines().filter_map(|line| made(serde_json::from_str(line).ok()?)).collect())
}

/// The file in a target directory that says with what its contents were built.
const NOTE: &str = "built-with";

/// What that is to be from now on. Cargo does not notice that `rustc` is wrapped by something else than before: what another version of membar, or one for
/// another standard library, has built is removed. A directory that the user has named may have other things in it, as long as it has no note of ours.
fn note(directory: &Path, variables: &[(String, OsString)], target: &str, named: bool) -> String {
    let wrapper = variables.iter().find(|(name, _)| name == "RUSTC_WRAPPER");
    let wrapper = wrapper.map(|(_, path)| path.to_string_lossy().into_owned()).unwrap_or_default();
    let before = std::fs::read_to_string(directory.join(NOTE)).ok();
    if before.as_ref() != Some(&wrapper) && (before.is_some() || !named) {
        for old in [target, "edited"] {
            let _ = std::fs::remove_dir_all(directory.join(old));
        }
    }
    wrapper
}

/// Whether there is code in the documentation below a directory of sources.
fn has_doc_tests(directory: &Path) -> bool {
    const NOT_RUN: [&str; 3] = ["text", "ignore", "compile_fail"];
    let code = |text: String| {
        let comments = text.lines().map(str::trim_start).filter_map(|line| {
            line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?.trim_start().strip_prefix("```")
        });
        // Every second one ends a block.
        comments.step_by(2).any(|words| !NOT_RUN.iter().any(|word| words.starts_with(word)))
    };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| match path.extension() {
        Some(ending) if ending == "rs" => std::fs::read_to_string(&path).is_ok_and(code),
        None if !path.is_symlink() && path.is_dir() => has_doc_tests(&path),
        _ => false,
    })
}

/// A path as the user would write it: from here, if it is below.
fn shown(path: &str) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let path = PathBuf::from(path);
    path.strip_prefix(&here).map(PathBuf::from).unwrap_or(path)
}

const NO_PACKAGE: &str =
    "error: there is no package here\n = help: run this where its Cargo.toml is, or give --manifest-path";

/// What cargo says about the workspace.
fn metadata(manifest: &[OsString]) -> Result<Value, Failure> {
    let mut command = cargo();
    command.args(["metadata", "--format-version=1", "--no-deps"]).args(manifest).stderr(Stdio::inherit());
    let ran = command.output().map_err(|error| Failure::Usage(format!("error: cannot run cargo: {error}")))?;
    serde_json::from_slice(&ran.stdout).map_err(|_| Failure::Usage(NO_PACKAGE.into()))
}
