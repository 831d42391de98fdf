//! tokio's primitives that need no runtime.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn oneshot_wait() {
    let (sender, receiver) = oneshot::channel();
    let thread = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(block_on(receiver), Ok(1));
    thread.join().unwrap();
}

#[test]
fn oneshot_dropped() {
    let (sender, receiver) = oneshot::channel::<u32>();
    let thread = thread::spawn(move || drop(sender));
    assert!(block_on(receiver).is_err());
    thread.join().unwrap();
}

#[test]
fn notify() {
    let notify = Arc::new(Notify::new());
    let other = notify.clone();
    let thread = thread::spawn(move || other.notify_one());
    block_on(notify.notified());
    thread.join().unwrap();
}

#[test]
fn semaphore() {
    let semaphore = Arc::new(Semaphore::new(1));
    let other = semaphore.clone();
    let thread = thread::spawn(move || drop(block_on(other.acquire()).unwrap()));
    drop(block_on(semaphore.acquire()).unwrap());
    thread.join().unwrap();
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn mpsc_try() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let thread = thread::spawn(move || sender.send(1).unwrap());
    let first = receiver.try_recv().ok();
    thread.join().unwrap();
    assert_eq!(first.or_else(|| receiver.try_recv().ok()), Some(1));
}

#[test]
fn watch_changed() {
    let (sender, mut receiver) = watch::channel(0);
    let thread = thread::spawn(move || sender.send(1).unwrap());
    block_on(receiver.changed()).unwrap();
    assert_eq!(*receiver.borrow(), 1);
    thread.join().unwrap();
}
