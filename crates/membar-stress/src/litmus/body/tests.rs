//! Both engines do what the machine of `membar-litmus` does, thread after thread.

use super::*;
use crate::memory::Memory;
use membar_litmus::is_loop_free;
use membar_testkit::litmus_tests;

const SPACING: usize = 64;

/// Final registers and cells when threads run one after the other in this order, as far as each gets.
fn one_by_one(test: &LitmusTest, engine: Engine, order: &[usize]) -> Vec<Result<Vec<u64>, Trouble>> {
    let words = SPACING / 8;
    let memory = Memory::new(test.code.cells.len() * SPACING + 8).unwrap();
    for (cell, word) in test.code.cells.iter().zip(memory.words().iter().step_by(words)) {
        word.store(cell.init, Ordering::Relaxed);
    }
    let mut results = Vec::new();
    for &thread in order {
        let body = Body::new(test, thread, engine, SPACING).unwrap();
        let registers = Memory::new(body.registers.len() * 8).unwrap();
        let done = body.run(memory.words(), registers.words(), &AtomicBool::new(false), &mut Vec::new());
        let values = registers.words()[..body.registers.len()].iter().map(|word| word.load(Ordering::Relaxed));
        results.push(done.map(|()| values.collect()));
    }
    let cells = test.code.cells.iter().zip(memory.words().iter().step_by(words));
    results.push(Ok(cells.map(|(cell, word)| cell.ty.wrap(word.load(Ordering::Relaxed))).collect()));
    results
}

/// The same by `Code` alone.
fn expected(test: &LitmusTest, order: &[usize]) -> Vec<Result<Vec<u64>, Trouble>> {
    let code = &test.code;
    let mut memory: Vec<u64> = code.cells.iter().map(|cell| cell.init).collect();
    let mut results = Vec::new();
    for &thread in order {
        let (mut pc, mut regs) = (0, code.threads[thread].regs.clone());
        let done = loop {
            match code.settle(thread, &mut pc, &mut regs, |_, _| {}) {
                Settled::Request(request) => {
                    let cell = &mut memory[request.access.addr as usize];
                    let old = *cell;
                    *cell = request.written(old).unwrap_or(old);
                    code.complete(thread, &mut pc, &mut regs, old);
                }
                Settled::Crash(crash) => break Err(Trouble::Crash(crash)),
                _ => break Ok(()),
            }
        };
        let shown = Body::new(test, thread, Engine::Portable, SPACING).unwrap().registers;
        results.push(done.map(|()| shown.iter().map(|&reg| regs[reg as usize]).collect()));
    }
    results.push(Ok(code.cells.iter().zip(memory).map(|(cell, value)| cell.ty.wrap(value)).collect()));
    results
}

fn compare(test: &LitmusTest) {
    let forwards: Vec<usize> = (0..test.code.threads.len()).collect();
    let backwards: Vec<usize> = forwards.iter().rev().copied().collect();
    for order in [forwards, backwards] {
        let expected = expected(test, &order);
        assert_eq!(
            one_by_one(test, Engine::Portable, &order),
            expected,
            "{} {order:?} {:?}",
            test.name,
            test.code.threads
        );
        if cfg!(all(target_arch = "x86_64", target_os = "linux")) {
            assert_eq!(
                one_by_one(test, Engine::Generated, &order),
                expected,
                "{} {order:?} {:?}",
                test.name,
                test.code.threads
            );
        }
    }
}

#[test]
fn the_corpus_one_thread_after_the_other() {
    let mut compared = 0;
    let corpus = ["corpus/litmus", "corpus/native"].into_iter().flat_map(litmus_tests);
    for mut test in corpus.map(|(_, test)| test).filter(is_loop_free) {
        compare(&test);
        // All registers, not only those that the test shows.
        test.locations = (0..test.code.threads.len() as u32)
            .flat_map(|thread| (0..test.code.threads[thread as usize].regs.len() as Reg).map(move |reg| (thread, reg)))
            .map(|(thread, reg)| membar_litmus::Location {
                name: format!("{thread}:{reg}"),
                spot: Spot::Reg { thread, reg },
                ty: membar_litmus::Int::I64,
            })
            .collect();
        compare(&test);
        compared += 1;
    }
    assert!(compared > 15, "{compared}");
}

