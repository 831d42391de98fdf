// A wait with a time limit: told in time, or not.
// expect: tso=safe pso=safe c11=safe
// classes: 7
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;
static M: Mutex<bool> = Mutex::new(false);
static C: Condvar = Condvar::new();
fn main() {
    let t = thread::spawn(|| {
        *M.lock().unwrap() = true;
        C.notify_one();
    });
    let (g, r) = C.wait_timeout_while(M.lock().unwrap(), Duration::from_millis(1), |go| !*go).unwrap();
    assert!(*g || r.timed_out());
    drop(g);
    t.join().unwrap();
}
