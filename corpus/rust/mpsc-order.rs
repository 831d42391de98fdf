// Messages of two senders are taken for ordered.
// expect: error: assertion `left == right` failed
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    let one = thread::spawn(move || sender.send(1).unwrap());
    let two = thread::spawn(move || other.send(2).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
    assert_eq!(receiver.recv(), Ok(2));
    one.join().unwrap();
    two.join().unwrap();
}
