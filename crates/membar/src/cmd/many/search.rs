//! Exploration, split by subtree.
//!
//! `plan` explores a little, shallow subtrees first, until there are many of them, and deals them out. A worker explores its
//! subtrees; races that concern states above them come back with the result. When all shards of a plan, or all that a slow
//! shard gave back, are done, these races may be reason for more shards ([`follow`]). `membar-explore/src/tree.rs` has the rule.

use super::store::{Id, Merge, Store};
use super::{Came, Job, Merged, Missing, Ran, Split, usage};
use crate::cli::{PlanArgs, Verify};
use crate::cmd::programs::{check_flags, inputs};
use crate::cmd::verify;
use membar::explore::Strategy;
use membar::programs::Input;
use membar::report::Style;
use membar::{Explored, Explores, Failure, Interrupt, Prepared, Shard, VerifyOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

/// New shards that what is left of one, or shows later, becomes, at most.
const MOST: usize = 64;
/// How long a program is explored before it is split, if nothing is said.
const EXPLORE: Duration = Duration::from_secs(3600);

/// A shard: a part of the search of one of the programs.
#[derive(Serialize, Deserialize)]
struct Piece {
    program: usize,
    #[serde(flatten)]
    shard: Shard,
}

/// What stays with a plan: where each program's search was split, and what was found until then; nothing for litmus tests whose
/// executions are enumerated.
type Root = Vec<Option<Shard>>;

fn programs(args: &Verify) -> Result<(Vec<Input>, VerifyOptions), Failure> {
    let (inputs, failures) = inputs(&args.programs);
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    check_flags(&inputs, &args.native.flags)?;
    Ok((inputs, verify::options(args, args.native.options())?))
}

/// The files that a program is made of, as far as its names tell.
fn files(inputs: &[Input]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for input in inputs {
        match input {
            Input::Litmus(file) | Input::Executable(file) => all.push(file.clone()),
            Input::Sources(files) => all.extend(files.iter().cloned()),
            Input::Text { .. } => {
                return Err(usage("error: standard input cannot be split\n = help: give a file".into()));
            }
        }
    }
    Ok(all)
}

/// What a part of a search found out about its program and the plan did not know.
#[derive(Clone, Serialize, Deserialize)]
pub struct Learnt {
    program: usize,
    facts: Value,
}

pub fn split(args: &Verify, plan: &PlanArgs, learnt: &[Learnt]) -> Result<Split, Failure> {
    let (inputs, options) = programs(args)?;
    let refused = [
        (args.executions.is_some(), "--executions", "a plan explores everything, or samples nothing"),
        (args.time.0.is_some(), "--time", "`membar plan --shard-time` limits the time of a shard"),
        (args.resume.is_some(), "--resume", "a plan keeps its own state"),
    ];
    if let Some((_, flag, help)) = refused.iter().find(|(is_given, ..)| *is_given) {
        return Err(usage(format!("error: {flag} is not for plans\n = help: leave it out; {help}")));
    }
    if !matches!(options.strategy, Strategy::Dpor | Strategy::Strict | Strategy::Exhaustive) {
        let help = "exploration is split with --strategy dpor or exhaustive";
        return Err(usage(format!("error: this strategy cannot be split\n = help: {help}")));
    }
    let files = files(&inputs)?;
    let (mut root, mut shards): (Root, Vec<Value>) = (Vec::new(), Vec::new());
    let mut found = 0;
    let each = (plan.shards as usize).div_ceil(inputs.len().max(1));
    for (program, input) in inputs.iter().enumerate() {
        if verify::enumerated(args, input, &Interrupt::default())?.is_some() {
            root.push(None);
            continue;
        }
        let options = verify::options_for(args, input, &options);
        let time = plan.explore.0.unwrap_or(EXPLORE);
        let facts =
            learnt.iter().filter(|learnt| learnt.program == program).map(|learnt| learnt.facts.clone()).collect();
        let mut begun = Prepared::open(input, &options)?.begin(&options, each, time, facts)?;
        if !begun.checkpoint.search.is_done() {
            for shard in begun.pieces(each) {
                shards.push(value(&Piece { program, shard })?);
            }
        }
        found += findings(&begun);
        root.push(Some(begun));
    }
    Ok(Split { merge: Merge::Subtrees, inputs: files, root: Some(value(&root)?), shards, found })
}

fn value(of: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(of).map_err(|error| Failure::Write(error.into()))
}

/// Violations and errors so far.
fn findings(shard: &Shard) -> u64 {
    let seen = &shard.checkpoint.seen;
    (seen.violations.len() + seen.errors.iter().filter(|error| !error.kind.is_limit()).count()) as u64
}

struct Searching {
    args: Verify,
    inputs: Vec<Input>,
    options: VerifyOptions,
    /// The program that was run last: building one takes seconds.
    open: Option<(usize, Prepared)>,
    interrupt: Interrupt,
}

pub fn job(args: Verify, interrupt: &Interrupt) -> Result<Box<dyn Job>, Failure> {
    let (inputs, options) = programs(&args)?;
    Ok(Box::new(Searching { args, inputs, options, open: None, interrupt: interrupt.clone() }))
}

impl Searching {
    /// The program, and how to run it.
    fn open(&mut self, program: usize) -> Result<(&mut Prepared, VerifyOptions), Failure> {
        let Some(input) = self.inputs.get(program) else {
            return Err(usage("error: the shard is about a program that the plan does not have".into()));
        };
        let options = verify::options_for(&self.args, input, &self.options);
        let prepared = match self.open.take() {
            Some((open, prepared)) if open == program => prepared,
            _ => Prepared::open(input, &options)?,
        };
        Ok((&mut self.open.insert((program, prepared)).1, options))
    }
}

impl Job for Searching {
    fn follow(&mut self, store: &Store) -> Result<bool, Failure> {
        if store.manifest.stop_at_first && !store.found().is_empty() {
            return Ok(false);
        }
        let mut joining = Joining { job: Some(self), ..Joining::new(store) };
        joining.all()?;
        Ok(joining.wrote)
    }

    fn run(&mut self, shard: Value, time: Option<Duration>) -> Result<Came, Failure> {
        let Piece { program, shard } =
            serde_json::from_value(shard).map_err(|error| usage(format!("error: the shard: {error}")))?;
        let interrupt = self.interrupt.clone();
        let (prepared, options) = self.open(program)?;
        let mut shard = match prepared.run(shard, &options, time, &interrupt)? {
            Explores::Part(shard) => *shard,
            Explores::Learnt(facts) => return Ok(Came::Learnt(Learnt { program, facts })),
        };
        let (units, found) = (shard.checkpoint.counts().runs(), findings(&shard));
        let mut rest = Vec::new();
        if !shard.checkpoint.search.is_done() {
            if units == 0 {
                return Err(Failure::Late);
            }
            for shard in shard.pieces(MOST) {
                rest.push(value(&Piece { program, shard })?);
            }
        }
        let result = serde_json::to_string(&Piece { program, shard }).map_err(|error| Failure::Write(error.into()))?;
        Ok(Came::Ran(Ran { result, units, found, rest }))
    }
}

/// Puts parts together as far as they are there.
struct Joining<'a> {
    store: &'a Store,
    /// Who writes new shards, if anybody.
    job: Option<&'a mut Searching>,
    wrote: bool,
    /// Programs of which a part is missing.
    missing: BTreeSet<usize>,
    /// Shards that show only now, and are not written yet.
    late: usize,
    seconds: f64,
}

