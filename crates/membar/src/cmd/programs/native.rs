//! C and C++ programs to verify: compiled, run in their own processes, and named by their debug information.

use super::litmus::kind;
use super::{About, Input, Language, Limit, Round, Run, Stand, Subject, Unedited, edited_texts, hash};
use crate::cli::NativeArgs;
use crate::cmd::verify::{EXPLAINING, PARTS, STORES_OF_PARTS};
use crate::stop::{self, Failure, Problem};
use membar::core::{Barrier, Performed, Relaxation};
use membar::explore::{Step, Strategy};
use membar::report::quoted_path;
use membar::report::verify::{
    AccessRef, EditRef, ErrorRef, FenceRef, FrameRef, NoteRef, ReplayCommand, StatisticsRef, order,
};
use membar::verify::{Checkpoint, Effort, ErrorKind, Event, Explanation, ProgramError, Settings, Watching};
use membar_native::build::{self, BuildError, Built, Note, NoteKind, Request};
use membar_native::process::{PROCESS_ENDS, ProcessError, Setup};
use membar_native::run::{BEFORE, Divergence, Standing, Torn, Traced, TracedStep, Unseen};
use membar_native::session::{Session, SessionError};
use membar_native::symbols::Symbols;
use membar_native::words::{Dialect, Place, Wait, Waits, Words};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Heap that one execution may use by default.
const HEAP: usize = 64 << 20;

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
    opaque_private: bool,
    command: ReplayCommand,
    fingerprint: u64,
    /// What it was built from, how, and for how many processes.
    made_of: (Input, NativeArgs, usize),
    /// Where the object and the memory that processes share are.
    dir: TempDir,
}

/// Answers another process of membar until that ends.
pub fn serve() -> Result<u8, Failure> {
    // The program's messages go nowhere, but a bug of ours must be heard.
    if let Ok(stderr) = std::io::stderr().as_fd().try_clone_to_owned() {
        let stderr = std::fs::File::from(stderr);
        std::panic::set_hook(Box::new(move |info| {
            let _ = writeln!(&stderr, "internal error: {info}\n{}", crate::decide::REPORT_BUG);
            std::process::exit(membar_native::process::BUG);
        }));
    }
    // The parent is gone, or will report the error.
    Ok(if membar_native::process::serve().is_ok() { stop::ALLOWED } else { stop::BAD })
}

/// Behaves as the compiler does.
pub fn compile(language: Language, args: &[OsString]) -> Result<u8, Failure> {
    let language = match language {
        Language::C => build::Language::C,
        Language::Cxx => build::Language::Cxx,
    };
    let status = build::wrapper(language, args).map_err(|error| failed("", &error))?;
    Ok(u8::try_from(status).unwrap_or(stop::FORBIDDEN))
}

/// The C++ compiler that belongs to a C compiler: `g++-12` for `gcc-12`.
fn cxx_driver(cc: &OsStr) -> OsString {
    let Some(text) = cc.to_str().filter(|text| !text.contains("++")) else { return cc.to_owned() };
    let (directory, name) =
        text.rsplit_once('/').map_or(("", text), |(directory, _)| text.split_at(directory.len() + 1));
    let cxx = [("gcc", "g++"), ("clang", "clang++")].into_iter().find_map(|(c, cxx)| {
        let at = name.rfind(c)?;
        Some(format!("{directory}{}{cxx}{}", &name[..at], &name[at + c.len()..]))
    });
    cxx.map_or_else(|| cc.to_owned(), OsString::from)
}

fn failed(file: &str, error: &BuildError) -> Failure {
    let message = error.to_string();
    // What the compiler says has its own places.
    let file = if matches!(error, BuildError::File { .. }) { "" } else { file };
    Problem::failure(file, 0, message.trim_end(), &error.help())
}

