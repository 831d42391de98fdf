// Nobody waits for these.
// expect: tso=safe pso=safe c11=safe
// classes: 1
use std::thread;

fn main() {
    thread::spawn(|| {});
    thread::spawn(|| {});
}
