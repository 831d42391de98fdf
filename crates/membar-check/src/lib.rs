//! Decides traces.

mod limits;
mod ppo;
mod problem;
mod saturate;
mod schedule;

pub use limits::Limits;

/// x
pub fn experiment(trace: &membar_core::Trace, model: &membar_core::Model, conflicts: usize, passes: usize) {
    let mut p = problem::Problem::default();
    let t = std::time::Instant::now();
    p.build(trace, model);
    let build = t.elapsed();
    let mut s = schedule::Scheduler::default();
    let t = std::time::Instant::now();
    let mut sat = saturate::Saturator::default();
    sat.start(trace, model, &p);
    for _ in 0..passes {
        let t = std::time::Instant::now();
        let r = sat.pass(&mut p);
        print!("[{r:?} {:?}] ", t.elapsed());
    }
    s.start(&p);
    let r = s.run(&mut p, conflicts, &Limits::default().within(std::time::Duration::from_secs(20)));
    let units = s.conflicts.iter().filter(|c| c.guesses.len() == 1).count();
    println!("n={} edges={} build={build:?} run={:?} {r:?} ordered={} conflicts={} units={} guesses={} obvious={:?}", trace.len(), p.succ.len(), t.elapsed(), s.longest, s.conflicts.len(), units, s.guesses, p.obvious);
}
