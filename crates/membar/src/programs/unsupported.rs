//! C and C++ programs where they cannot be run.

use super::{About, Environment, Input, Language, NativeOptions, Round, Run, Subject, Unedited};
use crate::Failure;
use crate::certify::weak;
use crate::core::{Barrier, GraphModel, Order, Performed, ProgramModel, Remedy, WeakStep};
use crate::explore::Step;
use crate::report::verify::{AccessRef, EditRef, ErrorRef, FenceRef};
use crate::verify::{Checkpoint, Effort, Event, Explanation, ProgramError, WeakError};
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const NOT_HERE: &str =
    "error: C and C++ programs are run on x86-64 Linux only\n = help: litmus tests can be verified here";

fn not_here<T>() -> Result<T, Failure> {
    Err(Failure::Usage(NOT_HERE.into()))
}

/// Answers another process of membar, which does not exist here.
pub fn serve() -> bool {
    false
}

/// The output of a program.
pub fn output(_: &Input, _: &NativeOptions) -> Result<String, Failure> {
    not_here()
}

/// What cargo needs.
pub fn rust(_: &mut dyn FnMut(&str)) -> Result<(Environment, &'static str), Failure> {
    not_here()
}

/// How cargo has built a program, which it cannot here.
#[derive(Clone, Debug)]
pub enum Package {}

/// How cargo has built something.
pub fn package(_: &Value, _: &[OsString], _: &Environment, _: Option<&Path>, _: &Path) -> Option<Package> {
    None
}

/// Notes what an executable of a package finds around it.
pub fn note_around(_: &Path, _: bool, _: &Value) -> std::io::Result<()> {
    Ok(())
}

/// Behaves as the compiler does.
pub fn compile(_: Language, _: &[OsString]) -> Result<i32, Failure> {
    not_here()
}

/// A compiled program, which does not exist here.
pub enum Native {}

impl Native {
    /// Compiles and loads a program.
    pub fn open(_: &Input, _: &NativeOptions, _: usize, _: Option<Duration>) -> Result<Native, Failure> {
        not_here()
    }
}

impl Subject for Native {
    type Detail = ();

    fn name(&self) -> &str {
        match *self {}
    }

    fn fingerprint(&self) -> u64 {
        match *self {}
    }

    fn explore(
        &mut self,
        _: Checkpoint,
        _: Effort,
        _: &[(u32, Remedy)],
        _: &AtomicBool,
        _: &mut dyn FnMut(&Round<'_>) -> bool,
    ) -> Result<Checkpoint, Failure> {
        match *self {}
    }

    fn is_alone(&self) -> bool {
        match *self {}
    }

    fn trace(&mut self, _: &[Step]) -> Result<Run<()>, Failure> {
        match *self {}
    }

    fn weak_trace(&mut self, _: &[WeakStep]) -> Result<Run<()>, Failure> {
        match *self {}
    }

    fn confirms(&mut self, _: ProgramModel, _: &Explanation) -> bool {
        match *self {}
    }

    fn confirms_weak(
        &mut self,
        _: GraphModel,
        _: &[WeakStep],
        _: &[Performed],
        _: weak::Ending<'_>,
    ) -> Result<weak::Confirmed, weak::Refusal> {
        match *self {}
    }

    fn place(&self, _: &Run<()>, _: &Event) -> (String, u32, u32) {
        match *self {}
    }

    fn access(&mut self, _: &Run<()>, _: &Event) -> AccessRef {
        match *self {}
    }

    fn edited(&self, _: &[EditRef]) -> Result<Native, Unedited> {
        match *self {}
    }

    fn fence_of(&self, _: &str, _: Order) -> String {
        match *self {}
    }

    fn fence(&self, _: Barrier, _: &AccessRef, _: &AccessRef) -> FenceRef {
        match *self {}
    }

    fn error(&mut self, _: &ProgramError) -> Result<ErrorRef, Failure> {
        match *self {}
    }

    fn weak_error(&mut self, _: &WeakError, _: &Run<()>) -> ErrorRef {
        match *self {}
    }

    fn memory(&mut self, _: &Run<()>) -> Vec<(String, String)> {
        match *self {}
    }

    fn standing(&mut self, _: &Run<()>, _: usize) -> String {
        match *self {}
    }

    fn about(&self, _: f64) -> About {
        match *self {}
    }
}
