//! Programs in C, C++ and Rust to verify: compiled, run in their own processes, and named by their debug information.

mod around;
mod told;
mod trouble;

use super::{
    About, Environment, Input, Language, Limit, NativeOptions, RUN, Round, Run, Stand, Subject, Unedited, claims,
    confirmed, edited_texts, hash, shown,
};
use crate::certify::weak::{self, Axiom, Confirmed, Ending, Refusal};
use crate::core::{AccessKind, Barrier, GraphModel, Order, Performed, ProgramModel, Remedy, WeakStep};
use crate::explore::{FaultKind, Step, Strategy};
use crate::report::kinds::{ErrorKind as ErrorName, Maker};
use crate::report::verify::{AccessRef, EditRef, ErrorRef, FenceRef, FrameRef, NoteRef, ReplayCommand, order};
use crate::verification::EXPLAINING;
use crate::verify::{
    Checkpoint, Effort, ErrorKind, Event, Explanation, ProgramError, Settings, Verification, WeakError, weak_run,
};
use crate::{Failure, Problem, REPORT_BUG};
pub use around::note as note_around;
use membar_native::Options;
pub use membar_native::build::rust::Package;
use membar_native::build::{self, BuildError, Built, Note, Request};
use membar_native::process::Setup;
use membar_native::session::Session;
use membar_native::words::{Dialect, Place, Words};
use membar_native::{Standing, Traced, TracedStep};
use membar_symbols::Symbols;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use told::{at, waiting};
use trouble::{command, cxx_driver, failed, trouble};

/// A compiled program.
pub struct Native {
    name: String,
    /// The first source, or the executable.
    main: String,
    session: Session,
    words: Words,
    dialect: Dialect,
    compiler: String,
    notes: Vec<Note>,
    spurious_wakeups: bool,
    spurious_failures: bool,
    opaque_private: bool,
    command: ReplayCommand,
    fingerprint: u64,
    /// The checks that it makes itself.
    checks: Vec<String>,
    /// The input it was built from, how, and for how many processes.
    made_of: (Input, NativeOptions, usize),
    /// Where the object and the memory that processes share are.
    dir: TempDir,
}

/// Answers another process of membar until that ends. Whether that went well.
pub fn serve() -> bool {
    // The program's messages go nowhere, but a bug of ours must be heard.
    if let Ok(stderr) = std::io::stderr().as_fd().try_clone_to_owned() {
        let stderr = std::fs::File::from(stderr);
        std::panic::set_hook(Box::new(move |info| {
            let _ = writeln!(&stderr, "internal error: {info}\n{REPORT_BUG}");
            std::process::exit(membar_native::process::BUG);
        }));
    }
    // The parent is gone, or will report what is wrong.
    membar_native::process::serve().is_ok()
}

/// The output of a program, which has one thread.
pub fn output(input: &Input, args: &NativeOptions) -> Result<String, Failure> {
    let mut native = Native::open(input, args, 1, None)?;
    let run = native.trace(&[])?;
    Ok(run.output.unwrap_or_default())
}

/// What cargo needs to build instrumented programs: variables of its environment, and the target. The standard library is built if it
/// has to be; `tell` hears of that, and of what is not as it should be.
pub fn rust(tell: &mut dyn FnMut(&str)) -> Result<(Environment, &'static str), Failure> {
    let sysroot = build::rust::setup(tell).map_err(|error| failed("", &error))?;
    for loud in &sysroot.loud {
        tell(&format!("this toolchain's standard library adds executions of its own: {loud}"));
    }
    Ok((build::rust::cargo(&sysroot), build::rust::TARGET))
}

/// How cargo has built the executable that this message of its is about: with these words and variables, the manifest that was named,
/// and in this target directory.
pub fn package(
    message: &Value,
    words: &[OsString],
    variables: &Environment,
    manifest: Option<&Path>,
    target: &Path,
) -> Option<Package> {
    let made = build::rust::Artifact::of(message)?;
    let (words, variables) = (words.to_vec(), variables.clone());
    Some(Package { words, variables, manifest: manifest.map(Path::to_owned), target: target.to_owned(), made })
}

/// Behaves as the compiler does. Its exit code.
pub fn compile(language: Language, args: &[OsString]) -> Result<i32, Failure> {
    let language = match language {
        Language::C => build::Language::C,
        Language::Cxx => build::Language::Cxx,
    };
    build::wrapper(language, args).map_err(|error| failed("", &error))
}

