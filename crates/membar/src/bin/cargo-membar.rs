//! `cargo membar …`: what cargo calls. It is `membar cargo …`, in the same directory.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let own = std::env::current_exe().ok();
    let beside = own.and_then(|own| Some(own.parent()?.join("membar"))).filter(|path| path.is_file());
    let membar = beside.unwrap_or_else(|| PathBuf::from("membar"));
    // cargo passes the name of the subcommand first.
    let mut words = std::env::args_os().skip(1).peekable();
    words.next_if(|word| word == "membar");
    let error = Command::new(&membar).arg("cargo").args(words).exec();
    eprintln!("error: cannot run `{}`: {error}\n = help: install both: cargo install membar", membar.display());
    ExitCode::from(2)
}
