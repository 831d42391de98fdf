//! `membar litmus`: tests per second.

use crate::child::{Cost, Runner};
use crate::cli::Litmus;
use crate::error::Error;
use crate::host::Results;
use crate::table::Table;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where tests are searched for, from the root of the repository.
const DIRECTORIES: [&str; 2] = ["../shared/data/litmus", "corpus/litmus"];

/// A directory of tests.
pub struct Tests {
    /// As it is shown.
    pub name: String,
    path: PathBuf,
}

impl Tests {
    pub fn new(given: Option<&Path>) -> Tests {
        if let Some(path) = given {
            return Tests { name: path.to_string_lossy().into_owned(), path: path.to_owned() };
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let exists = |directory: &&&str| root.join(directory).is_dir();
        let directory = DIRECTORIES.iter().find(exists).unwrap_or(&DIRECTORIES[1]);
        Tests { name: (*directory).to_owned(), path: root.join(directory) }
    }

    /// Runs all of them under this model in one process, again and again; what that cost, and how many tests it were.
    pub fn measure(&self, runner: &Runner, model: &str, passes: u32, times: u32) -> Result<(Cost, usize), Error> {
        let mut arguments = ["litmus", "--model", model].map(str::to_owned).to_vec();
        arguments.extend((0..passes.max(1)).map(|_| self.path.to_string_lossy().into_owned()));
        let (cost, out) = runner.membar(&arguments, times)?;
        Ok((cost, out.lines().filter(|line| line.starts_with("Test ")).count()))
    }
}

/// `membar-bench litmus`
pub fn run(args: &Litmus) -> Result<ExitCode, Error> {
    let runner = Runner::real(args.membar.as_deref())?;
    let tests = Tests::new(args.directory.as_deref());
    let what = format!("litmus, {} passes, best of {}", args.passes.max(1), args.best_of.max(1));
    let subject = "`membar litmus`, all passes in one process, from text; rates for processor time";
    let mut results = Results::begin(&args.output, &what, subject);
    let header = ["model", "tests", "seconds", "cpu", "tests/s", "µs/test", "MB"];
    let mut table = Table::new(format!("Tests of {}", tests.name), &header);
    for model in ["sc", "tso", "pso"] {
        let (cost, tests) = tests.measure(&runner, model, args.passes, args.best_of)?;
        table.row(vec![
            model.to_owned(),
            tests.to_string(),
            format!("{:.3}", cost.seconds),
            format!("{:.3}", cost.cpu),
            format!("{:.0}", tests as f64 / cost.cpu),
            format!("{:.1}", cost.cpu * 1e6 / tests.max(1) as f64),
            format!("{:.1}", cost.megabytes),
        ]);
    }
    results.table(&table);
    results.end()?;
    Ok(ExitCode::SUCCESS)
}
