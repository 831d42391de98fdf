//! Progress on standard error: one line that is drawn again and again, where that is a terminal and something takes longer
//! than two seconds.
//!
//! [`Line`] draws. Work in rounds draws between them; other work is watched by the thread of a [`Progress`]. The line
//! says only what is known: a bar and the time left where it is known how much there is to do, otherwise the time so far,
//! against the limit if there is one, and counts.

use crate::terminal;
use membar::report::{count, safe};
use membar::{Listener, Now};
use std::fmt::Write as _;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Nothing is shown before this.
const SOON: Duration = Duration::from_secs(2);
/// Time between updates.
const TICK: Duration = Duration::from_millis(200);
/// Nothing is drawn for this long after the line was taken away, so that it does not mix with what is written in its place.
const QUIET: Duration = Duration::from_millis(500);
/// Characters of the bar.
const BAR: usize = 20;

/// The line in words, no longer than this: the bar is shorter, directories are left out, and fewer counts are named, where there is no room.
fn text(now: &Now, width: usize) -> String {
    let counts: Vec<&str> = now.counts.split(", ").collect();
    let all = counts.join(", ");
    // The last one is what was found.
    let (last, others) = counts.split_last().expect("a split text has a part");
    let name = now.name.as_str();
    let short = name.rsplit_once('/').map_or(name, |(_, file)| file);
    let less = (0..others.len()).rev().map(|n| (short, 0, [&others[..n], &[*last]].concat().join(", ")));
    let full = [(name, BAR), (name, BAR / 2), (name, 0), (short, 0)].map(|(name, bar)| (name, bar, all.clone()));
    let mut choices = full.into_iter().chain(less);
    let fits = |text: &String| text.chars().count() <= width;
    let text = choices.find_map(|(name, bar, counts)| Some(laid_out(now, name, bar, &counts)).filter(fits));
    text.unwrap_or_else(|| laid_out(now, short, 0, last).chars().take(width).collect())
}

/// The line with a bar of this many characters and these counts.
fn laid_out(now: &Now, name: &str, bar: usize, counts: &str) -> String {
    let mut text = safe(name);
    match now.share {
        Some(share) => {
            let share = share.clamp(0.0, 1.0);
            let full = (share * bar as f64) as usize;
            if bar > 0 {
                let _ = write!(text, "  [{}{}]", "=".repeat(full), " ".repeat(bar - full));
            }
            let _ = write!(text, " {:.0} %", 100.0 * share);
            if share >= 0.01 {
                let left = now.seconds / share - now.seconds;
                let left = now.limit.map_or(left, |limit| left.min(limit - now.seconds));
                let _ = write!(text, ", about {} left", clock(left));
            }
        }
        None => match now.limit {
            Some(limit) => {
                let _ = write!(text, "  {} of at most {}", clock(now.seconds), clock(limit));
            }
            None => {
                let _ = write!(text, "  {}", clock(now.seconds));
            }
        },
    }
    if !counts.is_empty() {
        let _ = write!(text, "  {counts}");
    }
    text
}

/// `0:07`, `12:00`, `3:00:00`
fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

/// The line.
#[derive(Debug)]
pub struct Line {
    /// Characters of the terminal; `None` if nobody is watching.
    width: Option<usize>,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// When it was drawn, if it is there.
    drawn: Option<Instant>,
    /// When it was last taken away.
    hidden: Option<Instant>,
}

