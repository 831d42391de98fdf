//! The tables of docs/results.md: the benchmarks of the papers, next to what the papers say.
//!
//! The shape must agree: which programs leave sequential consistency on which machine. If it does not, nothing is
//! written and the exit code is 1.

use crate::cli::{Output, Results as Args};
use crate::error::Error;
use crate::host::{Progress, Results, machine};
use crate::native::{Program, Run, Source, settings};
use crate::published::{BENCHMARKS, Bounded, Published, SOBER};
use crate::reductions;
use crate::table::Table;
use membar_core::Relaxation;
use membar_explore::Strategy;
use membar_verify::{Effort, Verdict, Watching};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// The generated part of the file lies between these two lines.
const BEGIN: &str = "<!-- made by `cargo run --release -p membar-bench -- results`: begin -->";
const END: &str = "<!-- made by `cargo run --release -p membar-bench -- results`: end -->";

/// The same for the corpus.
const BEGIN_CORPUS: &str = "<!-- made by `cargo run --release -p membar-bench -- results --corpus`: begin -->";
const END_CORPUS: &str = "<!-- made by `cargo run --release -p membar-bench -- results --corpus`: end -->";

/// Random schedules of a benchmark.
const DRAWN: u64 = 1000;

const MODELS: [Relaxation; 2] = [Relaxation::Tso, Relaxation::Pso];

/// The programs of examples/programs, and whether they are unsafe on TSO. On PSO all are.
const PROGRAMS: [(&str, bool); 15] = [
    ("dekker", true),
    ("bakery", true),
    ("msn", false),
    ("ms2", false),
    ("harris", false),
    ("lazylist", false),
    ("snark", false),
    ("takequeue", true),
    ("condvar", true),
    ("peterson", true),
    ("seqlock", false),
    ("ticket", false),
    ("treiber", false),
    ("spsc", false),
    ("chaselev", true),
];

/// Explorations of a program under both models.
struct Both {
    runs: [Run; 2],
}

impl Both {
    /// Distinct violations.
    fn violations(&self, model: usize) -> usize {
        self.runs[model].checkpoint.seen.violations.len()
    }

    fn executions(&self) -> u64 {
        self.runs[0].cost.counts.executions
    }

    /// Of processor time.
    fn seconds(&self) -> f64 {
        self.runs.iter().map(|run| run.cost.cpu()).sum()
    }

    /// In how many executions the most frequent violation is.
    fn frequent(&self, model: usize) -> u64 {
        self.runs[model].checkpoint.seen.violations.iter().map(|found| found.executions).max().unwrap_or(0)
    }
}

/// Everything that was found out, and what is wrong with it.
struct Made<'a> {
    args: &'a Args,
    wrong: Vec<String>,
    compilers: Vec<String>,
}

impl Made<'_> {
    fn wants(&self, name: &str) -> bool {
        self.args.only.is_empty() || self.args.only.iter().any(|only| only == name)
    }

    fn open(&mut self, source: &Source) -> Result<Program, Error> {
        // As the papers count.
        let program = Program::open_with(source, self.args.jobs, false)?;
        if !self.compilers.contains(&program.compiler) {
            self.compilers.push(program.compiler.clone());
        }
        Ok(program)
    }

    fn both(&mut self, name: &str, program: &mut Program, strategy: Strategy) -> Result<Both, Error> {
        let mut explore = |model| {
            let effort = Effort { jobs: self.args.jobs, ..Effort::default() };
            let time = Duration::from_secs(self.args.time);
            program.explore(settings(model, strategy, Watching::Class), effort, Some(time))
        };
        let both = Both { runs: [explore(MODELS[0])?, explore(MODELS[1])?] };
        let mut check = |ok: bool, what: &str| {
            if !ok {
                self.wrong.push(format!("{name}, {strategy:?}: {what}"));
            }
        };
        for run in &both.runs {
            check(run.checkpoint.seen.errors.is_empty(), "an error of the program itself");
        }
        let [tso, pso] = &both.runs;
        check(tso.cost.counts.executions == pso.cost.counts.executions, "other executions under PSO than under TSO");
        Ok(both)
    }

    /// Checks a version that is to be unsafe.
    fn check(&mut self, name: &str, how: &str, both: &Both, unsafe_on_tso: bool) {
        if (both.violations(0) > 0) != unsafe_on_tso {
            let wanted = if unsafe_on_tso { "some" } else { "none" };
            self.wrong.push(format!("{name}, {how}: {} violations under TSO, not {wanted}", both.violations(0)));
        }
        if both.violations(1) == 0 {
            self.wrong.push(format!("{name}, {how}: no violation under PSO"));
        }
    }
}

