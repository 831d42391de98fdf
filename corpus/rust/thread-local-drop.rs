// What thread-local variables do when they are dropped comes before the end of the thread.
// expect: tso=safe pso=safe c11=safe
// classes: 2
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::thread;
static DROPS: AtomicU32 = AtomicU32::new(0);
struct D(u32);
impl Drop for D {
    fn drop(&mut self) {
        DROPS.fetch_add(self.0, Relaxed);
    }
}
thread_local! { static V: RefCell<Option<D>> = const { RefCell::new(None) }; }
fn main() {
    let ts: Vec<_> = (1..3).map(|i| thread::spawn(move || V.with(|v| *v.borrow_mut() = Some(D(i))))).collect();
    for t in ts {
        t.join().unwrap();
    }
    assert_eq!(DROPS.load(Relaxed), 3);
}
