// Two readers and a writer: readers see both of its writes or none.
// expect: tso=safe pso=safe c11=safe
use std::sync::RwLock;
use std::thread;

static LOCK: RwLock<(u32, u32)> = RwLock::new((0, 0));

fn main() {
    let read = || {
        let pair = LOCK.read().unwrap();
        assert_eq!(pair.0, pair.1);
    };
    let (one, two) = (thread::spawn(read), thread::spawn(read));
    let writer = thread::spawn(|| {
        let mut pair = LOCK.write().unwrap();
        pair.0 += 1;
        pair.1 += 1;
    });
    one.join().unwrap();
    two.join().unwrap();
    writer.join().unwrap();
}