/// `membar-bench results`
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    if args.corpus {
        return corpus(args);
    }
    let output = Output { markdown: args.markdown, save: false };
    let subject = "the libraries, programs in their own processes, class monitor";
    let mut results = Results::begin(&output, "results", subject);
    let mut made = Made { args, wrong: Vec::new(), compilers: Vec::new() };
    let mut progress = Progress::new(2 * PROGRAMS.len() + BENCHMARKS.len() + SOBER.len());
    let mut tables = published(&mut made, &mut progress)?;
    tables.push(sober(&mut made, &mut progress)?);
    tables.push(complete(&mut made, &mut progress)?);
    tables.push(fixed(&mut made, &mut progress)?);
    drop(progress);
    tables.push(reduced(&mut made)?);
    for table in &tables {
        results.table(table);
    }
    if !made.wrong.is_empty() {
        let all = made.wrong.join("\n");
        results.say(&format!("The shape does NOT agree, so nothing is written:\n{all}"));
        return Ok(ExitCode::FAILURE);
    }
    results.say("The shape agrees: violations under TSO and under PSO where there must be, fixed versions safe.");
    write(args, &made.compilers, &tables)?;
    Ok(ExitCode::SUCCESS)
}

/// The programs of benches/programs and the examples, with and without reductions of the search.
fn reduced(made: &mut Made<'_>) -> Result<Table, Error> {
    let mut sources = reductions::programs();
    sources.retain(|source| made.wants(source.name.split(' ').next().unwrap_or_default()));
    for name in PROGRAMS.iter().map(|(name, _)| name).filter(|name| made.wants(name)) {
        sources.extend([Source::example(name, None), Source::example(&format!("{name}-fixed"), None)]);
    }
    let mut progress = Progress::new(sources.len());
    let time = Duration::from_secs(made.args.time);
    let (table, wrong) = reductions::table(&sources, time, |name| progress.next(name))?;
    made.wrong.extend(wrong);
    Ok(table)
}

/// All programs of the corpus, with and without reductions.
fn corpus(args: &Args) -> Result<ExitCode, Error> {
    let mut sources = Source::corpus()?;
    sources.retain(|source| args.only.is_empty() || args.only.iter().any(|name| source.name.contains(name.as_str())));
    let mut progress = Progress::new(sources.len());
    let (table, wrong) =
        reductions::table(&sources, Duration::from_secs(args.time.min(5)), |name| progress.next(name))?;
    drop(progress);
    if !wrong.is_empty() {
        eprintln!("{}", wrong.join("\n"));
        return Ok(ExitCode::FAILURE);
    }
    if !args.only.is_empty() {
        print!("{}", table.markdown());
        return Ok(ExitCode::SUCCESS);
    }
    let path = &args.out;
    let old = std::fs::read_to_string(path).map_err(Error::file("read", path))?;
    let new =
        replace(&old, &table.markdown(), (BEGIN_CORPUS, END_CORPUS)).ok_or_else(|| Error::NoMarks(path.clone()))?;
    std::fs::write(path, new).map_err(Error::file("write", path))?;
    Ok(ExitCode::SUCCESS)
}

/// Puts the tables between the marks.
fn write(args: &Args, compilers: &[String], tables: &[Table]) -> Result<(), Error> {
    if !args.only.is_empty() && args.out.as_os_str() == "docs/results.md" {
        eprintln!("not all programs: not written");
        return Ok(());
    }
    let path = &args.out;
    let old = match std::fs::read_to_string(path) {
        Ok(old) => old,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => format!("# Results\n\n{BEGIN}\n{END}\n"),
        Err(error) => return Err(Error::file("read", path)(error)),
    };
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let date = now.split('T').next().unwrap_or_default();
    let mut text = format!("Made on {date}: {}; {}.\n", machine(), compilers.join(", "));
    for table in tables {
        text.push('\n');
        text.push_str(&table.markdown());
    }
    let new = replace(&old, &text, (BEGIN, END)).ok_or_else(|| Error::NoMarks(path.clone()))?;
    std::fs::write(path, new).map_err(Error::file("write", path))?;
    eprintln!("written to {}", path.display());
    Ok(())
}

