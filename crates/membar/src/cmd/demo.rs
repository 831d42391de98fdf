//! demo
use crate::cli::Demo;
use crate::stop::Failure;
use membar::report::Style;
/// Runs the command.
pub fn run(_args: &Demo, _style: Style) -> Result<u8, Failure> {
    Ok(0)
}
