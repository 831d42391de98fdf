//! Parts of a text that can be read apart.
//!
//! # Problem
//!
//! Cut a long text into parts, each of whole traces, without reading all of it.
//!
//! # Algorithm
//!
//! A cut at byte *b* is moved to the end of the first line that begins at *b* or later and is a `check`, or to the end of the text. The
//! part from *a* to *b* is what lies between the two cuts as moved. What a part's traces and lines are called needs one
//! pass over the bytes before it, which only counts ([`before`]).
//!
//! # Invariants
//!
//! Moving depends on the text and *b* alone, so parts that meet at *b* neither overlap nor leave anything out. Every line that
//! [`crate::Reader`] takes for the end of a trace is one here, whether or not it can be read.

use crate::reader::is_check;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// Bytes that are read in one go.
const CHUNK: usize = 1 << 18;

/// The end of the first `check` line that begins at this byte or later; the beginning and the end of the text stay what they are.
pub fn cut<R: Read + Seek>(text: &mut R, at: u64) -> io::Result<u64> {
    let end = text.seek(SeekFrom::End(0))?;
    if at == 0 || at >= end {
        return Ok(at.min(end));
    }
    // A line begins here if the byte before ends one.
    text.seek(SeekFrom::Start(at - 1))?;
    let mut text = BufReader::with_capacity(CHUNK, text);
    let mut place = at - 1 + skip_line(&mut text)?;
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = text.read_until(b'\n', &mut line)? as u64;
        place += length;
        if length == 0 || is_check(&line) {
            return Ok(place);
        }
    }
}

fn skip_line(text: &mut impl BufRead) -> io::Result<u64> {
    let mut all = 0;
    loop {
        let bytes = text.fill_buf()?;
        let (taken, ended) = match memchr::memchr(b'\n', bytes) {
            Some(at) => (at + 1, true),
            None => (bytes.len(), bytes.is_empty()),
        };
        text.consume(taken);
        all += taken as u64;
        if ended {
            return Ok(all);
        }
    }
}

/// How many lines and traces end before this byte, where a line begins.
pub fn before<R: Read + Seek>(text: &mut R, at: u64) -> io::Result<(u64, u64)> {
    text.seek(SeekFrom::Start(0))?;
    let mut text = BufReader::with_capacity(CHUNK, text.take(at));
    let (mut lines, mut traces) = (0, 0);
    // The beginning of a line, as much as tells whether it is a `check`.
    let mut head: Vec<u8> = Vec::new();
    loop {
        let bytes = text.fill_buf()?;
        if bytes.is_empty() {
            return Ok((lines, traces));
        }
        let length = bytes.len();
        let mut begin = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            let line = &bytes[begin..end];
            traces += u64::from(match head.is_empty() {
                true => is_check(line),
                false => {
                    head.extend_from_slice(line);
                    is_check(&std::mem::take(&mut head))
                }
            });
            lines += 1;
            begin = end + 1;
        }
        head.extend_from_slice(&bytes[begin..]);
        text.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;
    use membar_core::Trace;
    use std::io::Cursor;

    /// Line, index and operations of each trace or fault of a text, or of a part of it.
    fn read(text: &[u8], lines: u64, traces: u64) -> Vec<(u64, u64, Result<usize, String>)> {
        let mut reader = Reader::new("t", text).after(lines, traces);
        let (mut all, mut trace) = (Vec::new(), Trace::new());
        while let Some(result) = reader.next(&mut trace) {
            let got = result.map(|()| trace.len()).map_err(|error| error.render());
            let failed = got.is_err();
            all.push((reader.line(), reader.trace_index(), got));
            if failed {
                reader.skip_trace().unwrap();
            }
        }
        all
    }

    #[test]
    fn parts_are_the_whole_wherever_it_is_cut() {
        let text = b"# head\n0: x := 1\ncheck\n\n0: x = 1\n1: x == 0\n  check # end\ncheck\r\n0: check == 1\n0: y := 2\n\tcheck two\n\
            checked\ncheck\n1: y == 2\n1: x == 1\n0: x := 1\n0: y := 2\ncheck\n0: z := 1\n";
        let whole = read(text, 0, 0);
        assert_eq!(whole.len(), 7, "{whole:?}");
        for a in 0..=text.len() as u64 {
            for b in a..=text.len() as u64 {
                let mut cuts = vec![0];
                for at in [a, b, text.len() as u64] {
                    cuts.push(cut(&mut Cursor::new(text), at).unwrap());
                }
                assert!(cuts.is_sorted(), "{a} {b}");
                let mut parts = Vec::new();
                for pair in cuts.windows(2).filter(|pair| pair[0] < pair[1]) {
                    let (lines, traces) = before(&mut Cursor::new(text), pair[0]).unwrap();
                    parts.extend(read(&text[pair[0] as usize..pair[1] as usize], lines, traces));
                }
                assert_eq!(parts, whole, "{a} {b}");
            }
        }
    }
}
