//! Accepted input and its meaning; streaming; continuing after faults; compressed input.

use membar_core::{AddrName, Mask, OpId, OpKind, Span, Trace};
use membar_trace::{Compression, Ended, Error, Interleaving, Reader, parse};
use std::io::{Read, Write};
use std::ops::ControlFlow;

fn one(text: &str) -> Trace {
    let mut traces = parse("t", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render()));
    assert_eq!(traces.len(), 1);
    traces.remove(0)
}

/// Reads everything, skipping what is wrong.
fn all(reader: &mut Reader<'_>) -> Vec<Result<usize, Error>> {
    let mut trace = Trace::new();
    let mut results = Vec::new();
    while let Some(result) = reader.next(&mut trace) {
        results.push(result.map(|()| trace.len()));
        reader.skip_trace().unwrap();
    }
    results
}

const EVERYTHING: &str = "\
# comment
0: M[1] := 1            @ 100:120  # store
0: x == 0               @ 115:
1: { M[0] == 0; M[0] := 1 } @ :9
1: <flag[007] == 0x0; flag[0x7] := 0X1f>

1: sync
1: membar #StoreStore | #StoreLoad # partial
1:membar#Sync
2: acq L1
2:\trel L1
guard L1: x M[3]
init  M[3] == 7
final M[1] == 1
order M[0]: 1
check
";

#[test]
fn every_kind_of_line() {
    for text in [EVERYTHING.to_owned(), EVERYTHING.replace('\n', "\r\n"), format!("\u{FEFF}{EVERYTHING}")] {
        let trace = one(&text);
        let ops: Vec<_> = trace.ops().map(|op| trace.op(op)).collect();
        let lines: Vec<u64> = ops.iter().map(|op| op.line).collect();
        assert_eq!(lines, [2, 3, 4, 5, 7, 8, 9, 10, 11]);
        use OpKind::{Acquire, Fence, Load, Release, Rmw, Store};
        let kinds: Vec<OpKind> = ops.iter().map(|op| op.kind).collect();
        assert_eq!(kinds, [Store, Load, Rmw, Rmw, Fence, Fence, Fence, Acquire, Release]);
        assert_eq!(ops[0].span, Span { begin: Some(100), end: Some(120) });
        assert_eq!(ops[1].span, Span { begin: Some(115), end: None });
        assert_eq!(ops[2].span, Span { begin: None, end: Some(9) });
        assert_eq!((ops[3].read, ops[3].write), (0, 31));
        assert_eq!(trace.addr_names()[ops[3].addr.index()], AddrName::Named("flag[7]".into()));
        assert_eq!(ops[4].mask, None);
        assert_eq!(ops[5].mask, Some(Mask::STORE_STORE | Mask::STORE_LOAD));
        assert_eq!(ops[6].mask, Some(Mask::FULL));
        assert_eq!(trace.thread_names(), [0, 1, 2]);
        assert_eq!(trace.guards[0].addrs.len(), 2);
        assert_eq!((trace.inits[0].value, trace.inits[0].line), (7, 13));
        assert_eq!((trace.finals[0].value, trace.finals[0].line), (1, 14));
        assert_eq!((trace.orders[0].values.as_slice(), trace.orders[0].line), ([1].as_slice(), 15));
    }
}

#[test]
fn keywords_are_names_before_an_operator() {
    let trace =
        one("0: sync := 1\n0:acq==0\n0: rel := 1 @ :\n0: membar==0\n0: acq[1] := 2\n0: M := 5\n0: check := 1\ncheck");
    assert_eq!(
        trace.addr_names().iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["sync", "acq", "rel", "membar", "acq[1]", "M", "check"]
    );
    assert!(trace.ops().all(|op| trace.kind(op) != OpKind::Fence));
}

