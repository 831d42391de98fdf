//! One decided trace as text for a terminal, as JSON for a program, and as a page for a browser.
//!
//! `cargo run -p membar --example explain_an_answer [PAGE.html]`

use membar::{Limits, decide};
use std::error::Error;

const IRIW: &str = "\
# two readers disagree about which of two independent writes came first
0: x := 1
1: y := 1
2: x == 1
2: y == 0
3: y == 1
3: x == 0
check
";

fn main() -> Result<(), Box<dyn Error>> {
    let trace = membar::trace::parse("iriw.trace", IRIW.as_bytes())?.remove(0);
    let tso = membar::model::load("tso")?;
    let answer = decide(&trace, &tso, &Limits::default())?;

    print!("{}", answer.text("iriw.trace"));

    // The same as data, from which the words are made.
    let report = answer.report("iriw.trace");
    let violation = report.violation.as_ref().ok_or("tso forbids it")?;
    println!("\nThe cycle has {} edges:", violation.cycle.len());
    for edge in &violation.cycle {
        println!("  {} before {}, rule {} ({})", edge.from.short(), edge.to.short(), edge.rule, edge.axiom);
    }

    let json = answer.json("iriw.trace");
    println!("\nAs JSON: {} bytes, one document", json.len());

    let page = answer.page("iriw.trace");
    println!("As a page: {} bytes, one file", page.len());
    if let Some(path) = std::env::args_os().nth(1) {
        std::fs::write(path, page)?;
    }
    Ok(())
}
