// A panic that is caught while a lock is held: poisoned, and no error.
// expect: tso=safe pso=safe c11=safe
// classes: 4
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::thread;
static M: Mutex<u32> = Mutex::new(0);
fn main() {
    let t = thread::spawn(|| {
        let _ = catch_unwind(|| {
            let _g = M.lock();
            panic!("inside")
        });
    });
    let v = match M.lock() {
        Ok(g) => *g,
        Err(p) => *p.into_inner(),
    };
    assert_eq!(v, 0);
    t.join().unwrap();
    assert!(M.is_poisoned());
}
