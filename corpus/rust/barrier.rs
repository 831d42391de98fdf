// One of two is the leader.
// expect: tso=safe pso=safe c11=safe
use std::sync::Barrier;
use std::thread;

fn main() {
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        let other = scope.spawn(|| barrier.wait().is_leader());
        let own = barrier.wait().is_leader();
        assert!(own != other.join().unwrap());
    });
}
