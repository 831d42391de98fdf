// The last strong reference goes while another thread upgrades a weak one.
// expect: tso=safe pso=safe c11=safe
// classes: 7
use std::sync::Arc;
use std::thread;
fn main() {
    let a = Arc::new(5);
    let w = Arc::downgrade(&a);
    let t = thread::spawn(move || w.upgrade().map(|v| *v));
    drop(a);
    let r = t.join().unwrap();
    assert!(r.is_none() || r == Some(5));
}