impl Native {
    /// Compiles and loads a program.
    ///
    /// Its processes are killed a moment after this time, which begins when it is compiled.
    pub fn open(input: &Input, args: &NativeArgs, jobs: usize, time: Option<Duration>) -> Result<Native, Failure> {
        let dir = tempfile::Builder::new().prefix("membar-").tempdir();
        let dir =
            dir.map_err(|error| Failure::Usage(format!("error: cannot make a directory for the program: {error}")))?;
        let (files, built): (Vec<&Path>, Result<Built, BuildError>) = match input {
            Input::Sources(sources) => {
                let (cc, cxx) = (args.cc.clone(), args.cc.as_deref().map(cxx_driver));
                let request = Request { sources, flags: &args.flags, dir: dir.path(), cc, cxx };
                (sources.iter().map(PathBuf::as_path).collect(), build::build(&request))
            }
            Input::Executable(path) | Input::Litmus(path) => {
                (vec![path.as_path()], build::build_executable(path, dir.path()))
            }
        };
        let shown: Vec<String> = files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
        let main = shown.first().cloned().unwrap_or_default();
        let built = built.map_err(|error| failed("", &error))?;
        let problem = |error: &dyn std::fmt::Display| Problem::failure(&main, 0, &error.to_string(), "");
        let symbols = Symbols::load(&built.object).map_err(|error| problem(&error))?;
        let mut program_args = vec![match input {
            Input::Sources(_) => files.first().and_then(|file| file.file_stem()).unwrap_or_default().to_owned(),
            _ => files.first().map(|file| file.as_os_str().to_owned()).unwrap_or_default(),
        }];
        program_args.extend(args.args.iter().cloned());
        if !matches!(input, Input::Sources(_)) {
            program_args.extend(args.flags.iter().cloned());
        }
        let (volatile_atomic, spurious_wakeups) = (args.volatile_atomic(), args.spurious_wakeups());
        let opaque_private = args.opaque_private();
        let heap = args.memory.map_or(HEAP, |memory| memory.0.unwrap_or(usize::MAX / 2));
        let object = std::fs::read(&built.object).map_err(|error| problem(&error))?;
        let how =
            format!("{program_args:?} {volatile_atomic} {spurious_wakeups} {opaque_private} {heap} {:?}", args.nondet);
        let fingerprint = hash(&object) ^ hash(how.as_bytes());
        let exe = std::env::current_exe().map_err(|error| problem(&error))?;
        let setup = Setup {
            exe,
            exe_args: vec!["run-program".into()],
            object: built.object,
            args: program_args,
            dir: dir.path().to_owned(),
            heap,
            volatile_atomic,
            spurious_wakeups,
            opaque_private,
            nondet: args.nondet,
            wrappers: symbols.wrappers(),
            show: false,
            until: time.and_then(|time| Instant::now().checked_add(time + EXPLAINING)),
        };
        let cxx = files.iter().any(|file| build::Language::of(file) == Some(build::Language::Cxx));
        let dialect = if cxx { Dialect::Cxx } else { Dialect::C };
        let name = shown.join(" ");
        let words = Words::new(symbols);
        let session = Session::start(&setup, jobs).map_err(|error| trouble(&main, &words, &error))?;
        let command = command(&shown, args);
        let notes = built.notes;
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
            spurious_wakeups,
            opaque_private,
            command,
            fingerprint,
            made_of,
            dir,
        })
    }

    /// What uninstrumented code did unseen.
    fn unseen(&self, one: &Unseen) -> NoteRef {
        let place = self.words.place_of(&[one.site]);
        let (file, line) = (!place.file.is_empty()).then_some((place.file, place.line)).unzip();
        if one.strange {
            let message = "accesses memory that membar does not manage (no variable of the program, and not from \
                           `malloc` or `mmap`), which another thread uses too";
            return NoteRef { kind: "memory", message: message.into(), file, line };
        }
        let function = match one.offset {
            Some(offset) => self.words.function(offset),
            None if one.name.is_empty() => format!("a function of {}", one.library),
            None => format!("`{}`", one.name),
        };
        let library =
            if one.library.is_empty() || one.name.is_empty() { String::new() } else { format!(" of {}", one.library) };
        let what = match &one.touches {
            Some(location) => format!("touches {}, which another thread uses too", self.words.touched(location)),
            None => "may touch memory that threads share".into(),
        };
        NoteRef { kind: "opaque", message: format!("{function}{library} is not instrumented, and {what}"), file, line }
    }

    /// Accesses to different parts of what membar takes for one location.
    fn torn(&self, torn: &Torn) -> NoteRef {
        let place = self.words.place_of(&[torn.site]);
        let (file, line) = (!place.file.is_empty()).then_some((place.file, place.line)).unzip();
        let bytes = |n| if n == 1 { "1 byte".to_owned() } else { format!("{n} bytes") };
        let what = torn.place.as_ref().map_or("memory".into(), |place| self.words.touched(place));
        let message = format!(
            "an access to {} at {what} may overtake a store of {} to the same atomic word, and membar treats both as one location",
            bytes(torn.sizes.1),
            bytes(torn.sizes.0),
        );
        NoteRef { kind: if torn.stores { STORES_OF_PARTS } else { PARTS }, message, file, line }
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

    /// Where these return addresses lead to, in the user's files.
    fn frames(&self, stack: &[u32]) -> Vec<FrameRef> {
        let frame = |frame: membar_native::symbols::Frame| FrameRef {
            function: frame.function,
            file: frame.file,
            line: frame.line,
        };
        self.words.stack(stack).into_iter().map(frame).collect()
    }

    fn deadlock(&mut self, traced: &Traced, threads: &[u32]) -> String {
        let waits: Vec<(u32, Option<Wait>)> =
            threads.iter().map(|&thread| (thread, self.words.wait(traced, thread))).collect();
        let heading: Vec<String> = waits.iter().map(|(thread, wait)| waiting(*thread, wait.as_ref())).collect();
        let mut message = heading.join(", ");
        for (thread, wait) in &waits {
            let Some(Wait { what, place, holder }) = wait else { continue };
            message += &format!("\n{} is at {} `{}`", Words::thread(*thread), at(place), place.text);
            match (what, holder) {
                (Waits::Lock(name), Some((holder, place))) if holder != thread => {
                    message += &format!("; {} has `{name}` since {}", Words::thread(*holder), at(place));
                }
                (Waits::Lock(name), Some((_, place))) => {
                    message += &format!("; it has `{name}` itself, since {}", at(place));
                }
                _ => {}
            }
        }
        message
    }
}

