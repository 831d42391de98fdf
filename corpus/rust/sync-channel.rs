// One place for three messages of two senders.
// expect: tso=safe pso=safe c11=safe
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::sync_channel(1);
    let other = sender.clone();
    let one = thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    let two = thread::spawn(move || other.send(4).unwrap());
    assert_eq!(receiver.iter().sum::<u32>(), 7);
    one.join().unwrap();
    two.join().unwrap();
}