/// A test with one thread, made of these instructions, that shows all of its registers.
fn one_thread(instrs: Vec<Instr>, regs: Vec<u64>) -> LitmusTest {
    let mut test =
        LitmusTest::parse("t", b"X86_64 T\n{ x=0; y=0; }\n P0 ;\n movl (x),%eax ;\nexists (0:rax=0)").unwrap();
    test.locations.clear();
    for reg in 0..regs.len() as Reg {
        let (name, spot, ty) = (format!("0:{reg}"), Spot::Reg { thread: 0, reg }, membar_litmus::Int::I64);
        test.locations.push(membar_litmus::Location { name, spot, ty });
    }
    test.code.threads[0].instrs = instrs;
    test.code.threads[0].regs = regs;
    test
}

#[test]
fn random_code_of_one_thread() {
    use membar_litmus::{Int, Operand, Update};
    let mut rng = membar_simulate::Rng::new(5);
    for round in 0..2000 {
        let types: Vec<Int> =
            [8, 16, 32, 64].iter().flat_map(|&bits| [true, false].map(|signed| Int { bits, signed })).collect();
        let registers = 1 + rng.below(16) as usize;
        let mut test = one_thread(Vec::new(), (0..registers).map(|_| rng.next() >> rng.below(64)).collect());
        for cell in &mut test.code.cells {
            // As in tests that were read: memory is signed, so that equal values have equal patterns.
            cell.ty = Int { signed: true, ..*rng.pick(&types).unwrap() };
            cell.init = cell.ty.wrap(rng.next());
        }
        let pointer = test.code.cells[0].pointer;
        let length = 1 + rng.below(12);
        let mut instrs = Vec::new();
        for at in 0..length {
            let reg = |rng: &mut membar_simulate::Rng| rng.below(registers as u32) as Reg;
            let operand = |rng: &mut membar_simulate::Rng| match rng.below(2) {
                0 => Operand::Reg(reg(rng)),
                _ => Operand::Value(rng.next() >> rng.below(64)),
            };
            let alu = |rng: &mut membar_simulate::Rng| {
                use membar_litmus::Alu::*;
                *rng.pick(&[Add, Sub, Mul, And, Or, Xor, Shl, Shr, Eq, Ne, Lt, Le, Below]).unwrap()
            };
            let cell = rng.below(test.code.cells.len() as u32);
            let ty = test.code.cells[cell as usize].ty;
            let place = if rng.chance(1, 3) { Place::At(reg(&mut rng)) } else { Place::Cell(cell) };
            let (dst, site, value) = (reg(&mut rng), 0, operand(&mut rng));
            instrs.push(match rng.below(9) {
                0 => Instr::Set { dst, src: Operand::Value(pointer) },
                1 => Instr::Set { dst, src: value },
                2 => Instr::Alu {
                    op: alu(&mut rng),
                    dst,
                    a: operand(&mut rng),
                    b: value,
                    ty: *rng.pick(&types).unwrap(),
                },
                3 => Instr::Load { dst, from: place, ty: Int { signed: rng.chance(1, 2), ..ty }, site },
                4 => Instr::Store { to: place, value, ty, site },
                5 => Instr::Branch { cond: value, unless: rng.chance(1, 2), to: at + 1 + rng.below(3) },
                6 => Instr::Barrier(*rng.pick(&[Barrier::None, Barrier::Store, Barrier::Full]).unwrap()),
                _ => {
                    let update = match rng.below(3) {
                        0 => Update::Exchange,
                        1 => Update::CompareExchange { expected: operand(&mut rng) },
                        _ => Update::Apply(alu(&mut rng)),
                    };
                    Instr::Rmw { update, dst, at: Place::Cell(cell), value, ty, site }
                }
            });
        }
        test.code.threads[0].instrs = instrs;
        test.name = format!("random {round}");
        compare(&test);
    }
}

#[test]
fn an_endless_thread_can_be_stopped() {
    let test = one_thread(vec![Instr::Jump { to: 0 }], vec![0; 12]);
    let memory = Memory::new(1000).unwrap();
    for engine in [Engine::default(), Engine::Portable] {
        let body = Body::new(&test, 0, engine, SPACING).unwrap();
        let stopped = body.run(memory.words(), memory.words(), &AtomicBool::new(true), &mut Vec::new());
        assert_eq!(stopped, Err(Trouble::Stopped));
    }
}
