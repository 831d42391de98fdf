//! Properties of the terminal: colours and width.

use crate::cli::Color;
use membar::report::Style;
use std::io::IsTerminal;

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

/// The width from `COLUMNS`, or from the terminal.
fn width(terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|&columns| columns > 0);
    let own = size.filter(|_| terminal).map(|(width, _)| usize::from(width.0)).filter(|&columns| columns > 0);
    said.or(own).map(|columns: usize| columns.max(LEAST))
}
