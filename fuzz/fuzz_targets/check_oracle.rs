//! Bytes are one or two small traces; under every built-in model the checker must agree with the exhaustive oracle, its
//! certificates must hold, and so must what it says about the smallest part and the read to blame.
#![no_main]

use libfuzzer_sys::fuzz_target;
use membar_check::{Checker, Plan};
use membar_fuzz::{agree_everywhere, decode};

fuzz_target!(|bytes: &[u8]| {
    // The second trace finds the buffers that the first one left.
    let mut checkers = [Checker::with_plan(Plan::Fast), Checker::with_plan(Plan::Paper)];
    let Some((first, rest)) = decode(bytes) else { return };
    agree_everywhere(&first, &mut checkers);
    if !rest.is_empty()
        && let Some((second, _)) = decode(rest)
    {
        agree_everywhere(&second, &mut checkers);
    }
});
