//! One updating line on standard error, where that is a terminal and a file takes long.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Nothing is shown before this.
const SOON: Duration = Duration::from_secs(2);
/// Time between updates.
const TICK: Duration = Duration::from_millis(200);

/// Counters that the line shows.
#[derive(Debug, Default)]
pub struct Progress {
    /// Is anybody watching?
    live: bool,
    traces: AtomicU64,
    ops: AtomicU64,
    bytes: AtomicU64,
    over: AtomicBool,
    /// What is being read, since when, and how many bytes had been read then.
    file: Mutex<Option<(String, Instant, u64)>>,
    shown: Mutex<bool>,
}

impl Progress {
    /// Starts watching, if standard error is a terminal.
    pub fn start() -> Arc<Progress> {
        let progress = Arc::new(Progress { live: std::io::stderr().is_terminal(), ..Progress::default() });
        if progress.live {
            let watched = Arc::clone(&progress);
            std::thread::spawn(move || {
                while !watched.over.load(Relaxed) {
                    watched.draw();
                    std::thread::sleep(TICK);
                }
            });
        }
        progress
    }

    /// Bytes were read.
    pub fn bytes(&self, n: usize) {
        self.bytes.fetch_add(n as u64, Relaxed);
    }

    /// A trace was read.
    pub fn trace(&self, ops: usize) {
        if self.live {
            self.traces.fetch_add(1, Relaxed);
            self.ops.fetch_add(ops as u64, Relaxed);
        }
    }

    /// So many operations of a trace that goes on.
    pub fn operations(&self, ops: usize) {
        if self.live {
            self.ops.fetch_add(ops as u64, Relaxed);
        }
    }

    /// This file is read from now on.
    pub fn file(&self, name: &str) {
        if self.live {
            let since = (membar::report::safe(name), Instant::now(), self.bytes.load(Relaxed));
            *self.file.lock().unwrap_or_else(PoisonError::into_inner) = Some(since);
        }
    }

    fn draw(&self) {
        let Some((name, since, before)) = self.file.lock().unwrap_or_else(PoisonError::into_inner).clone() else {
            return;
        };
        let seconds = since.elapsed();
        if seconds < SOON {
            return;
        }
        let (traces, ops) = (self.traces.load(Relaxed), self.ops.load(Relaxed));
        let megabytes = (self.bytes.load(Relaxed) - before) as f64 / 1e6;
        let rate = megabytes / seconds.as_secs_f64();
        let seconds = seconds.as_secs();
        let line =
            format!("{name}: {seconds} s, {traces} traces, {ops} operations, {megabytes:.0} MB ({rate:.1} MB/s)");
        let line: String = line.chars().take(79).collect();
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.over.load(Relaxed) {
            *shown = write!(std::io::stderr(), "\r\x1b[K{line}").is_ok();
        }
    }

    /// Takes the line away, because something else is written.
    pub fn hide(&self) {
        if self.live {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            if std::mem::take(&mut *shown) {
                let _ = write!(std::io::stderr(), "\r\x1b[K");
            }
        }
    }

    /// Nothing more is coming.
    pub fn finish(&self) {
        self.over.store(true, Relaxed);
        self.hide();
    }
}
