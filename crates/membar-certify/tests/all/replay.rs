//! Claimed executions of small programs: possible ones are replayed, others are refused with the reason.

use Step::{Commit, Issue};
use membar_certify::replay::{self, Cause, Event, Link, Read, Refusal, Relation, Replayed};
use membar_core::MachineStep as Step;
use membar_core::{Access, AccessKind, Barrier, C11, Claim, Halt, Relaxation, Threads};
use membar_litmus::{Cell, Code, Instr, Int, LitmusThreads, Operand, Place, Site, ThreadCode, Update};

const X: u32 = 0;
const Y: u32 = 1;
const TSO: Relaxation = Relaxation::Tso;
const PSO: Relaxation = Relaxation::Pso;

fn store(to: u32, value: u64) -> Instr {
    Instr::Store { to: Place::Cell(to), value: Operand::Value(value), ty: Int::I32, site: 0 }
}

fn load(from: u32) -> Instr {
    Instr::Load { dst: 0, from: Place::Cell(from), ty: Int::I32, site: 0 }
}

fn exchange(at: u32) -> Instr {
    Instr::Rmw {
        update: Update::Exchange,
        dst: 0,
        at: Place::Cell(at),
        value: Operand::Value(7),
        ty: Int::I32,
        site: 0,
    }
}

fn code(threads: &[&[Instr]]) -> Code {
    let cell = |name: &str, pointer| Cell { name: name.into(), pointer, ty: Int::I32, init: 0 };
    Code {
        threads: threads
            .iter()
            .map(|instrs| ThreadCode { instrs: instrs.to_vec(), regs: vec![0], temps: Vec::new() })
            .collect(),
        cells: vec![cell("x", 0x1000), cell("y", 0x1008)],
        sites: vec![Site { thread: 0, line: 1, column: 1, text: "any".into(), c11: C11::default() }],
    }
}

fn store_buffering(barrier: Barrier) -> Code {
    code(&[&[store(X, 1), Instr::Barrier(barrier), load(Y)], &[store(Y, 1), Instr::Barrier(barrier), load(X)]])
}

fn replay(code: &Code, machine: Relaxation, steps: &[Step]) -> Result<Replayed, Refusal> {
    replay::replay(&mut LitmusThreads::new(code), machine, steps)
}

fn halts(thread: u32, halt: Halt) -> Cause {
    Cause::Halts { thread, halt }
}

fn cause(answer: Result<Replayed, Refusal>) -> (usize, Cause) {
    let refusal = answer.expect_err("it is not possible");
    assert!(!refusal.to_string().is_empty());
    (refusal.step, refusal.cause)
}

const BOTH_MISS: [Step; 6] = [Issue(0), Issue(1), Issue(0), Issue(1), Commit(0, X, 0), Commit(1, Y, 0)];

#[test]
fn store_buffering_has_its_cycle() {
    for machine in [TSO, PSO] {
        let replayed = replay(&store_buffering(Barrier::Store), machine, &BOTH_MISS).expect("it is possible");
        let event = |thread, index| Event { thread, index };
        let cycle = replayed.cycle.expect("it is not sequential");
        let expected = [
            Link { event: event(0, 0), relation: Relation::Po },
            Link { event: event(0, 1), relation: Relation::Fr },
            Link { event: event(1, 0), relation: Relation::Po },
            Link { event: event(1, 1), relation: Relation::Fr },
        ];
        assert_eq!(cycle, expected);
        assert_eq!(replayed.trace.threads[1][1].read, Some(Read { source: None, memory: None, value: 0 }));
        assert_eq!(replayed.trace.order, [[event(0, 0)], [event(1, 0)]]);
    }
}

#[test]
fn a_sequential_execution_has_no_cycle() {
    let steps = [Issue(0), Commit(0, X, 0), Issue(0), Issue(1), Issue(1), Commit(1, Y, 0)];
    let replayed = replay(&store_buffering(Barrier::None), TSO, &steps).expect("it is possible");
    assert_eq!(replayed.cycle, None);
    let store = Some(Event { thread: 0, index: 0 });
    let read = Read { source: store, memory: store, value: 1 };
    assert_eq!(replayed.trace.threads[1][1].read, Some(read));
    // Nothing at all is an execution too.
    assert_eq!(replay(&store_buffering(Barrier::None), TSO, &[]).map(|replayed| replayed.cycle), Ok(None));
}

#[test]
fn full_barriers_and_interlocked_operations_wait() {
    let answer = replay(&store_buffering(Barrier::Full), PSO, &BOTH_MISS);
    assert_eq!(cause(answer), (2, Cause::Waits { thread: 0, behind: X }));
    let other = code(&[&[store(X, 1), exchange(Y)]]);
    assert_eq!(cause(replay(&other, TSO, &[Issue(0), Issue(0)])), (1, Cause::Waits { thread: 0, behind: X }));
    assert!(replay(&other, PSO, &[Issue(0), Issue(0), Commit(0, X, 0)]).is_ok());
    let own = code(&[&[store(X, 1), exchange(X)]]);
    assert_eq!(cause(replay(&own, PSO, &[Issue(0), Issue(0)])), (1, Cause::Waits { thread: 0, behind: X }));
    let behind = code(&[&[store(X, 1), Instr::Barrier(Barrier::Store), exchange(Y)]]);
    assert_eq!(cause(replay(&behind, PSO, &[Issue(0), Issue(0)])), (1, Cause::Waits { thread: 0, behind: X }));
}

