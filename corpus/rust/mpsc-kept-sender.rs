// The receiver waits for the end of all senders, and has one itself.
// expect: error: deadlock
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    let thread = thread::spawn(move || other.send(1).unwrap());
    assert_eq!(receiver.iter().sum::<u32>(), 1);
    thread.join().unwrap();
    drop(sender);
}