/// The document with another text between the marks.
fn replace(old: &str, text: &str, (begin, end): (&str, &str)) -> Option<String> {
    let begin = old.find(begin)? + begin.len();
    let end = begin + old[begin..].find(end)?;
    Some(format!("{}\n\n{}\n\n{}", &old[..begin], text.trim_end(), &old[end..]))
}

fn seconds(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.3}") } else { format!("{seconds:.1}") }
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

/// Tables 1 and 2 of the paper, and table 1 of the report.
fn published(made: &mut Made<'_>, progress: &mut Progress) -> Result<Vec<Table>, Error> {
    let header = ["benchmark", "interleavings", "theirs", "seconds", "theirs", "TSO", "theirs", "PSO", "theirs"];
    let title = |bound: u32, table: u32| {
        format!(
            "Up to {bound} preemption{}: distinct violations; theirs: TACAS 2011, table {table}",
            if bound == 1 { "" } else { "s" }
        )
    };
    let mut bounded = [Table::new(title(1, 1), &header), Table::new(title(2, 2), &header)];
    let header = [
        "benchmark",
        "events each",
        "theirs",
        "seconds",
        "theirs",
        "TSO",
        "theirs",
        "in at least",
        "theirs",
        "PSO",
        "theirs",
        "in at least",
        "theirs",
    ];
    let title = format!("{DRAWN} random schedules: distinct violations; theirs: UCB/EECS-2010-31, table 1");
    let mut random = Table::new(title, &header);
    for Published { name, bounds, drawn, .. } in &BENCHMARKS {
        progress.next(name);
        if !made.wants(name) {
            continue;
        }
        let unsafe_on_tso = PROGRAMS.iter().any(|(known, is)| known == name && *is);
        let mut program = made.open(&Source::example(name, None))?;
        for (table, (k, theirs)) in bounded.iter_mut().zip((1..).zip(bounds)) {
            let both = made.both(name, &mut program, Strategy::Bounded { preemptions: k })?;
            made.check(name, &format!("up to {k} preemptions"), &both, unsafe_on_tso);
            let Bounded { interleavings, seconds: time, tso, pso } = theirs;
            table.row(vec![
                (*name).to_owned(),
                both.executions().to_string(),
                interleavings.to_string(),
                seconds(both.seconds()),
                time.to_string(),
                both.violations(0).to_string(),
                tso.to_string(),
                both.violations(1).to_string(),
                pso.to_string(),
            ]);
        }
        let both = made.both(name, &mut program, Strategy::Random { executions: DRAWN, seed: 1 })?;
        made.check(name, "random schedules", &both, unsafe_on_tso);
        random.row(vec![
            (*name).to_owned(),
            format!("{:.0}", both.runs[0].cost.events()),
            drawn.events.to_string(),
            seconds(both.seconds()),
            format!("{:.0}", drawn.seconds * DRAWN as f64),
            both.violations(0).to_string(),
            drawn.tso.to_string(),
            both.frequent(0).to_string(),
            drawn.with_tso.to_string(),
            both.violations(1).to_string(),
            drawn.pso.to_string(),
            both.frequent(1).to_string(),
            drawn.with_pso.to_string(),
        ]);
    }
    let [one, two] = bounded;
    Ok(vec![one, two, random])
}