/// `T1 waits for `m``
fn waiting(thread: u32, wait: Option<&Wait>) -> String {
    let thread = Words::thread(thread);
    match wait.map(|wait| &wait.what) {
        Some(Waits::End(other)) => format!("{thread} waits for the end of {}", Words::thread(*other)),
        Some(Waits::Woken) => format!("{thread} waits to be woken"),
        Some(Waits::Lock(name)) => format!("{thread} waits for `{name}`"),
        Some(Waits::Loop(name)) => format!("{thread} loops forever, each time taking and releasing `{name}`"),
        Some(Waits::Value(name)) => format!("{thread} waits for `{name}` to change"),
        None => format!("{thread} waits"),
    }
}

/// `lock (dekker.c:12)`
fn at(place: &Place) -> String {
    match place {
        Place { file, function, .. } if file.is_empty() => function.clone(),
        Place { function, file, line, .. } if function.is_empty() => format!("{file}:{line}"),
        Place { function, file, line, .. } => format!("{function} ({file}:{line})"),
    }
}

/// A fault as a sentence about its thread.
fn sentence(thread: u32, message: &str) -> String {
    let thread = Words::thread(thread);
    let colon = ["assertion ", "its ", "a thread ", "uncaught "].iter().any(|start| message.starts_with(start));
    match () {
        () if message.starts_with("the program ") => message.to_owned(),
        () if colon => format!("{thread}: {message}"),
        () => format!("{thread} {message}"),
    }
}

