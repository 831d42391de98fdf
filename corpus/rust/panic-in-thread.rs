// Nobody catches it.
// expect: error: panics at
use std::thread;

fn main() {
    let empty: Vec<u32> = Vec::new();
    let _ = thread::spawn(move || empty[1]).join();
}