/// Figure 4(a) of SOBER.
fn sober(made: &mut Made<'_>, progress: &mut Progress) -> Result<Table, Error> {
    let header = ["program", "preemptions", "interleavings", "theirs", "seconds", "theirs", "TSO", "found by them"];
    let title = "TSO, by bound on preemptions: distinct violations; theirs: CAV 2008, figure 4(a)";
    let mut table = Table::new(title, &header);
    for (name, n, rows) in &SOBER {
        progress.next(name);
        if !made.wants(name) {
            continue;
        }
        let mut program = made.open(&Source::example(name, Some(*n)))?;
        for (preemptions, interleavings, borderline, time) in *rows {
            let strategy = Strategy::Bounded { preemptions: *preemptions };
            let settings = settings(Relaxation::Tso, strategy, Watching::Class);
            let limit = Some(Duration::from_secs(made.args.time));
            let effort = Effort { jobs: made.args.jobs, ..Effort::default() };
            let run = program.explore(settings, effort, limit)?;
            let found = run.checkpoint.seen.violations.len();
            // They find something there, so we must too: we report all violations of executions with this few preemptions.
            if *borderline > 0 && found == 0 {
                made.wrong.push(format!("{name}, {preemptions} preemptions: they find something, and we do not"));
            }
            table.row(vec![
                format!("{name}, N={n}"),
                preemptions.to_string(),
                run.cost.counts.executions.to_string(),
                interleavings.to_string(),
                seconds(run.cost.cpu()),
                (*time).to_owned(),
                found.to_string(),
                yes(*borderline > 0),
            ]);
        }
    }
    Ok(table)
}

/// One execution of each class.
fn complete(made: &mut Made<'_>, progress: &mut Progress) -> Result<Table, Error> {
    let header = ["program", "classes", "complete", "seconds", "TSO", "PSO"];
    let mut table = Table::new("dpor, one execution of each happens-before class: distinct violations", &header);
    for (name, unsafe_on_tso) in PROGRAMS {
        progress.next(&format!("{name}, dpor"));
        if !made.wants(name) {
            continue;
        }
        let mut program = made.open(&Source::example(name, None))?;
        let both = made.both(name, &mut program, Strategy::Strict)?;
        made.check(name, "dpor", &both, unsafe_on_tso);
        table.row(vec![
            name.to_owned(),
            both.executions().to_string(),
            yes(both.runs.iter().all(|run| run.checkpoint.is_complete())),
            seconds(both.seconds()),
            both.violations(0).to_string(),
            both.violations(1).to_string(),
        ]);
    }
    Ok(table)
}

/// The repaired programs.
fn fixed(made: &mut Made<'_>, progress: &mut Progress) -> Result<Table, Error> {
    let header = ["program", "classes", "seconds", "TSO", "PSO"];
    let title = "Fixed versions, dpor; where that does not end in time, by growing bounds on preemptions";
    let mut table = Table::new(title, &header);
    for (name, _) in PROGRAMS {
        let shown = format!("{name}-fixed");
        progress.next(&shown);
        if !made.wants(name) {
            continue;
        }
        let mut program = made.open(&Source::example(&shown, None))?;
        let both = made.both(&shown, &mut program, Strategy::Strict)?;
        let mut verdicts = Vec::new();
        for (run, model) in both.runs.iter().zip(MODELS) {
            let mut verdict = (run.checkpoint.verdict(), "safe".to_owned());
            if verdict.0 == Verdict::Undecided {
                let strategy = Strategy::Bounded { preemptions: u32::MAX };
                let effort = Effort { jobs: made.args.jobs, ..Effort::default() };
                let time = Some(Duration::from_secs(made.args.time));
                let run = program.explore(settings(model, strategy, Watching::Class), effort, time)?;
                verdict.0 = run.checkpoint.verdict();
                // Up to which bound that is known.
                if let (Verdict::Undecided, Some(k)) = (verdict.0, run.checkpoint.search.preemptions_done()) {
                    verdict = (Verdict::Safe, format!("safe up to {k} preemptions"));
                }
            }
            if verdict.0 != Verdict::Safe {
                made.wrong.push(format!("{shown}: {:?} under {}", verdict.0, model.name()));
            }
            verdicts.push(verdict.1);
        }
        let mut cells = vec![shown, both.executions().to_string(), seconds(both.seconds())];
        cells.append(&mut verdicts);
        table.row(cells);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_around_the_marks_stays() {
        let old = format!("before\n\n{BEGIN}\nold\n{END}\nafter\n");
        let new = replace(&old, "new\n", (BEGIN, END)).unwrap();
        assert_eq!(new, format!("before\n\n{BEGIN}\n\nnew\n\n{END}\nafter\n"));
        assert_eq!(replace(&new, "new\n", (BEGIN, END)).as_ref(), Some(&new));
        assert_eq!(replace("no marks", "new", (BEGIN, END)), None);
    }
}