fn note(note: &Note) -> NoteRef {
    let kind = match note.kind {
        NoteKind::Assembly | NoteKind::File => "assembly",
        NoteKind::Library => "library",
        NoteKind::Opaque => "opaque",
        NoteKind::Flag => "flag",
        _ => "warning",
    };
    let (file, line) = note.place.clone().unzip();
    NoteRef { kind, message: note.what.trim_end().to_owned(), file, line }
}

/// How to replay a schedule of a program that was asked for so.
fn command(files: &[String], args: &NativeArgs) -> ReplayCommand {
    let quoted = |text: &OsString| quoted_path(&text.to_string_lossy());
    let mut flags = String::new();
    for arg in &args.args {
        flags += &format!(" --arg={}", quoted(arg));
    }
    if args.volatile_atomic() {
        flags += " --assume volatile=atomic";
    }
    if args.spurious_wakeups() {
        flags += " --assume spurious-wakeups";
    }
    if args.opaque_private() {
        flags += " --assume opaque=private";
    }
    if let Some((from, to)) = args.nondet {
        flags += &format!(" --nondet {from}..{to}");
    }
    if let Some(memory) = args.memory {
        flags += &memory.0.map_or(" --memory none".into(), |bytes| format!(" --memory {bytes}b"));
    }
    if let Some(cc) = &args.cc {
        flags += &format!(" --cc {}", quoted(cc));
    }
    if !args.flags.is_empty() {
        flags += " --";
        flags += &args.flags.iter().map(|flag| format!(" {}", quoted(flag))).collect::<String>();
    }
    let program: Vec<String> = files.iter().map(|file| quoted_path(file)).collect();
    ReplayCommand { program: program.join(" "), flags }
}

/// Why there is no result.
fn trouble(main: &str, words: &Words, error: &SessionError) -> Failure {
    match error {
        SessionError::Diverged(divergence) => diverged(main, words, divergence),
        SessionError::Process(ProcessError::Died(how)) => Problem::failure(
            main,
            0,
            &format!("the process that runs the program has ended: {how}"),
            "if the program has code that runs before `main`, look there first",
        ),
        SessionError::Process(error @ ProcessError::Bug(_)) => {
            Failure::Internal(format!("{}: {error}", membar::report::safe(main)))
        }
        SessionError::Process(ProcessError::Late) => Failure::Late,
        SessionError::Process(error) => {
            let message = error.to_string();
            match message.strip_prefix(membar::verify::LIMIT) {
                Some(limit) => Failure::Limit(format!("{}: {limit}", membar::report::safe(main))),
                None => Problem::failure(main, 0, &message, ""),
            }
        }
    }
}

fn diverged(main: &str, words: &Words, divergence: &Divergence) -> Failure {
    let Divergence { thread, step, first, second } = divergence;
    let thread = Words::thread(*thread);
    let place = |site: &Option<u32>| match site {
        None => "it ends, or cannot continue".to_owned(),
        Some(site) => {
            let place = words.place_of(&[*site]);
            match place.file.is_empty() {
                true => "it begins or ends".to_owned(),
                false => format!("{}:{} (in {}): {}", place.file, place.line, place.function, place.text),
            }
        }
    };
    let message = format!(
        "the program is not deterministic: run again along the same schedule, {thread} does something else after step \
         {step}\n    the first time  {}\n    the second time {}",
        place(first),
        place(second)
    );
    let help = "look for memory that is read before it is written, for addresses that decide something (order, hash), and \
                for time, random numbers or input from outside";
    Problem::failure(main, 0, &message, help)
}

impl Subject for Native {
    type Detail = Traced;

    fn name(&self) -> &str {
        &self.name
    }

    fn file(&self) -> &str {
        &self.main
    }

