//! Writes a random interleaving to standard output, for measuring `membar monitor`:
//!
//! ```sh
//! cargo run --release -p membar-simulate --example interleaving -- 4 64 10000000 > run.trace
//! ```
//!
//! Arguments: threads, addresses, events, and optionally a seed and `plain` (loads and stores only).

use membar_simulate::{Mix, Workload, interleaving};
use std::io::{BufWriter, Write};

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize, default: u32| args.get(k).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    let mix = if args.iter().any(|arg| arg == "plain") { Mix::LOADS_STORES } else { Mix::PAPER };
    let seed = u64::from(number(3, 1));
    let work = Workload { threads: number(0, 4), addresses: number(1, 64), ops: number(2, 1_000_000), mix, seed };
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    interleaving(&work, &mut out)?;
    out.flush()
}
