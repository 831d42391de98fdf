//! How a command ends, and the interrupt key.

use membar::Interrupt;
use std::time::{Duration, Instant};

/// Interrupts closer together than this are one.
const MOMENT: Duration = Duration::from_millis(300);

/// Everything allowed.
pub const ALLOWED: u8 = 0;
/// Something forbidden.
pub const FORBIDDEN: u8 = 1;
/// Bad usage or bad input.
pub const BAD: u8 = 2;
/// Undecided within the limits.
pub const UNDECIDED: u8 = 3;
/// A bug of membar.
pub const INTERNAL: u8 = membar::guard::INTERNAL;

/// Set by the interrupt key. The first press asks to stop, the second one stops. Two within a moment are one: some tools
/// signal a process and its group.
pub fn on_key() -> Interrupt {
    let interrupt = Interrupt::default();
    let flag = interrupt.clone();
    let mut first: Option<Instant> = None;
    // Without a handler the first press stops at once, which is all that could be done about it.
    let _ = ctrlc::set_handler(move || {
        flag.press();
        if first.get_or_insert_with(Instant::now).elapsed() > MOMENT {
            std::process::exit(130);
        }
    });
    interrupt
}
