// A message may come too late. It is not lost.
// expect: tso=safe pso=safe c11=safe
// classes: 2
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || sender.send(1).unwrap());
    match receiver.recv_timeout(Duration::from_millis(5)) {
        Ok(message) => assert_eq!(message, 1),
        Err(error) => {
            assert_eq!(error, RecvTimeoutError::Timeout);
            assert_eq!(receiver.recv(), Ok(1));
        }
    }
    thread.join().unwrap();
}
