//! Bytes are one or two small traces; under every built-in model the checker must agree with the exhaustive oracle, its
//! certificates must hold, and so must what it says about the smallest part and the read to blame.
#![no_main]

use libfuzzer_sys::fuzz_target;
use membar_check::{Checker, Plan};
use membar_fuzz::{Traces, agree_everywhere};

fuzz_target!(|traces: Traces| {
    // The second trace finds the buffers that the first one left.
    let mut checkers = [Checker::with_plan(Plan::Fast), Checker::with_plan(Plan::Paper)];
    for trace in &traces.0 {
        agree_everywhere(trace, &mut checkers);
    }
});
