// A lock whose guard is forgotten: who comes second waits for ever.
// expect: error: deadlock
use std::sync::Mutex;
use std::thread;
static A: Mutex<u32> = Mutex::new(0);
fn main() {
    let t = thread::spawn(|| std::mem::forget(A.lock().unwrap()));
    *A.lock().unwrap() += 1;
    t.join().unwrap();
}
