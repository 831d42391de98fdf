//! The words of a litmus test: what reports call its places, names and values.

use crate::stop::Failure;
use membar::certify::replay;
use membar::core::{AccessKind, Barrier, Relaxation};
use membar::litmus::{Arch, Interpreter, LitmusTest};
use membar::report::safe;
use membar::report::verify::{AccessRef, ErrorRef, FenceRef, LinkRef, StepRef, ViolationRef};
use membar::verify::{ErrorKind, Event, Explanation, Fence, Found, Link, ProgramError, Relation, RunStep, explain};
use std::sync::Arc;

/// The words of a test: places, names and values.
pub struct Names<'a> {
    /// The file.
    pub file: &'a str,
    /// The test.
    pub test: &'a LitmusTest,
}

impl Names<'_> {
    /// A value as text: an address by its name.
    pub fn value(&self, addr: u32, value: u64) -> String {
        match self.test.pointed_at(value) {
            Some(name) => name.to_owned(),
            None if self.test.code.cells[addr as usize].ty.signed => (value as i64).to_string(),
            None => value.to_string(),
        }
    }

    /// An event of an explanation.
    pub fn access(&self, event: &Event) -> AccessRef {
        let site = &self.test.code.sites[event.access.site as usize];
        let value = |value: Option<u64>| value.map(|value| self.value(event.access.addr, value));
        AccessRef {
            file: self.file.into(),
            line: site.line,
            column: site.column,
            thread: event.thread,
            thread_name: format!("P{}", event.thread),
            text: site.text.clone(),
            kind: match event.access.kind {
                AccessKind::Load => "load",
                AccessKind::Store => "store",
                AccessKind::Rmw => "rmw",
            },
            address: self.test.code.cells[event.access.addr as usize].name.clone(),
            read: value(event.read),
            write: value(event.write),
        }
    }

    fn fence(&self, explanation: &Explanation, fence: &Fence) -> FenceRef {
        let site = |i: usize| &self.test.code.sites[explanation.events[i].access.site as usize];
        FenceRef {
            thread_name: format!("P{}", explanation.events[fence.after].thread),
            fence: self.instruction(fence.barrier).into(),
            after_line: site(fence.after).line,
            after_column: site(fence.after).column,
            before_line: site(fence.before).line,
            before_column: site(fence.before).column,
        }
    }

    /// What a barrier is called in the test's language.
    pub fn instruction(&self, barrier: Barrier) -> &'static str {
        match (self.test.arch, barrier) {
            (Arch::X86, Barrier::Full) => "MFENCE",
            (Arch::X86, _) => "SFENCE",
            (Arch::X86_64, Barrier::Full) => "mfence",
            (Arch::X86_64, _) => "sfence",
            (Arch::C, Barrier::Full) => "atomic_thread_fence(memory_order_seq_cst);",
            (Arch::C, _) => "atomic_thread_fence(memory_order_release);",
        }
    }

    /// A violation, confirmed.
    pub fn violation(&self, found: &Found, model: Relaxation) -> Result<ViolationRef, Failure> {
        let mut program = Interpreter::new(Arc::new(self.test.code.clone()));
        let unconfirmed = || {
            Failure::Usage(format!(
                "internal error: a violation could not be confirmed ({}, schedule {})\n{}",
                safe(self.file),
                found.schedule,
                crate::decide::REPORT_BUG
            ))
        };
        let explanation = explain(&mut program, found, model).ok_or_else(unconfirmed)?;
        let events = &explanation.events;
        // Separate code runs it on a machine with buffers, compares what is read, and looks for a cycle by itself.
        let certified = replay::confirms(&self.test.code, model, &explanation.steps(), &explanation.claims());
        if !certified {
            return Err(unconfirmed());
        }
        let overtaking = events.len() - 1;
        let link = |link: &Link| LinkRef {
            access: self.access(&events[link.from]),
            relation: match link.relation {
                Relation::Po { .. } => "po",
                Relation::Rf => "rf",
                Relation::Co => "co",
                Relation::Fr => "fr",
            },
            kept: match link.relation {
                Relation::Po { kept } => Some(kept),
                _ => None,
            },
        };
        let step = |step: &RunStep| {
            let (step, i) = match *step {
                RunStep::Issue(i) => ("issue", i),
                RunStep::Commit(i) => ("commit", i),
            };
            let (delayed, overtakes) = (i == explanation.store, i == overtaking && step == "issue");
            StepRef { step, access: self.access(&events[i]), delayed, overtakes }
        };
        Ok(ViolationRef {
            store: self.access(&events[explanation.store]),
            access: self.access(&events[overtaking]),
            cycle: explanation.cycle.iter().map(link).collect(),
            run: explanation.run.iter().map(step).collect(),
            fences: explanation.fences.iter().map(|fence| self.fence(&explanation, fence)).collect(),
            schedule: found.schedule.to_string(),
            executions: found.executions,
            certified,
        })
    }

    /// An error of the program.
    pub fn error(&self, error: &ProgramError) -> ErrorRef {
        let (kind, message) = match &error.kind {
            ErrorKind::Deadlock { threads } => {
                let names: Vec<String> = threads.iter().map(|thread| format!("P{thread}")).collect();
                let (who, waits) = (names.join(", "), if names.len() == 1 { "waits" } else { "wait" });
                ("deadlock", format!("{who} {waits} for a value that nobody will write"))
            }
            ErrorKind::Livelock => ("livelock", "the threads come back to where they were, again and again".into()),
            ErrorKind::Fault { thread, why } => ("fault", format!("P{thread} cannot go on: {why}")),
        };
        ErrorRef { kind, message, schedule: error.schedule.to_string(), executions: error.executions }
    }
}