#[test]
fn white_space_is_free() {
    let tight = one("0:M[1]:=1@1:2\n0:{x==0;x:=1}\n1:<x==1;x:=2>\n0:sync@:\ncheck");
    let loose = one(
        "\t0 : M [ 1 ] := 1 @ 1 : 2 \n0 : { x == 0 ; x := 1 } \n1: < x == 1 ; x := 2 >\n 0:\tsync @ :\n check # end",
    );
    assert!(tight.ops().eq(loose.ops()));
    for op in tight.ops() {
        assert_eq!(tight.op(op), loose.op(op));
    }
}

#[test]
fn locks_and_addresses_have_names_of_their_own() {
    let trace = one("0: acq x\n0: x := 1\n0: rel x\n1: acq M[0]\n1: M[0] := 1\n1: rel M[0]\ncheck\n");
    assert_eq!(trace.addrs(), 4);
}

#[test]
fn large_numbers() {
    let trace = one("4294967295: M[18446744073709551615] := 18446744073709551615 @ 0:18446744073709551615\ncheck\n");
    assert_eq!(trace.thread_names(), [u32::MAX]);
    assert_eq!(trace.addr_names(), [AddrName::Memory(u64::MAX)]);
    assert_eq!((trace.write(OpId(0)), trace.span(OpId(0)).end), (u64::MAX, Some(u64::MAX)));
}

#[test]
fn a_file_of_many_traces() {
    let text = "0: x := 1\n0: x := 2\ncheck\n".repeat(50_000) + "# the end\n\n";
    let mut reader = Reader::new("t", text.as_bytes());
    let mut trace = Trace::new();
    let mut n = 0;
    while let Some(result) = reader.next(&mut trace) {
        result.unwrap();
        assert_eq!(reader.trace_index(), n);
        assert_eq!(reader.line(), 3 * (n + 1));
        assert_eq!((trace.first_line(), trace.line(OpId(1))), (3 * n + 1, 3 * n + 2));
        n += 1;
    }
    assert_eq!(n, 50_000);
    assert!(reader.next(&mut trace).is_none());
}

#[test]
fn going_on_after_faults() {
    let text = "0: x := 1\ncheck\n\
                oops\n0: x := 1\ncheck\n\
                order y: 1\ncheck\n\
                0: x := 1\n0: x := 2\ncheck it\n\
                0: z := 1\ncheck # fine\n\
                \0\n  check\n\
                0: z := 1\n0: z := 2\n0: z := 3\ncheck\n\
                0: z := ";
    let results = all(&mut Reader::new("t", text.as_bytes()));
    let seen: Vec<_> = results.iter().map(|r| r.as_ref().map(|n| *n).map_err(|e| e.line)).collect();
    assert_eq!(seen, [Ok(1), Err(3), Err(6), Err(10), Ok(1), Err(13), Ok(3), Err(19)]);

    let mut reader = Reader::new("t", text.as_bytes());
    let mut trace = Trace::new();
    reader.next(&mut trace).unwrap().unwrap();
    reader.next(&mut trace).unwrap().unwrap_err();
    assert_eq!(reader.trace_index(), 1);
    assert!(reader.next(&mut trace).is_none(), "without skipping, an error is the end");
}

/// Gives one byte at a time, with interruptions.
struct Drip<'a>(&'a [u8], bool);

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let n = into.len().min(1);
        self.0.read(&mut into[..n])
    }
}

#[test]
fn pieces_of_any_size() {
    let text = EVERYTHING.repeat(3);
    let mut reader = Reader::new("t", Drip(text.as_bytes(), false));
    let results = all(&mut reader);
    assert_eq!(results.iter().map(|r| *r.as_ref().unwrap()).collect::<Vec<_>>(), [9, 9, 9]);
}

