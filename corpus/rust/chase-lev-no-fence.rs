// A work-stealing deque whose owner takes without a fence: its store of the bottom may be too late.
// expect: tso=unsafe pso=unsafe c11=unsafe
use std::sync::atomic::{AtomicIsize, AtomicU32, Ordering, fence};
use std::thread;

static TOP: AtomicIsize = AtomicIsize::new(0);
static BOTTOM: AtomicIsize = AtomicIsize::new(0);
static SLOTS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

fn push(value: u32) {
    let bottom = BOTTOM.load(Ordering::Relaxed);
    SLOTS[bottom as usize % 2].store(value, Ordering::Relaxed);
    fence(Ordering::Release);
    BOTTOM.store(bottom + 1, Ordering::Relaxed);
}

fn take() -> Option<u32> {
    let bottom = BOTTOM.load(Ordering::Relaxed) - 1;
    BOTTOM.store(bottom, Ordering::Relaxed);
    let top = TOP.load(Ordering::Relaxed);
    let mut value = None;
    if top <= bottom {
        value = Some(SLOTS[bottom as usize % 2].load(Ordering::Relaxed));
        if top < bottom {
            return value;
        }
        // The last one may be stolen.
        if TOP.compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            value = None;
        }
    }
    BOTTOM.store(bottom + 1, Ordering::Relaxed);
    value
}

fn steal() -> Option<u32> {
    let top = TOP.load(Ordering::Acquire);
    fence(Ordering::SeqCst);
    if top >= BOTTOM.load(Ordering::Acquire) {
        return None;
    }
    let value = SLOTS[top as usize % 2].load(Ordering::Relaxed);
    TOP.compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed).ok().map(|_| value)
}

fn main() {
    let thief = thread::spawn(|| [steal(), steal()]);
    push(1);
    push(2);
    let own = [take(), take()];
    let stolen = thief.join().unwrap();
    let mut all: Vec<u32> = own.into_iter().chain(stolen).flatten().collect();
    all.sort_unstable();
    assert!(all.iter().all(|value| *value != 0), "nobody has put that there");
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "one is taken twice");
}
