//! The `membar` command.

mod cli;
mod cmd;
mod decide;
mod files;
mod input;
mod kind;
mod open;
mod page;
mod progress;
mod quantity;
mod stop;
mod terminal;

use clap::CommandFactory;
use cli::{Cli, Command};
use membar::report::safe;
use membar::{Failure, guard};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A bug must not look like a verdict, nor like bad input: the standard exit code of a panic says nothing.
    guard::run(command)
}

fn command() -> ExitCode {
    // The command line of a compiler is not ours to parse.
    if let Some(code) = cmd::cc::called() {
        return code;
    }
    let cli = Cli::from_arguments();
    let style = terminal::style(cli.color);
    guard::provoke(|| "command".into());
    let result = match &cli.command {
        Command::Check(args) => cmd::check::run(args, style),
        Command::Shrink(args) => cmd::shrink::run(args),
        Command::Convert(args) => cmd::convert::run(args),
        Command::Verify(args) => cmd::verify::run(args, style),
        Command::Cargo(args) => cmd::cargo::run(args, style),
        Command::Replay(args) => cmd::replay::run(args, style),
        Command::Cc(args) => cmd::cc::run(cmd::cc::Language::C, &args.args),
        Command::Cxx(args) => cmd::cc::run(cmd::cc::Language::Cxx, &args.args),
        Command::RunProgram => Ok(if membar::programs::serve() { stop::ALLOWED } else { stop::BAD }),
        Command::Litmus(args) => cmd::litmus::run(args),
        Command::Monitor(args) => cmd::monitor::run(args, style),
        Command::Stress(args) => cmd::stress::run(args, style),
        Command::Simulate(args) => cmd::simulate::run(args, style),
        Command::Plan(args) => cmd::many::plan(args),
        Command::Work(args) => cmd::many::work(args),
        Command::Merge(args) => cmd::many::merge(args, style),
        Command::Status(args) => cmd::many::status(args, style),
        Command::Report(args) => cmd::report::run(args),
        Command::Gen(args) => cmd::generate::run(args),
        Command::Models(args) => cmd::models::run(args, style),
        Command::Demo(args) => cmd::demo::run(args, style),
        Command::Completions { shell } => completions(*shell),
        Command::Man { command, output } => man(command, output.as_deref()),
    };
    if let (Ok(_), Some(page)) = (&result, cli.command.to_open()) {
        open::open(page);
    }
    ExitCode::from(result.unwrap_or_else(|failure| match failure {
        Failure::Closed => stop::ALLOWED,
        failure @ (Failure::Late | Failure::Limit(_)) => {
            terminal::tell(&failure.to_string());
            stop::UNDECIDED
        }
        failure => {
            terminal::tell(&failure.to_string());
            if matches!(failure, Failure::Internal(_)) { stop::INTERNAL } else { stop::BAD }
        }
    }))
}

/// Written in one piece, since the generator cannot report a closed pipe.
fn completions(shell: clap_complete::Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "membar", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(stop::ALLOWED)
}

/// One page for each command; what only explains another one has none.
fn write_pages(command: clap::Command, directory: &Path) -> std::io::Result<()> {
    let kept = |command: &&clap::Command| command.get_name() != "help" && !command.is_hide_set();
    for found in command.get_subcommands().filter(kept) {
        write_pages(found.clone(), directory)?;
    }
    clap_mangen::Man::new(command).generate_to(directory).map(drop)
}

fn man(names: &[String], output: Option<&Path>) -> Result<u8, Failure> {
    let mut command = Cli::command();
    command.build();
    if let Some(directory) = output {
        let written = std::fs::create_dir_all(directory).and_then(|()| write_pages(command, directory));
        return match written {
            Ok(()) => Ok(stop::ALLOWED),
            Err(error) => {
                let directory = safe(&directory.to_string_lossy());
                Err(Failure::Usage(format!("error: cannot write the pages to {directory}: {error}")))
            }
        };
    }
    for name in names {
        let Some(found) = command.find_subcommand(name) else {
            let known = command.get_subcommands().filter(|command| !command.is_hide_set());
            let meant = membar::core::nearest(name, known.map(clap::Command::get_name));
            let help = meant.map_or_else(String::new, |meant| format!("\n = help: did you mean `{meant}`?"));
            return Err(Failure::Usage(format!("error: there is no command `{}`{help}", safe(name))));
        };
        command = found.clone();
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).source(concat!("membar ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    std::io::stdout().write_all(&page)?;
    Ok(stop::ALLOWED)
}
