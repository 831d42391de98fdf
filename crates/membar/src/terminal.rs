//! Properties of the terminal: colours and width.

use crate::cli::Color;
use membar::report::{Style, wrapped};
use std::io::{IsTerminal, Write};

/// Narrower ones are not laid out for.
const LEAST: usize = 40;

/// How results are to look on standard output.
pub fn style(color: Color) -> Style {
    let width = width(std::io::stdout().is_terminal(), terminal_size::terminal_size_of(std::io::stdout()));
    Style { color: colored(color), width: width.unwrap_or(Style::default().width) }
}

fn colored(color: Color) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            std::io::stdout().is_terminal() && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
        }
    }
}

/// Characters in a line of standard error, if it is a terminal.
pub fn error_width() -> Option<usize> {
    let terminal = std::io::stderr().is_terminal();
    terminal.then(|| width(true, terminal_size::terminal_size_of(std::io::stderr())).unwrap_or(80))
}

/// Writes a message to standard error, its sentences broken where the terminal ends.
pub fn tell(message: &str) {
    let message = error_width().map_or_else(|| message.to_owned(), |width| broken(message, width));
    // If nobody can be told, the exit code still says it.
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Breaks lines that are sentences. Excerpts of files stay as they are.
fn broken(message: &str, width: usize) -> String {
    let line = |line: &str| {
        let text = line.trim_start();
        let starts = ["error: ", "= help: ", "= note: ", "warning: ", "note: "];
        match starts.iter().find(|start| text.starts_with(*start)) {
            Some(start) if line.chars().count() > width => {
                let indent = line.len() - text.len() + start.len();
                let (head, rest) = line.split_at(indent);
                let newline = format!("\n{:indent$}", "");
                format!("{head}{}", wrapped(rest, width - indent, &newline))
            }
            _ => line.to_owned(),
        }
    };
    message.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The width from `COLUMNS`, or from the terminal.
fn width(terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|&columns| columns > 0);
    let own = size.filter(|_| terminal).map(|(width, _)| usize::from(width.0)).filter(|&columns| columns > 0);
    said.or(own).map(|columns: usize| columns.max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::broken;

    #[test]
    fn sentences_are_broken_and_excerpts_are_not() {
        let message =
            "error: a sentence that is longer\n  --> a_file_with_a_long_name.trace:1:1\n  = help: break this one, too";
        let wanted = "error: a sentence that is\n       longer\n  --> a_file_with_a_long_name.trace:1:1\n  = help: break this one,\n          too";
        assert_eq!(broken(message, 25), wanted);
        assert_eq!(broken(message, 80), message);
    }
}
