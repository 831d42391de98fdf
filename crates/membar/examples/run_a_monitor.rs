//! Follows a recorded sequentially consistent run with all four published monitors, as a stream: memory does not grow with
//! the number of events.
//!
//! `cargo run -p membar --example run_a_monitor [FILE]`

use membar::Reader;
use membar::monitor::Algorithm;
use membar::report::Style;
use membar::trace::{Ended, Interleaving};
use membar::watch::{Place, Watch};
use std::error::Error;
use std::ops::ControlFlow;

/// Peterson's lock as it ran once; labels name the instructions.
const RUN: &str = "\
0: wants0 := 1   ! enter 0
0: turn := 1     ! give way 0
0: wants1 == 0   ! look 0
0: wants0 := 0   ! leave 0
1: wants1 := 1   ! enter 1
1: turn := 2     ! give way 1
1: wants0 == 0   ! look 1
check
";

fn main() -> Result<(), Box<dyn Error>> {
    let mut reader = match std::env::args_os().nth(1) {
        Some(path) => Reader::open(path)?,
        None => Reader::new("peterson.trace", RUN.as_bytes()),
    };
    let file = reader.name().to_owned();
    // Cycles are looked for in the last 4096 events.
    let mut watch = Watch::new(&Algorithm::ALL, 4096, None);
    let mut state = Interleaving::new();
    loop {
        watch.begin();
        let ended = reader.interleaving(&mut state, |state, step| {
            watch.step::<Vec<u8>>(state, step, &mut None);
            ControlFlow::Continue(())
        });
        let Some(ended) = ended else { return Ok(()) };
        let without_check = ended? == Ended::Open;
        let place = Place { file: &file, index: reader.trace_index(), stopped: None, without_check, seconds: 0.0 };
        for report in watch.reports(&place, &state) {
            report.text(Style::default(), &mut std::io::stdout())?;
        }
    }
}
