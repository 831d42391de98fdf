// Who sends to itself must not send more than there are places.
// expect: error: deadlock
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::sync_channel(1);
    let other = sender.clone();
    let thread = thread::spawn(move || other.send(1).unwrap());
    sender.send(2).unwrap();
    assert_eq!(receiver.recv().unwrap() + receiver.recv().unwrap(), 3);
    thread.join().unwrap();
}
