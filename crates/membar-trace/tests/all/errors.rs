//! Error messages: one golden rendering for each kind of bad input, and that nothing bad gets through.

use membar_core::Trace;
use membar_trace::{ErrorKind, MAX_LINE, Reader, parse};
use std::fmt::Write as _;
use std::io::{Read, Write as _};

/// The rendering of the first fault of each input, under its name.
fn renderings(cases: &[(&str, &[u8])]) -> String {
    let mut all = String::new();
    for (name, input) in cases {
        let error = match parse("t.axe", input) {
            Ok(_) => panic!("{name}: accepted"),
            Err(error) => error,
        };
        assert!(error.line >= 1 && error.column >= 1, "{name}: no place");
        assert!(error.render().chars().all(|c| c == '\n' || !c.is_control()), "{name}: unsafe for terminals");
        writeln!(all, "== {name}\n{}", error.render()).unwrap();
    }
    all
}

#[test]
fn syntax() {
    let shown = renderings(&[
        ("unknown token", b"0: M[0] := 1\n1: M[0] ?= 1\ncheck\n"),
        ("unknown token at the beginning", b"  *\n"),
        ("unknown line", b"store 0 1 2\ncheck\n"),
        ("unicode", "0: größe := 1\ncheck\n".as_bytes()),
        ("column in characters", "0: x := 1 # größe\n0: x := 2 größe\n".as_bytes()),
        ("missing thread id", b"M[0] := 1\ncheck\n"),
        ("missing thread id of a named address", b" flag := 1\ncheck\n"),
        ("missing thread id of an rmw", b"{ x == 0; x := 1 }\ncheck\n"),
        ("missing thread id of a barrier", b"sync\ncheck\n"),
        ("missing thread id before the colon", b": M[0] := 1\ncheck\n"),
        ("missing colon", b"0 M[0] := 1\ncheck\n"),
        ("missing operation", b"0:\ncheck\n"),
        ("missing operation before a comment", b"0: # nothing\ncheck\n"),
        ("missing operator", b"0: x\ncheck\n"),
        ("wrong operator", b"0: x = 1\ncheck\n"),
        ("missing value", b"0: x :=\ncheck\n"),
        ("negative value", b"0: x := -1\ncheck\n"),
        ("number in an address", b"0: 7 := 1\ncheck\n"),
        ("empty brackets", b"0: M[] := 1\ncheck\n"),
        ("open brackets", b"0: M[1 := 1\ncheck\n"),
        ("trailing garbage", b"0: M[0] := 1 2\ncheck\n"),
        ("two operations", b"0: M[0] := 1 1: M[0] == 1\ncheck\n"),
        ("garbage after check", b"0: M[0] := 1\ncheck now\n"),
        ("garbage after sync", b"0: sync sync\ncheck\n"),
        ("carriage return inside", b"0: x := 1\r0: x := 2\ncheck\n"),
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn numbers() {
    let shown = renderings(&[
        ("thread id too large", b"4294967296: M[0] := 1\ncheck\n"),
        ("value too large", b"0: M[0] := 18446744073709551616\ncheck\n"),
        ("hexadecimal value too large", b"0: M[0] := 0x10000000000000000\ncheck\n"),
        ("address too large", b"0: M[99999999999999999999] := 1\ncheck\n"),
        ("time too large", b"0: M[0] := 1 @ 99999999999999999999:\ncheck\n"),
        ("hundreds of digits", &[b"0: M[0] := ".as_slice(), &[b'9'; 500], b"\ncheck\n"].concat()),
        ("not a number", b"0: M[0] := 12abc\ncheck\n"),
        ("fraction", b"0: M[0] := 1.5\ncheck\n"),
        ("no hexadecimal digits", b"0: M[0] := 0x\ncheck\n"),
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn operations() {
    let shown = renderings(&[
        ("rmw over two addresses", b"0: { M[0] == 0; M[1] := 1 }\ncheck\n"),
        ("rmw that writes first", b"0: { M[0] := 1; M[0] == 0 }\ncheck\n"),
        ("rmw that reads twice", b"0: { M[0] == 1; M[0] == 0 }\ncheck\n"),
        ("rmw without write", b"0: { M[0] == 1 }\ncheck\n"),
        ("rmw without write after the semicolon", b"0: { M[0] == 1; }\ncheck\n"),
        ("rmw without anything", b"0: <>\ncheck\n"),
        ("unclosed brace", b"0: { M[0] == 0; M[0] := 1\ncheck\n"),
        ("unclosed angle", b"0: <M[0] == 0; M[0] := 1 # really\ncheck\n"),
        ("mismatched brace", b"0: { M[0] == 0; M[0] := 1 >\ncheck\n"),
        ("mismatched angle", b"0: <M[0] == 0; M[0] := 1}\ncheck\n"),
        ("end before begin", b"0: M[0] := 1 @ 120:100\ncheck\n"),
        ("no colon in the period", b"0: M[0] := 1 @ 120\ncheck\n"),
        ("no period", b"0: M[0] := 1 @\ncheck\n"),
        ("no mask", b"0: membar\ncheck\n"),
        ("comment for a mask", b"0: membar # all\ncheck\n"),
        ("unknown mask", b"0: membar #StoreStore|#StoreSture\ncheck\n"),
        ("mask after a dangling bar", b"0: membar #StoreStore|\ncheck\n"),
        ("two masks without bar", b"0: membar #StoreStore #StoreLoad\ncheck\n"),
        ("no lock", b"0: acq\ncheck\n"),
        ("number for a lock", b"0: rel 3\ncheck\n"),
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn declarations() {
    let shown = renderings(&[
        ("init with :=", b"init M[0] := 1\ncheck\n"),
        ("init without address", b"init 3\ncheck\n"),
        ("final without value", b"final x ==\ncheck\n"),
        ("order without colon", b"order M[0] 1 2\ncheck\n"),
        ("order of something else", b"order M[0]: 1, 2\ncheck\n"),
        ("guard without colon", b"guard L x\ncheck\n"),
        ("guard of a number", b"guard L: x 3\ncheck\n"),
        ("times on a declaration", b"final x == 0 @ 1:2\ncheck\n"),
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn senseless_traces() {
    let shown = renderings(&[
        ("value written twice", b"# c\n0: M[0] := 3\n\n1:   M[0] := 3\norder M[0]: 3\ncheck\n"),
        ("value written twice by an rmw", b"0: x := 0x10\n1: { x == 0; x := 16 }\norder x: 16\ncheck\n"),
        ("store of the initial value", b"0: M[0] := 0\n0: M[0] := 0\norder M[0]: 0\ncheck\n"),
        ("store of a set initial value", b"init x == 7\n0: x := 7\norder x: 7\ncheck\n"),
        ("order with an unwritten value", b"0: x := 1\norder x: 1 5\ncheck\n"),
        ("order that misses a value", b"0: x := 1\n0: x := 2\norder x: 2\ncheck\n"),
        ("order with a repeated value", b"0: x := 1\norder x: 1 1\ncheck\n"),
        ("repeated init", b"init x == 1\n\ninit x == 1\ncheck\n"),
        ("repeated final", b"0: x := 1\nfinal x == 1\nfinal x == 1\ncheck\n"),
        ("repeated order", b"0: x := 1\norder x: 1\norder x: 1\ncheck\n"),
        ("repeated guard", b"guard L: x\nguard M: x\nguard L: y # again\ncheck\n"),
        ("release without acquire", b"0: acq L\n1: rel L\ncheck\n"),
        ("release of what nobody takes", b"0: rel L\ncheck\n"),
        ("second release", b"0: acq L\n0: rel L\n1: acq L\n1: rel L\n0: rel L\ncheck\n"),
        ("double acquire", b"0: acq L\r\n0:  acq L\r\ncheck\r\n"),
        ("held at the end", b"0: acq L\n1: acq  K\n0: rel L\n1: x == 0\n\ncheck\n"),
        ("in the second trace", b"0: x := 1\ncheck\n0: x := 1\n0: x := 1\norder x: 1\ncheck\n"),
        ("behind a byte order mark", b"\xEF\xBB\xBF0: x := 0\norder x: 1\ncheck\n"),
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn bytes_that_are_no_text() {
    let shown = renderings(&[
        ("NUL", b"0: M[0] := 1\0\ncheck\n"),
        ("NUL in a comment", b"# a\0b\ncheck\n"),
        ("NUL in a long comment", &[b"0: x := 1 # ".as_slice(), &[b'a'; 300], b"\0", &[b'b'; 300], b"\n"].concat()),
        ("invalid UTF-8", b"0: x\xFF := 1\ncheck\n"),
        ("invalid UTF-8 in a comment", b"0: x := 1 # \xC3\x28\ncheck\n"),
        ("UTF-8 cut off in a comment", b"0: x := 1 # \xE2\x82\ncheck\n"),
        ("escape sequences", b"0: x := 1 \x1b[31mred\x07\ncheck\n"),
        ("text that runs backwards", "0: x \u{202E}:= 1\ncheck\n".as_bytes()),
        ("far into a line", &[&[b' '; 5000], b"0: x := y".as_slice(), &[b' '; 5000], b".\n"].concat()),
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn ends() {
    let shown = renderings(&[
        ("empty", b""),
        ("only comments", b"# nothing\n\n# here\n"),
        ("without check", b"\n0: M[0] := 1\n0: M[0] == 1"),
        ("without check after a good trace", b"0: x := 1\ncheck\n# next\n0: x := 1"),
        ("cut off in an operation", b"0: M[0] := 1\n0: M[0"),
        ("cut off in a number", b"0: M[0] := 12\n0: M[0] == 1"),
        ("cut off in check", b"0: M[0] := 1\nche"),
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn files() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().display().to_string();
    let mut shown = String::new();
    let mut show = |name: &str| {
        let mut trace = Trace::new();
        let error = match Reader::open(dir.path().join(name)) {
            Err(error) => error,
            Ok(mut reader) => reader.next(&mut trace).expect("no error").unwrap_err(),
        };
        // Where a decompressor stops is its own affair.
        let rendered = error.render().replace(&place, "DIR");
        let place = format!("{}:{}", error.line, error.column);
        let lines: Vec<String> =
            rendered.lines().map(|line| line.trim_start().replace(&place, "LINE:COLUMN")).collect();
        writeln!(shown, "== {name}\n{}\n", lines.join("\n")).unwrap();
    };
    let text: String = (1..20_000).map(|i| format!("{}: M[{}] := {i}\n", i % 7, i * i % 11)).collect();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(text.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    let zst = zstd::encode_all(text.as_bytes(), 0).unwrap();
    std::fs::create_dir(dir.path().join("directory")).unwrap();
    std::fs::write(dir.path().join("cut.gz"), &gz[..gz.len() / 2]).unwrap();
    std::fs::write(dir.path().join("cut.zst"), &zst[..zst.len() / 2]).unwrap();
    std::fs::write(dir.path().join("header-only.gz"), &gz[..2]).unwrap();
    std::fs::write(dir.path().join("header-only.zst"), &zst[..4]).unwrap();
    let mut damaged = gz.clone();
    let checksum = damaged.len() - 6;
    damaged[checksum] ^= 1;
    std::fs::write(dir.path().join("damaged.gz"), damaged).unwrap();
    let mut damaged = zst.clone();
    damaged[6] ^= 0xFF;
    std::fs::write(dir.path().join("damaged.zst"), damaged).unwrap();
    for name in [
        "missing.axe",
        "directory",
        "cut.gz",
        "cut.zst",
        "header-only.gz",
        "header-only.zst",
        "damaged.gz",
        "damaged.zst",
    ] {
        show(name);
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn endless_lines_are_refused_and_passed_over() {
    for (fill, tail) in
        [(b'a', "\n0: x := 1\ncheck\n0: x := 2\ncheck\n"), (b' ', "0: x := 1\ncheck\n0: x := 2\ncheck\n")]
    {
        let input = std::io::repeat(fill).take(100_000_000).chain(tail.as_bytes());
        let mut reader = Reader::new("t.axe", input);
        let mut trace = Trace::new();
        let error = reader.next(&mut trace).unwrap().unwrap_err();
        assert!(matches!(*error.kind, ErrorKind::LineTooLong { limit: MAX_LINE }));
        assert_eq!((error.line, error.column), (1, MAX_LINE as u64 + 1));
        assert!(error.render().len() < 500);
        reader.skip_trace().unwrap();
        reader.next(&mut trace).unwrap().unwrap();
        assert_eq!((trace.len(), trace.write(membar_core::OpId(0))), (1, 2));
        assert!(reader.next(&mut trace).is_none());
    }
    let error = parse("t.axe", &vec![b'#'; MAX_LINE + 1]).unwrap_err();
    assert!(matches!(*error.kind, ErrorKind::LineTooLong { .. }));
    let mut longest = vec![b'#'; MAX_LINE];
    longest.extend_from_slice(b"\r\ncheck");
    assert_eq!(parse("t.axe", &longest).unwrap().len(), 1);
}

/// A trace whose text is no longer in the buffer when its fault shows.
#[test]
fn faults_of_long_traces_are_written_anew() {
    let mut text = String::from("0:   first   :=   1\norder x:\norder first: 1\n0: acq L @ 5:\n");
    for i in 0..200_000 {
        writeln!(text, "1: M[{}] := {}", i % 100, i + 1).unwrap();
    }
    for (last, expected) in [
        ("1: first := 1\n", "200005 | 1: first := 1\n"),
        ("0: x := 4\n", "2 | order x:\n"),
        ("2: rel L\n", "200005 | 2: rel L\n"),
    ] {
        let error = parse("t.axe", format!("{text}{last}check\n").as_bytes()).unwrap_err();
        assert!(error.render().contains(expected), "{}", error.render());
        assert_eq!(error.column, 1);
    }
}
