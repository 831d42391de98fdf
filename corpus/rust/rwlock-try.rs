// Who does not wait finds the lock taken, or does not; a writer that becomes a reader lets readers in.
// expect: tso=safe pso=safe c11=safe
use std::sync::{RwLock, RwLockWriteGuard};
use std::thread;

static LOCK: RwLock<u32> = RwLock::new(0);

fn main() {
    let reader = thread::spawn(|| {
        if let Ok(value) = LOCK.try_read() {
            assert!(*value < 2);
        }
    });
    if let Ok(mut value) = LOCK.try_write() {
        *value = 2;
        *value = 1;
        let value = RwLockWriteGuard::downgrade(value);
        assert_eq!(*value, 1);
    }
    reader.join().unwrap();
}
