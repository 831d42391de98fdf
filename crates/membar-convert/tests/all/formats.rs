//! One small log of each format.

use membar_convert::{Choices, Converted, Format, convert};

fn converted(text: &str) -> Converted {
    let format = Format::guess(text).unwrap_or_else(|| panic!("no format: {text}"));
    convert(text, format, Choices::default())
}

/// All lines are converted into this.
fn gives(text: &str, trace: &str) {
    let converted = converted(text);
    assert_eq!(converted.problems, [], "{text}");
    assert_eq!(converted.text, trace, "{text}");
}

#[test]
fn tracegen_keeps_lr_and_sc_apart() {
    gives(
        " 0: store-req                    5 0x0000000008 #3 @303\n\
          1: load-reserve-req 0x0000000008 #1 @310\n\
          0: resp                    0 #3 @320\n\
          1: resp                    5 #1 @325\n\
          1: store-cond-req                    9 0x0000000008 #2 @330\n\
          1: fence-req @331\n\
          1: resp                    0 #2 @340\n\
          1: fence-resp @341\n\
          1: load-reserve-req 0x0000000008 #1 @350\n\
          1: resp 9 #1 @352\n\
          1: store-cond-req 13 0x0000000008 #2 @360\n\
          1: resp 1 #2 @361\n\
          0: swap-req 17 0x0000000010 #4 @400\n\
          0: resp 0 #4 @410\n\
         FINISHED 2\n",
        "0: M[8] := 5 @ 303:\n\
         1: lr M[8] == 5 @ 310:325\n\
         1: sc M[8] := 9 @ 330:\n\
         1: fence rw,rw @ 331:341\n\
         1: lr M[8] == 9 @ 350:352\n\
         1: sc M[8] fails @ 360:\n\
         0: { M[16] == 0; M[16] := 17 } @ 400:\n\
         check\n",
    );
}

#[test]
fn tracegen_reports_what_is_missing_and_converts_the_rest() {
    let converted = converted(
        "0: load-req 0x8 #1 @1\n0: store-req 3 0x8 #2 @2\n0: hello #1 @1\n1: resp 3 #9 @4\n1: load-req 0x8 #1 @5\n1: resp 3 #1 @6\n",
    );
    let lines: Vec<(u64, &str)> =
        converted.problems.iter().map(|problem| (problem.line, problem.reason.as_str())).collect();
    assert_eq!(
        lines,
        [
            (1, "this request has no response"),
            (3, "`hello` is not a command of TraceGen"),
            (4, "this response has no request")
        ]
    );
    assert_eq!(converted.text, "0: M[8] := 3 @ 2:\n1: M[8] == 3 @ 5:6\ncheck\n");
}

#[test]
fn times_that_run_backwards_are_reported_and_left_out() {
    for text in [
        "0: load-req 0x8 #1 @5\n0: resp 3 #1 @4\n",
        "hart,op,address,read,begin,end\n0,load,M8,3,5,4\n",
        "0: M[8] == 3 @ 5:4\n",
    ] {
        let converted = converted(text);
        let reasons: Vec<&str> = converted.problems.iter().map(|problem| problem.reason.as_str()).collect();
        assert_eq!(reasons, ["the operation ends at 4, before it begins at 5"], "{text}");
        assert!(converted.text.ends_with(" == 3\ncheck\n"), "{}", converted.text);
    }
}

