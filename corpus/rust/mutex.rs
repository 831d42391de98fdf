// Two threads that count under a lock: who is first is all that differs.
// expect: tso=safe pso=safe c11=safe
// classes: 2
use std::sync::Mutex;
use std::thread;

static SUM: Mutex<u32> = Mutex::new(0);

fn main() {
    let one = thread::spawn(|| *SUM.lock().unwrap() += 1);
    let two = thread::spawn(|| *SUM.lock().unwrap() += 1);
    one.join().unwrap();
    two.join().unwrap();
    assert_eq!(*SUM.lock().unwrap(), 2);
}
