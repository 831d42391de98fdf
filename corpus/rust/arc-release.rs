// Counting owners: the decrement releases.
// expect: tso=safe pso=safe c11=safe
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::thread;

struct Shared {
    owners: AtomicUsize,
    value: u32,
}

struct Owner(*mut Shared);
unsafe impl Send for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        let shared = unsafe { &*self.0 };
        assert_eq!(shared.value, 7);
        if shared.owners.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            drop(unsafe { Box::from_raw(self.0) });
        }
    }
}

fn main() {
    let shared = Box::into_raw(Box::new(Shared { owners: AtomicUsize::new(2), value: 7 }));
    let (one, two) = (Owner(shared), Owner(shared));
    let other = thread::spawn(move || drop(one));
    drop(two);
    other.join().unwrap();
}