impl Line {
    /// Nothing drawn yet; and nothing ever where standard error is not a terminal, or where quiet is wanted.
    pub fn new(quiet: bool) -> Line {
        let width = terminal::error_width().filter(|_| !quiet);
        Line { width, began: Instant::now(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the line, if it is time for that.
    pub fn draw(&self, now: impl FnOnce() -> Now) {
        if self.width.is_some() && self.began.elapsed() >= SOON {
            // Nobody takes it away in between.
            let mut state = self.state();
            let rested = |at: Option<Instant>, time: Duration| at.is_none_or(|at| at.elapsed() >= time);
            if rested(state.drawn, TICK) && rested(state.hidden, QUIET) {
                self.write(&mut state, now);
            }
        }
    }

    /// Draws it immediately, because nobody can before something has ended.
    pub fn say(&self, now: impl FnOnce() -> Now) {
        self.write(&mut self.state(), now);
    }

    fn write(&self, state: &mut State, now: impl FnOnce() -> Now) {
        if let Some(width) = self.width {
            let text = text(&now(), width.saturating_sub(1));
            state.drawn = write!(std::io::stderr(), "\r\x1b[K{text}").is_ok().then(Instant::now);
        }
    }

    /// Takes the line away, because something else is written.
    pub fn hide(&self) {
        if self.width.is_some() {
            let mut state = self.state();
            state.hidden = Some(Instant::now());
            if state.drawn.take().is_some() {
                let _ = write!(std::io::stderr(), "\r\x1b[K");
            }
        }
    }
}

impl Listener for Line {
    fn progress(&self, now: &dyn Fn() -> Now) {
        self.draw(now);
    }

    fn busy(&self, now: &dyn Fn() -> Now) {
        self.say(now);
    }

    fn rest(&self) {
        self.hide();
    }

    fn note(&self, line: &str) {
        self.hide();
        // Where standard error is closed nobody wants to know.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.hide();
    }
}

/// The progress of a task, for others to watch.
#[derive(Debug)]
pub struct Progress {
    line: Line,
    began: Instant,
    /// All that there is to do, in bytes or pieces; 0 if nobody knows.
    total: AtomicU64,
    done: AtomicU64,
    traces: AtomicU64,
    ops: AtomicU64,
    /// The current work.
    at: Mutex<At>,
    /// The time limit of one piece.
    limit: Option<Duration>,
    over: AtomicBool,
}

/// A piece of work.
#[derive(Clone, Debug)]
struct At {
    name: String,
    /// Statements about it beside counts.
    note: String,
    /// When the piece that has a time limit began.
    since: Option<Instant>,
}

impl Progress {
    /// Starts watching, if standard error is a terminal. `total` is all that there is to do, where that is known; `limit` is
    /// the time that one piece of it may take.
    pub fn start(total: Option<u64>, limit: Option<Duration>) -> Arc<Progress> {
        Progress::with(Line::new(false), total, limit)
    }

    fn with(line: Line, total: Option<u64>, limit: Option<Duration>) -> Arc<Progress> {
        let at = At { name: String::new(), note: String::new(), since: None };
        let progress = Arc::new(Progress {
            line,
            began: Instant::now(),
            total: AtomicU64::new(total.unwrap_or(0)),
            done: AtomicU64::new(0),
            traces: AtomicU64::new(0),
            ops: AtomicU64::new(0),
            at: Mutex::new(at),
            limit,
            over: AtomicBool::new(false),
        });
        if progress.live() {
            let watched = Arc::clone(&progress);
            std::thread::spawn(move || {
                while !watched.over.load(Relaxed) {
                    std::thread::sleep(TICK);
                    if !watched.over.load(Relaxed) {
                        watched.line.draw(|| watched.now());
                    }
                }
            });
        }
        progress
    }

    fn live(&self) -> bool {
        self.line.width.is_some()
    }

    fn at(&self) -> MutexGuard<'_, At> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This much of the total is done.
    pub fn done(&self, n: usize) {
        self.done.fetch_add(n as u64, Relaxed);
    }

    /// A trace was read, and is being decided.
    pub fn trace(&self, ops: usize) {
        if self.live() {
            let number = 1 + self.traces.fetch_add(1, Relaxed);
            self.ops.fetch_add(ops as u64, Relaxed);
            self.work(&format!("deciding trace {number} ({})", count(ops, "operation")));
        }
    }

    /// This many operations of a trace that continues.
    pub fn operations(&self, ops: usize) {
        if self.live() {
            self.ops.fetch_add(ops as u64, Relaxed);
        }
    }

    /// This is worked on from now on.
    pub fn file(&self, name: &str) {
        if self.live() {
            *self.at() = At { name: name.to_owned(), note: String::new(), since: None };
        }
    }

    /// A piece with a time limit begins, which these words are about.
    pub fn work(&self, note: &str) {
        if self.live() {
            let mut at = self.at();
            at.note = note.to_owned();
            at.since = Some(Instant::now());
        }
    }

    /// The words for the piece that is continuing.
    pub fn say(&self, note: String) {
        if self.live() {
            self.at().note = note;
        }
    }

    fn now(&self) -> Now {
        let At { name, note, since } = self.at().clone();
        let (total, done) = (self.total.load(Relaxed), self.done.load(Relaxed));
        let (traces, ops) = (self.traces.load(Relaxed), self.ops.load(Relaxed));
        let share = (total > 0 && done < total).then(|| done as f64 / total as f64);
        // A piece that takes long says nothing about the others.
        let piece = since.filter(|since| since.elapsed() >= SOON);
        let (share, seconds, limit) = match piece {
            Some(since) => (None, since.elapsed(), self.limit),
            None => (share, self.began.elapsed(), None),
        };
        let mut counts = if piece.is_some() || traces == 0 { vec![note] } else { Vec::new() };
        if let (Some(_), Some(_)) = (piece, share.or((total > 0).then_some(0.0))) {
            counts.push(format!("{:.0} % read", 100.0 * done.min(total) as f64 / total as f64));
        }
        if traces > 1 || (ops > 0 && piece.is_none()) {
            counts.push(count(traces as usize, "trace"));
            counts.push(count(ops as usize, "operation"));
        }
        counts.retain(|text| !text.is_empty());
        let limit = limit.map(|limit| limit.as_secs_f64());
        Now { name, share, seconds: seconds.as_secs_f64(), limit, counts: counts.join(", ") }
    }

    /// Takes the line away, because something else is written.
    pub fn hide(&self) {
        self.line.hide();
        if self.live() {
            let mut at = self.at();
            (at.note, at.since) = (String::new(), None);
        }
    }

    /// Nothing more is coming.
    pub fn finish(&self) {
        self.over.store(true, Relaxed);
        self.line.hide();
    }
}

/// The bytes of all files together, if they are files.
pub fn bytes<'a>(files: impl IntoIterator<Item = &'a std::path::PathBuf>) -> Option<u64> {
    let size =
        |path: &std::path::PathBuf| std::fs::metadata(path).ok().filter(|data| data.is_file()).map(|data| data.len());
    files.into_iter().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(share: Option<f64>, seconds: f64, limit: Option<f64>) -> String {
        text(&Now { name: "t".into(), share, seconds, limit, counts: "7 traces".into() }, 100)
    }

    #[test]
    fn only_known_figures_are_shown() {
        assert_eq!(now(Some(0.25), 10.0, None), "t  [=====               ] 25 %, about 0:30 left  7 traces");
        assert_eq!(now(Some(0.25), 10.0, Some(15.0)), "t  [=====               ] 25 %, about 0:05 left  7 traces");
        assert_eq!(now(Some(0.001), 10.0, None), "t  [                    ] 0 %  7 traces");
        assert_eq!(now(None, 75.0, None), "t  1:15  7 traces");
        assert_eq!(now(None, 75.0, Some(3600.0)), "t  1:15 of at most 1:00:00  7 traces");
    }

    #[test]
    fn the_line_fits() {
        let counts = "10492 tests, 20.9M ops, 164.0K ops/s, 36/132 relaxed, 1 violation".to_owned();
        let now = Now { name: "this-machine".into(), share: Some(0.5), seconds: 60.0, limit: None, counts };
        let rest = "50 %, about 1:00 left  10492 tests, 20.9M ops, 164.0K ops/s, 36/132 relaxed, 1 violation";
        assert_eq!(text(&now, 140), format!("this-machine  [==========          ] {rest}"));
        assert_eq!(text(&now, 120), format!("this-machine  [=====     ] {rest}"));
        assert_eq!(text(&now, 105), format!("this-machine {rest}"));
        assert_eq!(text(&now, 75), "this-machine 50 %, about 1:00 left  10492 tests, 20.9M ops, 1 violation");
        assert_eq!(text(&now, 50), "this-machine 50 %, about 1:00 left  1 violation");
        let long = Now { name: "examples/programs/this-machine".into(), ..now.clone() };
        assert_eq!(text(&long, 75), text(&now, 75));
        assert!((5..150).all(|width| text(&now, width).chars().count() <= width));
    }

    #[test]
    fn a_long_piece_is_told_by_itself() {
        let progress = Progress::with(
            Line { width: Some(80), began: Instant::now(), state: Mutex::default() },
            Some(100),
            Some(Duration::from_secs(60)),
        );
        progress.file("t");
        progress.done(40);
        progress.trace(5);
        let text = super::text(&progress.now(), 80);
        assert!(text.contains("40 %") && text.contains("1 trace, 5 operations"), "{text}");
        progress.at().since = Instant::now().checked_sub(Duration::from_secs(12));
        let text = super::text(&progress.now(), 80);
        assert_eq!(text, "t  0:12 of at most 1:00  deciding trace 1 (5 operations), 40 % read");
        progress.finish();
    }
}
