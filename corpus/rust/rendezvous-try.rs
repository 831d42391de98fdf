// A message is handed over only to somebody who waits; if not, it comes back.
// expect: tso=safe pso=safe c11=safe
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

fn main() {
    let (sender, receiver) = mpsc::sync_channel(0);
    let thread = thread::spawn(move || sender.try_send(1).is_ok());
    let received = receiver.recv_timeout(Duration::from_millis(5)).is_ok();
    assert_eq!(thread.join().unwrap(), received);
}
