//! C11 litmus tests in shorthand, and those of the corpus.
//!
//! Statements are separated by `;`, threads by `||`:
//!
//! | shorthand | statement |
//! |---|---|
//! | `x=1 rel`, `x=1 na` | a store, an assignment |
//! | `r0=x acq`, `r0=x na` | a load, a plain read |
//! | `r0=xchg x 2 rlx`, `r0=add x 1 rlx` | exchange and fetch_add |
//! | `r0=cas x 0 1 ar acq` | compare-exchange from 0 to 1; `r0` is what was there |
//! | `F rel` | a fence |
//! | `if (r0 == 1) {`, `}` | as in C |

use membar_litmus::LitmusTest;
use std::path::Path;

fn order(word: &str) -> &'static str {
    match word {
        "rlx" => "memory_order_relaxed",
        "acq" => "memory_order_acquire",
        "rel" => "memory_order_release",
        "ar" => "memory_order_acq_rel",
        "sc" => "memory_order_seq_cst",
        _ => panic!("{word} is not an order"),
    }
}

fn statement(text: &str) -> String {
    let words: Vec<&str> = text.split([' ', '=']).filter(|word| !word.is_empty()).collect();
    match words[..] {
        ["if", ..] | ["}"] => text.into(),
        ["F", o] => format!("atomic_thread_fence({});", order(o)),
        [r, "cas", x, old, new, yes, no] => {
            let orders = format!("{}, {}", order(yes), order(no));
            format!("int {r} = {old}; atomic_compare_exchange_strong_explicit({x}, &{r}, {new}, {orders});")
        }
        [r, "xchg", x, v, o] => format!("int {r} = atomic_exchange_explicit({x}, {v}, {});", order(o)),
        [r, "add", x, v, o] => format!("int {r} = atomic_fetch_add_explicit({x}, {v}, {});", order(o)),
        [r, x, "na"] if r.starts_with('r') => format!("int {r} = *{x};"),
        [r, x, o] if r.starts_with('r') => format!("int {r} = atomic_load_explicit({x}, {});", order(o)),
        [x, v, "na"] => format!("*{x} = {v};"),
        [x, v, o] => format!("atomic_store_explicit({x}, {v}, {});", order(o)),
        _ => panic!("{text} is not a statement"),
    }
}

fn body(thread: &str) -> String {
    thread.split(';').map(|part| statement(part.trim())).collect::<Vec<_>>().join("\n")
}

/// The test with these threads.
///
/// # Panics
///
/// If it is not written as the module says.
pub fn litmus(name: &str, threads: &str, exists: &str) -> LitmusTest {
    let mut text = format!("C {name}\n{{}}\n");
    for (t, thread) in threads.split("||").enumerate() {
        let parameters = ["x", "y", "z"].map(|cell| format!("atomic_int* {cell}")).join(", ");
        text.push_str(&format!("P{t} ({parameters}) {{\n{}\n}}\n", body(thread)));
    }
    text.push_str(&format!("exists ({exists})\n"));
    LitmusTest::parse(name, text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"))
}

/// The same threads as a C program with POSIX threads.
///
/// # Panics
///
/// If they are not written as the module says.
pub fn program(threads: &str) -> String {
    let mut text = "#include <pthread.h>\n#include <stdatomic.h>\nstatic atomic_int cells[3];\n".to_owned();
    text.push_str("#define x (&cells[0])\n#define y (&cells[1])\n#define z (&cells[2])\n");
    let threads: Vec<&str> = threads.split("||").collect();
    let each = |words: &dyn Fn(usize) -> String| (0..threads.len()).map(words).collect::<String>();
    text.push_str(&each(&|t| format!("static void *t{t}(void *arg)\n{{\n{}\nreturn arg;\n}}\n", body(threads[t]))));
    let created = each(&|t| format!("pthread_create(&t[{t}], 0, t{t}, 0);\n"));
    let joined = each(&|t| format!("pthread_join(t[{t}], 0);\n"));
    text + &format!("int main(void)\n{{\npthread_t t[{}];\n{created}{joined}return 0;\n}}\n", threads.len())
}

/// A test of the corpus.
#[derive(Clone, Debug)]
pub struct Known {
    /// The test, which asks for an outcome that SC forbids.
    pub test: LitmusTest,
    /// Its name and its threads in shorthand.
    pub title: String,
    /// How many consistent graphs RC11 has.
    pub rc11: usize,
    /// How many SC has. If they are as many, RC11 forbids the outcome too.
    pub sc: usize,
}

/// The tests of `corpus/litmus/c11.tsv`.
///
/// # Panics
///
/// If the file is not there, or not as its first line says.
pub fn corpus() -> Vec<Known> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/litmus/c11.tsv");
    let text = std::fs::read_to_string(path).expect("the corpus");
    let row = |line: &str| {
        let [name, threads, exists, rc11, sc, why] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("six columns: {line}")
        };
        assert!(!why.is_empty(), "{line}");
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("a number: {line}"));
        Known {
            test: litmus(name, threads, exists),
            title: format!("{name}: {threads}"),
            rc11: number(rc11),
            sc: number(sc),
        }
    };
    text.lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

/// A program of `corpus/litmus/graphs.tsv`.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Its threads, in shorthand.
    pub threads: String,
    /// How many consistent graphs RC11 has.
    pub rc11: usize,
    /// How many SC has. If they are as many, the program is robust.
    pub sc: usize,
}

/// The programs of `corpus/litmus/graphs.tsv`.
///
/// # Panics
///
/// If the file is not there, or not as its first line says.
pub fn counted() -> Vec<Counted> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/litmus/graphs.tsv");
    let text = std::fs::read_to_string(path).expect("the corpus");
    let row = |line: &str| {
        let [threads, rc11, sc] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("three columns: {line}") };
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("a number: {line}"));
        Counted { threads: threads.into(), rc11: number(rc11), sc: number(sc) }
    };
    text.lines().filter(|line| !line.starts_with('#')).map(row).collect()
}