impl<'a> Joining<'a> {
    fn new(store: &'a Store) -> Joining<'a> {
        Joining { store, job: None, wrote: false, missing: BTreeSet::new(), late: 0, seconds: 0.0 }
    }

    /// All programs, with the parts that are there.
    fn all(&mut self) -> Result<Vec<Option<Shard>>, Failure> {
        let mut root: Root = self.store.root().map_err(|unusable| {
            usage(format!("error: shards/0 {unusable}\n = help: make the plan again, or restore the file"))
        })?;
        let mut programs: Vec<Piece> = Vec::new();
        for (program, shard) in root.iter_mut().enumerate() {
            programs.extend(shard.take().map(|shard| Piece { program, shard }));
        }
        self.join(&Id::default(), self.store.manifest.shards, &mut programs)?;
        for Piece { program, mut shard } in programs {
            if self.missing.contains(&program) {
                shard.checkpoint.search.set_incomplete();
            }
            root[program] = Some(shard);
        }
        Ok(root)
    }

    /// Takes back the parts that programs, or a shard of one, were split into; whether all are there and nothing is left to do.
    fn join(&mut self, parent: &Id, first: u32, programs: &mut [Piece]) -> Result<bool, Failure> {
        let (mut next, mut count) = (1, first);
        for batch in 1.. {
            let mut whole = true;
            for number in next..next + count {
                let id = parent.child(number);
                let Some((part, is_whole)) = self.settled(&id)? else {
                    let program = self.store.shard(&id).ok().and_then(|shard| shard["program"].as_u64());
                    match program {
                        Some(program) => drop(self.missing.insert(program as usize)),
                        // Nobody knows of which.
                        None => self.missing.extend(programs.iter().map(|piece| piece.program)),
                    }
                    whole = false;
                    continue;
                };
                whole &= is_whole;
                if let Some(piece) = programs.iter_mut().find(|piece| piece.program == part.program) {
                    piece.shard.rejoin(part.shard);
                }
            }
            if !whole {
                return Ok(false);
            }
            next += count;
            let has_more = |piece: &&mut Piece| piece.shard.checkpoint.search.branches_left() > 0;
            let mut more: Vec<&mut Piece> = programs.iter_mut().filter(has_more).collect();
            if more.is_empty() {
                return Ok(true);
            }
            match self.store.batch(parent, batch) {
                Ok(Some(new)) => {
                    // They have been handed out.
                    more.iter_mut().for_each(|piece| drop(piece.shard.split(1)));
                    count = new;
                }
                Ok(None) => {
                    self.missing.extend(more.iter().map(|piece| piece.program));
                    let new = self.late(&mut more)?;
                    self.late += new.len();
                    if self.job.is_some() {
                        self.store.add_follow(parent, batch, &new)?;
                        self.wrote = true;
                    }
                    return Ok(false);
                }
                Err(unusable) => return Err(usage(format!("error: follow/{} {unusable}", parent.child(batch)))),
            }
        }
        Ok(true)
    }

    /// What is left of these programs as shards, weighed if they are to be written.
    fn late(&mut self, pieces: &mut [&mut Piece]) -> Result<Vec<Value>, Failure> {
        let mut new = Vec::new();
        for Piece { program, shard } in pieces {
            if let Some(job) = &mut self.job {
                let interrupt = job.interrupt.clone();
                let (prepared, options) = job.open(*program)?;
                *shard = prepared.weigh(shard.clone(), &options, &interrupt)?;
            }
            for shard in shard.pieces(MOST) {
                new.push(value(&Piece { program: *program, shard })?);
            }
        }
        Ok(new)
    }

    /// The result of a shard, with the parts that it was split into; whether they are all there. Nothing if it has no result.
    fn settled(&mut self, id: &Id) -> Result<Option<(Piece, bool)>, Failure> {
        let Ok((done, body)) = self.store.result::<Piece>(id) else { return Ok(None) };
        self.seconds += done.seconds;
        let mut pieces = [body.result];
        let whole = self.join(id, done.rest, &mut pieces)?;
        let [mut piece] = pieces;
        if !whole {
            self.missing.insert(piece.program);
            piece.shard.checkpoint.search.set_incomplete();
        }
        Ok(Some((piece, whole)))
    }
}

pub fn merge(store: &Store, args: &Verify, style: Style) -> Result<Merged, Failure> {
    let mut joining = Joining::new(store);
    let mut programs = joining.all()?;
    let is_found = |shard: &Shard| shard.checkpoint.seen.has_found();
    let ended = args.stop_at_first && programs.iter().flatten().any(is_found);
    let (seconds, missing) = (joining.seconds, std::mem::take(&mut joining.missing));
    let mut given = |program: usize| {
        let shard = programs.get_mut(program)?.take()?;
        Some(Explored { shard, seconds, missing: missing.contains(&program) })
    };
    let code = verify::run_explored(args, &mut given, style)?;
    let missing = if ended { Missing::default() } else { Missing::up_to(store, None) };
    if joining.late > 0 && !ended {
        let plan = super::plan_name(&store.path);
        let _ = writeln!(
            io::stderr(),
            "incomplete: {} showed only when all others were done\n = help: `membar work {plan}` does them; then merge again",
            membar::report::count(joining.late, "more shard")
        );
    }
    Ok(Merged { code, missing })
}