/// A load, a computation with its result, an access at the address that comes out, and a branch.
#[test]
fn spike_dependencies_come_from_registers() {
    gives(
        "core   0: >>>>  _start\n\
         core   0: 0x0000000080000000 (0x00002537) lui     a0, 0x2\n\
         core   0: 3 0x0000000080000000 (0x00002537) x10 0x0000000000002000\n\
         core   0: 3 0x0000000080000004 (0x00053583) x11 0x0000000000003000 mem 0x0000000000002000\n\
         core   0: 3 0x0000000080000008 (0x00b00633) x12 0x0000000000003000\n\
         core   0: 3 0x000000008000000c (0x00063683) x13 0x0000000000000007 mem 0x0000000000003000\n\
         core   0: 3 0x0000000080000010 (0x00068463)\n\
         core   0: 3 0x0000000080000014 (0x00d53423) mem 0x0000000000002008 0x0000000000000007\n\
         core   0: 3 0x0000000080000018 (0x0230000f)\n\
         core   0: 3 0x000000008000001c (0x00d53423) mem 0x0000000000002008 0x0000000000000007\n\
         core   1: 3 0x0000000080000020 (0x00002537) x10 0x0000000000002000\n\
         core   1: 3 0x0000000080000024 (0x100535af) x11 0x0000000000003000 mem 0x0000000000002000\n\
         core   1: 3 0x0000000080000028 (0x1ac5352f) x10 0x0000000000000000 mem 0x0000000000002000 0x0000000000000005\n",
        "init M[0x2000] == 0x3000\n\
         init M[0x3000] == 0x7\n\
         0: M[0x2000] == 0x3000 ! 0x80000004\n\
         0: M[0x3000] == 0x7 addr(-1) ! 0x8000000c\n\
         0: M[0x2008] := 0x7 data(-1) ctrl(-1) ! 0x80000014\n\
         0: fence r,rw ! 0x80000018\n\
         0: M[0x2008] := 0x7 data(-3) ! 0x8000001c\n\
         1: lr M[0x2000] == 0x3000 ! 0x80000024\n\
         1: sc M[0x2000] := 0x5 rl ! 0x80000028\n\
         check\n",
    );
}

#[test]
fn accesses_of_several_sizes_are_parts_and_misaligned_ones_are_torn() {
    let converted = converted(
        "core   0: 3 0x0000000080000000 (0x00b50023) mem 0x0000000000002000 0x01\n\
         core   0: 3 0x0000000080000004 (0x00b52023) mem 0x0000000000002000 0x00000002\n\
         core   0: 3 0x0000000080000008 (0x00b52423) mem 0x0000000000002008 0x00000003\n\
         core   1: 3 0x0000000080000008 (0x00b51023) mem 0x0000000000002001 0x0004\n\
         core   1: 3 0x000000008000000c (0x00254583) x11 0x0000000000000009 mem 0x0000000000002002\n",
    );
    assert!(converted.problems.is_empty(), "{}", converted.text);
    assert_eq!(
        converted.text.lines().filter(|line| !line.starts_with("# membar") && !line.is_empty()).collect::<Vec<_>>(),
        [
            "0: M[0x2000]:1 := 0x1 ! 0x80000000",
            "0: M[0x2000]:4 := 0x2 ! 0x80000004",
            "0: M[0x2008] := 0x3 ! 0x80000008",
            "1: M[0x2000]+1:2 := 0x4 pieces(1,1) ! 0x80000008",
            "1: M[0x2000]+2:1 == 0x9 ! 0x8000000c",
            "check",
        ]
    );
}

/// Nobody says that a misaligned access was performed at once, not even where no other overlaps it.
#[test]
fn misaligned_and_wide_rows_of_a_table() {
    let converted = converted(
        "hart,op,address,size,read,written\n\
         0,store,0x1003,4,,0x11223344\n\
         1,load,0x1003,4,0x11220000,\n\
         0,store,0x2000,16,,0x112233445566778899aabbccddeeff00\n\
         1,amo,0x2000,16,0,0xffffffffffffffffffffffffffffffff\n",
    );
    assert!(converted.problems.is_empty(), "{}", converted.text);
    assert_eq!(
        converted.text.lines().filter(|line| !line.starts_with("# membar") && !line.is_empty()).collect::<Vec<_>>(),
        [
            "0: M[0x1003]:4 := 0x11223344 pieces(1,1,1,1)",
            "1: M[0x1003]:4 == 0x11220000 pieces(1,1,1,1)",
            "0: M[0x2000]:16 := 0x112233445566778899aabbccddeeff00",
            "1: { M[0x2000]:16 == 0x0; M[0x2000]:16 := 0xffffffffffffffffffffffffffffffff }",
            "check",
        ]
    );
}

/// Addresses, stored values and what an AMO stores are computed.
#[test]
fn dromajo_addresses_come_from_registers() {
    gives(
        "0 3 0x0000000080000000 (0x00002537) x10 0x0000000000002000\n\
         0 3 0x0000000080000004 (0x000000000000459d) x11 0x0000000000000007\n\
         0 3 0x0000000080000006 (0x00b53423)\n\
         0 3 0x000000008000000a (0x00b5362f) x12 0x0000000000000001\n\
         0 3 0x000000008000000e (0x00853683) x13 0x0000000000000007\n\
         0 3 0x0000000080000012 (0x00000073) exception 11, tval 0000000000000000\n",
        "init M[0x2000] == 0x1\n\
         0: M[0x2008] := 0x7 ! 0x80000006\n\
         0: { M[0x2000] == 0x1; M[0x2000] := 0x8 } ! 0x8000000a\n\
         0: M[0x2008] == 0x7 ! 0x8000000e\n\
         check\n",
    );
    let unknown = converted("0 3 0x0000000080000006 (0x00b53423)\n");
    assert_eq!(unknown.problems[0].reason, "the address is unknown: nothing above says what x10 holds");
    assert!(unknown.problems[0].help.contains("start the log earlier"));
}