impl Native {
    /// Compiles and loads a program.
    ///
    /// Its processes are killed a moment after this time, which begins when it is compiled.
    pub fn open(input: &Input, args: &NativeOptions, jobs: usize, time: Option<Duration>) -> Result<Native, Failure> {
        let dir = tempfile::Builder::new().prefix("membar-").tempdir();
        let dir =
            dir.map_err(|error| Failure::Usage(format!("error: cannot make a directory for the program: {error}")))?;
        let (files, built): (Vec<&Path>, Result<Built, BuildError>) = match input {
            Input::Sources(sources) if input.is_rust() => {
                let sysroot = build::rust::setup(&mut |line| eprintln!("membar: {line}"));
                let built =
                    sysroot.and_then(|sysroot| build::rust::build(&sources[0], &args.flags, dir.path(), &sysroot));
                (vec![sources[0].as_path()], built)
            }
            Input::Sources(sources) => {
                let (cc, cxx) = (args.cc.clone(), args.cc.as_deref().map(cxx_driver));
                let request = Request { sources, flags: &args.flags, dir: dir.path(), cc, cxx };
                (sources.iter().map(PathBuf::as_path).collect(), build::build(&request))
            }
            Input::Executable(path) => (vec![path.as_path()], build::build_executable(path, dir.path())),
            Input::Litmus(_) | Input::Text { .. } => {
                return Err(Failure::Internal("a litmus test is not compiled".into()));
            }
        };
        let shown: Vec<String> = files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
        let main = shown.first().cloned().unwrap_or_default();
        let built = built.map_err(|error| failed("", &error))?;
        let problem = |error: &dyn std::fmt::Display| Problem::failure(&main, 0, &error.to_string(), "");
        if args.spurious_failures && built.compiler.contains("clang") {
            let why = "clang does not tell which compare-exchanges are weak, so spurious failures cannot be tried";
            return Err(Problem::failure(&main, 0, why, "add --cc gcc, or leave --assume spurious-failures out"));
        }
        let symbols = Symbols::load(&built.object).map_err(|error| problem(&error))?;
        let mut program_args = vec![match input {
            Input::Sources(_) => files.first().and_then(|file| file.file_stem()).unwrap_or_default().to_owned(),
            _ => files.first().map(|file| file.as_os_str().to_owned()).unwrap_or_default(),
        }];
        program_args.extend(args.args.iter().cloned());
        if !matches!(input, Input::Sources(_)) {
            program_args.extend(args.flags.iter().cloned());
        }
        let callers = symbols.callers();
        let options = Options {
            heap: args.heap,
            volatile_atomic: args.volatile_atomic,
            spurious_wakeups: args.spurious_wakeups,
            spurious_failures: args.spurious_failures,
            symmetry: args.symmetry,
            opaque_private: args.opaque_private,
            nondet: args.nondet,
            wrappers: callers.wrappers,
            own_atomics: if args.include_std { Vec::new() } else { callers.own_atomics },
            whole_stacks: false,
        };
        let object = std::fs::read(&built.object).map_err(|error| problem(&error))?;
        let around = around::of(input, args);
        let how = format!("{program_args:?} {options:?} {around:?}");
        let fingerprint = hash(&object) ^ hash(how.as_bytes());
        let runner = args.runner.clone().map_or_else(std::env::current_exe, Ok);
        let exe = runner.map_err(|error| problem(&error))?;
        let setup = Setup {
            exe,
            exe_args: vec![RUN.into()],
            object: built.object,
            args: program_args,
            around,
            dir: dir.path().to_owned(),
            options,
            show: false,
            until: time.and_then(|time| Instant::now().checked_add(time + EXPLAINING)),
        };
        let cxx = files.iter().any(|file| build::Language::of(file) == Some(build::Language::Cxx));
        let dialect = match () {
            () if built.compiler.starts_with("rustc") => Dialect::Rust,
            () if cxx => Dialect::Cxx,
            () => Dialect::C,
        };
        let name = shown.join(" ");
        let words = Words::new(symbols);
        let session = Session::start(&setup, jobs).map_err(|error| trouble(&main, &words, &error))?;
        let command = command(&shown, args);
        let (notes, checks) = (built.notes, built.checks);
        let compiler = built.compiler;
        let made_of = (input.clone(), args.clone(), jobs);
        Ok(Native {
            name,
            main,
            session,
            words,
            dialect,
            compiler,
            notes,
            spurious_wakeups: args.spurious_wakeups,
            spurious_failures: args.spurious_failures,
            opaque_private: args.opaque_private,
            command,
            fingerprint,
            checks,
            made_of,
            dir,
        })
    }

