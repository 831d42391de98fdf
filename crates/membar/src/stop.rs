//! How a command ends, and the interrupt key.

use membar::Interrupt;
use std::io::{self, Write};
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
/// A bug in membar.
pub const INTERNAL: u8 = membar::guard::INTERNAL;

/// Set by the interrupt key. The first press asks to stop, the second one stops. Two within a moment are one: some tools
/// signal a process and its group.
pub fn on_key() -> Interrupt {
    let interrupt = Interrupt::default();
    let flag = interrupt.clone();
    let mut first: Option<Instant> = None;
    // Without a handler the first press stops immediately, which is all that could be done about it.
    let _ = ctrlc::set_handler(move || {
        flag.press();
        if first.get_or_insert_with(Instant::now).elapsed() > MOMENT {
            std::process::exit(130);
        }
    });
    interrupt
}

/// Standard output. Where a page is wanted too, the command continues although nobody reads this any more.
#[derive(Debug)]
pub struct Stdout {
    page: bool,
    closed: bool,
}

impl Stdout {
    /// Of a command that also writes a page, or not.
    pub fn new(page: bool) -> Stdout {
        Stdout { page, closed: false }
    }

    fn unless_closed<T>(&mut self, written: io::Result<T>, otherwise: T) -> io::Result<T> {
        match written {
            Err(error) if self.page && error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(otherwise)
            }
            written => written,
        }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.closed { Ok(bytes.len()) } else { io::stdout().write(bytes) };
        self.unless_closed(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = if self.closed { Ok(()) } else { io::stdout().flush() };
        self.unless_closed(flushed, ())
    }
}
