// Two senders and a receiver: the orders of their messages, and of their ends.
// expect: tso=safe pso=safe c11=safe
// classes: 4
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    let one = thread::spawn(move || sender.send(1).unwrap());
    let two = thread::spawn(move || other.send(2).unwrap());
    assert_eq!(receiver.iter().sum::<u32>(), 3);
    one.join().unwrap();
    two.join().unwrap();
}
