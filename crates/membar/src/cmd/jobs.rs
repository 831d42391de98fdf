//! Deciding on several threads, with results in the order of the input.
//!
//! The caller's thread reads and numbers what it finds; workers decide; one thread writes, in the order of the numbers.
//! Traces are tokens: there are four a worker, the reader waits for a free one, and the writer gives them back. So at
//! most that many traces are held, and their buffers are reused.

use super::check::{Consumer, Request};
use super::output::{Answered, Output};
use crate::decide::{Answer, Guarded};
use membar::Trace;
use membar::report::first_line;
use membar::trace::Error;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Traces a worker.
const TOKENS: usize = 4;

struct Task {
    number: u64,
    file: Arc<str>,
    index: u64,
    trace: Box<Trace>,
}

enum Done {
    Trace { file: Arc<str>, index: u64, trace: Box<Trace>, answers: Vec<Result<Answer, String>> },
    Error { error: Error, index: u64 },
}

/// The reading thread's view.
pub struct Queue {
    number: u64,
    free: Receiver<Box<Trace>>,
    tasks: Sender<Task>,
    done: Sender<(u64, Done)>,
}

fn closed<E>(_: E) -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl Queue {
    fn next(&mut self) -> u64 {
        self.number += 1;
        self.number - 1
    }
}

impl Consumer for Queue {
    fn trace(&mut self, file: &Arc<str>, index: u64, trace: &mut Trace) -> io::Result<()> {
        // If the writer is gone, it has the reason.
        let mut fresh = self.free.recv().map_err(closed)?;
        std::mem::swap(&mut *fresh, trace);
        let task = Task { number: self.next(), file: Arc::clone(file), index, trace: fresh };
        self.tasks.send(task).map_err(closed)
    }

    fn error(&mut self, error: Error, index: u64) -> io::Result<()> {
        // A fault takes a token too, so that a file of faults does not run ahead.
        let token = self.free.recv().map_err(closed)?;
        let number = self.next();
        self.done.send((number, Done::Error { error, index })).map_err(closed)?;
        drop(token);
        Ok(())
    }
}

/// Runs `read` on this thread with `jobs` workers behind it.
pub fn run<W: Write + Send>(
    jobs: usize,
    asked: &Request,
    output: &mut Output<'_, W>,
    read: impl FnOnce(&mut Queue) -> io::Result<()>,
) -> io::Result<()> {
    let (free_send, free) = channel();
    let (tasks, arriving) = channel();
    let (done, finished) = channel();
    for _ in 0..jobs * TOKENS {
        let _ = free_send.send(Box::default());
    }
    let arriving = Arc::new(Mutex::new(arriving));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (arriving, done) = (Arc::clone(&arriving), done.clone());
            scope.spawn(move || work(asked, &arriving, &done));
        }
        drop(arriving);
        let writer = scope.spawn(move || write(output, &finished, &free_send));
        let mut queue = Queue { number: 0, free, tasks, done };
        let read = read(&mut queue);
        drop(queue); // the workers come to an end, and then the writer
        match writer.join() {
            Ok(Ok(())) => read,
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::Error::other("the writing thread failed")),
        }
    })
}

fn work(asked: &Request, arriving: &Mutex<Receiver<Task>>, done: &Sender<(u64, Done)>) {
    let mut decider = Guarded::default();
    loop {
        let task = arriving.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Task { number, file, index, trace }) = task else { return };
        let mut answers = Vec::with_capacity(asked.models.len());
        asked.answers(&mut decider, (&file, index, &trace), &mut answers);
        if done.send((number, Done::Trace { file, index, trace, answers })).is_err() {
            return;
        }
    }
}

fn write<W: Write>(
    output: &mut Output<'_, W>,
    finished: &Receiver<(u64, Done)>,
    free: &Sender<Box<Trace>>,
) -> io::Result<()> {
    let mut early: BTreeMap<u64, Done> = BTreeMap::new();
    let mut next = 0;
    loop {
        let (number, done) = match finished.try_recv() {
            Ok(done) => done,
            // The next one may take long.
            Err(_) => {
                output.flush()?;
                let Ok(done) = finished.recv() else { return Ok(()) };
                done
            }
        };
        early.insert(number, done);
        while let Some(done) = early.remove(&next) {
            next += 1;
            let token = match done {
                Done::Trace { file, index, trace, mut answers } => {
                    output.page(&mut answers);
                    let (line, ops, without_check) = (first_line(&trace), trace.len(), trace.open_end());
                    output.answered(&Answered { file: &file, index, line, ops, without_check, answers: &answers })?;
                    trace
                }
                Done::Error { error, index } => {
                    output.error(&error, index)?;
                    Box::default()
                }
            };
            // The reader may be at its end.
            let _ = free.send(token);
        }
    }
}
