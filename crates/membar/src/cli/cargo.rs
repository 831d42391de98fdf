//! `cargo membar`.

use super::{Exploring, NativeArgs};
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// `membar cargo`
#[derive(Args, Debug)]
#[command(
    override_usage = "cargo membar <COMMAND>",
    after_help = "\
Examples:
  cargo membar test                            every test of the package, in all its executions
  cargo membar test queue::                    those with this in their names
  cargo membar test --test spsc --model all    the tests of tests/spsc.rs, under every model
  cargo membar run --example demo -- 2 items   a program, with its arguments
  cargo membar setup                           build the standard library now, not at first use

Exit codes: as those of `membar verify`."
)]
pub struct Cargo {
    #[command(subcommand)]
    pub what: CargoCommand,
}

/// The commands of `cargo membar`.
#[derive(Subcommand, Debug)]
pub enum CargoCommand {
    /// Verify each test of a package
    #[command(after_help = "\
Examples:
  cargo membar test                            every test of the package, in all its executions
  cargo membar test queue:: --model all        those with this in their names, all models")]
    Test(Box<CargoTest>),
    /// Verify a program or an example of a package
    #[command(after_help = "\
Examples:
  cargo membar run --example demo -- 2 items   a program, with its arguments")]
    Run(Box<CargoRun>),
    /// Build the instrumented standard library of the active toolchain
    #[command(after_help = "\
Examples:
  cargo membar setup                           once for each toolchain; done by itself where it is missing")]
    Setup,
}

/// Which package is built, and how.
#[derive(Args, Debug)]
#[command(next_help_heading = "Package")]
pub struct Package {
    /// The package; may be repeated.
    #[arg(short, long, value_name = "SPEC")]
    pub package: Vec<OsString>,

    /// All packages of the workspace.
    #[arg(long)]
    pub workspace: bool,

    /// Features to activate.
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub features: Vec<OsString>,

    /// Activate all features.
    #[arg(long)]
    pub all_features: bool,

    /// Do not activate the feature `default`.
    #[arg(long)]
    pub no_default_features: bool,

    /// Build with optimisation.
    #[arg(short, long)]
    pub release: bool,

    /// Build with this profile.
    #[arg(long, value_name = "NAME", conflicts_with = "release")]
    pub profile: Option<OsString>,

    /// The program of this name.
    #[arg(long, value_name = "NAME")]
    pub bin: Vec<OsString>,

    /// The example of this name.
    #[arg(long, value_name = "NAME")]
    pub example: Vec<OsString>,

    /// The path of Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<OsString>,

    /// Where everything is built [default: `membar` in cargo's target directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,
}

/// `cargo membar test`
#[derive(Args, Debug)]
pub struct CargoTest {
    /// Only tests whose names contain one of these.
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// The test of exactly this name.
    #[arg(long)]
    pub exact: bool,

    /// Also tests that are marked `#[ignore]`.
    #[arg(long)]
    pub include_ignored: bool,

    /// Only tests that are marked `#[ignore]`.
    #[arg(long, conflicts_with = "include_ignored")]
    pub ignored: bool,

    /// The tests of the library only.
    #[arg(long)]
    pub lib: bool,

    /// The tests of this file in `tests`.
    #[arg(long, value_name = "NAME")]
    pub test: Vec<OsString>,

    #[command(flatten)]
    pub package: Package,

    #[command(flatten)]
    pub how: Exploring,

    #[command(flatten)]
    pub native: NativeArgs,
}

/// `cargo membar run`
#[derive(Args, Debug)]
pub struct CargoRun {
    #[command(flatten)]
    pub package: Package,

    #[command(flatten)]
    pub how: Exploring,

    #[command(flatten)]
    pub native: NativeArgs,
}
