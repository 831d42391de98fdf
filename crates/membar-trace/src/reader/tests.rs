//! Tests that need to look inside: the fast and the precise way agree, and limits that no test can reach otherwise.

use super::*;
use proptest::prelude::*;

/// Everything that can be known of a trace or of the fault found in its place.
fn outcome(text: &[u8], use_fast: bool) -> (String, Vec<String>) {
    let mut reader = Reader { use_fast, ..Reader::new("t", text) };
    let mut trace = Trace::new();
    let mut seen = Vec::new();
    while let Some(result) = reader.next(&mut trace) {
        seen.push(match result {
            Ok(()) => {
                let ops: Vec<_> = trace.ops().map(|op| trace.op(op)).collect();
                format!("{ops:?} {:?} {:?} {}", trace.thread_names(), trace.addr_names(), trace.has_times())
            }
            Err(error) => error.render(),
        });
        reader.skip_trace().unwrap();
    }
    (format!("{:?} {} {}", reader.state, reader.line, reader.traces), seen)
}

/// The same for the text as interleavings.
fn steps(text: &[u8], use_fast: bool) -> (String, Vec<String>) {
    let mut reader = Reader { use_fast, ..Reader::new("t", text) };
    let mut state = Interleaving::new();
    let mut seen = Vec::new();
    loop {
        let result = reader.interleaving(&mut state, |state, step| {
            let (threads, addrs) = (state.names().thread_names(), state.names().addr_names());
            seen.push(format!("{step:?} {} of {threads:?} {addrs:?}", state.first_line()));
            if step.line == 17 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        });
        match result {
            None => break,
            Some(Ok(ended)) => seen.push(format!("{ended:?} {}", state.first_line())),
            Some(Err(error)) => seen.push(error.render()),
        }
        reader.skip_trace().unwrap();
    }
    (format!("{:?} {} {}", reader.state, reader.line, reader.traces), seen)
}

/// How many lines of the text the fast way takes.
fn taken(text: &[u8]) -> u64 {
    let mut trace = Trace::new();
    trace.clear(1);
    let mut line = 1;
    fast::take(text, &mut line, u64::MAX, &mut trace);
    line - 1
}

fn token() -> impl Strategy<Value = String> {
    const FIXED: &[&str] = &[
        ":", ":=", "==", "=", "@", "{", "}", "<", ">", ";", "[", "]", "#", "\r", "sync", "x", "M", "check", "acq L",
        ".", "!", "! a.c:1", "start 1", "join 2", "+", "x+2:4", ":1",
    ];
    prop_oneof![
        8 => prop::sample::select(FIXED).prop_map(str::to_owned),
        1 => (0..300u64).prop_map(|n| n.to_string()),
        1 => Just("18446744073709551615".to_owned()),
        1 => Just("18446744073709551616".to_owned()),
        1 => Just("4294967296".to_owned()),
        1 => (0..300u64).prop_map(|n| format!("{n:#x}")),
    ]
}

/// A good line of the common kind as tokens, in a sequence that a mutation can disturb.
fn common() -> impl Strategy<Value = Vec<String>> {
    let number =
        || prop_oneof![4 => (0..40u64).prop_map(|n| n.to_string()), 1 => any::<u64>().prop_map(|n| n.to_string())];
    let addr = || {
        prop_oneof![
            1 => number().prop_map(|n| vec!["M".into(), "[".into(), n, "]".into()]),
            3 => number().prop_map(|n| vec![format!("M[{n}]")]),
            1 => "[a-z_][a-z0-9_.$]{0,4}".prop_map(|name| vec![name]),
            1 => (number(), 0..12u8).prop_map(|(offset, width)| vec![format!("x+{offset}:{width}")]),
            1 => (number(), 0..12u8).prop_map(|(n, width)| vec![format!("M[{n}]:{width}")]),
            1 => Just(vec!["sync".into()]),
            1 => Just(vec!["M".into()]),
        ]
    };
    let thread = prop_oneof![5 => (0..30u64).boxed(), 1 => (u64::from(u32::MAX) - 2..1 << 33).boxed()];
    let second = proptest::option::weighted(0.2, addr());
    (
        thread,
        addr(),
        second,
        number(),
        number(),
        0..8u8,
        proptest::option::of((number(), number())),
        (any::<bool>(), prop::bool::weighted(0.8)),
    )
        .prop_map(|(thread, addr, second, a, b, kind, span, (braces, tight))| {
            let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
            let mut line = if tight { vec![format!("{thread}:")] } else { vec![thread.to_string(), ":".into()] };
            match kind {
                0 | 1 => line.extend([addr, words(&[":=", &a])].concat()),
                2 | 3 => line.extend([addr, words(&["==", &a])].concat()),
                4 => {
                    let (open, close) = if braces { ("{", "}") } else { ("<", ">") };
                    let second = second.unwrap_or_else(|| addr.clone());
                    line.extend([words(&[open]), addr, words(&["==", &a, ";"]), second].concat());
                    line.extend(words(&[":=", &b, close]));
                }
                5 => line.push("sync".into()),
                6 => line.extend([words(&["acq "]), addr].concat()),
                _ => line.extend([words(&["rel\t"]), addr].concat()),
            }
            if let Some((mut begin, mut end)) = span {
                if tight && begin.len() > end.len() {
                    std::mem::swap(&mut begin, &mut end);
                }
                line.extend(words(&["@", &begin, ":", &end]));
            }
            line
        })
}