    fn overlap(&self, run: &Run<Traced>, one: &Event, other: &Event) -> bool {
        match (self.step(run, one), self.step(run, other)) {
            (Some(one), Some(other)) => one.overlaps(other),
            _ => true,
        }
    }

    fn has_parts(&self, run: &Run<Traced>) -> bool {
        run.detail.steps.iter().any(|step| step.part != 0)
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

    fn know(&mut self, facts: Value) -> bool {
        let facts = serde_json::from_value(facts).map(|facts| self.session.know(facts));
        facts.is_ok()
    }

    fn explore(
        &mut self,
        checkpoint: Checkpoint,
        effort: Effort,
        barriers: &[(u32, Barrier)],
        stop: &AtomicBool,
        go_on: &mut dyn FnMut(&Round<'_>) -> bool,
    ) -> Result<Checkpoint, Failure> {
        let result = self.session.verify(checkpoint, effort, barriers, stop, |verification, facts| {
            let round = Round {
                search: verification.search(),
                seen: verification.seen(),
                has_first: verification.has_found_first(),
                is_done: verification.is_done(),
                is_out: verification.is_out_of_executions(),
                checkpoint: &|| verification.checkpoint(),
                facts: &|| serde_json::to_value(facts).unwrap_or_default(),
            };
            go_on(&round)
        });
        result.map_err(|error| trouble(&self.main, &self.words, &error))
    }

    fn prepare(&mut self, learn: Option<Duration>, stop: &AtomicBool) -> Result<(), Failure> {
        let strategy = Strategy::Dpor;
        let settings = Settings { model: Relaxation::Tso, strategy, watching: Watching::Nothing, max_steps: 10_000 };
        let learnt = match learn {
            None => self.session.learn(settings, stop),
            Some(time) => {
                let (began, effort) = (Instant::now(), Effort::default());
                let go_on = |_: &_, _: &_| began.elapsed() < time;
                self.session.verify(Checkpoint::new(settings), effort, &[], stop, go_on).map(|_| ())
            }
        };
        learnt.map_err(|error| trouble(&self.main, &self.words, &error))
    }

    fn trace(&mut self, schedule: &[Step]) -> Result<Run<Traced>, Failure> {
        let traced = self.session.trace(schedule).map_err(|error| trouble(&self.main, &self.words, &error))?;
        let steps: Vec<Performed> = traced.steps.iter().map(|step| step.made.performed()).collect();
        let stand = |standing: &Standing| match standing {
            Standing::Access(step, _) => Stand::Access(step.made.performed().access),
            Standing::Done => Stand::Done,
            Standing::Fault(why) => Stand::Stuck(why.clone()),
        };
        Ok(Run {
            steps,
            next: traced.threads.iter().map(stand).collect(),
            output: Some(traced.output.clone()),
            detail: traced,
        })
    }

    fn confirms(&mut self, model: Relaxation, explanation: &Explanation) -> bool {
        let mut puppet = self.session.puppet();
        membar::certify::replay::confirms(&mut puppet, model, &explanation.steps(), &explanation.claims())
    }

    fn place(&self, run: &Run<Traced>, event: &Event) -> (String, u32, u32) {
        let Place { file, line, column, .. } = self.place_of(run, event);
        (file, line, column)
    }

    fn access(&mut self, run: &Run<Traced>, event: &Event) -> AccessRef {
        let Place { function, file, line, column, text } = self.place_of(run, event);
        let (traced, addr) = (&run.detail, event.access.addr);
        let address = self.words.address(traced, addr);
        let mut value = |value: Option<u64>| value.map(|value| self.words.value(traced, addr, value));
        AccessRef {
            file: if file.is_empty() { self.main.clone() } else { file },
            function: Some(function),
            line,
            column,
            thread: event.thread,
            thread_name: Words::thread(event.thread),
            text,
            kind: kind(event.access.kind),
            address,
            read: value(event.read),
            write: value(event.write),
            control: self.words.is_control(traced, addr),
            crowded: false,
        }
    }

    fn thread_name(&self, thread: u32) -> String {
        Words::thread(thread)
    }

    /// A full fence is just behind the store, as a stronger memory order of that store would have it; one for stores is just
    /// before the later one.
    fn spot(&self, barrier: Barrier, after: u32, before: u32) -> u32 {
        if barrier == Barrier::Full { after } else { before | BEFORE }
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
            fence: self.dialect.fence(barrier),
            order: order(after, before),
            edits: Vec::new(),
            after_line: after_place.0,
            after_column: after_place.1,
            before_line: before_place.0,
            before_column: before_place.1,
            tried_before: !full,
        }
    }

    fn edited(&self, edits: &[EditRef]) -> Result<Native, Unedited> {
        let (Input::Sources(sources), args, jobs) = &self.made_of else {
            let why = "the program was built elsewhere: with a fence there, build it and verify it again";
            return Err(Unedited::Never(why.into()));
        };
        let (cc, cxx) = (args.cc.clone(), args.cc.as_deref().map(cxx_driver));
        let request = Request { sources, flags: &args.flags, dir: self.dir.path(), cc, cxx };
        let copies = build::edited(&request, &edited_texts(edits)?).map_err(|_| Unedited::NotThis)?;
        let args = NativeArgs { flags: copies.1, ..args.clone() };
        Native::open(&Input::Sources(copies.0), &args, *jobs, None).map_err(|_| Unedited::NotThis)
    }

    fn limit(&mut self, error: &ProgramError) -> Option<Limit> {
        let ErrorKind::Fault { thread, why } = &error.kind else { return None };
        let fault = self.words.fault(why);
        let frames = self.frames(&fault.stack);
        let place = frames.first().map_or(self.main.clone(), |frame| format!("{}:{}", frame.file, frame.line));
        let help = match fault.message.contains("--memory") {
            true => "give more with --memory, or make the program need less",
            false => "leave this out of what is verified, with a macro that you define: -- -DVERIFY",
        };
        Some(Limit { message: format!("{place}: {}", sentence(*thread, &fault.message)), help: help.into() })
    }

    fn error(&mut self, error: &ProgramError) -> Result<ErrorRef, Failure> {
        let mut stack = Vec::new();
        // A schedule that ends the whole process is not run again.
        let ends = matches!(&error.kind, ErrorKind::Fault { why, .. } if why.starts_with(PROCESS_ENDS));
        let traced = if ends { None } else { Some(self.trace(&error.schedule.0)?.detail) };
        let output = traced.as_ref().map(|traced| traced.output.clone()).filter(|output| !output.is_empty());
        let (kind, message) = match &error.kind {
            ErrorKind::Deadlock { threads } => {
                ("deadlock", traced.map_or(String::new(), |traced| self.deadlock(&traced, threads)))
            }
            ErrorKind::Livelock => ("livelock", "the threads come back to where they were, again and again".into()),
            ErrorKind::Fault { thread, why } => {
                if let Some(traced) = traced.as_ref().filter(|_| why.contains("{\"Stack\"")) {
                    self.words.remember(traced);
                }
                let fault = self.words.fault(why);
                stack = self.frames(&fault.stack);
                ("fault", sentence(*thread, &fault.message))
            }
        };
        let schedule = error.schedule.to_string();
        Ok(ErrorRef { kind, message, stack, output, schedule, executions: error.executions })
    }

    fn is_assumption(&mut self, error: &ProgramError) -> bool {
        let ErrorKind::Fault { why, .. } = &error.kind else { return false };
        let fault = self.words.fault(why);
        fault.message == "aborts"
            && self.frames(&fault.stack).first().is_some_and(|frame| frame.function == "assume_abort_if_not")
    }

    fn memory(&mut self, run: &Run<Traced>) -> Vec<(String, String)> {
        let mut last: BTreeMap<u32, u64> = BTreeMap::new();
        for step in &run.steps {
            if !self.words.is_control(&run.detail, step.access.addr) {
                last.insert(step.access.addr, step.new);
            }
        }
        let name = |(addr, value): (u32, u64)| {
            (self.words.address(&run.detail, addr), self.words.value(&run.detail, addr, value))
        };
        let mut memory: Vec<(String, String)> = last.into_iter().map(name).collect();
        memory.sort();
        memory
    }

    fn standing(&mut self, run: &Run<Traced>, thread: usize) -> String {
        let name = Words::thread(thread as u32);
        match &run.detail.threads[thread] {
            Standing::Access(step, _) if step.stack.is_empty() => format!("{name} is about to end"),
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
                let fault = self.words.fault(why);
                let stack = self.frames(&fault.stack);
                let lines =
                    stack.iter().map(|frame| format!("\n    at {} ({}:{})", frame.function, frame.file, frame.line));
                sentence(thread as u32, &fault.message) + &lines.collect::<String>()
            }
        }
    }

