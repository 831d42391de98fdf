// A map has the same order in every execution.
// expect: tso=safe pso=safe c11=safe
use std::collections::HashMap;
use std::sync::Mutex;
use std::thread;

fn main() {
    let map = Mutex::new(HashMap::new());
    thread::scope(|scope| {
        scope.spawn(|| map.lock().unwrap().insert("one", 1));
        scope.spawn(|| map.lock().unwrap().insert("two", 2));
    });
    assert_eq!(map.into_inner().unwrap().values().sum::<u32>(), 3);
}