fn join(tokens: Vec<String>, gaps: Vec<u8>, end: &str) -> String {
    let mut line = String::new();
    for (i, token) in tokens.iter().enumerate() {
        if i == 0 && gaps.first().is_none_or(|&gap| gap <= 230) {
            line.push_str(token);
            continue;
        }
        line.push_str(["", "", "", " ", "  ", "\t"][gaps.get(i).map_or(0, |&gap| gap as usize % 6)]);
        line.push_str(token);
    }
    line + end
}

/// Mostly bytes that mean something somewhere.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![3 => prop::sample::select(b"0123456789:=;{}<>[]@#|.$_xM \t\r\n\0".as_slice()), 1 => any::<u8>()]
}

fn mutated() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), 0..4u8, token());
    let changes = prop_oneof![3 => Just(vec![]), 2 => prop::collection::vec(change, 1..3)];
    let good = prop::sample::select(["", " ", "\t", "\r"].as_slice());
    let odd = prop::sample::select(
        [" # c", ".", "x", " 1", "\r\r", "\r ", ";", "@", "\u{b}", "! a b", "!x # c", "! \u{e9}", "!", "!\t"]
            .as_slice(),
    );
    let end = prop_oneof![3 => good, 1 => odd];
    (common(), changes, prop::collection::vec(any::<u8>(), 0..24), end).prop_map(|(mut line, changes, gaps, end)| {
        for (at, how, token) in changes {
            let at = at.index(line.len());
            match how {
                0 => line.insert(at, token),
                1 => line[at] = token,
                2 if line.len() > 1 => drop(line.remove(at)),
                _ => line.truncate(at + 1),
            }
        }
        join(line, gaps, end)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn fast_and_precise_agree(lines in prop::collection::vec(mutated(), 1..4)) {
        for line in &lines {
            let mut quick = Trace::new();
            if fast::take(format!("{line}\n").as_bytes(), &mut 0, u64::MAX, &mut quick) > 0 {
                let mut slow = Trace::new();
                let parsed = Parser::new(line.strip_suffix('\r').unwrap_or(line)).line();
                prop_assert!(parsed.is_ok(), "{:?}: {:?}", line, parsed);
                add(&mut slow, parsed.unwrap_or(Line::Blank), 0);
                prop_assert!(slow.ops().map(|op| slow.op(op)).eq(quick.ops().map(|op| quick.op(op))), "{:?}", line);
                prop_assert_eq!(slow.addr_names(), quick.addr_names());
                prop_assert_eq!(slow.thread_names(), quick.thread_names());
            }
        }
        let text = lines.join("\n") + "\ncheck\n0: x := 1\ncheck\n";
        prop_assert_eq!(outcome(text.as_bytes(), true), outcome(text.as_bytes(), false), "{:?}", text);
        prop_assert_eq!(steps(text.as_bytes(), true), steps(text.as_bytes(), false), "{:?}", text);
    }

    #[test]
    fn fast_and_precise_agree_on_bytes(line in common(), at: prop::sample::Index, byte in byte(), gaps: Vec<u8>) {
        let mut line = join(line, gaps, "\ncheck\n").into_bytes();
        let at = at.index(line.len());
        line[at] = byte;
        prop_assert_eq!(outcome(&line, true), outcome(&line, false), "{:?}", String::from_utf8_lossy(&line));
        prop_assert_eq!(steps(&line, true), steps(&line, false), "{:?}", String::from_utf8_lossy(&line));
    }
}

#[test]
fn the_first_line_is_known_at_the_first_step() {
    for use_fast in [true, false] {
        let text = b"# a comment\n0: x := 1\n0: y_z := 2\ncheck\n";
        let (_, seen) = steps(text, use_fast);
        assert!(seen[0].contains("2 of") && seen[1].contains("2 of") && seen[2] == "Complete 2", "{seen:?}");
    }
}

/// The comparison above would be empty if the fast way took nothing, or everything.
#[test]
fn the_fast_way_takes_a_fair_share() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let lines = (0..2000).map(|_| mutated().new_tree(&mut runner).unwrap().current() + "\n");
    let share = lines.filter(|line| taken(line.as_bytes()) > 0).count();
    assert!((200..1800).contains(&share), "{share} of 2000");
}

