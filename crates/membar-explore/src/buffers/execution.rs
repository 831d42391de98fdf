//! An execution of the machine: what others are told of it, and whether it is sequentially consistent.
//!
//! po ∪ rf ∪ co ∪ fr, by bytes. Of two accesses of different threads to a byte, one of which writes, that one comes first that is in
//! memory first; but a read that has the byte from its own buffer comes where that store does.

use super::machine::{Event, Machine, meet};
use crate::WeakExecution;
use membar_core::WeakStep;
use rustc_hash::FxHashMap;

impl Machine {
    /// From each event to those that it comes right before: in its thread the next one, in others all that it conflicts with.
    fn edges(&self) -> Vec<Vec<usize>> {
        let times = self.times();
        let events = &self.events;
        let mut edges = vec![Vec::new(); events.len()];
        let mut writes: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (i, event) in events.iter().enumerate().filter(|(_, event)| event.writes) {
            writes.entry(event.access.addr).or_default().push(i);
        }
        for (i, event) in events.iter().enumerate() {
            let later = (i + 1..events.len()).find(|&j| events[j].thread == event.thread);
            edges[i].extend(later);
            for &j in writes.get(&event.access.addr).into_iter().flatten() {
                let write = &events[j];
                if write.thread == event.thread || !meet(&event.access, &write.access) {
                    continue;
                }
                let common = event.access.bytes().filter(|byte| write.access.bytes().contains(byte));
                for byte in common {
                    if self.time_at(&times, i, byte) < times[j] {
                        edges[i].push(j);
                    } else {
                        edges[j].push(i);
                    }
                }
            }
        }
        edges.iter_mut().for_each(|next| {
            next.sort_unstable();
            next.dedup();
        });
        edges
    }

    /// When an event is at a byte.
    fn time_at(&self, times: &[u32], i: usize, byte: u8) -> u32 {
        let event = &self.events[i];
        if event.writes {
            return times[i];
        }
        let own = |(j, store): &(usize, &Event)| {
            let has = meet(&store.access, &event.access) && store.access.bytes().contains(&byte);
            store.thread == event.thread && store.writes && has && times[*j] > times[i]
        };
        self.events[..i].iter().enumerate().filter(own).map(|(j, _)| times[j]).max().unwrap_or(times[i])
    }

    /// Whether it is sequentially consistent.
    pub(super) fn is_sc(&self) -> bool {
        let edges = self.edges();
        let mut before = vec![0; edges.len()];
        edges.iter().flatten().for_each(|&next| before[next] += 1);
        let mut open: Vec<usize> = (0..edges.len()).filter(|&i| before[i] == 0).collect();
        let mut removed = 0;
        while let Some(i) = open.pop() {
            removed += 1;
            for &next in &edges[i] {
                before[next] -= 1;
                if before[next] == 0 {
                    open.push(next);
                }
            }
        }
        removed == edges.len()
    }
}

fn leads(edges: &[Vec<usize>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; edges.len()];
    let mut open = vec![from];
    while let Some(i) = open.pop() {
        if i == to {
            return true;
        }
        if !std::mem::replace(&mut seen[i], true) {
            open.extend(&edges[i]);
        }
    }
    false
}

impl WeakExecution for Machine {
    fn len(&self) -> usize {
        self.steps()
    }

    fn steps(&self) -> Vec<WeakStep> {
        let times = self.times();
        let step = |(i, event): (usize, &Event)| {
            let later = |(j, write): &(usize, &Event)| {
                write.writes && write.access.addr == event.access.addr && times[*j] > times[i]
            };
            let behind = self.events[..i].iter().enumerate().filter(later).count() as u32;
            WeakStep { thread: event.thread, choice: event.choice, behind }
        };
        self.events.iter().enumerate().map(step).collect()
    }

    fn missed(&self) -> Vec<(u32, u32)> {
        let edges = self.edges();
        let mut missed = Vec::new();
        for (i, next) in edges.iter().enumerate() {
            let event = &self.events[i];
            for &write in next.iter().filter(|&&write| self.events[write].thread != event.thread) {
                let pair = (event.access.site, self.events[write].access.site);
                let conflict = self.events[write].writes && meet(&event.access, &self.events[write].access);
                if conflict && !missed.contains(&pair) && leads(&edges, write, i) {
                    missed.push(pair);
                }
            }
        }
        missed.sort_unstable();
        missed
    }
}
