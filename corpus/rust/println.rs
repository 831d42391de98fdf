// Printing adds no executions.
// expect: tso=safe pso=safe c11=safe
// classes: 1
use std::thread;

fn main() {
    let thread = thread::spawn(|| println!("one"));
    println!("two");
    eprintln!("three");
    thread.join().unwrap();
}