#[test]
fn the_fast_way_takes_the_common_lines() {
    let lines = [
        "0: M[1] := 1",
        "12:x==3",
        "0: { M[1] == 0; M[1] := 1 }",
        "0:<x==0;x:=1> @ 3:",
        "7: sync",
        "1: x := 2 @ 1 : 2 ",
        "1: sync\t@ :5\r",
        "3: acq := 1",
        "3: acq L1",
        "3: rel  L1@4:",
        "3: x := 4 ! dekker.c:12",
        "3: x := 5 @ 1: !y z \t",
        "3: x+2:4 := 5",
        "3: { M[7]:1 == 0; M[7]:1 := 255 } aq",
        "3: lr x+8:8 == 0",
    ];
    let text = lines.join("\n") + "\n";
    assert_eq!(taken(text.as_bytes()), lines.len() as u64);
    for line in [
        "# c\n",
        "\n",
        "check\n",
        "0: x := 1 # c\n",
        "0: x := 1 2\n",
        "0: x := 18446744073709551615\n",
        "0: x:1 := 256\n",
    ] {
        assert_eq!(taken(line.as_bytes()), 0, "{line}");
    }
}

#[test]
fn a_trace_of_too_many_lines() {
    for use_fast in [true, false] {
        let mut reader =
            Reader { max_lines: 3, use_fast, ..Reader::new("t", b"0: x := 1\n0: x := 1\n0: x := 1\n".as_slice()) };
        let mut trace = Trace::new();
        reader.next(&mut trace).unwrap().unwrap();
        assert!(trace.is_open() && trace.len() == 3);
    }
    for use_fast in [true, false] {
        let text = "0: x := 1\n0: x := 2\ncheck\n0: x := 1\n0: x := 2\n0: x := 3\ncheck\n0: x == 0\ncheck\n";
        let mut reader = Reader { max_lines: 3, use_fast, ..Reader::new("t", text.as_bytes()) };
        let mut trace = Trace::new();
        reader.next(&mut trace).unwrap().unwrap();
        let error = reader.next(&mut trace).unwrap().unwrap_err();
        assert_eq!(error.to_string(), "t:7:1: the trace has more than 3 lines");
        reader.skip_trace().unwrap();
        reader.next(&mut trace).unwrap().unwrap();
        assert!(reader.next(&mut trace).is_none());
    }
}

/// The last `check` may be missing, but not the end of the last line.
#[test]
fn a_text_without_its_last_check() {
    let whole = "0: x := 1\n1: x == 1\n";
    let long = whole.to_owned() + &"1: x == 1\n".repeat(400_000);
    for (text, traces) in [
        (whole.to_owned(), 1),
        (format!("{whole}check\n{whole}"), 2),
        (format!("{whole}check\n# no more\n\n"), 1),
        (format!("{whole}\n# the end"), 1),
        (long, 1),
    ] {
        for use_fast in [true, false] {
            let mut reader = Reader { use_fast, ..Reader::new("t", text.as_bytes()) };
            let (mut trace, mut read) = (Trace::new(), Vec::new());
            while let Some(result) = reader.next(&mut trace) {
                result.unwrap();
                read.push(trace.open_end());
            }
            let last = !text.contains("# no more");
            assert_eq!((read.len(), read.pop()), (traces, Some(last)), "{}", &text[..text.len().min(60)]);
            assert!(read.iter().all(|open| !open));
        }
    }
    for cut in ["0: x := 1\n1: x == 1", "0: x := 1\n1: x =", "0: x := 1", "init x == 1\n"] {
        let (mut trace, mut reader) = (Trace::new(), Reader::new("t", cut.as_bytes()));
        assert!(reader.next(&mut trace).unwrap().is_err(), "{cut}");
    }
}

/// A text as an interleaving: its steps, or its first fault.
fn interleaved(text: &str) -> String {
    let (_, seen) = steps(text.as_bytes(), true);
    seen.iter().find(|seen| seen.starts_with("error")).cloned().unwrap_or_else(|| format!("{} steps", seen.len() - 1))
}

