//! Guesses: what could have been done otherwise, and what is learned from it.

use super::{Because, End, FAR, Fix, Forward, Guess, Learned, Wait};
use crate::problem::NONE;

/// After this many conflicts without guesses, and no progress by this many operations between them, this many executions or more are
/// undone.
const PATIENCE: usize = 8;
const PROGRESS: usize = 100;
const BACK: usize = 64;
/// A conflict whose last guess is further back than this many operations of each thread says more about estimates than about that guess.
const REACH: usize = 64;
/// Conflicts without progress before some executions are undone, or two or four times as many.
const FRUITLESS: usize = 120;
/// Guesses that what was learned may rest on before the same.
const MOST_RESTS: usize = 1_000_000;
/// Conflicts without guesses before it is given up.
const MOST_GIVEN_UP: usize = 20_000;

/// By place, each once.
fn tidy(guesses: &mut Vec<Guess>) {
    guesses.sort_unstable_by_key(|&(place, _)| place);
    guesses.dedup();
}

impl Forward<'_> {
    /// A guess without a place, as if it had one: what is this unlikely counts as that far back.
    pub(super) fn rank(&self, unlikely: u32) -> u32 {
        let back = u64::from(unlikely) * self.front.len() as u64 / 2 + 50;
        (self.order.len() as u64).saturating_sub(back) as u32
    }

    /// That a read returns another write than the nearest.
    pub(super) fn other(&mut self, read: u32, store: u32, nearest: u32) -> Option<Guess> {
        let key = self.reads[read as usize];
        let (next, _) = self.supply(key, store, read);
        (next != FAR).then(|| (self.rank(self.in_a_thread(next.saturating_sub(nearest))), Fix::Other(read, store)))
    }

    /// The last write whose value the read could have returned, and what would have to be done otherwise for that.
    pub(super) fn missed(&self, read: u32) -> Option<(u32, Guess)> {
        let mut source = self.latest[self.reads[read as usize] as usize];
        while source != NONE && (self.after[source as usize] == NONE || self.is_not(read, source)) {
            source = if self.p.is_init(source) { NONE } else { self.latest_before[source as usize] };
        }
        if source == NONE {
            return None;
        }
        let over = self.after[source as usize];
        let own = self.own[read as usize];
        if own != NONE && own != source {
            if self.p.is_init(source) || self.p.thread(source) == self.p.thread(own) {
                return None;
            }
            if self.place[own as usize] > self.place[source as usize] {
                return Some((source, (self.place[source as usize], Fix::Order(own, source))));
            }
        }
        Some((source, (self.place[over as usize], Fix::Pin(source, read))))
    }

    /// Is it learned that the read does not return this write?
    pub(super) fn is_not(&self, read: u32, write: u32) -> bool {
        self.holds(self.not.get(&read), Fix::Other(read, write))
    }

    /// Is this among what was learned, and still known?
    pub(super) fn holds(&self, among: Option<&Vec<u32>>, fix: Fix) -> bool {
        let mut known = among.into_iter().flatten().map(|&l| &self.learned[l as usize]);
        known.any(|learned| !learned.gone && learned.fix == fix)
    }

    /// From a node to what it waits for, and on.
    pub(super) fn walk(&mut self, from: u32) -> End {
        if from == NONE {
            return End::Lost;
        }
        self.predecessors();
        let mut path: Vec<(u32, Because)> = Vec::new();
        let mut node = from;
        self.cycle.clear();
        let end = loop {
            if self.on_path[node as usize] {
                let first = path.iter().position(|&(other, _)| other == node).expect("on the path");
                let mut guesses = Vec::new();
                self.cycle.clear();
                for (_, why) in &path[first..] {
                    match why {
                        Because::Always => {}
                        Because::Guess(these) => guesses.extend(these),
                        Because::Learned(l, guess) => {
                            self.cycle.push(*l);
                            guesses.extend(&self.learned[*l as usize].rests);
                            guesses.extend(guess);
                        }
                    }
                    if guesses.len() > MOST_RESTS {
                        tidy(&mut guesses);
                    }
                    if guesses.len() > MOST_RESTS / 2 {
                        // That says nothing: what was learned on the way is forgotten.
                        guesses.clear();
                        break;
                    }
                }
                break End::Conflict(guesses);
            }
            match self.waits_for(node) {
                Wait::For(next, why) => {
                    self.on_path[node as usize] = true;
                    path.push((node, why));
                    node = next;
                }
                Wait::May => break End::Store(node),
                Wait::Late(guesses) => break End::Conflict(guesses),
                Wait::Never => break End::Conflict(Vec::new()),
            }
        };
        for (node, _) in path {
            self.on_path[node as usize] = false;
        }
        end
    }

    /// Forgets what was learned and is wrong by now.
    fn forget(&mut self, wrong: impl Fn(&Learned) -> bool) {
        let learned = &mut self.learned;
        self.live.retain(|&l| {
            let learned = &mut learned[l as usize];
            learned.gone |= wrong(learned);
            if learned.gone {
                self.kept -= std::mem::take(&mut learned.rests).len();
            }
            !learned.gone
        });
    }

    /// What was learned was wrong, or something before it.
    pub(super) fn give_way(&mut self) -> bool {
        self.given_up += 1;
        let cycle = std::mem::take(&mut self.cycle);
        if cycle.is_empty() {
            self.vain |= PATIENCE - 1;
        }
        for l in cycle {
            self.learned[l as usize].gone = true;
        }
        self.goal = NONE;
        if self.longest > self.last_longest + PROGRESS {
            (self.last_longest, self.vain) = (self.longest, 0);
        }
        self.vain += 1;
        if !self.vain.is_multiple_of(PATIENCE) {
            return true;
        }
        if self.restarts {
            self.restart();
            return self.given_up < MOST_GIVEN_UP;
        }
        let back = BACK << (self.vain / PATIENCE % 10);
        let place = self.order.len().saturating_sub(back);
        self.undo(place);
        self.forget(|learned| {
            learned.rests.last().is_some_and(|&(last, _)| last as usize >= place)
                || matches!(learned.fix, Fix::Pin(..) | Fix::Free(..) | Fix::Other(..))
        });
        self.cursor = self.cursor.wrapping_mul(7).wrapping_add(self.given_up) % self.ready.len().max(1);
        self.given_up < MOST_GIVEN_UP
    }

    /// Step 6.
    fn restart(&mut self) {
        let restarts = self.vain / PATIENCE;
        let back = BACK << (restarts % 7);
        self.undo(self.order.len().saturating_sub(back));
        self.learned.clear();
        self.live.clear();
        (self.rests, self.kept) = (0, 0);
        for lists in [&mut self.orders, &mut self.pins, &mut self.free, &mut self.not] {
            lists.clear();
        }
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(self.given_up as u64 | 1);
        self.cursor = (self.random >> 33) as usize % self.ready.len().max(1);
        self.astray = if restarts.is_multiple_of(2) { 0 } else { self.order.len() + 2 * back };
    }

    /// Is it time for a restart, before this place is gone back to?
    fn is_stuck(&mut self, place: usize) -> bool {
        self.fruitless += 1;
        if self.longest > self.best_longest + PROGRESS {
            (self.best_longest, self.fruitless) = (self.longest, 0);
        }
        let many = self.fruitless > FRUITLESS << (self.vain / PATIENCE % 3) || self.rests > MOST_RESTS;
        let far = place + REACH * self.front.len() + 1000 < self.order.len();
        if many {
            self.fruitless = 0;
        }
        self.restarts && (many || far)
    }

    /// One of these guesses was wrong: does the last one otherwise.
    pub(super) fn learn(&mut self, mut guesses: Vec<Guess>) -> bool {
        tidy(&mut guesses);
        let Some((place, fix)) = guesses.pop() else { return false };
        let undoes = !matches!(fix, Fix::Free(..) | Fix::Other(..));
        if self.is_stuck(if undoes { place as usize } else { self.order.len() }) {
            self.cycle.clear();
            return false;
        }
        self.rests += guesses.len();
        self.kept += guesses.len();
        for (other, _) in &mut guesses {
            *other = (*other).min(place.saturating_sub(1));
        }
        if let Fix::Free(node, _) | Fix::Other(node, _) = fix {
            self.forget(|learned| learned.rests.iter().any(|&(_, other)| other == fix));
            let l = self.learned.len() as u32;
            self.learned.push(Learned { fix, rests: guesses, gone: false });
            let lists = if matches!(fix, Fix::Free(..)) { &mut self.free } else { &mut self.not };
            lists.entry(node).or_default().push(l);
            self.live.push(l);
            self.goal = NONE;
            return true;
        }
        self.undo(place as usize);
        self.forget(|learned| learned.rests.last().is_some_and(|&(last, _)| last >= place));
        let l = self.learned.len() as u32;
        self.learned.push(Learned { fix, rests: guesses, gone: false });
        self.live.push(l);
        match fix {
            Fix::Order(_, second) => self.orders.entry(second).or_default().push(l),
            Fix::Free(..) | Fix::Other(..) => unreachable!("nothing to undo"),
            Fix::Pin(source, _) => self.pins.entry(source).or_default().push(l),
        }
        true
    }
}
