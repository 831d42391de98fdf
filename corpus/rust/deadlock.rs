// Two locks, taken in two orders.
// expect: error: deadlock
use std::sync::Mutex;
use std::thread;

static A: Mutex<()> = Mutex::new(());
static B: Mutex<()> = Mutex::new(());

fn main() {
    let other = thread::spawn(|| {
        let _a = A.lock();
        let _b = B.lock();
    });
    {
        let _b = B.lock();
        let _a = A.lock();
    }
    other.join().unwrap();
}