    fn about(&self, seconds: f64) -> About {
        let statistics = self.session.statistics();
        let unseen = self.session.facts().unseen.iter().map(|one| self.unseen(one));
        let torn = self.session.facts().torn.iter().map(|torn| self.torn(torn));
        // Assembly counts where it is executed.
        let executed = &self.session.facts().assembly;
        let counts = |note: &&Note| match note.kind {
            NoteKind::Assembly => executed.contains(&note.id()),
            NoteKind::Opaque => !self.opaque_private,
            _ => true,
        };
        let assumed = self.opaque_private.then(|| NoteRef {
            kind: "assumption",
            message: "assumed: code that is not instrumented touches no memory that threads share".into(),
            file: None,
            line: None,
        });
        let untried = (self.session.facts().waits && !self.spurious_wakeups).then(|| NoteRef {
            kind: "untried",
            message: "spurious wake-ups were not tried (--assume spurious-wakeups)".into(),
            file: None,
            line: None,
        });
        let unloaded = self.session.facts().unloaded.then(|| NoteRef {
            kind: "untried",
            message: "a library tried to load another one (`dlopen`), and was told that it does not exist".into(),
            file: None,
            line: None,
        });
        About {
            compiler: Some(self.compiler.clone()),
            notes: self
                .notes
                .iter()
                .filter(counts)
                .map(note)
                .chain(assumed)
                .chain(unseen)
                .chain(torn)
                .chain(unloaded)
                .chain(untried)
                .collect(),
            statistics: Some(StatisticsRef {
                resets: statistics.resets,
                accesses: statistics.steps,
                replayed: statistics.replayed,
                reset_bytes: statistics.reset_bytes as u64,
                resident_bytes: statistics.resident,
                seconds_per_access: seconds / (statistics.steps + statistics.replayed).max(1) as f64,
                restarts: self.session.restarts,
            }),
            command: match self.session.restarts {
                0 => self.command.clone(),
                // What was learnt on the way has to be known again for a schedule to mean the same.
                _ => ReplayCommand {
                    flags: format!(" --learn {}s{}", seconds.ceil() + 1.0, self.command.flags),
                    ..self.command.clone()
                },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cxx_drivers() {
        for (cc, cxx) in [
            ("gcc", "g++"),
            ("gcc-12", "g++-12"),
            ("/opt/clang/bin/clang-16", "/opt/clang/bin/clang++-16"),
            ("x86_64-linux-gnu-gcc", "x86_64-linux-gnu-g++"),
            ("g++", "g++"),
            ("clang++", "clang++"),
            ("cc", "cc"),
        ] {
            assert_eq!(cxx_driver(OsStr::new(cc)), cxx);
        }
    }

    #[test]
    fn faults_are_sentences() {
        assert_eq!(sentence(1, "uses a null pointer"), "T1 uses a null pointer");
        assert_eq!(sentence(0, "assertion `x` fails"), "main: assertion `x` fails");
        assert_eq!(sentence(2, "the program ends with status 1"), "the program ends with status 1");
    }
}
