//! `membar gen`: random programs, or traces of simulated machines, as files.

mod asm;
mod c;
mod litmus;

use super::campaign::profiles;
use super::simulate::setup;
use crate::cli::{Gen, GenKind};
use crate::progress::Line;
use crate::stop::ALLOWED;
use membar::Failure;
use membar::Now;
use membar::campaign::{ChosenProfile, Simulated};
use membar::report::{quoted_path, safe};
use membar::simulate::{Instr, Observe, Program, run_seed, trace};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Instant;

/// Runs the command.
pub fn run(args: &Gen) -> Result<u8, Failure> {
    let simulated = Simulated { setup: setup(&args.machine, &[], args.buffers)?, timestamps: args.timestamps };
    let usual = match args.kind {
        GenKind::RiscvAsm => "riscv",
        GenKind::Aarch64Asm => "arm",
        _ => simulated.setup.machine().profile(),
    };
    let profiles = profiles(&args.programs, usual)?;
    let directory = args.output.as_deref().filter(|path| path.is_dir() || path.to_string_lossy().ends_with('/'));
    let single = matches!(args.kind, GenKind::C | GenKind::RiscvAsm | GenKind::Aarch64Asm | GenKind::Litmus);
    if single && args.count > 1 && directory.is_none() {
        let message = "error: a file holds one program of this kind, but several are asked for\n \
                       = help: give a directory: `-o tests/`";
        return Err(Failure::Usage(message.into()));
    }
    if let Some(directory) = directory {
        std::fs::create_dir_all(directory).map_err(cannot_write(directory))?;
    }
    let mut all = String::new();
    // Output to a terminal shows the progress by itself.
    let line = Line::new(args.output.is_none() && std::io::stdout().is_terminal());
    let began = Instant::now();
    for (i, chosen) in (0..args.count).zip(profiles.iter().cycle()) {
        let seed = args.programs.seed.wrapping_add(i);
        line.draw(|| Now {
            name: "gen".into(),
            share: Some(i as f64 / args.count as f64),
            seconds: began.elapsed().as_secs_f64(),
            limit: None,
            counts: format!("{i} of {}", args.count),
        });
        let one = One { args, chosen, simulated: &simulated, seed };
        let text = one.text()?;
        match directory {
            Some(directory) => {
                let path = directory.join(format!("{}-{seed}.{}", chosen.profile.name, extension(args.kind)));
                std::fs::write(&path, text).map_err(cannot_write(&path))?;
            }
            None if args.output.is_none() => std::io::stdout().write_all(text.as_bytes())?,
            None => all += &text,
        }
    }
    if let (Some(path), None) = (&args.output, directory) {
        std::fs::write(path, all).map_err(cannot_write(path))?;
    }
    Ok(ALLOWED)
}

fn extension(kind: GenKind) -> &'static str {
    match kind {
        GenKind::C => "c",
        GenKind::RiscvAsm | GenKind::Aarch64Asm => "S",
        GenKind::Litmus => "litmus",
        GenKind::Text => "txt",
        GenKind::Trace => "trace",
    }
}

fn cannot_write(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| Failure::Usage(format!("error: cannot write {}: {error}", safe(&path.to_string_lossy())))
}

/// The output to write.
struct One<'a> {
    args: &'a Gen,
    chosen: &'a ChosenProfile,
    simulated: &'a Simulated,
    seed: u64,
}

impl One<'_> {
    fn text(&self) -> Result<String, Failure> {
        let program = self.chosen.profile.program(self.seed).map_err(|error| Failure::Usage(error.to_string()))?;
        match self.args.kind {
            GenKind::C => c::text(&program, &self.command()).map_err(Failure::Usage),
            GenKind::RiscvAsm => asm::text(&program, asm::Target::Riscv, &self.command()).map_err(Failure::Usage),
            GenKind::Aarch64Asm => asm::text(&program, asm::Target::Aarch64, &self.command()).map_err(Failure::Usage),
            GenKind::Litmus => {
                let name = format!("{}-{}", self.chosen.profile.name, self.seed);
                let run = self.simulated.setup.run(&program, run_seed(self.seed));
                litmus::text(&program, &run.record, &name, &self.simulated.setup.to_string(), &self.command())
                    .map_err(Failure::Usage)
            }
            GenKind::Text => Ok(format!("# {}\n{program}", self.command())),
            GenKind::Trace => self.trace(&program),
        }
    }

    fn trace(&self, program: &Program) -> Result<String, Failure> {
        let run = self.simulated.setup.run(program, run_seed(self.seed));
        let (times, _) = self.simulated.times(&run);
        let trace = trace(program, &run.record, times.as_ref(), Observe::default()).map_err(|_| {
            let (setup, seed) = (self.simulated.setup, self.seed);
            Failure::Usage(format!(
                "error: with seed {seed} {setup} writes a value twice, which is not a valid trace\n \
                 = help: `membar simulate` says more about it"
            ))
        })?;
        let mut text = format!("# {}\n", self.command()).into_bytes();
        membar::trace::write_trace(&trace, &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The command that writes just this.
    fn command(&self) -> String {
        let kind = match self.args.kind {
            GenKind::C => "c",
            GenKind::RiscvAsm => "riscv-asm",
            GenKind::Aarch64Asm => "aarch64-asm",
            GenKind::Litmus => "litmus",
            GenKind::Text => "text",
            GenKind::Trace => "trace",
        };
        let mut words = vec!["membar".to_owned(), "gen".into(), "--as".into(), kind.into()];
        words.extend(["--profile".to_owned(), self.chosen.arg.clone()]);
        words.extend(self.chosen.flags.iter().cloned());
        if matches!(self.args.kind, GenKind::Litmus | GenKind::Trace) {
            words.extend(["--machine".to_owned(), self.simulated.setup.to_string()]);
        }
        if self.args.kind == GenKind::Trace {
            words.extend(["--timestamps".to_owned(), self.simulated.timestamps()]);
        }
        words.extend(["--seed".to_owned(), self.seed.to_string()]);
        words.iter().map(|word| quoted_path(word)).collect::<Vec<_>>().join(" ")
    }
}

/// The value that a thread knows an address to hold after its instruction, as an expression in C: `read` is what the instruction
/// read, `swapped` whether it wrote, if it is a compare-exchange, and constants end with `suffix`.
fn known(instr: Instr, read: &str, swapped: &str, suffix: &str) -> String {
    match instr {
        Instr::Store { value, .. } | Instr::Exchange { value, .. } => format!("{value}{suffix}"),
        Instr::Add { by, .. } => format!("{read} + {by}{suffix}"),
        Instr::Cas { value, .. } => format!("{swapped} ? {value}{suffix} : {read}"),
        _ => read.to_owned(),
    }
}
