//! Random programs.
//!
//! Every thread draws its instructions from its own stream of random numbers, so a longer program begins as a shorter one does.
//! Constants are numbered 1, 2, 3, … through the threads. Nothing depends on the width of a machine's words or on the
//! order of a hash table: the same seed gives the same program everywhere.
//!
//! Where there are fetch-adds, constants are multiples of 2^40 and increments are random numbers whose sum, over the whole
//! program, stays below 2^40. So a value tells the constant it started from, and the adds since then only made it grow.

use membar_core::{Depends, Marks, Mask};

use crate::{Bytes, Instr, Profile, Program, ProgramBuilder, Rng, Sharing};

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
        stores: vec![0; if profile.parts > 0 { profile.addresses as usize } else { 0 }],
        held: Vec::new(),
        reserved: None,
        part: None,
    };
    for t in 0..profile.threads {
        b.thread();
        g.thread(t, operations(t), &mut Rng::stream(seed, t as u64), &mut b);
    }
    b.finish_unchecked()
}

struct Generator<'a> {
    profile: &'a Profile,
    mix: [u32; 11],
    mix_total: u32,
    most_added: u32,
    apart: u32,
    /// The last constant.
    value: u64,
    /// How often each address is stored to, where there are parts.
    stores: Vec<u32>,
    /// The locks that the thread holds, in the order of their numbers.
    held: Vec<u32>,
    /// The address of a load reserved, and how many operations until its store conditional.
    reserved: Option<(u32, u32)>,
    /// The bytes of it that are reserved, if not all.
    part: Option<Bytes>,
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
            b.push(instr.0).marks_if(instr.1);
            if let Some(part) = self.part(instr, rng) {
                b.part(part);
            }
            self.order(instr, rng, b);
        }
        (self.reserved, self.part) = (None, None);
    }

    /// The bytes that an access is to, if not all: 4 for what is atomic, and for a store conditional those that are reserved. Draws
    /// nothing where the profile has no parts.
    fn part(&mut self, (instr, marks): (Instr, Marks), rng: &mut Rng) -> Option<Bytes> {
        let parts = self.profile.parts;
        if parts == 0 {
            return None;
        }
        if marks.meets(Marks::CONDITIONAL) {
            return self.part.take();
        }
        let reserves = marks.meets(Marks::RESERVES);
        let most = match instr {
            Instr::Load { .. } | Instr::Store { .. } if !reserves => 3,
            Instr::Load { .. } | Instr::Exchange { .. } => 1,
            _ => return None,
        };
        let part = rng.chance(parts, 100).then(|| {
            let width = 4 >> rng.below(most);
            Bytes { offset: width * rng.below(8 / u32::from(width)) as u8, width }
        });
        if reserves {
            self.part = part;
        }
        part
    }

    /// What an address gets next. Where there are parts, each byte of it identifies its write for 255 writes, and the whole for all.
    fn constant(&mut self, addr: u32) -> u64 {
        self.value += 1;
        let Some(stores) = self.stores.get_mut(addr as usize) else { return self.value << self.apart };
        let digit = |place: u32| u64::from(*stores / 255u32.pow(place) % 255);
        let bytes = (0..8).map(|byte| match byte {
            1..4 => (digit(0) + digit(byte)) % 255 + 1,
            _ => digit(0) + 1,
        });
        let value = bytes.zip(0..).fold(0, |all, (byte, at)| all | byte << (8 * at));
        *stores += 1;
        value
    }

    /// Gives an access marks and dependencies. Draws nothing where the profile has none.
    fn order(&self, (instr, marks): (Instr, Marks), rng: &mut Rng, b: &mut ProgramBuilder) {
        let Profile { dependencies, marks: marked, .. } = *self.profile;
        let special = marks.meets(Marks::RESERVES) || marks.meets(Marks::CONDITIONAL);
        let atomic = matches!(instr, Instr::Exchange { .. } | Instr::Add { .. } | Instr::Cas { .. });
        if marked > 0 && (special || atomic) && rng.chance(marked, 100) {
            b.marks([Marks::ACQUIRE, Marks::RELEASE, Marks::ACQUIRE.with(Marks::RELEASE)][rng.below(3) as usize]);
        }
        let plain = self.profile.plain_marks;
        if plain > 0 && !special && !atomic && rng.chance(plain, 100) {
            match instr {
                Instr::Load { .. } => b.marks([Marks::ACQUIRE, Marks::ACQUIRE_PC][rng.below(2) as usize]),
                Instr::Store { .. } => b.marks(Marks::RELEASE),
                _ => b,
            };
        }
        let stores = atomic || matches!(instr, Instr::Store { .. });
        if dependencies > 0 && (stores || matches!(instr, Instr::Load { .. })) && rng.chance(dependencies, 100) {
            // The address alone for loads; for stores also what they write, or whether they are executed.
            let how =
                [Depends::Address, Depends::Data, Depends::Control][rng.below(if stores { 3 } else { 1 }) as usize];
            let back = rng.between(1, 6);
            if b.returns(back) {
                b.depends(how, back);
            }
        }
    }

    /// Operation `i` of a thread that has `left` operations to go, this one included.
    fn instr(&mut self, t: u32, i: u32, left: u32, rng: &mut Rng) -> (Instr, Marks) {
        match self.reserved {
            Some((addr, 0)) => {
                self.reserved = None;
                return (Instr::Store { addr, value: self.constant(addr) }, Marks::CONDITIONAL);
            }
            Some((addr, until)) => self.reserved = Some((addr, until - 1)),
            None => {}
        }
        let instr = self.unreserved(t, i, left, rng);
        match instr {
            Some(instr) => (instr, Marks::NONE),
            None => {
                let addr = self.addr(t, i, true, rng);
                self.reserved = Some((addr, rng.below(4)));
                (Instr::Load { addr }, Marks::RESERVES)
            }
        }
    }

    /// The same for all operations but those of a reservation; `None` where one is to begin.
    fn unreserved(&mut self, t: u32, i: u32, left: u32, rng: &mut Rng) -> Option<Instr> {
        // Locks that are held are released in time.
        if left as usize <= self.held.len() {
            return Some(self.release(rng));
        }
        let mut roll = rng.below(self.mix_total);
        let mut drawn = 0;
        while roll >= self.mix[drawn] {
            roll -= self.mix[drawn];
            drawn += 1;
        }
        match drawn {
            5 => return Some(Instr::SYNC),
            6 => return Some(Instr::STORE_BARRIER),
            7 => {
                if let Some(instr) = self.lock(left, rng) {
                    return Some(instr);
                }
                // The last operation of a thread that holds nothing cannot be one of a lock.
                drawn = 0;
            }
            8 => return Some(Instr::Fence { mask: Some(fence(rng)) }),
            10 => {
                let orders = [Mask::FULL, Mask::LOAD_LOAD | Mask::LOAD_STORE, Mask::STORE_STORE];
                return Some(Instr::Fence { mask: Some(orders[rng.below(3) as usize]) });
            }
            9 if self.reserved.is_none() => return None,
            9 => drawn = 0,
            _ => {}
        }
        let addr = self.addr(t, i, drawn != 0, rng);
        Some(match drawn {
            0 => Instr::Load { addr },
            3 => Instr::Add { addr, by: rng.between(1, self.most_added.max(1)) as u64 },
            _ => {
                let value = self.constant(addr);
                match drawn {
                    1 => Instr::Store { addr, value },
                    2 => Instr::Exchange { addr, value },
                    _ => Instr::Cas { addr, value },
                }
            }
        })
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

/// The pairs of `fence` with random sets, or of `fence.tso`.
fn fence(rng: &mut Rng) -> Mask {
    let (before, after) = (rng.between(1, 3), rng.between(1, 3));
    if rng.chance(1, 8) {
        return Mask::LOAD_LOAD | Mask::LOAD_STORE | Mask::STORE_STORE;
    }
    let pairs =
        [(1, 1, Mask::LOAD_LOAD), (1, 2, Mask::LOAD_STORE), (2, 1, Mask::STORE_LOAD), (2, 2, Mask::STORE_STORE)];
    let orders = pairs.iter().filter(|(first, second, _)| before & first != 0 && after & second != 0);
    orders.fold(Mask::from_bits(0), |all, (.., pair)| all | *pair)
}
