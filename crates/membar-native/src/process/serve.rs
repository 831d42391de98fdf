//! The child's side of [`super`].

use super::shared::Shared;
use super::{Call, Remote, Reply, Statistics, resident};
use crate::run::{Facts, Native, Options, remedy_of};
use membar_core::Remedy;
use membar_explore::{Fault, Local, Order, Program, Strategy, Work};
use membar_verify::{Settings, Watch};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::fd::FromRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Answers calls on standard input until it ends.
pub fn serve() -> io::Result<()> {
    // SAFETY: the descriptors are open, and nobody else uses them; the program gets others in their place.
    let (from, to) = unsafe {
        let from = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 100);
        let to = libc::fcntl(1, libc::F_DUPFD_CLOEXEC, 100);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        if from < 0 || to < 0 || null < 0 || libc::dup2(null, 0) < 0 || libc::dup2(null, 1) < 0 {
            return Err(io::Error::last_os_error());
        }
        (File::from_raw_fd(from), File::from_raw_fd(to))
    };
    let (mut to, mut server) =
        (BufWriter::new(to), Server { program: Loaded::Nothing, shared: None, begun: Default::default() });
    for line in BufReader::new(from).split(b'\n') {
        let reply = server.answer(serde_json::from_slice(&line?)?).unwrap_or_else(Reply::Failed);
        serde_json::to_writer(&mut to, &reply)?;
        to.write_all(b"\n")?;
        to.flush()?;
    }
    Ok(())
}

/// The program, as far as there is one.
enum Loaded {
    Nothing,
    /// It is not being explored.
    Idle(Native),
    Explored(Box<Local<Native, Watch>>),
}

struct Server {
    program: Loaded,
    shared: Option<Shared>,
    /// What the last exploration began with.
    begun: (Facts, Vec<(u32, Remedy)>),
}

impl Server {
    fn answer(&mut self, call: Call) -> Result<Reply, Fault> {
        match call {
            Call::Load { object, args, shared, options, show } => self.load(object, &args, &shared, &options, show),
            Call::Begin { facts, remedies, settings, stop_at_first, poison } => {
                let mut program = self.take()?;
                let remedies: Vec<_> = remedies.iter().map(|&(site, change)| (site, remedy_of(change))).collect();
                let sampling = matches!(settings.strategy, Strategy::Random { .. } | Strategy::Pct { .. });
                program.tell(matches!(settings.strategy, Strategy::Graphs { .. }));
                program.prepare(&facts, &remedies, poison, sampling);
                self.begun = (facts, remedies);
                Ok(self.begin(program, &settings, stop_at_first))
            }
            Call::Work(order) => self.work(&order),
            Call::Trace(schedule) => {
                self.forget()?;
                self.with(|program| Reply::Traced(Box::new(program.trace(&schedule))))
            }
            Call::WeakTrace(steps) => {
                self.forget()?;
                self.with(|program| Reply::Traced(Box::new(program.weak_trace(&steps.0))))
            }
            Call::Remote(remote @ (Remote::Start | Remote::StartWeak)) => {
                self.forget()?;
                self.with(|program| Reply::Remote(program.remote(remote)))
            }
            Call::Remote(remote) => self.with(|program| Reply::Remote(program.remote(remote))),
            Call::Facts => {
                let program = match &self.program {
                    Loaded::Nothing => return Err(nothing()),
                    Loaded::Idle(program) => program,
                    Loaded::Explored(local) => local.program(),
                };
                let (facts, grown) = program.facts();
                Ok(Reply::Facts { facts, grown })
            }
        }
    }

    fn load(
        &mut self,
        object: Vec<u8>,
        args: &[Vec<u8>],
        shared: &[u8],
        options: &Options,
        show: bool,
    ) -> Result<Reply, Fault> {
        let args: Vec<&OsStr> = args.iter().map(|arg| OsStr::from_bytes(arg)).collect();
        let object = PathBuf::from(OsString::from_vec(object));
        let page = Shared::map(Path::new(OsStr::from_bytes(shared)), false);
        let page = page.map_err(|error| Fault::error(error.to_string()))?;
        let (black_box, size) = page.black_box();
        self.shared = Some(page);
        // SAFETY: standard error is the terminal's; the program's messages would disturb.
        unsafe { if show { libc::dup2(2, 1) } else { libc::dup2(0, 2) } };
        let mut program = Native::load(&object, &args, options).map_err(|error| error.fault())?;
        program.set_black_box(black_box, size);
        self.program = Loaded::Idle(program);
        Ok(Reply::Ready)
    }

    /// The program, which is no longer explored.
    fn take(&mut self) -> Result<Native, Fault> {
        match std::mem::replace(&mut self.program, Loaded::Nothing) {
            Loaded::Nothing => Err(nothing()),
            Loaded::Idle(program) => Ok(program),
            Loaded::Explored(local) => Ok(local.into_parts().0),
        }
    }

    /// Schedules are about the program as exploration knew it: what runs for reports have learnt since is forgotten.
    fn forget(&mut self) -> Result<(), Fault> {
        let mut program = self.take()?;
        if program.facts().1 {
            let (facts, remedies) = &self.begun;
            program.tell(false);
            program.prepare(facts, remedies, Vec::new(), false);
        }
        self.program = Loaded::Idle(program);
        Ok(())
    }

    fn with(&mut self, ask: impl FnOnce(&mut Native) -> Reply) -> Result<Reply, Fault> {
        let mut program = self.take()?;
        let reply = ask(&mut program);
        self.program = Loaded::Idle(program);
        Ok(reply)
    }

    fn begin(&mut self, program: Native, settings: &Settings, stop_at_first: bool) -> Reply {
        let threads = program.threads();
        let mut watch = Watch::new(settings, threads, stop_at_first);
        if program.facts().0.parts {
            watch.tell_bytes_apart(threads);
        }
        self.program = Loaded::Explored(Box::new(Local::new(program, watch, settings.max_steps)));
        Reply::Begun { threads }
    }

    fn work(&mut self, order: &Order) -> Result<Reply, Fault> {
        let (Loaded::Explored(local), Some(page)) = (&mut self.program, &self.shared) else {
            return Err(Fault::error("nothing to work on"));
        };
        let answer = local.work(order, page.stop_flag());
        let program = local.program();
        let (facts, grown) = program.facts();
        let facts = grown.then_some(facts);
        Ok(Reply::Worked { answer, facts, diverged: program.divergence(), statistics: statistics(program) })
    }
}

fn nothing() -> Fault {
    Fault::error("no program is loaded")
}

fn statistics(program: &Native) -> Statistics {
    let (resets, steps, replayed, reset_bytes) = program.statistics();
    Statistics { resets, steps, replayed, reset_bytes, resident: resident("self") }
}
