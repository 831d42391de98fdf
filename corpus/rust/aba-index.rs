// A free list of indices, all sequentially consistent: one is taken, given back and found at the top again, but what comes after it has gone.
// expect: error: twice
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

static TOP: AtomicUsize = AtomicUsize::new(1);
static AFTER: [AtomicUsize; 4] = [AtomicUsize::new(0), AtomicUsize::new(2), AtomicUsize::new(3), AtomicUsize::new(0)];

fn take() -> usize {
    loop {
        let top = TOP.load(SeqCst);
        if top == 0 || TOP.compare_exchange(top, AFTER[top].load(SeqCst), SeqCst, SeqCst).is_ok() {
            return top;
        }
    }
}

fn give(index: usize) {
    loop {
        let top = TOP.load(SeqCst);
        AFTER[index].store(top, SeqCst);
        if TOP.compare_exchange(top, index, SeqCst, SeqCst).is_ok() {
            return;
        }
    }
}

fn main() {
    let other = thread::spawn(|| {
        let first = take();
        let kept = take();
        give(first);
        kept
    });
    let own = [take(), take()];
    let kept = other.join().unwrap();
    assert!(!own.contains(&kept) || kept == 0, "{kept} is taken twice");
}
