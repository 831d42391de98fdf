// A state that is an enumeration, set relaxed: the result may be missing.
// expect: tso=safe pso=unsafe c11=unsafe
// classes: 3
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(u8)]
enum State {
    Idle = 0,
    Busy = 1,
    Done = 2,
}
struct Job {
    state: AtomicU8,
    result: AtomicU8,
}
impl Job {
    fn set(&self, s: State) {
        self.state.store(s as u8, Ordering::Relaxed)
    }
    fn is(&self, s: State) -> bool {
        self.state.load(Ordering::Relaxed) == s as u8
    }
}
fn main() {
    let job = Arc::new(Job { state: AtomicU8::new(State::Idle as u8), result: AtomicU8::new(0) });
    let other = job.clone();
    let t = thread::spawn(move || {
        other.set(State::Busy);
        other.result.store(42, Ordering::Relaxed);
        other.set(State::Done);
    });
    if job.is(State::Done) {
        assert_eq!(job.result.load(Ordering::Relaxed), 42);
    }
    t.join().unwrap();
}
