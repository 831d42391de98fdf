//! Litmus tests as programs to verify.

use super::{About, Round, Run, Stand, Subject, Unedited, claims, confirmed, edited_texts, hash, shown};
use crate::Failure;
use crate::certify::weak::{self, Confirmed, Ending, Refusal};
use crate::core::{Barrier, GraphModel, Order, Performed, ProgramModel, Remedy, WeakStep};
use crate::explore::{Next, Outcome, Program, Step};
use crate::litmus::{
    self, Arch, Code, Error, FILE_LIMIT, Interpreter, LitmusTest, LitmusVerification, Quantifier, Site,
};
use crate::report::kinds::ErrorKind as ErrorName;
use crate::report::safe;
use crate::report::verify::{AccessRef, EditRef, ErrorRef, FenceRef, ReplayCommand, order};
use crate::verify::{Checkpoint, Effort, ErrorKind, Event, Explanation, ProgramError, WeakError};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A litmus test.
pub struct Litmus {
    name: String,
    test: Arc<LitmusTest>,
    /// Its code, with the remedies of the last exploration.
    code: Arc<Code>,
    /// Threads that are alike are explored up to renaming.
    symmetry: bool,
}

/// What is known of a run: memory, which threads wait, and the final state if it is over.
pub struct Detail {
    memory: Vec<u64>,
    waits: Vec<bool>,
    state: Option<String>,
}

impl Litmus {
    /// Reads a test.
    pub fn open(path: &Path) -> Result<Litmus, Failure> {
        let name = safe(&path.to_string_lossy());
        let mut text = Vec::new();
        let file = std::fs::File::open(path);
        let read = file.and_then(|file| file.take(FILE_LIMIT as u64 + 1).read_to_end(&mut text));
        read.map_err(|error| Error::whole_file(litmus::ErrorKind::Read(error), &name))?;
        Litmus::parse(&name, &text)
    }

    /// A test that was read.
    pub fn parse(name: &str, text: &[u8]) -> Result<Litmus, Failure> {
        let test = LitmusTest::parse(name, text)?;
        if !test.arch.has_store_buffers() {
            return Err(Error::whole_file(litmus::ErrorKind::NotRun { arch: test.arch }, name).into());
        }
        Ok(Litmus { name: name.into(), code: Arc::new(test.code.clone()), test: Arc::new(test), symmetry: false })
    }

    /// What a run has made, and how its threads stand.
    fn run(&self, program: &Interpreter, steps: Vec<Performed>) -> Run<Detail> {
        let threads = program.threads();
        let stand = |thread: usize| match program.next(thread) {
            Next::Access(access) => Stand::Access(access),
            Next::Done => Stand::Done,
            Next::Fault => Stand::Stuck(format!("cannot continue: {}", program.fault(thread).message)),
            Next::Long => Stand::Stuck("runs on without an access for too long".into()),
        };
        let waits = (0..threads).map(|thread| !program.waiting(thread).round.is_empty()).collect();
        let next: Vec<Stand> = (0..threads).map(stand).collect();
        let ended = next.iter().all(|stand| *stand == Stand::Done);
        let detail =
            Detail { memory: program.memory().to_vec(), waits, state: ended.then(|| self.final_state(program)) };
        Run { steps, next, output: None, detail }
    }

    /// `0:EAX=0; 1:EAX=1`
    fn final_state(&self, program: &Interpreter) -> String {
        let mut values = Vec::new();
        let register = |thread: u32, reg| program.registers(thread as usize)[usize::from(reg)];
        self.test.holds(register, |cell| program.memory()[cell as usize], &mut values);
        let shown = self.test.locations[..self.test.shown].iter().zip(&values).enumerate();
        let one = |(at, (location, &value)): (usize, (&litmus::Location, &u64))| {
            format!("{}={}", location.name, self.test.shown_value(at, value))
        };
        shown.map(one).collect::<Vec<_>>().join("; ")
    }

    /// An error of the test, in an execution that ends in this state.
    fn error_ref(&self, kind: &ErrorKind, state: Option<&str>, schedule: String, executions: u64) -> ErrorRef {
        let (kind, message) = match kind {
            ErrorKind::Deadlock { threads } => {
                let names: Vec<String> = threads.iter().map(|thread| format!("P{thread}")).collect();
                let (who, waits) = (names.join(", "), if names.len() == 1 { "waits" } else { "wait" });
                (ErrorName::Deadlock, format!("{who} {waits} for a value that nobody will write"))
            }
            ErrorKind::Livelock => {
                (ErrorName::Livelock, "the threads come back to where they were, again and again".into())
            }
            ErrorKind::Fault { thread, why } => {
                (ErrorName::Fault, format!("P{thread} cannot continue: {}", why.message))
            }
            ErrorKind::Race { .. } => (ErrorName::Race, "two accesses race".into()),
            ErrorKind::Condition => {
                let state = state.map_or(String::new(), |state| format!(": it can end with {state}"));
                (ErrorName::Condition, format!("`{}` does not hold{state}", self.test.condition_text()))
            }
        };
        ErrorRef { kind, message, stack: Vec::new(), other: Vec::new(), output: None, schedule, executions }
    }

