//! What is live at the calls of a function.
//!
//! # Algorithm
//!
//! Backwards from the ends of the function, until nothing changes: a register or a byte of the frame is live if an instruction may use
//! it later, and one that only calculates uses nothing if its results are not live. So a counter that nobody looks at is not live,
//! although it is read whenever it is counted up.
//!
//! A branch whose two ways meet again, and in between neither do anything nor leave anything behind that is live where they meet, decides nothing,
//! and does not use its condition ([`super::forks`]). So a counter is not live either that only tells every how many rounds a thread
//! yields.
//!
//! The registers of the caller are not live in the function: where they are is known ([`Site::saved`]), and whether
//! they are live is for the caller to say.
//!
//! # Guarantees
//!
//! What is not live is overwritten before it is used on every path, or used only to calculate what is not live. Sets only grow until nothing
//! changes, so the result does not depend on the order of the pass. Where the frame escapes, or an exception may lead elsewhere, all of it is live.
//!
//! # Complexity
//!
//! Linear in instructions times bytes of the frame / 64 for each round; rounds are as many as loops are nested, in practice.

use super::code::{Callee, Hook};
use super::flow::{ALL, Effect, Flow, RAX, SAVED, Span, Value};
use super::forks::{Fork, forks};

/// A call, as the one that looks at the stack finds it.
#[derive(Debug, PartialEq, Eq)]
pub struct Site {
    /// It is a hook that looks at its arguments only before it announces an access.
    pub hook: bool,
    /// The result of the call is looked at.
    pub result: bool,
    /// Bytes between the return address of the call and that of the function.
    pub size: usize,
    /// The registers of [`SAVED`] that are live, and this function's.
    pub registers: u8,
    /// Live words of the frame: how far they are above the return address of the call, and which bits.
    pub words: Box<[(u32, u64)]>,
    /// Where those registers of the caller are that are not in place, in the same way.
    pub saved: Box<[(u8, u32)]>,
}

/// Registers, and bytes of the frame.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Live {
    registers: u32,
    bytes: Vec<u64>,
}

impl Live {
    fn bits(len: usize, (from, to): (usize, usize)) -> impl Iterator<Item = (usize, u64)> {
        (from / 64..to.div_ceil(64).min(len)).map(move |i| {
            let (low, high) = (from.max(64 * i) - 64 * i, to.min(64 * i + 64) - 64 * i);
            (i, (u64::MAX >> (64 - (high - low))) << low)
        })
    }

    fn has(&self, range: (usize, usize)) -> bool {
        Live::bits(self.bytes.len(), range).any(|(i, bits)| self.bytes[i] & bits != 0)
    }

    fn set(&mut self, range: (usize, usize), live: bool) {
        for (i, bits) in Live::bits(self.bytes.len(), range) {
            if live { self.bytes[i] |= bits } else { self.bytes[i] &= !bits }
        }
    }

    /// Whether that made a difference.
    fn join(&mut self, other: &Live) -> bool {
        let mut new = other.registers & !self.registers != 0;
        self.registers |= other.registers;
        for (one, two) in self.bytes.iter_mut().zip(&other.bytes) {
            new |= two & !*one != 0;
            *one |= two;
        }
        new
    }
}

/// The frame of a function, from its lowest byte that is used.
struct Frame<'a> {
    flow: &'a Flow,
    low: i32,
}

impl Frame<'_> {
    fn range(&self, (at, len): Span) -> (usize, usize) {
        ((at - self.low) as usize, (at - self.low + len) as usize)
    }

    fn nothing(&self) -> Live {
        Live { registers: 0, bytes: vec![0; self.range((self.low, -self.low)).1.div_ceil(64)] }
    }

    /// Whether a call may lead to where everything is used.
    fn is_all(&self, effect: &Effect) -> bool {
        self.flow.catches && !matches!(effect.call, None | Some(Callee::Hook(_) | Callee::Quiet))
    }

    /// Whether the ways of a fork leave something behind that is live where they meet.
    fn decides(&self, fork: &Fork, live: &Live) -> bool {
        fork.writes & live.registers != 0 || fork.stores.iter().any(|&span| live.has(self.range(span)))
    }

    /// From what is live after an instruction to what is live before it.
    fn before(&self, effect: &Effect, live: &mut Live) {
        let store = effect.store.map(|span| self.range(span));
        // Code that has an address in the frame may read what is stored there.
        let stored = store.is_some_and(|range| self.flow.escapes || live.has(range));
        let needed = effect.acts || stored || effect.writes & live.registers != 0;
        live.registers &= !effect.kills;
        if let Some(range) = store.filter(|_| effect.whole) {
            live.set(range, false);
        }
        live.registers |= effect.always;
        if needed {
            live.registers |= effect.uses;
            if let Some(span) = effect.load {
                live.set(self.range(span), true);
            }
        }
        let all = self.is_all(effect);
        if all || effect.stack {
            live.bytes.fill(u64::MAX);
        }
        if all {
            live.registers = ALL;
        }
    }
}

