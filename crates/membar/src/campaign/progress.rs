//! The line on a terminal.

use super::{Counters, Plan, summary::short};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Nothing is shown before this, and then so often.
const TICK: Duration = Duration::from_millis(200);

/// One updating line on standard error, where that is a terminal.
pub struct Line {
    live: bool,
    shown: bool,
    name: String,
    last: Instant,
    /// What earlier runs did, and how long they took.
    before: (u64, f64),
}

impl Line {
    pub fn new(plan: &Plan, name: &str, counters: &Counters) -> Line {
        Line {
            live: !plan.quiet && std::io::stderr().is_terminal(),
            shown: false,
            name: name.to_owned(),
            last: Instant::now(),
            before: (counters.operations, counters.seconds),
        }
    }

    /// Draws the line, not too often.
    pub fn draw(&mut self, counters: &Counters, seconds: f64) {
        if self.live && self.last.elapsed() >= TICK {
            self.say(counters, seconds, "");
        }
    }

    /// Draws it now, with a remark.
    pub fn say(&mut self, counters: &Counters, seconds: f64, remark: &str) {
        if !self.live {
            return;
        }
        self.last = Instant::now();
        let rate = (counters.operations - self.before.0) as f64 / (seconds - self.before.1).max(0.001);
        let mut line = format!(
            "{}: {:.0} s, {} tests, {} ops, {} ops/s, {:.1}% TOO",
            self.name,
            seconds,
            counters.tests,
            short(counters.operations as f64),
            short(rate),
            counters.first_percent(),
        );
        if counters.sampled > 0 {
            line += &format!(", {}/{} relaxed", counters.relaxed, counters.sampled);
        }
        line += &format!(", {} violations", counters.forbidden);
        if !remark.is_empty() {
            line += &format!("; {remark}");
        }
        let line: String = line.chars().take(110).collect();
        self.shown = write!(std::io::stderr(), "\r\x1b[K{line}").is_ok();
    }

    /// Takes the line away, because something else is written.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
