// A message is handed over: the sender goes on when it has been received.
// expect: tso=safe pso=safe c11=safe
// classes: 2
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

static SENT: AtomicBool = AtomicBool::new(false);

fn main() {
    let (sender, receiver) = mpsc::sync_channel(0);
    let before = thread::spawn(move || {
        sender.send(1).unwrap();
        SENT.store(true, Ordering::Relaxed);
    });
    assert!(!SENT.load(Ordering::Relaxed));
    assert_eq!(receiver.recv(), Ok(1));
    before.join().unwrap();
    assert!(SENT.load(Ordering::Relaxed));
}