#[test]
fn whisper_plain_and_csv_say_the_same() {
    let trace = "init M[0x2000] == 0x1\n\
                 0: M[0x2000] == 0x1 ! 0x80000004\n\
                 0: { M[0x2000] == 0x1; M[0x2000] := 0x2 } aq rl addr(-1) data(-1) ! 0x80000008\n\
                 1: M[0x2008] := 0x3 ! 0x8000000c\n\
                 check\n";
    gives(
        "#1 0 0000000080000004 00053583 r 000000000000000b 0000000000000001  ld x11, 0x0(x10) [0x2000]\n\
         #2 0 0000000080000008 06b5b62f r 000000000000000c 0000000000000001  amoadd.d.aqrl x12, x11, (x11) [0x2000] +\n\
         #2 0 0000000080000008 06b5b62f m 0000000000002000 0000000000000002  amoadd.d.aqrl x12, x11, (x11) [0x2000]\n\
         #1 1 000000008000000c 00d53423 m 0000000000002008 0000000000000003  sd x13, 0x8(x10) [0x5008:0x2008]\n",
        trace,
    );
    gives(
        "pc, inst, modified regs, source operands, memory, inst info, privilege, trap, disassembly, hartid\n\
         80000004,53583,x11=1,x10;i0,2000,l,m,,ld x11; 0x0(x10),0\n\
         80000008,6b5b62f,a2=1,x11;x11,2000=2,a,m,,amoadd.d.aqrl x12; x11; (x11),0\n\
         80000000,53583,,x10;i0,,l,m,5,ld x11; 0x0(x10),1\n\
         8000000c,d53423,,x10;x13,5008:2008=3,s,m,,sd x13; 0x8(x10),1\n",
        trace,
    );
}

#[test]
fn axe_in_every_form() {
    gives(
        "# comment\n0: M[1] := 1 @ 100:110 1: v1 == 1 @ :7\n1 : { M[ 0x2 ] == 0 ;\n v2 := 5 } @ 3:\n0: <v2==5;v2:=6> 1: sync\n\
         final M[1] == 1 check\n0: M[0] == 0",
        "0: M[1] := 1 @ 100:110\n1: M[1] == 1 @ :7\n1: { M[2] == 0; M[2] := 5 } @ 3:\n0: { M[2] == 5; M[2] := 6 }\n1: sync\n\
         final M[1] == 1\ncheck\n0: M[0] == 0\ncheck\n",
    );
    let bad = converted("0: M[1] := x\n0: M[1] == 2\n0: { M[1] == 2; M[3] := 4 }\n1: M[1] == 2\n");
    assert_eq!(
        bad.problems.iter().map(|problem| (problem.line, problem.span.start)).collect::<Vec<_>>(),
        [(1, 11), (3, 16)]
    );
    assert_eq!(bad.text, "0: M[1] == 2\n1: M[1] == 2\ncheck\n");
}

#[test]
fn csv_has_all_that_a_trace_can_say() {
    gives(
        "hart,op,address,size,read,written,marks,begin,end,addr,data,ctrl,pc\n\
         ,init,flag,,7\n\
         0,load,0x1000,8,1,,aq,12,15\n\
         0,\"fence rw,w\"\n\
         0,store,0x1008,8,,3,rl,20,,-2,-2,2,0x80000000\n\
         1,amo,flag,,7,8,aqrl\n\
         1,lr,x,,0\n\
         1,sc,x,,,5\n\
         1,sc-fails,x\n\
         ,check\n\
         2,dmb ishld\n",
        "init flag == 0x7\n\
         0: M[0x1000] == 0x1 aq @ 12:15\n\
         0: fence rw,w\n\
         0: M[0x1008] := 0x3 rl addr(-2) data(-2) ctrl(-2) @ 20: ! 0x80000000\n\
         1: { flag == 7; flag := 8 } aq rl\n\
         1: lr x == 0\n\
         1: sc x := 5\n\
         1: sc x fails\n\
         check\n\
         2: dmb ishld\n\
         check\n",
    );
    let bad = converted("op,hart,address,read\nload,0,x,1\nlaod,0,x,1\nload,0,x\nload,zero,x,1\nload,0,x,1,1\n");
    let reasons: Vec<(u64, &str)> =
        bad.problems.iter().map(|problem| (problem.line, problem.reason.as_str())).collect();
    assert_eq!(reasons[0].0, 3);
    assert!(reasons[0].1.starts_with("`laod` is not known"));
    assert_eq!(
        reasons[1..],
        [
            (4, "the cell `read` is empty"),
            (5, "`zero` is not a number of at most 64 bits"),
            (6, "the header names 4 columns, this row has 5"),
        ]
    );
    assert_eq!(bad.text, "0: x == 1\ncheck\n");
}

