// A look at a `OnceLock` that another thread initialises: nothing, or all of it.
// expect: tso=safe pso=safe c11=safe
// classes: 3
use std::sync::OnceLock;
use std::thread;
static C: OnceLock<String> = OnceLock::new();
fn main() {
    let t = thread::spawn(|| C.get().map(|s| s.len()));
    let s = C.get_or_init(|| "hello".to_string());
    assert_eq!(s, "hello");
    assert!(matches!(t.join().unwrap(), None | Some(5)));
    assert!(C.set("x".into()).is_err());
}