#[test]
fn stores_commit_in_the_order_of_the_machine() {
    let plain = code(&[&[store(X, 1), store(Y, 1)]]);
    let steps = [Issue(0), Issue(0), Commit(0, Y, 0), Commit(0, X, 0)];
    assert_eq!(cause(replay(&plain, TSO, &steps)), (2, Cause::Behind { thread: 0, addr: Y, first: X }));
    assert!(replay(&plain, PSO, &steps).is_ok());
    let ordered = code(&[&[store(X, 1), Instr::Barrier(Barrier::Store), load(X), store(Y, 1)]]);
    let steps = [Issue(0), Issue(0), Issue(0), Commit(0, Y, 0), Commit(0, X, 0)];
    assert_eq!(cause(replay(&ordered, PSO, &steps)), (3, Cause::Behind { thread: 0, addr: Y, first: X }));
}

#[test]
fn nonsense_is_refused() {
    let program = store_buffering(Barrier::None);
    assert_eq!(cause(replay(&program, TSO, &[Issue(2)])), (0, Cause::NoThread(2)));
    assert_eq!(cause(replay(&program, TSO, &[Commit(u32::MAX, X, 0)])), (0, Cause::NoThread(u32::MAX)));
    assert_eq!(cause(replay(&program, TSO, &[Commit(0, X, 0)])), (0, Cause::NotBuffered { thread: 0, addr: X }));
    assert_eq!(
        cause(replay(&program, PSO, &[Issue(0), Commit(0, 9, 0)])),
        (1, Cause::NotBuffered { thread: 0, addr: 9 })
    );
    assert_eq!(cause(replay(&program, TSO, &[Issue(0), Issue(0)])), (2, Cause::Left { thread: 0, addr: X }));
    assert_eq!(cause(replay(&program, TSO, &[Issue(0), Issue(0), Issue(0)])), (2, halts(0, Halt::Ended)));
    let wild = code(&[&[Instr::Load { dst: 0, from: Place::At(0), ty: Int::I32, site: 0 }]]);
    assert_eq!(cause(replay(&wild, TSO, &[Issue(0)])), (0, halts(0, Halt::Wild { pointer: 0 })));
    let endless = code(&[&[Instr::Jump { to: 0 }]]);
    assert_eq!(cause(replay(&endless, TSO, &[Issue(0)])), (0, halts(0, Halt::Endless)));
}

/// A long execution with a cycle at its end takes no noticeable time.
#[test]
fn long_executions() {
    let mut first: Vec<Instr> = (0..5000).flat_map(|i| [store(X, i), load(Y)]).collect();
    first.extend([store(X, 1), load(Y)]);
    let second = vec![store(Y, 1), load(X)];
    let mut steps: Vec<Step> = (0..5000).flat_map(|_| [Issue(0), Commit(0, X, 0), Issue(0)]).collect();
    steps.extend(BOTH_MISS);
    let replayed = replay(&code(&[&first, &second]), TSO, &steps).expect("it is possible");
    assert_eq!(replayed.cycle.expect("it is not sequential").len(), 4);
}

/// Each thread stores 1 to its own address and then takes a lock at the other's, which is held while that is 1. What is in
/// memory shows only when it is asked for.
#[derive(Default)]
struct Locks {
    made: [u32; 2],
    memory: std::collections::BTreeMap<u32, u64>,
}

const FAR: [u32; 2] = [40, 70];

impl Threads for Locks {
    fn threads(&self) -> usize {
        2
    }

    fn next(&mut self, thread: usize) -> Result<Access, Halt> {
        let t = thread as u32;
        let (kind, addr) = match self.made[thread] {
            0 => (AccessKind::Store, FAR[thread]),
            1 => (AccessKind::Load, FAR[1 - thread]),
            _ => return Err(Halt::Fault),
        };
        if kind == AccessKind::Load && self.value(addr) == 1 {
            return Err(Halt::Blocked { addr });
        }
        Ok(Access {
            kind,
            barrier: Barrier::None,
            c11: C11::default(),
            part: 0,
            addr,
            site: 2 * t + self.made[thread],
            expected: None,
        })
    }

    fn perform(&mut self, thread: usize, _: u64) -> Option<u64> {
        self.made[thread] += 1;
        (self.made[thread] == 1).then_some(1)
    }

    fn value(&mut self, addr: u32) -> u64 {
        self.memory.get(&addr).copied().unwrap_or(0)
    }

    fn set(&mut self, addr: u32, value: u64) {
        self.memory.insert(addr, value);
    }
}

#[test]
fn any_program_can_be_replayed() {
    let commits = [Commit(0, FAR[0], 0), Commit(1, FAR[1], 0)];
    let steps = [&[Issue(0), Issue(1), Issue(0), Issue(1)], &commits[..]].concat();
    let replayed = replay::replay(&mut Locks::default(), TSO, &steps).expect("it is possible");
    assert_eq!(replayed.cycle.map(|cycle| cycle.len()), Some(4));
    assert_eq!(replayed.trace.order[70], [Event { thread: 1, index: 0 }]);
    let claim = |thread, site, read| Claim { thread, site, read };
    let claims = [claim(0, 0, None), claim(0, 1, Some(0)), claim(1, 2, None), claim(1, 3, Some(0))];
    assert!(replay::confirms(&mut Locks::default(), TSO, &steps, &claims));
    assert!(!replay::confirms(&mut Locks::default(), TSO, &steps, &claims[..3]));
    // In memory, it blocks; and after the end there is nothing.
    let steps = [Issue(0), Commit(0, FAR[0], 0), Issue(1), Issue(1)];
    let answer = replay::replay(&mut Locks::default(), TSO, &steps);
    assert_eq!(cause(answer), (3, halts(1, Halt::Blocked { addr: FAR[0] })));
    let answer = replay::replay(&mut Locks::default(), TSO, &[Issue(0), Issue(0), Issue(0)]);
    assert_eq!(cause(answer), (2, halts(0, Halt::Fault)));
}
