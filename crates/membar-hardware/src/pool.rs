//! Threads that stay: each tied to a core, asleep until there is something to do.

use crate::cores::pin;
use crate::{Cores, Error};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a thread is asked to do; it gets its number.
pub(crate) type Task = Arc<dyn Fn(usize) + Send + Sync>;

/// A number of threads; dropping it ends them.
#[derive(Debug)]
pub(crate) struct Pool {
    workers: Vec<Worker>,
    done: Receiver<usize>,
    report: Sender<usize>,
    cores: Cores,
}

#[derive(Debug)]
struct Worker {
    tasks: Option<Sender<Task>>,
    thread: Option<JoinHandle<()>>,
}

impl Pool {
    /// No threads yet.
    pub fn new(cores: Cores) -> Pool {
        let (report, done) = channel();
        Pool { workers: Vec::new(), done, report, cores }
    }

    /// Starts threads until there are so many.
    fn grow(&mut self, threads: usize) -> Result<(), Error> {
        while self.workers.len() < threads {
            let (me, core) = (self.workers.len(), self.cores.of(self.workers.len()));
            let (tasks, mine) = channel::<Task>();
            let (ready, pinned) = channel();
            let report = self.report.clone();
            let thread = std::thread::Builder::new().name(format!("core {core}")).spawn(move || {
                let _ = ready.send(pin(core));
                while let Ok(task) = mine.recv() {
                    task(me);
                    // What the task holds is given back before anybody hears that it is done.
                    drop(task);
                    if report.send(me).is_err() {
                        break;
                    }
                }
            });
            self.workers.push(Worker { tasks: Some(tasks), thread: Some(thread.map_err(Error::Thread)?) });
            pinned.recv().map_err(|_| Error::Worker)??;
        }
        Ok(())
    }

    /// Has threads 0 to `threads` do the task, and waits for them. If that takes longer than `limit`, `give_up` is called, which
    /// makes the task end, and the answer is false.
    pub fn run(&mut self, threads: usize, task: &Task, limit: Duration, give_up: impl FnOnce()) -> Result<bool, Error> {
        self.grow(threads)?;
        for worker in &self.workers[..threads] {
            let tasks = worker.tasks.as_ref().ok_or(Error::Worker)?;
            tasks.send(task.clone()).map_err(|_| Error::Worker)?;
        }
        let deadline = std::time::Instant::now() + limit;
        let (mut in_time, mut give_up) = (true, Some(give_up));
        for _ in 0..threads {
            loop {
                let left = deadline.saturating_duration_since(std::time::Instant::now());
                // Whoever has been told to give up does so at once; one that has died never answers.
                let left = if in_time { left } else { Duration::from_secs(60) };
                match self.done.recv_timeout(left) {
                    Ok(_) => break,
                    Err(RecvTimeoutError::Timeout) if in_time => {
                        in_time = false;
                        if let Some(give_up) = give_up.take() {
                            give_up();
                        }
                    }
                    Err(_) => return Err(Error::Worker),
                }
            }
        }
        Ok(in_time)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.tasks = None;
        }
        for worker in &mut self.workers {
            // A thread that panicked has said so.
            let _ = worker.thread.take().map(JoinHandle::join);
        }
    }
}
