//! Logs of rocket-chip's and Chipyard's TraceGen: requests of a cache's port, and their responses.
//!
//! ```text
//!  0: store-req                    5 0x0000000080000008 #3 @303
//!  1: load-reserve-req 0x0000000080000008 #1 @310
//!  0: resp                    0 #3 @320
//! ```
//!
//! A response belongs to the last request of its hart with its tag. Requests of a hart are in program order. The response to a
//! store says that it was accepted, not that others see it, so stores, swaps and `sc` get no end. An `sc` stored if its response is
//! 0. Each response of an `lr` stands at the `lr` itself, whether an `sc` follows or not.
//! Lines that are not of this form, such as what the simulation prints at its end, are reported, except those known to be harmless.

use crate::op::{Kind, Log, Op, Place, number, span};
use std::collections::HashMap;

/// A request that waits for its response.
struct Waiting {
    at: usize,
    line: u64,
    length: usize,
    /// The value of a store.
    value: Option<u64>,
}

type Bad = (std::ops::Range<usize>, String);

/// Reads a log.
pub fn read(text: &str) -> Log {
    let mut log = Log::one(false);
    // Requests become operations at once, which keeps program order; those without response are taken out at the end.
    let mut ops: Vec<Option<Op>> = Vec::new();
    let mut waiting: HashMap<(u32, Option<u64>), Waiting> = HashMap::new();
    for (line, at) in text.lines().zip(1..) {
        if harmless(line) {
            continue;
        }
        if let Err((place, reason)) = one(line, at, &mut ops, &mut waiting) {
            log.problem(at, place, reason, "");
        }
    }
    let mut left: Vec<Waiting> = waiting.into_values().collect();
    left.sort_unstable_by_key(|waiting| waiting.line);
    for Waiting { at, line, length, .. } in left {
        // A store may have taken effect, and a barrier orders what was done before it.
        if matches!(ops[at], Some(Op { kind: Kind::Store(_) | Kind::Fence(_), .. })) {
            continue;
        }
        ops[at] = None;
        log.problem(line, 0..length, "this request has no response", "a log that was cut off: the access is left out");
    }
    log.section().ops = ops.into_iter().flatten().collect();
    log
}

fn harmless(line: &str) -> bool {
    let line = line.trim();
    let starts = ["#", "FINISHED", "Completed", "***", "using random seed", "This emulator", "Started", "[UART]"];
    line.is_empty() || starts.iter().any(|start| line.starts_with(start))
}

fn one(
    line: &str,
    at: u64,
    ops: &mut Vec<Option<Op>>,
    waiting: &mut HashMap<(u32, Option<u64>), Waiting>,
) -> Result<(), Bad> {
    let expected = "expected `HART: REQUEST … #TAG @TIME`";
    let whole = || (0..line.len(), expected.to_owned());
    let (hart, rest) = line.split_once(':').ok_or_else(whole)?;
    let hart: u32 =
        hart.trim().parse().map_err(|_| (span(line, hart), "the number of a hart is expected here".to_owned()))?;
    let mut words = rest.split_whitespace();
    let command = words.next().ok_or_else(whole)?;
    let (mut numbers, mut tag, mut time) = (Vec::new(), None, None);
    // `#` and `@` may stand apart from their numbers.
    let mut prefix = ' ';
    for word in words {
        let (kind, digits) = match word.strip_prefix('#') {
            Some(digits) => ('#', digits),
            None => word.strip_prefix('@').map_or((prefix, word), |digits| ('@', digits)),
        };
        prefix = ' ';
        if digits.is_empty() {
            prefix = kind;
            continue;
        }
        let value = number(digits)
            .ok_or_else(|| (span(line, word), format!("`{digits}` is not a number of at most 64 bits")))?;
        match kind {
            '#' => tag = Some(value),
            '@' => time = Some(value),
            _ => numbers.push(value),
        }
    }
    let wants = |count: usize, form: &str| {
        let right = numbers.len() == count && tag.is_some() && time.is_some();
        if right { Ok(()) } else { Err((0..line.len(), format!("expected `{form}`"))) }
    };
    let cell = |address: u64| Place { address, ..Place::default() };
    let mut request = |kind: Kind, place: Place, value: Option<u64>| {
        let op = Op { begin: time, ..Op::new(hart, kind, place, at) };
        ops.push(Some(op));
        let now = Waiting { at: ops.len() - 1, line: at, length: line.len(), value };
        match waiting.insert((hart, tag), now) {
            None => Ok(()),
            // The earlier request is left as it is, and will never be answered.
            Some(old) => {
                let reason = format!("this tag is in use: the request at line {} has had no response", old.line);
                if !matches!(ops[old.at], Some(Op { kind: Kind::Store(_) | Kind::Fence(_), .. })) {
                    ops[old.at] = None;
                }
                Err((0..line.len(), reason))
            }
        }
    };
    match command {
        "load-req" => {
            wants(1, "load-req ADDRESS #TAG @TIME")?;
            request(Kind::Load(0), cell(numbers[0]), None)
        }
        "load-reserve-req" => {
            wants(1, "load-reserve-req ADDRESS #TAG @TIME")?;
            request(Kind::Lr(0), cell(numbers[0]), None)
        }
        "store-req" => {
            wants(2, "store-req VALUE ADDRESS #TAG @TIME")?;
            request(Kind::Store(numbers[0].into()), cell(numbers[1]), None)
        }
        "store-cond-req" => {
            wants(2, "store-cond-req VALUE ADDRESS #TAG @TIME")?;
            request(Kind::ScFails, cell(numbers[1]), Some(numbers[0]))
        }
        "swap-req" => {
            wants(2, "swap-req VALUE ADDRESS #TAG @TIME")?;
            request(Kind::Rmw(0, numbers[0].into()), cell(numbers[1]), None)
        }
        "fence-req" => {
            tag = None;
            let op = Op { begin: time, ..Op::new(hart, Kind::Fence("fence rw,rw".into()), Place::default(), at) };
            ops.push(Some(op));
            waiting.insert((hart, tag), Waiting { at: ops.len() - 1, line: at, length: line.len(), value: None });
            Ok(())
        }
        "fence-resp" | "resp" => {
            let fence = command == "fence-resp";
            if !fence {
                wants(1, "resp VALUE #TAG @TIME")?;
            }
            let key = (hart, if fence { None } else { tag });
            let lost = || (0..line.len(), "this response has no request".to_owned());
            let found = waiting.remove(&key).ok_or_else(lost)?;
            if let Some(op) = &mut ops[found.at] {
                respond(op, numbers.first().copied().unwrap_or(0), found.value, time);
            }
            Ok(())
        }
        _ => Err((span(line, command), format!("`{command}` is not a command of TraceGen"))),
    }
}

/// Enters a response. `stores` is the value of an `sc`.
fn respond(op: &mut Op, value: u64, stores: Option<u64>, time: Option<u64>) {
    match &mut op.kind {
        Kind::Load(read) | Kind::Lr(read) => {
            *read = value.into();
            op.end = time;
        }
        Kind::Rmw(read, _) => *read = value.into(),
        Kind::ScFails => {
            if let (0, Some(stored)) = (value, stores) {
                op.kind = Kind::Sc(stored.into());
            }
        }
        Kind::Fence(_) => op.end = time,
        Kind::Store(_) | Kind::Sc(_) => {}
    }
}