    /// A Rust source with edits: a file of the same name, in a place of its own.
    fn edited_rust(
        &self,
        source: &Path,
        args: &NativeOptions,
        jobs: usize,
        edits: &[EditRef],
    ) -> Result<Native, Unedited> {
        let texts = edited_texts(edits)?;
        let [(file, text)] = &texts[..] else { return Err(Unedited::Never("several files would change".into())) };
        let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if place(file) != place(source) {
            return Err(Unedited::Never(format!("{} is not the file that is compiled", file.display())));
        }
        let copy = self.dir.path().join("edited.rs");
        std::fs::write(&copy, text).map_err(|_| Unedited::NotThis)?;
        let mut flags = args.flags.clone();
        flags.push(format!("--remap-path-prefix={}={}", copy.display(), source.display()).into());
        let args = NativeOptions { flags, ..args.clone() };
        Native::open(&Input::Sources(vec![copy]), &args, jobs, None).map_err(|_| Unedited::NotThis)
    }

    /// The step that an event is, or the one that its thread would make next.
    fn step<'a>(&self, run: &'a Run<Traced>, event: &Event) -> Option<&'a TracedStep> {
        match run.detail.steps.get(event.step as usize) {
            Some(step) => Some(step),
            None => match run.detail.threads.get(event.thread as usize) {
                Some(Standing::Access(step, _)) => Some(step),
                _ => None,
            },
        }
    }

    fn place_of(&self, run: &Run<Traced>, event: &Event) -> Place {
        let stack = self.step(run, event).map_or(&[][..], |step| &step.stack);
        self.words.place(&run.detail, event.thread, stack, event.access.addr)
    }

    /// An error in words, and where it is; without schedule. `traced` is the execution that shows it, unless it cannot be run again.
    fn error_in(&mut self, kind: &ErrorKind, traced: Option<&Traced>) -> ErrorRef {
        let mut stack = Vec::new();
        let output = traced.map(|traced| traced.output.clone()).filter(|output| !output.is_empty());
        let (kind, message) = match kind {
            ErrorKind::Deadlock { threads } => {
                (ErrorName::Deadlock, traced.map_or(String::new(), |traced| self.deadlock(traced, threads)))
            }
            ErrorKind::Livelock => {
                (ErrorName::Livelock, "the threads come back to where they were, again and again".into())
            }
            ErrorKind::Fault { thread, why } => {
                if let Some(traced) = traced.filter(|_| why.is_about_a_stack()) {
                    self.words.remember(traced);
                }
                stack = self.frames(&why.stack);
                (ErrorName::Fault, self.sentence(*thread, why))
            }
            ErrorKind::Race { .. } => (ErrorName::Race, "two accesses race".into()),
            ErrorKind::Condition => (ErrorName::Condition, "it does not end as it should".into()),
        };
        ErrorRef { kind, message, stack, other: Vec::new(), output, schedule: String::new(), executions: 0 }
    }

    /// Where these return addresses lead to, in the user's files.
    fn frames(&self, stack: &[u32]) -> Vec<FrameRef> {
        let frame = |frame: membar_symbols::Frame| FrameRef {
            function: frame.function,
            file: frame.file,
            line: frame.line,
            column: frame.column,
        };
        self.words.stack(stack).into_iter().map(frame).collect()
    }
}

impl Subject for Native {
    type Detail = Traced;

    fn name(&self) -> &str {
        &self.name
    }

    fn file(&self) -> &str {
        &self.main
    }

    fn files(&self) -> Vec<String> {
        match &self.made_of.0 {
            Input::Sources(files) => files.iter().map(|file| file.to_string_lossy().into_owned()).collect(),
            _ => Vec::new(),
        }
    }

    fn checks(&self) -> Vec<String> {
        self.checks.clone()
    }

    fn overlap(&self, run: &Run<Traced>, one: &Event, other: &Event) -> bool {
        match (self.step(run, one), self.step(run, other)) {
            (Some(one), Some(other)) => one.overlaps(other),
            _ => true,
        }
    }

    fn has_parts(&self) -> bool {
        self.session.facts().parts
    }

    fn apart(&self, store_site: u32, access_site: u32) -> NoteRef {
        self.unconfirmed(store_site, access_site)
    }

    fn is_alone(&self) -> bool {
        self.session.facts().threads.is_empty()
    }

    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn facts(&self) -> Value {
        serde_json::to_value(self.session.facts()).unwrap_or_default()
    }