#[test]
fn a_trace_arrives_with_its_check() {
    for compression in [None, Some(Compression::Gzip), Some(Compression::Zstd)] {
        let (from, to) = std::io::pipe().unwrap();
        let mut reader = Reader::new("pipe", from);
        let mut trace = Trace::new();
        let mut to: Box<dyn Write> = match compression {
            None => Box::new(to),
            Some(Compression::Zstd) => Box::new(zstd::stream::write::Encoder::new(to, 0).unwrap().auto_finish()),
            Some(Compression::Gzip) => Box::new(flate2::write::GzEncoder::new(to, flate2::Compression::fast())),
        };
        // The writing end stays open: `next` would wait forever if it wanted more than the check line.
        for i in 1..5usize {
            to.write_all("0: x == 0\n".repeat(i).as_bytes()).unwrap();
            to.write_all(b"check\n").unwrap();
            to.flush().unwrap();
            reader.next(&mut trace).unwrap().unwrap();
            assert_eq!(trace.len(), i);
        }
        to.write_all(b"0: x := 1\ncheck").unwrap();
        drop(to);
        reader.next(&mut trace).unwrap().unwrap();
        assert!(reader.next(&mut trace).is_none());
        assert_eq!(reader.compression(), compression);
    }
}

#[test]
fn compressed_files() {
    let dir = tempfile::tempdir().unwrap();
    let text = EVERYTHING.repeat(1000);
    let (left, right) = text.as_bytes().split_at(text.len() / 3);
    let gz = |bytes: &[u8]| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gz.write_all(bytes).unwrap();
        gz.finish().unwrap()
    };
    let zst = |bytes: &[u8]| zstd::encode_all(bytes, 0).unwrap();
    let skipped = [0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3];
    for (name, bytes, format) in [
        ("plain.axe", text.clone().into_bytes(), None),
        ("one.gz", gz(text.as_bytes()), Some(Compression::Gzip)),
        ("two.gz", [gz(left), gz(right)].concat(), Some(Compression::Gzip)),
        ("named-otherwise", zst(text.as_bytes()), Some(Compression::Zstd)),
        ("two.zst", [zst(left), zst(right)].concat(), Some(Compression::Zstd)),
        ("skippable.zst", [skipped.as_slice(), &zst(text.as_bytes())].concat(), Some(Compression::Zstd)),
    ] {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let mut reader = Reader::open(&path).unwrap();
        let results = all(&mut reader);
        assert_eq!(results.len(), 1000, "{name}");
        assert!(results.into_iter().all(|r| r.unwrap() == 9), "{name}");
        assert_eq!(reader.compression(), format, "{name}");
    }
}

/// Traces that are complete before the damage are still delivered; after it there is nothing.
#[test]
fn traces_before_the_damage() {
    let text: String = (1..50_000).map(|i| format!("0: M[{}] := {i}\ncheck\n", i * 7919 % 1009)).collect();
    let zst = zstd::encode_all(text.as_bytes(), 0).unwrap();
    let mut reader = Reader::new("t", &zst[..zst.len() - 100]);
    let mut trace = Trace::new();
    let mut good = 0;
    loop {
        match reader.next(&mut trace).unwrap() {
            Ok(()) => good += 1,
            Err(error) => {
                assert!(error.to_string().contains("zstd"), "{error}");
                break;
            }
        }
    }
    assert!(good > 0);
    reader.skip_trace().unwrap();
    assert!(reader.next(&mut trace).is_none());
}

/// The examples of the documentation are what they claim to be.
#[test]
fn documented_examples() {
    let Ok(text) = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/reference/formats.md"))
    else {
        return;
    };
    let examples: Vec<&str> = text.split("```\n").filter(|block| block.ends_with("\ncheck\n")).collect();
    assert!(examples.len() >= 4);
    let (interleavings, traces): (Vec<&str>, Vec<&str>) =
        examples.into_iter().partition(|example| example.contains(": start "));
    traces.into_iter().for_each(|example| drop(one(example)));
    assert!(!interleavings.is_empty());
    for example in interleavings {
        let mut reader = Reader::new("docs", example.as_bytes());
        let ended = reader.interleaving(&mut Interleaving::new(), |_, _| ControlFlow::Continue(()));
        assert_eq!(ended.unwrap().unwrap(), Ended::Complete);
    }
}
