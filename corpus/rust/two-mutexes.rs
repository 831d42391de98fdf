// Two locks in two orders.
// expect: error: deadlock
// classes: 3
use std::sync::Mutex;
use std::thread;
static A: Mutex<u32> = Mutex::new(0);
static B: Mutex<u32> = Mutex::new(0);
fn main() {
    let t = thread::spawn(|| {
        let a = A.lock().unwrap();
        *B.lock().unwrap() += *a;
    });
    {
        let b = B.lock().unwrap();
        *A.lock().unwrap() += *b;
    }
    t.join().unwrap();
}
