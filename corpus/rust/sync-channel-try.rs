// A message finds the only place taken, or does not.
// expect: tso=safe pso=safe c11=safe
use std::sync::mpsc::{self, TrySendError};
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::sync_channel(1);
    let thread = thread::spawn(move || {
        sender.send(1).unwrap();
        match sender.try_send(2) {
            Ok(()) => 2,
            Err(error) => {
                assert_eq!(error, TrySendError::Full(2));
                1
            }
        }
    });
    assert_eq!(receiver.recv(), Ok(1));
    let sent = thread.join().unwrap();
    assert_eq!(receiver.recv().is_ok(), sent == 2);
}
