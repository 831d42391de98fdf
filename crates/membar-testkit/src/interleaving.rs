//! Interleavings as text, of any length, without holding them in memory.

use membar_core::OpKind;
use membar_core::Rng;
use membar_simulate::Workload;
use std::io::{self, Write};

/// Writes a random SC interleaving of a random racy program as a trace, `check` line included: input for `membar monitor`.
///
/// Each step is by a random thread; a load returns what was written last, and every write has its own value. Addresses are
/// `M[0]` and so on.
///
/// ```
/// use membar_simulate::{Mix, Workload};
/// use membar_testkit::interleaving;
///
/// let mut text = Vec::new();
/// interleaving(&Workload { threads: 4, addresses: 16, ops: 1000, mix: Mix::PAPER, seed: 1 }, &mut text).unwrap();
/// assert_eq!(text.iter().filter(|&&byte| byte == b'\n').count(), 1001);
/// ```
pub fn interleaving(work: &Workload, out: &mut impl Write) -> io::Result<()> {
    let (threads, addresses) = (work.threads.max(1), work.addresses.max(1));
    let mut rng = Rng::new(work.seed);
    let mut memory = vec![0u64; addresses as usize];
    let mut value = 0;
    for _ in 0..work.ops {
        let (thread, addr) = (rng.below(threads), rng.below(addresses));
        let cell = &mut memory[addr as usize];
        let kind = work.mix.draw(&mut rng);
        let before = *cell;
        if kind.writes() {
            value += 1;
            *cell = value;
        }
        match kind {
            OpKind::Load => writeln!(out, "{thread}: M[{addr}] == {before}")?,
            OpKind::Store => writeln!(out, "{thread}: M[{addr}] := {value}")?,
            OpKind::Rmw => writeln!(out, "{thread}: {{ M[{addr}] == {before}; M[{addr}] := {value} }}")?,
            _ => writeln!(out, "{thread}: sync")?,
        }
    }
    writeln!(out, "check")
}
