// Each thread has its own, and destroys it.
// expect: tso=safe pso=safe c11=safe
// classes: 1
use std::cell::Cell;
use std::thread;

struct Noisy(u32);

impl Drop for Noisy {
    fn drop(&mut self) {
        println!("{} is gone", self.0);
    }
}

thread_local! {
    static COUNT: Cell<u32> = const { Cell::new(0) };
    static NOISY: Noisy = Noisy(7);
}

fn add(n: u32) -> u32 {
    COUNT.set(COUNT.get() + n);
    NOISY.with(|noisy| noisy.0 + COUNT.get())
}

fn main() {
    let (one, two) = (thread::spawn(|| add(1)), thread::spawn(|| add(2)));
    assert_eq!((one.join().unwrap(), two.join().unwrap(), COUNT.get()), (8, 9, 0));
}