/// The calls of a function, by return address.
pub fn sites(flow: &Flow) -> Vec<(u64, Option<Site>)> {
    let spans = flow.points.iter().flat_map(|point| [point.effect.load, point.effect.store]).flatten();
    let depths = flow.points.iter().filter_map(|point| point.state.depth());
    let low = spans.map(|(at, _)| at).chain(depths).min().unwrap_or(0);
    // The red zone of a function that calls nobody; an access further down is a mistake.
    let frame = Frame { flow, low: low.min(0) };
    let mut before: Vec<Live> = vec![frame.nothing(); flow.points.len()];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); flow.points.len()];
    for (i, point) in flow.points.iter().enumerate() {
        for &next in &point.after {
            users[next].push(i);
        }
    }
    let forks = forks(flow);
    for (&i, fork) in &forks {
        users[fork.join].push(i);
    }
    let after = |before: &[Live], i: usize| {
        let mut live = frame.nothing();
        for &next in &flow.points[i].after {
            live.join(&before[next]);
        }
        live
    };
    let mut todo: Vec<usize> = (0..flow.points.len()).collect();
    let mut waits = vec![true; flow.points.len()];
    while let Some(i) = todo.pop() {
        waits[i] = false;
        let live = match forks.get(&i).filter(|fork| !frame.decides(fork, &before[fork.join])) {
            Some(fork) => before[fork.join].clone(),
            None => {
                let mut live = after(&before, i);
                frame.before(&flow.points[i].effect, &mut live);
                live
            }
        };
        if before[i].join(&live) {
            for &user in &users[i] {
                if !std::mem::replace(&mut waits[user], true) {
                    todo.push(user);
                }
            }
        }
    }
    let calls = flow.points.iter().enumerate().filter(|(_, point)| point.effect.call.is_some());
    calls.map(|(i, point)| (point.next, frame.site(i, &after(&before, i), &before[i]))).collect()
}

impl Frame<'_> {
    fn site(&self, i: usize, after: &Live, before: &Live) -> Option<Site> {
        let point = &self.flow.points[i];
        let (state, effect) = (&point.state, &point.effect);
        let depth = state.depth().filter(|depth| depth % 8 == 0)?;
        // From the return address of the call.
        let place = |at: i32| u32::try_from(at - depth + 8).ok();
        let mut saved = Vec::new();
        for (i, register) in SAVED.into_iter().enumerate() {
            if state.registers[register] != Value::Entry(register) {
                let mut words = state.words.range(depth..0);
                let (&at, _) = words.find(|(_, value)| **value == Value::Entry(register))?;
                saved.push((i as u8, place(at)?));
            }
        }
        let live = if self.is_all(effect) { ALL } else { after.registers };
        let own = |register: usize| !matches!(state.registers[register], Value::Entry(_) | Value::Frame(_));
        let registers = SAVED.iter().enumerate().filter(|(_, register)| own(**register) && live >> **register & 1 != 0);
        let registers = registers.fold(0, |set, (i, _)| set | 1 << i);
        let mut words = Vec::new();
        for at in (depth..0).step_by(8) {
            let byte = |i: i32| {
                let live = self.flow.escapes || before.has(self.range((at + i, 1)));
                if live { 0xff << (8 * i) } else { 0 }
            };
            let bits = (0..8).fold(0, |bits: u64, i| bits | byte(i));
            if bits != 0 && !matches!(state.word(at), Value::Entry(_)) {
                words.push((place(at)?, bits));
            }
        }
        let hook =
            matches!(effect.call, Some(Callee::Hook(Hook::Access | Hook::Atomic { .. } | Hook::Assembly { .. })));
        let size = place(0)? as usize;
        let result = live >> RAX & 1 != 0;
        Some(Site { hook, result, size, registers, words: words.into(), saved: saved.into() })
    }
}
