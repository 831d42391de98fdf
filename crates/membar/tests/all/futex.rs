//! Random small programs that wait and wake, against all interleavings of an obvious machine.
//! Catches what no other test does: a wake-up that reaches a thread it should not, or an outcome of futexes and condition
//! variables that is never explored.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::common;

use common::Files;
use membar_simulate::Rng;
use serde_json::Value;
use std::collections::{BTreeSet, HashSet};

/// Runs the operations that its arguments name, one argument per thread, and ends with a status that says what came of them.
const INTERPRETER: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static atomic_int word[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static const struct timespec limit = {2000000000, 0};
static char *texts[4];
static unsigned results[4];
static unsigned waited(long result)
{
    return result == 0 ? 0 : errno == EAGAIN ? 1 : errno == ETIMEDOUT ? 2 : 3;
}
static void *run(void *p)
{
    long me = (long)p;
    unsigned result = 0;
    for (const char *op = texts[me]; *op; op += 4) {
        int a = op[1] - '0', b = op[2] - '0', c = op[3] - '0';
        unsigned got = 0;
        int error;
        switch (*op) {
        case 's': atomic_store(&word[a], b); continue;
        case 'a': atomic_fetch_add(&word[a], b); continue;
        case 'w': got = waited(syscall(SYS_futex, &word[a], FUTEX_WAIT, b, 0, 0, 0)); break;
        case 't': got = waited(syscall(SYS_futex, &word[a], FUTEX_WAIT, b, &limit, 0, 0)); break;
        case 'B': got = waited(syscall(SYS_futex, &word[a], FUTEX_WAIT_BITSET, b, 0, 0, c)); break;
        case 'k': got = syscall(SYS_futex, &word[a], FUTEX_WAKE, b, 0, 0, 0); break;
        case 'K': got = syscall(SYS_futex, &word[a], FUTEX_WAKE_BITSET, b, 0, 0, c); break;
        case 'r': got = syscall(SYS_futex, &word[a], FUTEX_REQUEUE, b, c, &word[1 - a], 0); break;
        case 'o': got = syscall(SYS_futex, &word[a], FUTEX_WAKE_OP, 1, 1, &word[1 - a], FUTEX_OP(FUTEX_OP_ADD, b, FUTEX_OP_CMP_EQ, c)); break;
        case 'C':
            pthread_mutex_lock(&mutex);
            pthread_cond_wait(&condition, &mutex);
            pthread_mutex_unlock(&mutex);
            continue;
        case 'D':
            pthread_mutex_lock(&mutex);
            error = pthread_cond_timedwait(&condition, &mutex, &limit);
            pthread_mutex_unlock(&mutex);
            got = error == ETIMEDOUT ? 2 : 0;
            break;
        case 'S': pthread_cond_signal(&condition); continue;
        case 'A': pthread_cond_broadcast(&condition); continue;
        }
        result = 4 * result + got;
    }
    results[me] = result;
    return 0;
}
int main(int argc, char **argv)
{
    pthread_t threads[4];
    for (long i = 0; i + 1 < argc; i++) {
        texts[i] = argv[i + 1];
        pthread_create(&threads[i], 0, run, (void *)i);
    }
    unsigned outcome = 7;
    for (int i = 0; i + 1 < argc; i++) {
        pthread_join(threads[i], 0);
        outcome = 31 * outcome + results[i];
    }
    for (int i = 0; i < 2; i++)
        outcome = 31 * outcome + atomic_load(&word[i]);
    return 1 + outcome % 253;
}
"#;

/// The condition variable's queue; the others are those of the words.
const CONDITION: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Asleep {
    queue: u8,
    bits: u8,
    timed: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Thread {
    pc: usize,
    result: u32,
    asleep: Option<Asleep>,
    /// Operations in which it woke up without a reason.
    surprised: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct State {
    words: [u8; 2],
    threads: Vec<Thread>,
}

struct Machine<'a> {
    program: &'a [Vec<[u8; 4]>],
    spurious: bool,
    seen: HashSet<State>,
    statuses: BTreeSet<u32>,
    deadlock: bool,
}

/// All ways to take this many of these.
fn subsets(of: &[usize], n: usize) -> Vec<Vec<usize>> {
    if n >= of.len() {
        return vec![of.to_vec()];
    }
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = subsets(&of[1..], n);
    all.extend(subsets(&of[1..], n - 1).into_iter().map(|rest| [&of[..1], &rest].concat()));
    all
}

impl State {
    fn step(&mut self, thread: usize, result: Option<u32>) {
        let thread = &mut self.threads[thread];
        thread.pc += 1;
        thread.asleep = None;
        if let Some(result) = result {
            thread.result = 4 * thread.result + result;
        }
    }

    /// The threads that wait in a queue and may be woken with these bits.
    fn waiting(&self, queue: u8, bits: u8) -> Vec<usize> {
        let fits =
            |thread: &Thread| thread.asleep.is_some_and(|asleep| asleep.queue == queue && asleep.bits & bits != 0);
        (0..self.threads.len()).filter(|&i| fits(&self.threads[i])).collect()
    }
}

impl Machine<'_> {
    /// Delivers the result to a sleeping thread when it wakes up.
    fn woken(&self, state: &mut State, thread: usize) {
        let op = self.program[thread][state.threads[thread].pc][0];
        state.step(thread, (op != b'C').then_some(0));
    }

    /// The states after waking this many, each with those who were.
    fn wake(&self, state: &State, queue: u8, n: usize, bits: u8) -> Vec<(State, u32)> {
        let each = subsets(&state.waiting(queue, bits), n).into_iter().map(|some| {
            let mut next = state.clone();
            some.iter().for_each(|&thread| self.woken(&mut next, thread));
            (next, some.len() as u32)
        });
        each.collect()
    }

    fn next(&self, state: &State, thread: usize) -> Vec<State> {
        let this = &state.threads[thread];
        let Some(&[op, a, b, c]) = self.program[thread].get(this.pc) else { return Vec::new() };
        let [a, b, c] = [a, b, c].map(|digit| digit - b'0');
        let mut next = state.clone();
        if let Some(asleep) = this.asleep {
            let mut all = Vec::new();
            if asleep.timed {
                next.step(thread, Some(2));
                all.push(next);
            }
            if self.spurious && !this.surprised.contains(&op) {
                let mut next = state.clone();
                next.threads[thread].surprised.push(op);
                next.threads[thread].surprised.sort_unstable();
                self.woken(&mut next, thread);
                all.push(next);
            }
            return all;
        }
        let word = usize::from(a % 2);
        match op {
            b's' => next.words[word] = b,
            b'a' => next.words[word] += b,
            b'w' | b't' | b'B' if next.words[word] != b => {
                next.step(thread, Some(1));
                return vec![next];
            }
            b'w' | b't' | b'B' | b'C' | b'D' => {
                let bits = if op == b'B' { c } else { 255 };
                let queue = if op == b'C' || op == b'D' { CONDITION } else { a };
                next.threads[thread].asleep = Some(Asleep { queue, bits, timed: op == b't' || op == b'D' });
                return vec![next];
            }
            b'k' | b'K' | b'S' | b'A' => {
                let (queue, n, bits) = match op {
                    b'k' => (a, usize::from(b), 255),
                    b'K' => (a, usize::from(b), c),
                    b'S' => (CONDITION, 1, 255),
                    _ => (CONDITION, usize::MAX, 255),
                };
                let told = |n: u32| (op == b'k' || op == b'K').then_some(n);
                let woken = self.wake(state, queue, n, bits).into_iter();
                return woken
                    .map(|(mut next, n)| {
                        next.step(thread, told(n));
                        next
                    })
                    .collect();
            }
            b'r' => {
                let mut all = Vec::new();
                for (woken, n) in self.wake(state, a, usize::from(b), 255) {
                    for moved in subsets(&woken.waiting(a, 255), usize::from(c)) {
                        let mut next = woken.clone();
                        for &other in &moved {
                            let asleep = next.threads[other].asleep.as_mut().expect("it waits");
                            asleep.queue = 1 - a;
                        }
                        next.step(thread, Some(n + moved.len() as u32));
                        all.push(next);
                    }
                }
                return all;
            }
            _ => {
                let old = next.words[1 - word];
                next.words[1 - word] += b;
                let mut all = Vec::new();
                for (first, n) in self.wake(&next, a, 1, 255) {
                    let more = if old == c { self.wake(&first, 1 - a, 1, 255) } else { vec![(first, 0)] };
                    for (mut next, m) in more {
                        next.step(thread, Some(n + m));
                        all.push(next);
                    }
                }
                return all;
            }
        }
        next.step(thread, None);
        vec![next]
    }

    fn run(&mut self, state: State) {
        if !self.seen.insert(state.clone()) {
            return;
        }
        let mut end = true;
        for thread in 0..self.program.len() {
            // Nobody may rely on waking up without a reason.
            let relied_on = state.threads[thread].asleep.is_none_or(|asleep| asleep.timed);
            for next in self.next(&state, thread) {
                end &= !relied_on;
                self.run(next);
            }
        }
        if !end {
            return;
        }
        if state.threads.iter().any(|thread| thread.asleep.is_some()) {
            self.deadlock = true;
            return;
        }
        let results = state.threads.iter().map(|thread| thread.result);
        let words = state.words.iter().map(|&word| u32::from(word));
        let outcome = results.chain(words).fold(7u32, |outcome, part| outcome.wrapping_mul(31).wrapping_add(part));
        self.statuses.insert(1 + outcome % 253);
    }
}

fn random(rng: &mut Rng) -> Vec<Vec<[u8; 4]>> {
    let pick = |rng: &mut Rng, n: u32| rng.below(n) as u8 + b'0';
    let conditions = rng.below(3) == 0;
    let threads = 2 + rng.below(2) as usize;
    let op = |rng: &mut Rng| {
        let kind =
            if conditions { b"sCCDSSAwk"[rng.below(9) as usize] } else { b"sawwwtBkkKro"[rng.below(12) as usize] };
        let [a, b, c] = [pick(rng, 2), pick(rng, 2), pick(rng, 2)];
        match kind {
            // A wake-up of nobody is one of somebody, and no bits are an error.
            b'k' => [kind, a, b + 1, c],
            b'K' | b'B' => [kind, a, b + u8::from(kind == b'K'), 1 + pick(rng, 3)],
            _ => [kind, a, b, c],
        }
    };
    (0..threads).map(|_| (0..1 + rng.below(3)).map(|_| op(rng)).collect()).collect()
}

#[test]
#[ignore = "long"]
fn waiting_and_waking_have_the_outcomes_of_an_obvious_machine() {
    let files = Files::new(&[("interpreter.c", INTERPRETER.as_bytes())]);
    let compiled = files.run(&["cc", "-O1", "-g", "interpreter.c", "-o", "interpreter", "-pthread"]);
    assert_eq!(compiled.code, 0, "{}", compiled.err);
    let mut rng = Rng::new(15);
    let (mut deadlocks, mut outcomes) = (0, 0);
    for round in 0..120 {
        let program = random(&mut rng);
        let spurious = round % 3 == 0;
        let texts: Vec<String> =
            program.iter().map(|ops| ops.iter().flatten().map(|&byte| char::from(byte)).collect()).collect();
        let mut args = vec!["verify", "./interpreter", "--format", "json", "--time", "120s"];
        if spurious {
            args.extend(["--assume", "spurious-wakeups"]);
        }
        args.push("--");
        args.extend(texts.iter().map(String::as_str));
        let ran = files.run(&args);
        let report: Value =
            common::only(serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{args:?}: {}{}", ran.out, ran.err)));
        assert_eq!(report["complete"], true, "{args:?}: {}", ran.out);
        let (mut statuses, mut deadlock) = (BTreeSet::new(), false);
        for error in report["errors"].as_array().expect("errors") {
            let message = error["message"].as_str().expect("a message");
            match message.split_once("the program ends with status ") {
                Some((_, status)) => {
                    let digits: String = status.chars().take_while(char::is_ascii_digit).collect();
                    statuses.insert(digits.parse::<u32>().expect("a status"));
                }
                None if error["kind"] == "deadlock" => deadlock = true,
                None => panic!("{args:?}: {message}"),
            }
        }
        let mut machine =
            Machine { program: &program, spurious, seen: HashSet::new(), statuses: BTreeSet::new(), deadlock: false };
        machine.run(State { words: [0; 2], threads: vec![Thread::default(); program.len()] });
        assert_eq!((deadlock, &statuses), (machine.deadlock, &machine.statuses), "{args:?}");
        deadlocks += u32::from(deadlock);
        outcomes += statuses.len();
    }
    assert!(deadlocks > 20 && outcomes > 100, "{deadlocks} deadlocks, {outcomes} outcomes");
}

#[test]
fn a_safe_program_that_waits_says_that_spurious_wake_ups_were_not_tried() {
    let waits = "#include <pthread.h>
        static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
        static int set;
        static void *run(void *p) {
            pthread_mutex_lock(&m); set = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m); return p;
        }
        int main(void) {
            pthread_t t;
            pthread_create(&t, 0, run, 0);
            pthread_mutex_lock(&m);
            while (!set) pthread_cond_wait(&c, &m);
            pthread_mutex_unlock(&m);
            pthread_join(t, 0);
            return 0;
        }";
    let files = Files::new(&[("waits.c", waits.as_bytes()), ("idle.c", b"int main(void) { return 0; }")]);
    let note = "spurious wake-ups were not tried (--assume spurious-wakeups)";
    let ran = files.run(&["verify", "waits.c"]);
    assert!(ran.code == 0 && ran.out.contains(note), "{}{}", ran.out, ran.err);
    let json = files.run(&["verify", "waits.c", "--format", "json"]);
    let report: Value = common::only(serde_json::from_str(&json.out).expect("JSON"));
    assert_eq!((&report["notes"][0]["kind"], &report["notes"][0]["message"]), (&"untried".into(), &note.into()));
    for args in [&["verify", "waits.c", "--assume", "spurious-wakeups"][..], &["verify", "idle.c"]] {
        let ran = files.run(args);
        assert!(ran.code == 0 && !ran.out.contains("spurious"), "{}{}", ran.out, ran.err);
    }
}
