//! How fast traces are read: `cargo run --release -p membar-trace --example throughput`.
//!
//! Prints, for several kinds of traces of about 100 MB, megabytes per second for parsing alone (a trace without its
//! `check`) and for parsing with resolving.

use membar_core::Trace;
use membar_trace::{Reader, write_trace};
use std::fmt::Write;
use std::time::Instant;

const SIZE: usize = 100_000_000;

fn text(traces: usize, mut line: impl FnMut(&mut String, u64)) -> String {
    let mut text = String::with_capacity(SIZE + SIZE / 8);
    for trace in 1..=traces {
        let mut value = 0;
        while text.len() < SIZE / traces * trace {
            value += 1;
            line(&mut text, value);
        }
        text.push_str("check\n");
    }
    text
}

fn measure(name: &str, text: &str) {
    let mut seconds = [f64::MAX; 2];
    let (mut ops, mut traces) = (0, 0);
    let mut trace = Trace::new();
    let uncut = text.strip_suffix("check\n").unwrap_or(text);
    for _ in 0..3 {
        for (best, text) in seconds.iter_mut().zip([uncut, text]) {
            let start = Instant::now();
            let mut reader = Reader::new(name, text.as_bytes());
            (ops, traces) = (0, 0);
            while let Some(result) = reader.next(&mut trace) {
                ops += trace.len();
                traces += 1;
                if let Err(error) = result
                    && text.len() != uncut.len()
                {
                    print!("{}", error.render());
                }
            }
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    let mega = text.len() as f64 / 1e6;
    let [parse, both] = seconds.map(|seconds| mega / seconds);
    println!("{name:28} {traces:8} {ops:10} {mega:8.0} {parse:10.0} {both:10.0}");
}

fn main() {
    println!(
        "{:28} {:>8} {:>10} {:>8} {:>10} {:>10}",
        "lines", "traces", "operations", "MB", "parse MB/s", "both MB/s"
    );
    let line = |out: &mut String, i: u64| {
        let _ = writeln!(out, "{}: M[{}] := {i}", i % 16, i % 64);
    };
    let stores = text(1, line);
    measure("12: M[34] := 56789", &stores);
    measure("the same, many traces", &text(10_000, line));
    measure(
        "12: M[34] == 5 @ 100:120",
        &text(1, |out, i| {
            let _ = writeln!(out, "{}: M[{}] == {} @ {}:{}", i % 16, i % 64, i % 9, 10 * i, 10 * i + 7);
        }),
    );
    measure(
        "12: data7 := 56789",
        &text(1, |out, i| {
            let _ = writeln!(out, "{}: data{} := {i}", i % 16, i % 64);
        }),
    );
    measure(
        "{ M[3] == 5; M[3] := 6 }",
        &text(1, |out, i| {
            let _ = writeln!(out, "{}: {{ M[3] == {}; M[3] := {i} }}", i % 16, i - 1);
        }),
    );
    measure(
        "with comments (slow path)",
        &text(1, |out, i| {
            let _ = writeln!(out, "{}: M[{}] := {i} # op", i % 16, i % 64);
        }),
    );
    measure(
        "3: acq lock7, 3: rel lock7",
        &text(1, |out, i| {
            let _ = writeln!(out, "{}: {} lock{}", i / 2 % 16, if i % 2 == 0 { "acq" } else { "rel" }, i / 2 % 8);
        })
        .replacen("0: rel lock0\n", "", 1),
    );
    let mut order = String::new();
    for address in 0..3 {
        (1..=1_000_000).for_each(|i| writeln!(order, "0: M[{address}] := {i}").unwrap_or_default());
        let _ = write!(order, "order M[{address}]:");
        (1..=1_000_000).for_each(|i| write!(order, " {i}").unwrap_or_default());
        order.push('\n');
    }
    measure("order of a million values", &(order + "check\n"));

    let mut trace = Trace::new();
    let _ = Reader::new("stores", stores.as_bytes()).next(&mut trace);
    let start = Instant::now();
    let mut out = Vec::with_capacity(stores.len());
    let written = write_trace(&trace, &mut out);
    let seconds = start.elapsed().as_secs_f64();
    println!("writing: {:.0} MB/s{}", out.len() as f64 / 1e6 / seconds, if written.is_ok() { "" } else { ", failed" });
}
