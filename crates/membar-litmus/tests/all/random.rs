//! Random programs without loops: enumeration and machine agree, and weaker models have more states.
//!
//! Catches what no other test does: a wrong rule of either implementation in a combination that nobody thought of. The programs
//! are C text, so the front end is in it too.

use membar_litmus::{Limits, LitmusTest, Method, Model, outcomes_by};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A small generator of numbers (xorshift), so that every run sees the same programs.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

const LOCATIONS: [&str; 5] = ["x", "y", "x", "y", "z"];
const STORES: [&str; 5] = ["relaxed", "relaxed", "relaxed", "release", "seq_cst"];
const ORDERS: [&str; 5] = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"];

/// One statement; `fresh` numbers the registers.
fn statement(random: &mut Random, fresh: &mut u32, depth: u32, out: &mut String) {
    let x = random.pick(&LOCATIONS);
    let value = random.below(2) + 1;
    let mut reg = || {
        *fresh += 1;
        format!("r{}", *fresh - 1)
    };
    let order = random.pick(&ORDERS);
    let _ = match random.below(if depth > 0 { 17 } else { 16 }) {
        0..=4 => writeln!(out, "atomic_store_explicit({x}, {value}, memory_order_{});", random.pick(&STORES)),
        5..=9 => writeln!(out, "int {} = atomic_load_explicit({x}, memory_order_acquire);", reg()),
        10 => writeln!(out, "int {} = atomic_exchange_explicit({x}, {value}, memory_order_{order});", reg()),
        11 => writeln!(out, "int {} = atomic_fetch_add_explicit({x}, 1, memory_order_{order});", reg()),
        12 => writeln!(out, "int {} = cmpxchg_relaxed({x}, {}, {value});", reg(), random.below(2)),
        13 => writeln!(out, "atomic_thread_fence(memory_order_{order});"),
        14 => {
            let reg = reg();
            writeln!(out, "int {reg} = *{x};\n*{x} = {reg} + 1;")
        }
        15 => writeln!(out, "smp_wmb();"),
        _ => {
            let (reg, y) = (reg(), random.pick(&LOCATIONS));
            let _ = writeln!(out, "int {reg} = *{x};\nif ({reg} == {}) {{", random.below(2));
            statement(random, fresh, 0, out);
            writeln!(out, "}} else {{ *{y} = 1; }}")
        }
    };
}

fn program(random: &mut Random) -> String {
    let mut text = String::from("C random\n{ x = 0; y = 0; z = 0; }\n");
    let threads = 2 + random.below(2);
    let mut shown = String::from("x; y; z;");
    for thread in 0..threads {
        let _ = writeln!(text, "P{thread} (atomic_int *x, atomic_int *y, atomic_int *z) {{");
        let mut fresh = 0;
        for _ in 0..2 + random.below(if threads == 2 { 3 } else { 2 }) {
            statement(random, &mut fresh, 1, &mut text);
        }
        text.push_str("}\n");
        for reg in 0..fresh {
            let _ = write!(shown, " {thread}:r{reg};");
        }
    }
    let _ = writeln!(text, "locations [{shown}]\nexists (x=1 /\\ y=1)");
    text
}

#[test]
fn enumeration_and_machine_agree() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut weaker, mut differ) = ([0usize; 2], 0usize);
    // MEMBAR_PROGRAMS=100000 for a long run
    let programs = std::env::var("MEMBAR_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(1500);
    for number in 0..programs {
        let text = program(&mut random);
        let test =
            LitmusTest::parse("random", text.as_bytes()).unwrap_or_else(|error| panic!("{text}{}", error.render()));
        let mut before: Option<BTreeSet<Vec<u64>>> = None;
        for (at, model) in Model::ALL.into_iter().enumerate() {
            let by = |method| outcomes_by(method, &test, model, &Limits::default()).expect("small");
            let (left, right) = (by(Method::Executions), by(Method::Machine));
            assert!(left.complete && right.complete && left.crash.is_none() && right.crash.is_none());
            assert_eq!(left.states, right.states, "program {number} under {model}:\n{text}");
            assert!(left.positive + left.negative >= left.states.len() as u64);
            let now: BTreeSet<_> = left.states.into_iter().collect();
            if let Some(before) = before {
                assert!(before.is_subset(&now), "program {number} under {model}:\n{text}");
                weaker[at - 1] += usize::from(before.len() < now.len());
            }
            differ += usize::from(now.len() > 1);
            before = Some(now);
        }
    }
    // The programs are worth something.
    assert!(weaker[0] > programs / 50 && weaker[1] > programs / 50 && differ > 2 * programs, "{weaker:?} {differ}");
}
