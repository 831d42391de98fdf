// A reader sees all of a write or nothing.
// expect: tso=safe pso=safe c11=safe
use std::sync::RwLock;
use std::thread;

static PAIR: RwLock<(u32, u32)> = RwLock::new((0, 0));

fn main() {
    let writer = thread::spawn(|| *PAIR.write().unwrap() = (1, 1));
    let (a, b) = *PAIR.read().unwrap();
    assert_eq!(a, b);
    writer.join().unwrap();
}
