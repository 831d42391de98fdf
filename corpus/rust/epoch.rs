// A reader says that it is there before it follows a pointer; who takes the pointer back waits for readers before it frees.
// expect: tso=safe pso=safe c11=safe
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering, fence};
use std::thread;

static VALUE: AtomicPtr<u32> = AtomicPtr::new(null_mut());
static READING: AtomicBool = AtomicBool::new(false);

fn read() {
    READING.store(true, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    if let Some(value) = unsafe { VALUE.load(Ordering::Acquire).as_ref() } {
        assert_eq!(*value, 7);
    }
    READING.store(false, Ordering::Release);
}

fn main() {
    VALUE.store(Box::into_raw(Box::new(7)), Ordering::Relaxed);
    let reader = thread::spawn(read);
    let value = VALUE.swap(null_mut(), Ordering::Relaxed);
    fence(Ordering::SeqCst);
    while READING.load(Ordering::Acquire) {
        thread::yield_now();
    }
    drop(unsafe { Box::from_raw(value) });
    reader.join().unwrap();
}
