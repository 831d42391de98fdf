// The receiver goes, and the sender that waits for it gets its message back.
// expect: tso=safe pso=safe c11=safe
use std::sync::mpsc::{self, SendError};
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::sync_channel(0);
    let thread = thread::spawn(move || assert_eq!(sender.send(1), Err(SendError(1))));
    drop(receiver);
    thread.join().unwrap();
}
