// Messages of one sender arrive in one order: nothing else can be observed.
// expect: tso=safe pso=safe c11=safe
// classes: 1
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        for message in 0..4 {
            sender.send(message).unwrap();
        }
    });
    assert_eq!(receiver.iter().collect::<Vec<u32>>(), [0, 1, 2, 3]);
    thread.join().unwrap();
}
