//! Threads that stay: each tied to a core, asleep until there is something to do.
//!
//! Guarantees: a task that has been given to all is over on all of them, and nothing of it is still referred to, when
//! its caller is told. If a thread dies or does not end in time the pool is broken for good, and not used again.

use crate::cores::pin;
use crate::{Cores, Error};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a thread may take to give up, on a machine as busy as can be.
const GIVING_UP: Duration = Duration::from_secs(30);

/// A task for a thread; it gets its number.
pub(crate) type Task = Arc<dyn Fn(usize) + Send + Sync>;

/// A number of threads; dropping it ends them.
#[derive(Debug)]
pub(crate) struct Pool {
    workers: Vec<Worker>,
    done: Receiver<usize>,
    report: Sender<usize>,
    cores: Cores,
    /// A thread has died, or a task could not be given to all: it is unknown which threads are still at work.
    broken: bool,
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
        Pool { workers: Vec::new(), done, report, cores, broken: false }
    }

    /// Starts threads until there are this many.
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
                    // Everything that the task holds is released before anybody hears that it is done.
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
    pub fn run(&mut self, threads: usize, task: &Task, limit: Duration, give_up: impl Fn()) -> Result<bool, Error> {
        if self.broken {
            return Err(Error::Worker);
        }
        self.grow(threads)?;
        for worker in &self.workers[..threads] {
            let given = worker.tasks.as_ref().is_some_and(|tasks| tasks.send(task.clone()).is_ok());
            if !given {
                self.broken = true;
                give_up();
                return Err(Error::Worker);
            }
        }
        let deadline = Instant::now() + limit;
        let mut in_time = true;
        let mut left = threads;
        while left > 0 {
            // A thread that has been told to give up does so immediately; one that has died never answers.
            let time = if in_time { deadline.saturating_duration_since(Instant::now()) } else { GIVING_UP };
            match self.done.recv_timeout(time) {
                Ok(_) => left -= 1,
                Err(_) if in_time => {
                    in_time = false;
                    give_up();
                }
                Err(_) => {
                    self.broken = true;
                    return Err(Error::Worker);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn everybody_does_the_task_once() {
        let mut pool = Pool::new(Cores::allowed());
        for threads in [1, 4, 2] {
            let counts: Arc<Vec<AtomicUsize>> = Arc::new((0..threads).map(|_| AtomicUsize::new(0)).collect());
            let task: Task = {
                let counts = counts.clone();
                Arc::new(move |me| {
                    counts[me].fetch_add(1, Ordering::Relaxed);
                })
            };
            assert!(pool.run(threads, &task, Duration::from_secs(60), || {}).unwrap());
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        }
    }
}
