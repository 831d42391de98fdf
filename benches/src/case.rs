//! Which trace, and making it.

use crate::cli::{MachineName, MixName, Write, WriteInterleaving, WriteSmall};
use crate::error::Error;
use membar_core::Trace;
use membar_simulate::{Machine, Mix, Observe, Setup, Workload, simulate};
use membar_stress::{Cores, Runner, Settings};
use membar_testkit::{corrupt, interleaving};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// One trace of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub machine: MachineName,
    pub mix: MixName,
    pub n: u32,
    pub p: u32,
    pub a: u32,
    pub seed: u64,
    pub orders: bool,
    pub corrupt: Option<u64>,
    /// Stores that a buffer holds, and turns of which one drains it, if not as usual.
    pub buffer: Option<u32>,
}

impl Case {
    /// A trace without anything special.
    pub fn plain(machine: MachineName, mix: MixName, [n, p, a]: [u32; 3]) -> Case {
        Case { machine, mix, n, p, a, seed: 1, orders: false, corrupt: None, buffer: None }
    }

    /// The command line of `membar-bench write`.
    pub fn arguments(&self, out: &Path) -> Vec<String> {
        let mut arguments: Vec<String> =
            ["write", "--machine", self.machine.name(), "--mix", self.mix.name()].map(str::to_owned).to_vec();
        for (flag, value) in
            [("--n", self.n.into()), ("--p", self.p.into()), ("--a", self.a.into()), ("--seed", self.seed)]
        {
            arguments.extend([flag.to_owned(), value.to_string()]);
        }
        if self.orders {
            arguments.push("--orders".to_owned());
        }
        if let Some(seed) = self.corrupt {
            arguments.extend(["--corrupt".to_owned(), seed.to_string()]);
        }
        if let Some(stores) = self.buffer {
            arguments.extend(["--buffer".to_owned(), stores.to_string()]);
        }
        arguments.extend(["--out".to_owned(), out.to_string_lossy().into_owned()]);
        arguments
    }
}

/// `128K`, `1M`, `1000`.
pub fn size(n: u32) -> String {
    match n {
        n if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{}M", n >> 20),
        n if n >= 1 << 10 && n.is_multiple_of(1 << 10) => format!("{}K", n >> 10),
        n => n.to_string(),
    }
}

fn save(path: &Path, traces: impl Iterator<Item = Trace>) -> Result<ExitCode, Error> {
    let mut out = BufWriter::new(File::create(path).map_err(Error::file("write", path))?);
    for trace in traces {
        membar_trace::write_trace(&trace, &mut out).map_err(Error::file("write", path))?;
    }
    out.flush().map_err(Error::file("write", path))?;
    Ok(ExitCode::SUCCESS)
}

/// `membar-bench write`
pub fn write(args: &Write) -> Result<ExitCode, Error> {
    let work = Workload { threads: args.p, addresses: args.a, ops: args.n, mix: args.mix.mix(), seed: args.seed };
    let observe = Observe { write_order: args.orders, finals: args.finals };
    let cores = Cores::allowed();
    let mut trace = if args.machine == MachineName::Real && args.p as usize <= cores.count() {
        let program = work.program();
        let run = Runner::new(Settings::default()).and_then(|mut runner| runner.run(&program, args.seed))?;
        run.trace(&program, observe).map_err(|fault| Error::Run(format!("{fault:?}")))?
    } else {
        let mut setup = Setup::from(args.machine.machine());
        if let Some(stores) = args.buffer {
            let deep = setup.with_depth(stores).and_then(|setup| setup.with_drain(stores));
            setup = deep.map_err(|error| Error::Setup(error.to_string()))?;
        }
        simulate(&work, setup, observe)
    };
    if let Some(seed) = args.corrupt {
        trace = corrupt(&trace, seed).ok_or(Error::NothingToCorrupt)?.trace;
    }
    save(&args.out, [trace].into_iter())
}

/// Lines of a small trace, `check` included.
pub const SMALL_LINES: u32 = 17;

/// `membar-bench write-small`
pub fn write_small(args: &WriteSmall) -> Result<ExitCode, Error> {
    let trace = |seed: u32| {
        let work = Workload {
            threads: 2 + seed % 3,
            addresses: 1 + seed % 4,
            ops: SMALL_LINES - 1,
            mix: Mix::PAPER,
            seed: seed.into(),
        };
        simulate(&work, Machine::Tso, Observe::default())
    };
    save(&args.out, (0..args.traces).map(trace))
}

/// `membar-bench write-interleaving`
pub fn write_interleaving(args: &WriteInterleaving) -> Result<ExitCode, Error> {
    let work = Workload { threads: args.p, addresses: args.a, ops: args.n, mix: args.mix.mix(), seed: 1 };
    let mut out = BufWriter::new(File::create(&args.out).map_err(Error::file("write", &args.out))?);
    interleaving(&work, &mut out).and_then(|()| out.flush()).map_err(Error::file("write", &args.out))?;
    Ok(ExitCode::SUCCESS)
}
