//! Litmus tests as programs to verify.

use super::{About, Round, Run, Stand, Subject, Unedited, confirmed, edited_texts, hash, shown};
use crate::Failure;
use crate::certify::weak::{self, Confirmed, Ending, Refusal};
use crate::core::{Barrier, Claim, GraphModel, Order, Performed, ProgramModel, Remedy, WeakStep};
use crate::explore::{Next, Program, Step};
use crate::litmus::{self, Arch, Code, Error, FILE_LIMIT, Interpreter, LitmusTest, Site};
use crate::report::kinds::ErrorKind as ErrorName;
use crate::report::safe;
use crate::report::verify::{AccessRef, EditRef, ErrorRef, FenceRef, ReplayCommand, order};
use crate::verify::{Checkpoint, Effort, ErrorKind, Event, Explanation, ProgramError, Verification, WeakError};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A litmus test.
pub struct Litmus {
    name: String,
    test: LitmusTest,
    /// Its code, with the remedies of the last exploration.
    code: Arc<Code>,
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
        Ok(Litmus { name: name.into(), code: Arc::new(test.code.clone()), test })
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
    /// Memory, and which threads wait.
    type Detail = (Vec<u64>, Vec<bool>);

    fn name(&self) -> &str {
        &self.name
    }

    fn is_alone(&self) -> bool {
        self.test.code.threads.len() < 2
    }

    fn fingerprint(&self) -> u64 {
        hash(format!("{:?}", self.test.code).as_bytes())
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
        let mut verification = Verification::local(checkpoint, Interpreter::new(Arc::clone(&self.code)), effort);
        while !verification.is_done() {
            verification.advance(stop);
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
        Ok(run(&program, steps))
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
        Ok(run(&program, made))
    }

    fn confirms_weak(
        &mut self,
        model: GraphModel,
        steps: &[WeakStep],
        claims: &[Claim],
        ending: Ending<'_>,
    ) -> Result<Confirmed, Refusal> {
        weak::confirms(&mut litmus::LitmusThreads::new(&self.code), model, steps, claims, ending)
    }

    fn weak_error(&mut self, error: &WeakError, _: &Run<Self::Detail>) -> ErrorRef {
        error_ref(&error.kind, error.schedule.to_string(), error.executions)
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
        }
    }

    fn edited(&self, edits: &[EditRef]) -> Result<Litmus, Unedited> {
        match &edited_texts(edits)?[..] {
            [(_, text)] => Litmus::parse(&self.name, text.as_bytes()).map_err(|_| Unedited::NotThis),
            _ => Err(Unedited::NotThis),
        }
    }

    fn error(&mut self, error: &ProgramError) -> Result<ErrorRef, Failure> {
        Ok(error_ref(&error.kind, error.schedule.to_string(), error.executions))
    }

    fn memory(&mut self, run: &Run<Self::Detail>) -> Vec<(String, String)> {
        let cells = self.test.code.cells.iter().zip(&run.detail.0).enumerate();
        cells.map(|(i, (cell, &value))| (cell.name.clone(), self.value(i as u32, value))).collect()
    }

    fn standing(&mut self, run: &Run<Self::Detail>, thread: usize) -> String {
        match &run.next[thread] {
            Stand::Access(access) => {
                let site = &self.test.code.sites[access.site as usize];
                let waits = if run.detail.1[thread] { ", waiting" } else { "" };
                format!("P{thread} is at line {} `{}`{waits}", site.line, site.text)
            }
            Stand::Done => format!("P{thread} has ended"),
            Stand::Stuck(why) => format!("P{thread} {why}"),
        }
    }

    fn about(&self, _: f64) -> About {
        About { command: ReplayCommand::of(&self.name), ..About::default() }
    }
}

/// What a run has made, and how its threads stand.
fn run(program: &Interpreter, steps: Vec<Performed>) -> Run<(Vec<u64>, Vec<bool>)> {
    let threads = program.threads();
    let stand = |thread: usize| match program.next(thread) {
        Next::Access(access) => Stand::Access(access),
        Next::Done => Stand::Done,
        Next::Fault => Stand::Stuck(format!("cannot continue: {}", program.fault(thread).message)),
        Next::Long => Stand::Stuck("runs on without an access for too long".into()),
    };
    let waits = (0..threads).map(|thread| !program.waiting(thread).round.is_empty()).collect();
    let next = (0..threads).map(stand).collect();
    Run { steps, next, output: None, detail: (program.memory().to_vec(), waits) }
}

/// An error of a test.
fn error_ref(kind: &ErrorKind, schedule: String, executions: u64) -> ErrorRef {
    let (kind, message) = match kind {
        ErrorKind::Deadlock { threads } => {
            let names: Vec<String> = threads.iter().map(|thread| format!("P{thread}")).collect();
            let (who, waits) = (names.join(", "), if names.len() == 1 { "waits" } else { "wait" });
            (ErrorName::Deadlock, format!("{who} {waits} for a value that nobody will write"))
        }
        ErrorKind::Livelock => {
            (ErrorName::Livelock, "the threads come back to where they were, again and again".into())
        }
        ErrorKind::Fault { thread, why } => (ErrorName::Fault, format!("P{thread} cannot continue: {}", why.message)),
        ErrorKind::Race { .. } => (ErrorName::Race, "two accesses race".into()),
    };
    ErrorRef { kind, message, stack: Vec::new(), other: Vec::new(), output: None, schedule, executions }
}
