// A receiver that polls.
// expect: tso=safe pso=safe c11=safe
use std::sync::mpsc::{self, TryRecvError};
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    let mut sum = 0;
    loop {
        match receiver.try_recv() {
            Ok(message) => sum += message,
            Err(TryRecvError::Empty) => thread::yield_now(),
            Err(TryRecvError::Disconnected) => break,
        }
    }
    assert_eq!(sum, 3);
    thread.join().unwrap();
}
