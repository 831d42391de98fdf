// A stack whose nodes are freed when no hazard pointer names them. Each thread may miss that the other one has let go: then a node is not freed.
// expect: c11=unsafe
// right: nothing fails in any execution
use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::thread;

struct Node {
    value: u32,
    next: *mut Node,
}

static TOP: AtomicPtr<Node> = AtomicPtr::new(null_mut());
static HAZARDS: [AtomicPtr<Node>; 2] = [AtomicPtr::new(null_mut()), AtomicPtr::new(null_mut())];
static FREED: AtomicUsize = AtomicUsize::new(0);

fn push(value: u32) {
    let node = Box::into_raw(Box::new(Node { value, next: null_mut() }));
    let mut top = TOP.load(Ordering::Relaxed);
    loop {
        unsafe { (*node).next = top };
        match TOP.compare_exchange(top, node, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => top = now,
        }
    }
}

fn pop(me: usize) -> Option<u32> {
    loop {
        let top = TOP.load(Ordering::SeqCst);
        if top.is_null() {
            HAZARDS[me].store(null_mut(), Ordering::Release);
            return None;
        }
        HAZARDS[me].store(top, Ordering::SeqCst);
        if TOP.load(Ordering::SeqCst) != top {
            continue;
        }
        let next = unsafe { (*top).next };
        if TOP.compare_exchange(top, next, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            let value = unsafe { (*top).value };
            HAZARDS[me].store(null_mut(), Ordering::Release);
            if !ptr::eq(HAZARDS[1 - me].load(Ordering::SeqCst), top) {
                FREED.fetch_add(1, Ordering::Relaxed);
                drop(unsafe { Box::from_raw(top) });
            }
            return Some(value);
        }
    }
}

fn main() {
    push(1);
    push(2);
    let other = thread::spawn(|| pop(1).unwrap_or(0));
    let sum = pop(0).unwrap_or(0);
    assert_eq!(sum + other.join().unwrap(), 3);
}
