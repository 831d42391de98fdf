// Threads that do nothing have one execution.
// expect: tso=safe pso=safe c11=safe
// classes: 1
use std::thread;

fn main() {
    let threads = [thread::spawn(|| {}), thread::spawn(|| {})];
    for thread in threads {
        thread.join().unwrap();
    }
}
