// The receiver goes after one message. Each message is dropped once, wherever it is then.
// expect: tso=safe pso=safe c11=safe
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let message = Arc::new(1);
    let thread = thread::spawn({
        let message = message.clone();
        move || {
            sender.send(message.clone()).unwrap();
            let _ = sender.send(message.clone());
            let _ = sender.send(message);
        }
    });
    assert_eq!(*receiver.recv().unwrap(), 1);
    drop(receiver);
    thread.join().unwrap();
    assert_eq!(Arc::strong_count(&message), 1);
}