    /// The same test; with `symmetry`, threads that are alike are explored up to renaming.
    pub fn with_symmetry(self, symmetry: bool) -> Litmus {
        Litmus { symmetry, ..self }
    }

    /// Whether there are such threads.
    fn is_symmetric(&self) -> bool {
        self.symmetry && self.test.twins(&self.test.code).iter().any(Option::is_some)
    }

    /// The test, ready to be explored.
    fn program(&self) -> Interpreter {
        let program = Interpreter::new(Arc::clone(&self.code)).asked(&self.test);
        if self.symmetry { program.with_twins(self.test.twins(&self.code)) } else { program }
    }

    fn site(&self, event: &Event) -> &Site {
        &self.test.code.sites[event.access.site as usize]
    }

    /// A value as text: an address by its name.
    fn value(&self, addr: u32, value: u64) -> String {
        match self.test.pointed_at(value) {
            Some(name) => name.to_owned(),
            None if self.test.code.cells[addr as usize].ty.signed => (value as i64).to_string(),
            None => value.to_string(),
        }
    }
}

impl Subject for Litmus {
    type Detail = Detail;

    fn name(&self) -> &str {
        &self.name
    }

    fn checks(&self) -> Vec<String> {
        let keyword = self.test.condition.quantifier.keyword();
        if self.test.asserts() { vec![keyword.into()] } else { Vec::new() }
    }

    fn condition(&self) -> Option<(String, bool)> {
        let asserts = self.test.asserts();
        let some = asserts || self.test.condition.quantifier == Quantifier::Exists;
        some.then(|| (self.test.condition_text(), asserts))
    }

    fn is_alone(&self) -> bool {
        self.test.code.threads.len() < 2
    }

    fn fingerprint(&self) -> u64 {
        hash(format!("{:?}{:?} {}", self.test.code, self.test.condition, self.is_symmetric()).as_bytes())
    }