#[test]
fn csv_rows_that_are_bad_are_counted() {
    let bad = converted(
        "hart,op,address,size,read,written,addr,marks\n\
         0,load,x,,1\n\
         0,load,y,,\n\
         0,load,z,,1,,-2\n\
         0,load,z,,1,,-2\n\
         0,store,z,,,2\n\
         0,load,z,,2,,-1\n\
         zero,load,z,,2\n\
         0,load,z,,2\n\
         0,load,z,,2,,-1\n\
         0,load,z,,2,,-3\n\
         1,store,0x10,4,,0x100000000\n\
         1,store,name,,,0x1ffffffffffffffff\n\
         1,store,0x10,4,,0xffffffff\n\
         1,load,0x11,4,7,,,aq\n\
         1,fence,,,,,,rl\n",
    );
    assert_eq!(
        bad.text,
        "0: x == 1\n0: z == 1 addr(-1)\n0: z == 1\n0: z := 2\n0: z == 2\n0: z == 2 addr(-1)\n0: z == 2\n\
         1: M[0x10] := 0xffffffff\ncheck\n"
    );
    let reasons: Vec<(u64, &str)> =
        bad.problems.iter().map(|problem| (problem.line, problem.reason.as_str())).collect();
    assert_eq!(
        reasons,
        [
            (3, "the cell `read` is empty"),
            (7, "the row that this depends on returns nothing"),
            (8, "`zero` is not a number of at most 64 bits"),
            (12, "`0x100000000` does not fit into 4 bytes"),
            (13, "`0x1ffffffffffffffff` does not fit into 8 bytes"),
            (15, "an access with marks is aligned to its size"),
            (16, "a barrier has no marks and, but for isb, no dependencies"),
        ]
    );
}

/// A reservation may be of more bytes than were read.
#[test]
fn store_conditionals_to_other_bytes_are_stores() {
    let converted = converted(
        "hart,op,address,size,read,written,marks,ctrl\n\
         0,lr,0x1000,4,0\n\
         0,sc,0x1004,4,,7,rl\n\
         0,store,0x1008,4,,1,,-1\n\
         1,lr,0x1000,4,0\n\
         1,sc,0x1000,4,,7\n\
         1,store,0x1008,4,,2,,-1\n",
    );
    assert_eq!(
        converted.text,
        "0: lr M[0x1000] == 0x0\n0: M[0x1004] := 0x7 rl\n0: M[0x1008] := 0x1\n\
         1: lr M[0x1000] == 0x0\n1: sc M[0x1000] := 0x7\n1: M[0x1008] := 0x2 ctrl(-1)\ncheck\n"
    );
    assert_eq!(converted.notes.len(), 1, "{:?}", converted.notes);
}

#[test]
fn private_memory_can_be_left_out() {
    let text = "core   0: 3 0x0000000080000000 (0x00b53023) mem 0x0000000000002000 0x0000000000000001\n\
                core   0: 3 0x0000000080000004 (0x00b53423) mem 0x0000000000002008 0x0000000000000002\n\
                core   1: 3 0x0000000080000008 (0x00053583) x11 0x0000000000000001 mem 0x0000000000002000\n";
    let converted = convert(text, Format::Spike, Choices { shared: true, zero: false });
    assert_eq!(converted.text, "0: M[0x2000] := 0x1 ! 0x80000000\n1: M[0x2000] == 0x1 ! 0x80000008\ncheck\n");
    assert_eq!(converted.notes, [("accesses of memory that only one hart uses: left out".to_owned(), 1)]);
}
