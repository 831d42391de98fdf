// Treiber's stack that never frees a node.
// expect: tso=safe pso=safe c11=safe
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

struct Node {
    value: u32,
    next: *mut Node,
}

static HEAD: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

fn push(value: u32) {
    let node = Box::into_raw(Box::new(Node { value, next: ptr::null_mut() }));
    loop {
        let head = HEAD.load(Ordering::Relaxed);
        unsafe { (*node).next = head };
        if HEAD.compare_exchange(head, node, Ordering::Release, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

fn pop() -> Option<u32> {
    loop {
        let head = HEAD.load(Ordering::Acquire);
        if head.is_null() {
            return None;
        }
        let next = unsafe { (*head).next };
        if HEAD.compare_exchange(head, next, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            let value = unsafe { (*head).value };
            // The node is left where it is.
            return Some(value);
        }
    }
}

fn main() {
    let other = thread::spawn(|| {
        push(1);
        pop()
    });
    push(2);
    let own = pop();
    let other = other.join().unwrap();
    assert!(own.is_some() && other.is_some() && own != other);
}
