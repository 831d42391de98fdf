//! Random programs.
//!
//! Every thread draws its instructions from its own stream of random numbers, so a longer program begins as a shorter one does.
//! Constants are numbered 1, 2, 3, … through the threads. Nothing depends on the width of a machine's words or on the
//! order of a hash table: the same seed gives the same program everywhere.
//!
//! Where there are fetch-adds, constants are multiples of 2^40 and increments are random numbers whose sum, over the whole
//! program, stays below 2^40. So a value tells the constant it started from, and the adds since then only made it grow.

use crate::{Instr, Profile, Program, ProgramBuilder, Rng, Sharing};

/// The distance of constants where there are fetch-adds: 2^40.
const APART: u32 = 40;

/// How many operations in a row a thread works on one address in [`Sharing::Migrating`].
const STAY: u32 = 8;

/// The program of a valid profile, in which thread `t` has `operations(t)` operations.
pub(crate) fn generate(profile: &Profile, operations: impl Fn(u32) -> u32, seed: u64) -> Program {
    let total: u64 = (0..profile.threads).map(|t| operations(t) as u64).sum();
    let mut b = ProgramBuilder::new(profile.addresses, profile.locks);
    b.stride(profile.stride);
    let mut g = Generator {
        profile,
        mix: profile.mix.all(),
        mix_total: profile.mix.all().iter().sum(),
        most_added: ((1u64 << APART) - 1).checked_div(total).unwrap_or(1).min(1 << 31) as u32,
        apart: if profile.mix.adds > 0 { APART } else { 0 },
        value: 0,
        held: Vec::new(),
    };
    for t in 0..profile.threads {
        b.thread();
        g.thread(t, operations(t), &mut Rng::stream(seed, t as u64), &mut b);
    }
    b.finish_unchecked()
}

struct Generator<'a> {
    profile: &'a Profile,
    mix: [u32; 8],
    mix_total: u32,
    most_added: u32,
    apart: u32,
    /// The last constant.
    value: u64,
    /// The locks that the thread holds, in the order of their numbers.
    held: Vec<u32>,
}

impl Generator<'_> {
    fn thread(&mut self, t: u32, operations: u32, rng: &mut Rng, b: &mut ProgramBuilder) {
        let Profile { burst, delay, .. } = *self.profile;
        let mut until_pause = rng.between(1, (2 * burst).max(2) - 1);
        for i in 0..operations {
            if burst > 0 && delay > 0 {
                if until_pause == 0 {
                    b.push(Instr::Delay { cycles: rng.between(1, delay) });
                    until_pause = rng.between(1, 2 * burst - 1);
                }
                until_pause -= 1;
            }
            let instr = self.instr(t, i, operations - i, rng);
            b.push(instr);
        }
    }

    /// Operation `i` of a thread that has `left` operations to go, this one included.
    fn instr(&mut self, t: u32, i: u32, left: u32, rng: &mut Rng) -> Instr {
        // Locks that are held are released in time.
        if left as usize <= self.held.len() {
            return self.release(rng);
        }
        let mut roll = rng.below(self.mix_total);
        let mut drawn = 0;
        while roll >= self.mix[drawn] {
            roll -= self.mix[drawn];
            drawn += 1;
        }
        match drawn {
            5 => return Instr::SYNC,
            6 => return Instr::STORE_BARRIER,
            7 => {
                if let Some(instr) = self.lock(left, rng) {
                    return instr;
                }
                // The last operation of a thread that holds nothing cannot be one of a lock.
                drawn = 0;
            }
            _ => {}
        }
        let addr = self.addr(t, i, drawn != 0, rng);
        match drawn {
            0 => Instr::Load { addr },
            3 => Instr::Add { addr, by: rng.between(1, self.most_added.max(1)) as u64 },
            _ => {
                self.value += 1;
                let value = self.value << self.apart;
                match drawn {
                    1 => Instr::Store { addr, value },
                    2 => Instr::Exchange { addr, value },
                    _ => Instr::Cas { addr, value },
                }
            }
        }
    }

    /// An acquire of a lock above all that are held, or a release.
    fn lock(&mut self, left: u32, rng: &mut Rng) -> Option<Instr> {
        let Profile { locks, nesting, .. } = *self.profile;
        let first = self.held.last().map_or(0, |&last| last + 1);
        let more = first < locks && (self.held.len() as u32) < nesting && left as usize >= self.held.len() + 2;
        if more && (self.held.is_empty() || rng.chance(1, 2)) {
            // Not too far up, or there would be nothing left to nest.
            let lock = if nesting > 1 { rng.between(first, first + (locks - 1 - first) / 2) } else { rng.below(locks) };
            self.held.push(lock);
            return Some(Instr::Acquire { lock });
        }
        (!self.held.is_empty()).then(|| self.release(rng))
    }

    fn release(&mut self, rng: &mut Rng) -> Instr {
        let at = rng.below(self.held.len() as u32) as usize;
        Instr::Release { lock: self.held.remove(at) }
    }

    fn addr(&self, t: u32, i: u32, writes: bool, rng: &mut Rng) -> u32 {
        let Profile { threads, addresses, sharing, .. } = *self.profile;
        let often = sharing != Sharing::Uniform && rng.chance(7, 8);
        // Address `a` belongs to thread `a % threads`.
        let of = |owner: u32, rng: &mut Rng| {
            let owner = owner % addresses;
            owner + threads * rng.below((addresses - owner).div_ceil(threads))
        };
        match sharing {
            Sharing::FalseSharing if often && writes => of(t, rng),
            Sharing::ProducerConsumer if often && writes => of(t, rng),
            Sharing::ProducerConsumer if often => of((t + threads - 1) % threads, rng),
            Sharing::Migrating if often => (i / STAY + t) % addresses,
            Sharing::Hot if rng.chance(1, 2) => 0,
            _ => rng.below(addresses),
        }
    }
}