#[test]
fn valid_interleavings_are_accepted() {
    for (text, steps) in [
        ("check\n", 0),
        ("0: x := 1\n1: x == 1\n1: x := 1\n0: { x == 1 }\ncheck\n", 4),
        ("init x == 7\n0: x == 7\n0: <x == 7; x := 8>\nfinal x == 8\nfinal y == 0\ncheck\n", 2),
        ("0: start 1\n1: acq L\n1: rel L\n0: join 1\n0: acq L\ncheck\n", 5),
        ("order x: 3\nguard L: x\n0: membar #StoreStore\n0: sync ! here\ncheck\n", 2),
        ("0: start := 1\n0: join == 0\ncheck\n", 2),
    ] {
        assert_eq!(interleaved(text), format!("{steps} steps"), "{text}");
    }
}

#[test]
fn invalid_interleavings_are_refused() {
    for (text, place, says) in [
        ("0: x := 1\n1: x == 0\ncheck\n", "2:9", "x == 0, but `x` holds 1 since line 1"),
        ("1: x == 3\ncheck\n", "1:9", "`x` holds 0 from the beginning"),
        ("0: { x == 1; x := 2 }\ncheck\n", "1:11", "x == 1, but `x` holds 0"),
        ("0: { M[0x3] == 1 }\ncheck\n", "1:16", "`M[3]` holds 0"),
        ("0: x := 1\nfinal x == 2\ncheck\n", "2:1", "final x == 2, but `x` holds 1 since line 1"),
        ("final x == 0\nfinal x == 0\ncheck\n", "2:7", "a second `final` line"),
        ("0: acq L\n1: acq L\ncheck\n", "2:8", "thread 0 holds it since line 1"),
        ("0: acq L\n0: acq L\ncheck\n", "2:8", "thread 0 holds it since line 1"),
        ("0: acq L\n1: rel L\ncheck\n", "2:8", "does not hold it"),
        ("1: sync\n0: start 1\ncheck\n", "2:10", "thread 1 is started, but it has begun at line 1"),
        ("0: start 1\n0: start 1\ncheck\n", "2:10", "has begun at line 1"),
        ("0: join 1\n1: x := 1\ncheck\n", "2:1", "thread 1 has ended: it was joined at line 1"),
        ("0: join 1\n2: join 1\ncheck\n", "2:9", "joined at line 1"),
        ("0: join 0\ncheck\n", "1:9", "joins itself"),
        ("0: x == 0\ninit x == 0\ncheck\n", "2:6", "after it was used at line 1"),
        ("init x == 0\ninit x == 0\ncheck\n", "2:6", "after it was used at line 1"),
        ("0: x := 1 !\ncheck\n", "1:12", "expected a label"),
        ("0: start\ncheck\n", "1:9", "expected `:=` or `==`"),
        ("0: x := 1\n0: x := 2", "3:1", "expected `check`"),
        ("init x == 1\n", "2:1", "expected `check`"),
        ("\n", "1:1", "no trace"),
    ] {
        let shown = interleaved(text);
        assert!(shown.contains(&format!("--> t:{place}\n")) && shown.contains(says), "{text}{shown}");
        assert!(shown.contains("= help: "), "{shown}");
    }
}

#[test]
fn check_names_lines_meant_for_interleavings() {
    let says = |text: &str| outcome(text.as_bytes(), true).1.concat();
    let shown = says("0: start 1\ncheck\n");
    assert!(shown.contains("`start` is for `membar monitor`") && shown.contains("t:1:4"), "{shown}");
    assert!(says("0: join 1\ncheck\n").contains("`join` is for `membar monitor`"));
    assert!(says("0: { x == 1 }\ncheck\n").contains("expected `;`"));
    assert!(!says("0: x := 1 ! a.c:7\ncheck\n").contains("error"));
}

/// Memory depends on the longest line and on `KEEP`, not on the number or the length of traces.
#[test]
fn the_buffer_stays_small() {
    let long = "0: M[0] == 0\n".repeat(400_000) + "check\n";
    let short = "0: M[0] == 0\ncheck\n".repeat(300_000);
    for text in [long, short] {
        let mut reader = Reader::new("t", text.as_bytes());
        let mut trace = Trace::new();
        while let Some(result) = reader.next(&mut trace) {
            result.unwrap();
        }
        assert!(reader.buf.len() <= 4 * KEEP, "{}", reader.buf.len());
        let mut reader = Reader::new("t", text.as_bytes());
        let mut state = Interleaving::new();
        while let Some(result) = reader.interleaving(&mut state, |_, _| std::ops::ControlFlow::Continue(())) {
            result.unwrap();
        }
        assert!(reader.buf.len() <= 4 * CHUNK, "{}", reader.buf.len());
    }
}
