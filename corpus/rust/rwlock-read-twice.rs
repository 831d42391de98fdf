// A reader that reads again waits for a writer that waits for the reader.
// expect: error: deadlock
use std::sync::RwLock;
use std::thread;

static LOCK: RwLock<u32> = RwLock::new(0);

fn main() {
    let writer = thread::spawn(|| *LOCK.write().unwrap() = 1);
    let outer = LOCK.read().unwrap();
    let inner = LOCK.read().unwrap();
    assert_eq!(*outer, *inner);
    drop((outer, inner));
    writer.join().unwrap();
}
