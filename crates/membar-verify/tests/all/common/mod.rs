//! Brute force over everything that a program with waiting loops can do.
#![allow(dead_code)]

use membar_explore::{Awaited, Next, Program};
use membar_litmus::Interpreter;
use std::collections::BTreeSet;

/// The classes of a program with waiting loops, by running everything: each as the events of every thread with the
/// sources of their reads, and the order of writes to each address.
pub fn classes_by_brute_force(program: &mut Interpreter, limit: usize) -> Option<BTreeSet<Vec<u64>>> {
    struct Brute {
        classes: BTreeSet<Vec<u64>>,
        seen: BTreeSet<Vec<u64>>,
        path: Vec<(u32, u32, u32, bool)>,
        limit: usize,
    }
    fn key(path: &[(u32, u32, u32, bool)]) -> Vec<u64> {
        // Events are named by thread and place in it, so that the order of independent events does not show.
        let name = |i: usize| {
            let (thread, ..) = path[i];
            u64::from(thread) << 32 | path[..i].iter().filter(|e| e.0 == thread).count() as u64
        };
        let mut events: Vec<[u64; 4]> = (0..path.len())
            .map(|i| {
                let (_, addr, site, writes) = path[i];
                let before = (0..i).rev().find(|&j| path[j].1 == addr && path[j].3).map_or(u64::MAX, name);
                [name(i), before, u64::from(site), u64::from(writes)]
            })
            .collect();
        events.sort_unstable();
        events.concat()
    }
    impl Brute {
        fn run(&mut self, program: &mut Interpreter) -> bool {
            let state = key(&self.path);
            if !self.seen.insert(state.clone()) {
                return true;
            }
            if self.seen.len() > self.limit || self.path.len() > 60 {
                return false;
            }
            let (mut able, mut stuck, mut whole) = (false, false, true);
            for thread in 0..program.threads() {
                if !matches!(program.next(thread), Next::Access(_)) {
                    continue;
                }
                let waiting = program.waiting(thread);
                let same = |awaited: &Awaited| program.value(awaited.addr) == awaited.value;
                if !waiting.round.is_empty() {
                    stuck = true;
                    whole &= waiting.round.iter().all(same);
                    continue;
                }
                able = true;
                let done = program.step(thread);
                self.path.push((done.thread, done.access.addr, done.access.site, done.writes));
                let ok = self.run(program);
                self.path.pop();
                program.undo();
                if !ok {
                    return false;
                }
            }
            if !able && (!stuck || whole) {
                self.classes.insert(state);
            }
            true
        }
    }
    let mut brute = Brute { classes: BTreeSet::new(), seen: BTreeSet::new(), path: Vec::new(), limit };
    brute.run(program).then_some(brute.classes)
}

/// How many ways there are to run a program to its end, where a thread waits at the last read of an idle round as long as
/// nothing in the round has changed.
pub fn interleavings_by_brute_force(program: &mut Interpreter) -> u64 {
    let (mut count, mut able) = (0, false);
    for thread in 0..program.threads() {
        let waiting = program.waiting(thread);
        let idle = waiting.round.iter().all(|awaited| program.value(awaited.addr) == awaited.value);
        if matches!(program.next(thread), Next::Access(_)) && !(waiting.is_closing() && idle) {
            able = true;
            program.step(thread);
            count += interleavings_by_brute_force(program);
            program.undo();
        }
    }
    count + u64::from(!able)
}
