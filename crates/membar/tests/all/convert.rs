//! `membar convert`: logs become traces that can be checked; the exit code says whether all of them did.

use crate::common;

use common::{Files, run_with};

const LOG: &str = "core   0: 3 0x0000000080000006 (0xc10c) mem 0x0000000080002000 0x00000001\n\
                   core   1: 3 0x0000000080000024 (0x4110) x12 0x0000000000000001 mem 0x0000000080002000\n";

#[test]
fn a_log_is_converted_and_checked() {
    let files = Files::new(&[("run.log", LOG.as_bytes())]);
    let ran = files.run(&["convert", "run.log", "-o", "run.trace"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert_eq!(ran.err, "converted 2 operations of 1 trace from run.log (spike)\n");
    assert_eq!(files.run(&["check", "-m", "rvwmo", "run.trace"]).code, 0);
    let wrong = run_with(&["convert", "-"], LOG.replace("x12 0x0000000000000001", "x12 0x0000000000000007").as_bytes());
    assert_eq!(wrong.code, 0);
    assert_eq!(run_with(&["check", "-m", "rvwmo", "-"], wrong.out.as_bytes()).code, 1);
}

#[test]
fn what_is_not_converted_has_a_place_and_an_exit_code() {
    let ran = run_with(&["convert", "--from", "spike", "-"], format!("{LOG}core   1: 3 0x80 x\n").as_bytes());
    assert_eq!(ran.code, 2);
    assert!(ran.out.ends_with("check\n"), "{}", ran.out);
    assert!(ran.err.contains("--> <stdin>:3:18"), "{}", ran.err);
    assert!(ran.err.ends_with("1 line not converted\n"), "{}", ran.err);
    let unknown = run_with(&["convert", "-"], b"hello\n");
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
    assert!(unknown.err.contains("the format of this file is not known"), "{}", unknown.err);
    assert_eq!(run_with(&["convert", "no-such-file"], b"").code, 2);
}