    fn know(&mut self, facts: Value, restarts: u32) -> bool {
        let facts = serde_json::from_value(facts).map(|facts| self.session.know(facts, restarts));
        facts.is_ok()
    }

    fn know_more(&mut self, facts: Vec<Value>) {
        self.session.know_more(facts.into_iter().filter_map(|facts| serde_json::from_value(facts).ok()).collect());
    }

    fn go_back(&mut self, facts: Value, settings: Settings) -> Result<(), Failure> {
        let Ok(facts) = serde_json::from_value(facts) else { return Ok(()) };
        self.session.go_back(facts, settings).map_err(|error| trouble(&self.main, &self.words, &error))
    }

    fn explore(
        &mut self,
        checkpoint: Checkpoint,
        effort: Effort,
        remedies: &[(u32, Remedy)],
        stop: &AtomicBool,
        go_on: &mut dyn FnMut(&Round<'_>) -> bool,
    ) -> Result<Checkpoint, Failure> {
        let result = self.session.verify(checkpoint, effort, remedies, stop, |verification, facts| {
            shown(verification, &|| serde_json::to_value(facts).unwrap_or_default(), go_on)
        });
        result.map_err(|error| trouble(&self.main, &self.words, &error))
    }

    fn prepare(&mut self, settings: Settings, learn: Option<Duration>, stop: &AtomicBool) -> Result<(), Failure> {
        let learnt = match learn {
            None => self.session.learn(settings, stop),
            Some(time) => {
                let effort =
                    Effort { stop_at_first: matches!(settings.strategy, Strategy::Graphs { .. }), ..Effort::default() };
                let began = Instant::now();
                let go_on = |verification: &Verification<_>, _: &_| {
                    began.elapsed() < time && verification.seen().weak_errors.is_empty()
                };
                self.session.verify(Checkpoint::new(settings), effort, &[], stop, go_on).map(|_| ())
            }
        };
        learnt.map_err(|error| trouble(&self.main, &self.words, &error))
    }

    fn trace(&mut self, schedule: &[Step]) -> Result<Run<Traced>, Failure> {
        let traced = self.session.trace(schedule).map_err(|error| trouble(&self.main, &self.words, &error))?;
        Ok(run(traced))
    }

    fn weak_trace(&mut self, steps: &[WeakStep]) -> Result<Run<Traced>, Failure> {
        let traced = self.session.weak_trace(steps).map_err(|error| trouble(&self.main, &self.words, &error))?;
        Ok(run(traced))
    }

    fn confirms_weak(
        &mut self,
        model: GraphModel,
        steps: &[WeakStep],
        made: &[Performed],
        ending: Ending<'_>,
    ) -> Result<Confirmed, Refusal> {
        let claims = claims(made);
        let Some(machine) = model.machine().filter(|_| self.has_parts()) else {
            return weak::confirms(&mut self.session.weak_remote(), model, steps, &claims, ending);
        };
        let run = weak_run(model, steps, made).ok_or(Refusal::Forbidden(Axiom::MemoryOrder))?;
        weak::confirms_run(&mut self.session.weak_remote(), machine, &run.machine_steps(made), &claims, ending)
    }

    fn weak_error(&mut self, error: &WeakError, run: &Run<Traced>) -> ErrorRef {
        let ErrorRef { kind, message, stack, other, output, .. } = self.error_in(&error.kind, Some(&run.detail));
        ErrorRef {
            kind,
            message,
            stack,
            other,
            output,
            schedule: error.schedule.to_string(),
            executions: error.executions,
        }
    }

    fn confirms(&mut self, model: ProgramModel, explanation: &Explanation) -> bool {
        confirmed(&mut self.session.remote(), model, explanation)
    }

    fn stack(&self, run: &Run<Traced>, event: &Event) -> Vec<FrameRef> {
        self.step(run, event).map_or(Vec::new(), |step| self.frames(&step.stack))
    }

    fn place(&self, run: &Run<Traced>, event: &Event) -> (String, u32, u32) {
        let Place { file, line, column, .. } = self.place_of(run, event);
        (file, line, column)
    }

    fn access(&mut self, run: &Run<Traced>, event: &Event) -> AccessRef {
        let Place { function, file, line, column, text } = self.place_of(run, event);
        let (traced, addr, part, c11) = (&run.detail, event.access.addr, event.access.part, event.access.c11);
        let is_library = |step: &TracedStep| self.words.is_library(&step.stack);
        let by = match () {
            () if c11.is_assembly() => Some(Maker::Assembly),
            // Plain accesses are the user's business: containers only pass them on.
            () if !c11.order().is_atomic() || c11.is_fresh() => None,
            () => self.step(run, event).is_some_and(is_library).then_some(Maker::Library),
        };
        let std_alone = |step: &TracedStep| !self.words.is_in_user_file(&step.stack);
        let rust_own = self.dialect == Dialect::Rust && !self.made_of.1.include_std && c11.order().is_atomic();
        let control = self.words.is_control(traced, addr) || rust_own && self.step(run, event).is_some_and(std_alone);
        let address = self.words.address(traced, addr, part);
        let mut value = |value: Option<u64>| value.map(|value| self.words.value(traced, addr, part, value));
        AccessRef {
            file: if file.is_empty() { self.main.clone() } else { file },
            function: Some(function),
            line,
            column,
            thread: event.thread,
            thread_name: Words::thread(event.thread),
            text,
            kind: event.access.kind,
            address,
            read: value(event.read),
            write: value(event.write),
            control,
            crowded: false,
            by,
        }
    }

    fn is_launch(&self, run: &Run<Traced>, addr: u32) -> bool {
        self.words.is_launch(&run.detail, addr)
    }

    fn thread_name(&self, thread: u32) -> String {
        Words::thread(thread)
    }

    /// A full fence is just behind the store, as a stronger memory order of that store would have it; one for stores is just
    /// before the later one.
    fn spot(&self, barrier: Barrier, after: u32, before: u32) -> u32 {
        if barrier == Barrier::Full { after } else { before | Remedy::BEFORE }
    }

    fn fence_of(&self, file: &str, order: Order) -> String {
        let dialect = match build::Language::of(Path::new(file)) {
            Some(build::Language::C) => Dialect::C,
            Some(build::Language::Cxx) => Dialect::Cxx,
            None if super::is_rust(Path::new(file)) => Dialect::Rust,
            // A header speaks what most of the program speaks.
            None => self.dialect,
        };
        dialect.fence(order)
    }

    fn fence(&self, barrier: Barrier, after: &AccessRef, before: &AccessRef) -> FenceRef {
        let full = barrier == Barrier::Full;
        let anchor = if full { after } else { before };
        // Where the other access is in another function, or comes first in a loop, only one place says something.
        let near = after.file == before.file && after.function == before.function;
        let near = near && (after.line, after.column) < (before.line, before.column);
        let place = |access: &AccessRef, shown: bool| if shown { (access.line, access.column) } else { (0, 0) };
        let (after_place, before_place) = (place(after, near || full), place(before, near || !full));
        FenceRef {
            file: anchor.file.clone(),
            function: anchor.function.clone(),
            thread_name: anchor.thread_name.clone(),
            fence: self.fence_of(&anchor.file, if full { Order::SeqCst } else { Order::Release }),
            replaces: None,
            order: order(after, before),
            edits: Vec::new(),
            after_line: after_place.0,
            after_column: after_place.1,
            before_line: before_place.0,
            before_column: before_place.1,
            tried_before: !full,
            crowded: false,
        }
    }

    fn edited(&self, edits: &[EditRef]) -> Result<Native, Unedited> {
        let (input, args, jobs) = &self.made_of;
        if let Some(package) = &args.package {
            let edited = package.edited(&edited_texts(edits)?, self.dir.path());
            let program = edited.map_err(|error| Unedited::Never(error.to_string()))?.ok_or(Unedited::NotThis)?;
            return Native::open(&Input::Executable(program), args, *jobs, None).map_err(|_| Unedited::NotThis);
        }
        let Input::Sources(sources) = input else {
            let why = "the program was built elsewhere: with a fence there, build it and verify it again";
            return Err(Unedited::Never(why.into()));
        };
        if super::is_rust(&sources[0]) {
            return self.edited_rust(&sources[0], args, *jobs, edits);
        }
        let (cc, cxx) = (args.cc.clone(), args.cc.as_deref().map(cxx_driver));
        let request = Request { sources, flags: &args.flags, dir: self.dir.path(), cc, cxx };
        let copies = build::edited(&request, &edited_texts(edits)?).map_err(|_| Unedited::NotThis)?;
        let args = NativeOptions { flags: copies.1, ..args.clone() };
        Native::open(&Input::Sources(copies.0), &args, *jobs, None).map_err(|_| Unedited::NotThis)
    }

    fn limit(&mut self, error: &ProgramError) -> Option<Limit> {
        let ErrorKind::Fault { thread, why } = &error.kind else { return None };
        let frames = self.frames(&why.stack);
        let place = frames.first().map_or(self.main.clone(), |frame| format!("{}:{}", frame.file, frame.line));
        let help = match why.kind {
            FaultKind::Memory => "give more with --heap, or make the program need less",
            _ if self.dialect == Dialect::Rust => "exclude it when verifying: put `#[cfg(not(membar))]` before it",
            _ => "exclude it when verifying: put `#ifndef VERIFY` around it, and give -- -DVERIFY",
        };
        Some(Limit { message: format!("{place}: {}", self.sentence(*thread, why)), help: help.into() })
    }

    fn error(&mut self, error: &ProgramError) -> Result<ErrorRef, Failure> {
        // A schedule that ends the whole process is not run again.
        let ends = matches!(&error.kind, ErrorKind::Fault { why, .. } if why.kind == FaultKind::Death);
        let traced = if ends { None } else { Some(self.trace(&error.schedule.0)?.detail) };
        let told = self.error_in(&error.kind, traced.as_ref());
        Ok(ErrorRef { schedule: error.schedule.to_string(), executions: error.executions, ..told })
    }

    fn is_assumption(&mut self, error: &ProgramError) -> bool {
        let ErrorKind::Fault { why, .. } = &error.kind else { return false };
        why.kind == FaultKind::Abort
            && self.frames(&why.stack).first().is_some_and(|frame| frame.function == "assume_abort_if_not")
    }

    fn memory(&mut self, run: &Run<Traced>) -> Vec<(String, String)> {
        let mut last: BTreeMap<u32, u64> = BTreeMap::new();
        for step in &run.steps {
            if !self.words.is_control(&run.detail, step.access.addr) {
                last.insert(step.access.addr, step.new);
            }
        }
        for &(addr, value) in &run.detail.left {
            last.entry(addr).and_modify(|last| *last = value);
        }
        let name = |(addr, value): (u32, u64)| {
            (self.words.address(&run.detail, addr, 0), self.words.value(&run.detail, addr, 0, value))
        };
        let mut memory: Vec<(String, String)> = last.into_iter().map(name).collect();
        memory.sort();
        memory
    }

    fn standing(&mut self, run: &Run<Traced>, thread: usize) -> String {
        let name = Words::thread(thread as u32);
        match &run.detail.threads[thread] {
            Standing::Access(step, _) if step.stack.is_empty() => format!("{name} is about to end"),
            // What `std::thread` does before and after the function that it was given.
            Standing::Access(step, false)
                if self.words.is_launch(&run.detail, step.made.addr) && !self.words.is_in_user_file(&step.stack) =>
            {
                let begins = step.made.performed().access.kind == AccessKind::Load;
                format!("{name} {}", if begins { "has just begun" } else { "is about to end" })
            }
            Standing::Access(step, waits) => {
                let place = self.words.place(&run.detail, thread as u32, &step.stack, step.made.addr);
                let at = at(&place);
                match waits {
                    true => {
                        let wait = self.words.wait(&run.detail, thread as u32);
                        format!("{} at {at} `{}`", waiting(thread as u32, wait.as_ref()), place.text)
                    }
                    false => format!("{name} is at {at} `{}`", place.text),
                }
            }
            Standing::Done => {
                let began = thread == 0 || run.detail.steps.iter().any(|step| step.made.thread as usize == thread);
                format!("{name} {}", if began { "has ended" } else { "has not begun" })
            }
            Standing::Fault(why) => {
                let stack = self.frames(&why.stack);
                let lines =
                    stack.iter().map(|frame| format!("\n    at {} ({}:{})", frame.function, frame.file, frame.line));
                self.sentence(thread as u32, why) + &lines.collect::<String>()
            }
        }
    }

    fn about(&self, seconds: f64) -> About {
        self.told(seconds)
    }
}

/// What was run, as the engine has it.
fn run(traced: Traced) -> Run<Traced> {
    let steps: Vec<Performed> = traced.steps.iter().map(|step| step.made.performed()).collect();
    let stand = |standing: &Standing| match standing {
        Standing::Access(step, _) => Stand::Access(step.made.performed().access),
        Standing::Done => Stand::Done,
        Standing::Fault(why) => Stand::Stuck(why.message.to_string()),
    };
    Run { steps, next: traced.threads.iter().map(stand).collect(), output: Some(traced.output.clone()), detail: traced }
}
