// A message says that data is there; the next write of the data races with the receiver.
// expect: tso=safe pso=safe c11=error
use std::cell::UnsafeCell;
use std::sync::mpsc;
use std::thread;

struct Data(UnsafeCell<u32>);
unsafe impl Sync for Data {}
static DATA: Data = Data(UnsafeCell::new(0));

fn main() {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || unsafe {
        *DATA.0.get() = 1;
        sender.send(()).unwrap();
        *DATA.0.get() = 2;
    });
    receiver.recv().unwrap();
    assert!(unsafe { *DATA.0.get() } > 0);
    thread.join().unwrap();
}
