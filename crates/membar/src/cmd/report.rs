//! `membar report`: a page from a JSON document that membar wrote.

use crate::cli::ReportArgs;
use crate::page::{Again, ToFile};
use crate::stop::ALLOWED;
use membar::report::campaign::CampaignReport;
use membar::report::litmus::{Histogram, LitmusResult};
use membar::report::monitor::Monitored;
use membar::report::verify::{ReplayReport, VerifyReport};
use membar::report::{Report, SCHEMA, safe};
use membar::{Chosen, Failure};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a document at most.
const MOST: u64 = 256 << 20;

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let name = if args.result.as_os_str() == "-" { "<stdin>".into() } else { safe(&args.result.to_string_lossy()) };
    let models = args.models.iter().map(|model| Chosen::load(model)).collect::<Result<Vec<_>, _>>()?;
    let document = read(&args.result, &name)?;
    let results = Results::of(document).map_err(|why| {
        let help = "give it what `--format json` of check, verify, litmus, monitor, replay, stress or simulate wrote";
        Failure::Usage(format!("error: {name}: {why}\n = help: {help}"))
    })?;
    let output = args.output.clone().unwrap_or_else(|| beside(&args.result));
    if same_file(&output, &args.result) {
        return Err(Failure::Usage(format!(
            "error: the page would overwrite {name}\n = help: give another name with -o"
        )));
    }
    let mut page = ToFile::create_for_document(&output)?;
    results.add_to(&mut page, models);
    page.finish_quietly()?;
    let _ = writeln!(io::stdout(), "wrote {}", safe(&output.to_string_lossy()));
    Ok(ALLOWED)
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The page's name, where none was given.
fn beside(result: &Path) -> PathBuf {
    if result.as_os_str() == "-" { PathBuf::from("report.html") } else { result.with_extension("html") }
}

fn read(path: &Path, name: &str) -> Result<Value, Failure> {
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes))
    };
    let usage = |text: String| Failure::Usage(format!("error: {name}: {text}"));
    read.map_err(|error| usage(error.to_string()))?;
    if bytes.len() as u64 > MOST {
        return Err(usage(format!("the document is larger than {} MiB", MOST >> 20)));
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        let what = if error.is_eof() { "the document ends too early" } else { "this is not a JSON document" };
        let help = "the output of `--format json` is one JSON document; was the command interrupted?";
        Failure::Usage(format!("error: {name}: {what}: {}\n = help: {help}", safe(&error.to_string())))
    })
}

/// The contents of a document.
enum Results {
    Checked(Vec<Report>, Vec<(String, String)>),
    Verified(Vec<VerifyReport>, Vec<(String, String)>),
    Monitored(Vec<Monitored>, Vec<(String, String)>),
    Litmus(Vec<LitmusResult>, Vec<(String, String)>),
    Histograms(Vec<Histogram>),
    Replayed(Box<ReplayReport>),
    Campaign(Box<CampaignReport>),
}

impl Results {
    /// Which command wrote it, by what it holds.
    fn of(mut document: Value) -> Result<Results, String> {
        let Some(object) = document.as_object() else { return Err("this is not a membar document".into()) };
        match object.get("schema").map(Value::as_u64) {
            None => return Err("this is not a membar document: it has no `schema`".into()),
            Some(Some(schema)) if schema == u64::from(SCHEMA) => {}
            Some(Some(schema)) if schema > u64::from(SCHEMA) => {
                return Err(format!("its schema is {schema}, which is newer than this membar; it knows {SCHEMA}"));
            }
            Some(_) => return Err(format!("its schema is not a number that membar writes; this one writes {SCHEMA}")),
        }
        let has = |key: &str| object.contains_key(key);
        if has("source") && has("tests") {
            return Ok(Results::Campaign(Box::new(one(document)?)));
        }
        if has("program") && has("interleavings") {
            return Ok(Results::Verified(vec![one(document)?], Vec::new()));
        }
        if has("program") && has("schedule") && has("steps") {
            return Ok(Results::Replayed(Box::new(one(document)?)));
        }
        if has("differences") {
            return Err("what `membar models diff` writes has no page".into());
        }
        if has("machine") && has("profile") {
            return Err("this describes the machine of a violation; its `result.json` makes a page".into());
        }
        if !has("results") {
            return Err("no membar command writes such a document".into());
        }
        let errors = errors(document.get("errors"));
        let Some(Value::Array(results)) = document.get_mut("results").map(Value::take) else {
            return Err("its `results` are not a list".into());
        };
        let Some(first) = results.first() else { return Ok(Results::Checked(Vec::new(), errors)) };
        let has = |key: &str| first.get(key).is_some();
        match () {
            () if has("algorithm") => Ok(Results::Checked(all(results)?, errors)),
            () if has("interleavings") => Ok(Results::Verified(all(results)?, errors)),
            () if has("monitor") => Ok(Results::Monitored(all(results)?, errors)),
            () if has("condition") => Ok(Results::Litmus(all(results)?, errors)),
            () if has("outcomes") => Ok(Results::Histograms(all(results)?)),
            () => Err("no membar command writes such results".into()),
        }
    }

    fn add_to(self, page: &mut ToFile, models: Vec<Chosen>) {
        let errors = match self {
            Results::Checked(reports, errors) => {
                let mut again = Again::new(models);
                reports.iter().for_each(|report| page.add_saved(report, &mut again));
                errors
            }
            Results::Verified(reports, errors) => {
                reports.iter().for_each(|report| page.add_program(report));
                errors
            }
            Results::Monitored(reports, errors) => {
                reports.iter().for_each(|report| page.add_monitored(report));
                errors
            }
            Results::Litmus(results, errors) => {
                // A test under several models is one case.
                let mut tests: Vec<Vec<LitmusResult>> = Vec::new();
                for result in results {
                    match tests.last_mut() {
                        Some(test) if test[0].file == result.file && test[0].test == result.test => test.push(result),
                        _ => tests.push(vec![result]),
                    }
                }
                tests.iter().for_each(|test| page.add_litmus(test, &[], None));
                errors
            }
            Results::Histograms(results) => {
                results.iter().for_each(|result| page.add_histogram(result));
                Vec::new()
            }
            Results::Replayed(report) => {
                page.add_schedule(&report);
                Vec::new()
            }
            Results::Campaign(report) => {
                page.add_campaign(&report, &models);
                Vec::new()
            }
        };
        errors.iter().for_each(|(file, message)| page.add_error(file, message));
    }
}

/// The input errors of the command that wrote the document.
fn errors(list: Option<&Value>) -> Vec<(String, String)> {
    let text = |error: &Value, key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.map(|error| (text(error, "file"), text(error, "message"))).collect()
}

fn one<T: DeserializeOwned>(document: Value) -> Result<T, String> {
    serde_json::from_value(document).map_err(|error| safe(&error.to_string()))
}

fn all<T: DeserializeOwned>(results: Vec<Value>) -> Result<Vec<T>, String> {
    let result = |(i, value): (usize, Value)| {
        serde_json::from_value(value).map_err(|error| format!("results[{i}]: {}", safe(&error.to_string())))
    };
    results.into_iter().enumerate().map(result).collect()
}
