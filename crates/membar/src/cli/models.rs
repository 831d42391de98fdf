//! `models`.

use super::{DataFormat, LimitArgs};
use clap::{Args, Subcommand};

/// `membar models`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar models                        the built-in models, strongest first
  membar models show tso > mine.toml   a model file to start from
  membar check --model mine.toml run.trace")]
pub struct Models {
    /// The default is `list`.
    #[command(subcommand)]
    pub action: Option<ModelsAction>,
}

/// Actions on models.
#[derive(Subcommand, Debug)]
pub enum ModelsAction {
    /// Names and titles, strongest first
    #[command(after_help = "\
Examples:
  membar models list")]
    List,
    /// The model as a file
    #[command(after_help = "\
Examples:
  membar models show tso > mine.toml   a model file to start from
  membar models show mine.toml         is it well-formed?")]
    Show {
        /// A built-in name or the path of a .toml file.
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// The smallest traces that one model allows and another forbids
    #[command(after_help = "\
Examples:
  membar models diff rc scope
  membar models diff tso my-tso.toml --time 5m

Exit codes: 1 they differ, 0 no difference was found (the output says up to which size), \
2 bad usage, 3 undecided, 4 a bug in membar.")]
    Diff {
        /// A built-in name or the path of a .toml file.
        #[arg(value_name = "A")]
        a: String,
        /// The other one.
        #[arg(value_name = "B")]
        b: String,
        /// Try traces of up to this many operations.
        #[arg(long, default_value_t = 9, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
        operations: u8,
        /// How results are written.
        #[arg(short, long, value_enum, default_value_t = DataFormat::Text, value_name = "FORMAT")]
        format: DataFormat,
        #[command(flatten)]
        limits: LimitArgs,
    },
}
