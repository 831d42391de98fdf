//! Results of real cores, told apart by the machine that they are from.
//!
//! What one kind of machine has seen is added up; of several kinds, each has its own heading, page and exit code.

use super::usage;
use crate::cli::{CampaignArgs, DataFormat};
use crate::stop;
use membar::Failure;
use membar::report::safe;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

/// This machine, by its processor. Reading that takes a millisecond or more.
pub fn this() -> &'static str {
    static MACHINE: OnceLock<String> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let name = name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| safe(name.trim()));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        format!("{name}, {}", membar::report::count(cores, "core"))
    })
}

/// Results that can be added: those of one machine and one way of running it.
pub struct Group<W, R> {
    pub machine: String,
    pub way: W,
    pub results: Vec<R>,
}

/// Groups results, each with its machine and the way it was run, in the order in which groups begin.
pub fn grouped<W: PartialEq, R>(
    results: impl IntoIterator<Item = (String, W, R)>,
) -> Result<Vec<Group<W, R>>, Failure> {
    let mut groups: Vec<Group<W, R>> = Vec::new();
    for (machine, way, result) in results {
        match groups.iter_mut().find(|group| group.machine == machine && group.way == way) {
            Some(group) => group.results.push(result),
            None => groups.push(Group { machine, way, results: vec![result] }),
        }
    }
    if groups.is_empty() {
        return Err(usage("error: no shard has a result yet\n = help: `membar work` does them".into()));
    }
    Ok(groups)
}

/// Tells of each group, below its machine, on its page if there is one. The exit code is the worst: a violation, then something undecided.
pub fn each<W, R>(
    groups: Vec<Group<W, R>>,
    args: &CampaignArgs,
    mut tell: impl FnMut(Group<W, R>, Option<PathBuf>) -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    let mut code = stop::ALLOWED;
    for (number, group) in groups.into_iter().enumerate() {
        if args.format == DataFormat::Text {
            let blank = if number > 0 { "\n" } else { "" };
            writeln!(std::io::stdout(), "{blank}On {}:", group.machine)?;
        }
        let page = args.html.as_ref().map(|html| match number {
            0 => html.clone(),
            _ => html.with_extension(format!("{}.html", number + 1)),
        });
        let this = tell(group, page)?;
        code = if code == stop::FORBIDDEN || this == stop::ALLOWED { code } else { this };
    }
    Ok(code)
}
