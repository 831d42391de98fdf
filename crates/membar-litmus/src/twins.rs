//! Threads of a test that differ in their numbers alone, for exploration up to renaming (`symmetry.rs` in membar-explore).
//!
//! Two threads are alike if they have the same instructions on the same cells with the same values and memory orders, the same
//! initial registers, and neither the filter nor the final condition changes its meaning when their registers change places.
//! Places in the source differ, of course.

use crate::code::{Code, Instr};
use crate::condition::{Prop, Spot};
use crate::test::LitmusTest;

impl LitmusTest {
    /// For each thread of the code, which is this test's with or without remedies, the nearest one before it that is like it.
    pub fn twins(&self, code: &Code) -> Vec<Option<usize>> {
        let alike = |a: usize, b: usize| code.are_alike(a, b) && self.is_fair(a, b);
        (0..code.threads.len()).map(|thread| (0..thread).rev().find(|&other| alike(other, thread))).collect()
    }

    /// Whether filter and condition do not tell these threads apart.
    fn is_fair(&self, a: usize, b: usize) -> bool {
        let (a, b) = (a as u32, b as u32);
        let swapped = |location: usize| {
            let Spot::Reg { thread, reg } = self.locations[location].spot else { return Some(location) };
            let thread = match thread {
                _ if thread == a => b,
                _ if thread == b => a,
                other => other,
            };
            self.locations.iter().position(|other| other.spot == Spot::Reg { thread, reg })
        };
        self.filter.iter().chain([&self.condition.prop]).all(|prop| {
            let mut other = prop.clone();
            let mut known = true;
            other.leaves(&mut |leaf| {
                let named = match leaf {
                    Prop::Is(location, _) => [Some(location), None],
                    Prop::Same(left, right) => [Some(left), Some(right)],
                    _ => [None, None],
                };
                for location in named.into_iter().flatten() {
                    match swapped(*location) {
                        Some(other) => *location = other,
                        None => known = false,
                    }
                }
            });
            known && sorted(other) == sorted(prop.clone())
        })
    }
}

/// The same statement, its parts in an order that depends on nothing but what they say.
fn sorted(prop: Prop) -> Prop {
    let list = |all: Vec<Prop>| {
        let mut all: Vec<Prop> = all.into_iter().map(sorted).collect();
        all.sort();
        all
    };
    match prop {
        Prop::And(all) => Prop::And(list(all)),
        Prop::Or(any) => Prop::Or(list(any)),
        Prop::Not(prop) => Prop::Not(Box::new(sorted(*prop))),
        Prop::Implies(left, right) => Prop::Implies(Box::new(sorted(*left)), Box::new(sorted(*right))),
        Prop::Is(location, value) => Prop::Is(location, value),
        Prop::Same(left, right) => Prop::Same(left.min(right), left.max(right)),
    }
}

impl Code {
    /// Whether the threads have the same code, but for places in the source.
    pub fn are_alike(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.threads[a], &self.threads[b]);
        let orders = |one: &Instr, other: &Instr| match (one.site(), other.site()) {
            (Some(one), Some(other)) => self.sites[one as usize].c11 == self.sites[other as usize].c11,
            _ => true,
        };
        (&a.regs, &a.temps, a.instrs.len()) == (&b.regs, &b.temps, b.instrs.len())
            && a.instrs
                .iter()
                .zip(&b.instrs)
                .all(|(one, other)| one.at_site(0) == other.at_site(0) && orders(one, other))
    }

    /// For each place in the source, the one that stands for it and its like: that of the first of these threads.
    pub fn common_sites(&self, twins: &[Option<usize>]) -> Vec<u32> {
        let mut common: Vec<u32> = (0..self.sites.len() as u32).collect();
        for (thread, twin) in twins.iter().enumerate() {
            let Some(twin) = *twin else { continue };
            for (one, other) in self.threads[thread].instrs.iter().zip(&self.threads[twin].instrs) {
                if let (Some(one), Some(other)) = (one.site(), other.site()) {
                    common[one as usize] = common[other as usize];
                }
            }
        }
        common
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twins(threads: [&str; 3], condition: &str) -> Vec<Option<usize>> {
        let bodies: String = threads
            .iter()
            .enumerate()
            .map(|(i, body)| format!("P{i}(atomic_int* x, atomic_int* y) {{ {body} }}\n"))
            .collect();
        let text = format!("C twins\n{{ [x] = 0; [y] = 0; }}\n{bodies}{condition}\n");
        let test = LitmusTest::parse("twins.litmus", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        test.twins(&test.code)
    }

    const ADD: &str = "int r = atomic_fetch_add_explicit(x, 1, memory_order_relaxed);";

    #[test]
    fn the_same_code_is_alike() {
        assert_eq!(twins([ADD; 3], "exists ([x] = 3)"), [None, Some(0), Some(1)]);
        assert_eq!(twins([ADD, "*y = 1;", ADD], "exists ([x] = 2)"), [None, None, Some(0)]);
    }

    #[test]
    fn other_code_is_not() {
        for other in [
            "int r = atomic_fetch_add_explicit(x, 2, memory_order_relaxed);",
            "int r = atomic_fetch_add_explicit(y, 1, memory_order_relaxed);",
            "int r = atomic_fetch_add_explicit(x, 1, memory_order_acquire);",
            "int r = atomic_fetch_sub_explicit(x, 1, memory_order_relaxed);",
            "int r = 1; r = atomic_fetch_add_explicit(x, 1, memory_order_relaxed);",
        ] {
            assert_eq!(twins([ADD, other, ADD], "exists ([x] = 2)"), [None, None, Some(0)], "{other}");
        }
    }

    #[test]
    fn conditions_tell_threads_apart() {
        assert_eq!(twins([ADD; 3], "exists (0:r = 0)"), [None, None, Some(1)]);
        assert_eq!(twins([ADD; 3], "exists (0:r = 0 /\\ 1:r = 0 /\\ 2:r = 0)"), [None, Some(0), Some(1)]);
        assert_eq!(twins([ADD; 3], "exists (0:r = 0 /\\ 1:r = 1)"), [None, None, None]);
        assert_eq!(twins([ADD; 3], "exists (1:r = 0 \\/ 0:r = 0)"), [None, Some(0), None]);
        assert_eq!(twins([ADD; 3], "filter (0:r = 0)\nexists ([x] = 3)"), [None, None, Some(1)]);
    }
}
