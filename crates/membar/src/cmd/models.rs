//! `membar models`: the built-in models, as data.

use crate::cli::{Models, ModelsAction};
use crate::stop::{ALLOWED, Failure};
use membar::report::{Style, safe};
use std::fmt::Write as _;
use std::io::Write;

/// Runs the command.
pub fn run(args: &Models, style: Style) -> Result<u8, Failure> {
    let text = match &args.action {
        None | Some(ModelsAction::List) => list(style),
        Some(ModelsAction::Show { name }) => show(name)?,
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ALLOWED)
}

fn list(style: Style) -> String {
    let models = membar::model::builtins();
    let width = models.iter().map(|model| model.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for model in models {
        let pad = width - model.name.len();
        let _ = writeln!(text, "{}{:pad$}  {}", style.heading(&model.name), "", model.title);
    }
    let _ = writeln!(text, "\nStrongest first: each allows everything that the one before it allows.");
    let _ = writeln!(text, "`membar models show NAME` prints one as a file; `--model FILE.toml` uses yours.");
    text
}

fn show(name: &str) -> Result<String, Failure> {
    if let Some(text) = membar::model::source(name) {
        return Ok(text.to_owned());
    }
    membar::model::load(name).map_err(|error| Failure::Usage(error.to_string()))?;
    std::fs::read_to_string(name)
        .map_err(|error| Failure::Usage(format!("error: the model file `{}` cannot be read: {error}", safe(name))))
}
