//! Treiber's stack, two rounds of push and pop in two threads: right. Nodes are not freed before the end.

use super::sync::Arc;
use super::sync::atomic::{AtomicPtr, Ordering::*};
use super::thread;
use std::ptr;

struct Node {
    value: u32,
    next: *mut Node,
}

struct Stack(AtomicPtr<Node>);

impl Stack {
    fn push(&self, value: u32) {
        let node = Box::into_raw(Box::new(Node { value, next: ptr::null_mut() }));
        let mut top = self.0.load(Relaxed);
        loop {
            unsafe { (*node).next = top };
            match self.0.compare_exchange(top, node, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        let mut top = self.0.load(Acquire);
        while !top.is_null() {
            let next = unsafe { (*top).next };
            match self.0.compare_exchange(top, next, Acquire, Acquire) {
                Ok(_) => return Some(unsafe { (*top).value }),
                Err(now) => top = now,
            }
        }
        None
    }
}

/// Every thread pops something after each push.
pub fn run() {
    let stack = Arc::new(Stack(AtomicPtr::new(ptr::null_mut())));
    let rounds = |stack: &Stack, first: u32| -> u32 {
        (first..first + 2)
            .map(|value| {
                stack.push(value);
                stack.pop().expect("not empty")
            })
            .sum()
    };
    let other = stack.clone();
    let thread = thread::spawn(move || rounds(&other, 1));
    let own = rounds(&stack, 3);
    assert_eq!(own + thread.join().unwrap(), 10);
}