    fn explore(
        &mut self,
        checkpoint: Checkpoint,
        effort: Effort,
        remedies: &[(u32, Remedy)],
        stop: &AtomicBool,
        go_on: &mut dyn FnMut(&Round<'_>) -> bool,
    ) -> Result<Checkpoint, Failure> {
        self.code = Arc::new(self.test.code.with_remedies(remedies));
        let mut verification = LitmusVerification::new(checkpoint, self.program(), effort);
        while !verification.is_done() {
            verification.advance(stop);
            if verification.is_foreign() {
                return Err(Failure::foreign());
            }
            if !shown(&verification, &|| serde_json::Value::Null, go_on) {
                break;
            }
        }
        Ok(verification.checkpoint())
    }

    fn trace(&mut self, schedule: &[Step]) -> Result<Run<Self::Detail>, Failure> {
        let mut program = Interpreter::new(Arc::clone(&self.code));
        let threads = program.threads();
        let mut steps = Vec::new();
        for &step in schedule {
            if step.thread() >= threads || !program.fits(step) {
                break;
            }
            steps.push(program.repeat(step));
        }
        Ok(self.run(&program, steps))
    }

    fn weak_trace(&mut self, steps: &[WeakStep]) -> Result<Run<Self::Detail>, Failure> {
        let mut program = Interpreter::new(Arc::clone(&self.code));
        let threads = program.threads();
        let mut orders: Vec<Vec<u64>> = program.memory().iter().map(|&value| vec![value]).collect();
        let mut made = Vec::new();
        for step in steps {
            let thread = step.thread as usize;
            let Some(Next::Access(access)) = (thread < threads).then(|| program.next(thread)) else { break };
            let order = &mut orders[access.addr as usize];
            let Some(at) = order.len().checked_sub(step.behind as usize).filter(|&at| at > 0) else { break };
            let performed = program.step_finding(thread, order[at - 1], false);
            if performed.writes {
                order.insert(at, performed.new);
            }
            program.leave(access.addr, order.last().copied().unwrap_or_default());
            made.push(performed);
        }
        Ok(self.run(&program, made))
    }

    fn confirms_weak(
        &mut self,
        model: GraphModel,
        steps: &[WeakStep],
        made: &[Performed],
        ending: Ending<'_>,
    ) -> Result<Confirmed, Refusal> {
        let mut threads = litmus::LitmusThreads::new(&self.code);
        let confirmed = weak::confirms(&mut threads, model, steps, &claims(made), ending)?;
        if ending == Ending::Complete && threads.outcome(&self.test) == Outcome::Plain {
            return Err(Refusal::Outcome);
        }
        Ok(confirmed)
    }

    fn weak_error(&mut self, error: &WeakError, run: &Run<Self::Detail>) -> ErrorRef {
        self.error_ref(&error.kind, run.detail.state.as_deref(), error.schedule.to_string(), error.executions)
    }

    fn confirms(&mut self, model: ProgramModel, explanation: &Explanation) -> bool {
        confirmed(&mut crate::litmus::LitmusThreads::new(&self.code), model, explanation)
    }

    fn refuses(&self, model: ProgramModel) -> Option<Failure> {
        let assembly = model == ProgramModel::C11 && self.test.arch != Arch::C;
        assembly.then(|| Error::whole_file(litmus::ErrorKind::NoOrders, &self.name).into())
    }

    fn place(&self, _: &Run<Self::Detail>, event: &Event) -> (String, u32, u32) {
        (self.name.clone(), self.site(event).line, self.site(event).column)
    }

    fn access(&mut self, _: &Run<Self::Detail>, event: &Event) -> AccessRef {
        let site = self.site(event);
        let value = |value: Option<u64>| value.map(|value| self.value(event.access.addr, value));
        AccessRef {
            file: self.name.clone(),
            function: None,
            line: site.line,
            column: site.column,
            thread: event.thread,
            thread_name: format!("P{}", event.thread),
            text: site.text.clone(),
            kind: event.access.kind,
            address: self.test.code.cells[event.access.addr as usize].name.clone(),
            read: value(event.read),
            write: value(event.write),
            control: false,
            crowded: false,
            by: None,
        }
    }

    fn fence_of(&self, _: &str, order: Order) -> String {
        format!("atomic_thread_fence(memory_order_{order});")
    }

    fn fence(&self, barrier: Barrier, after: &AccessRef, before: &AccessRef) -> FenceRef {
        let fence = match (self.test.arch, barrier) {
            (Arch::X86, Barrier::Full) => "MFENCE",
            (Arch::X86, _) => "SFENCE",
            (Arch::X86_64, Barrier::Full) => "mfence",
            (Arch::X86_64, _) => "sfence",
            (_, Barrier::Full) => &self.fence_of("", Order::SeqCst),
            (_, _) => &self.fence_of("", Order::Release),
        };
        FenceRef {
            file: self.name.clone(),
            function: None,
            thread_name: after.thread_name.clone(),
            fence: fence.into(),
            replaces: None,
            order: order(after, before),
            edits: Vec::new(),
            after_line: after.line,
            after_column: after.column,
            before_line: before.line,
            before_column: before.column,
            tried_before: false,
            crowded: false,
        }
    }

    fn edited(&self, edits: &[EditRef]) -> Result<Litmus, Unedited> {
        match &edited_texts(edits)?[..] {
            [(_, text)] => match Litmus::parse(&self.name, text.as_bytes()) {
                Ok(edited) => Ok(edited.with_symmetry(self.symmetry)),
                Err(_) => Err(Unedited::NotThis),
            },
            _ => Err(Unedited::NotThis),
        }
    }

    fn error(&mut self, error: &ProgramError) -> Result<ErrorRef, Failure> {
        let run = self.trace(&error.schedule.0)?;
        let state = run.detail.state.as_deref();
        Ok(self.error_ref(&error.kind, state, error.schedule.to_string(), error.executions))
    }

    fn memory(&mut self, run: &Run<Self::Detail>) -> Vec<(String, String)> {
        let cells = self.test.code.cells.iter().zip(&run.detail.memory).enumerate();
        cells.map(|(i, (cell, &value))| (cell.name.clone(), self.value(i as u32, value))).collect()
    }

    fn standing(&mut self, run: &Run<Self::Detail>, thread: usize) -> String {
        match &run.next[thread] {
            Stand::Access(access) => {
                let site = &self.test.code.sites[access.site as usize];
                let waits = if run.detail.waits[thread] { ", waiting" } else { "" };
                format!("P{thread} is at line {} `{}`{waits}", site.line, site.text)
            }
            Stand::Done => format!("P{thread} has ended"),
            Stand::Stuck(why) => format!("P{thread} {why}"),
        }
    }

    fn about(&self, _: f64) -> About {
        About { command: ReplayCommand::of(&self.name), symmetric: self.is_symmetric(), ..About::default() }
    }
}
