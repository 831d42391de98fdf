//! Any bytes, in chunks of any size: reading never panics and ends, errors can be shown, chunks make no difference, and
//! every trace that is read can be written and read again.
//!
//! The first byte chooses the sizes of the chunks.
#![no_main]

use libfuzzer_sys::fuzz_target;
use membar_core::Trace;
use membar_fuzz::assert_same;
use membar_simulate::Rng;
use membar_trace::{Reader, parse, write_trace};
use std::io::{self, Read};

struct Chunks<'a> {
    bytes: &'a [u8],
    most: u32,
    rng: Rng,
}

impl Read for Chunks<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.rng.chance(1, 16) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let size = self.rng.between(1, self.most) as usize;
        let size = size.min(into.len()).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(size);
        into[..size].copy_from_slice(now);
        self.bytes = later;
        Ok(size)
    }
}

/// Every trace or error, with those after an error; and whether the input was compressed.
fn read_all(mut reader: Reader<'_>, bytes: usize) -> (Vec<Result<Trace, String>>, bool) {
    let mut all = Vec::new();
    let mut trace = Trace::new();
    while let Some(result) = reader.next(&mut trace) {
        assert!(reader.compression().is_some() || all.len() <= bytes + 1, "more traces and errors than lines");
        match result {
            Ok(()) => all.push(Ok(trace.clone())),
            Err(error) => {
                let shown = error.render();
                assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
                all.push(Err(shown));
                if let Err(error) = reader.skip_trace() {
                    all.push(Err(error.render()));
                    break;
                }
            }
        }
    }
    assert!(reader.next(&mut trace).is_none(), "more after the end");
    (all, reader.compression().is_some())
}

fuzz_target!(|input: &[u8]| {
    let Some((&seed, bytes)) = input.split_first() else { return };
    let chunks = Chunks { bytes, most: 1 << (seed % 12), rng: Rng::new(u64::from(seed)) };
    let (chunked, _) = read_all(Reader::new("input", chunks), bytes.len());
    let (whole, compressed) = read_all(Reader::new("input", bytes), bytes.len());
    // How much of damaged data comes out before the damage is noticed depends on how it is read.
    if !compressed || chunked.iter().chain(&whole).all(Result::is_ok) {
        assert_eq!(chunked.len(), whole.len());
        for (left, right) in chunked.iter().zip(&whole) {
            match (left, right) {
                (Ok(left), Ok(right)) => assert_same(left, right),
                (Err(left), Err(right)) => assert_eq!(left, right),
                _ => panic!("{left:?} in chunks, {right:?} as a whole"),
            }
        }
    }
    for trace in whole.into_iter().flatten() {
        let mut text = Vec::new();
        write_trace(&trace, &mut text).expect("what was read can be written");
        let again = parse("written", &text).unwrap_or_else(|error| panic!("{}", error.render()));
        assert_eq!(again.len(), 1);
        assert_same(&trace, &again[0]);
    }
});
