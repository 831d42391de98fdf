//! Ways of the machine to final states. Catches what no other test does: a step that the machine cannot make, a way that ends
//! elsewhere.

use membar_core::AccessKind;
use membar_litmus::{Limits, LitmusTest, Model, Spot, Transition, outcomes, way};
use membar_testkit::litmus_tests;

/// Makes the steps on its own machine, and returns its memory.
fn made(test: &LitmusTest, model: Model, steps: &[Transition]) -> Vec<u64> {
    let mut memory: Vec<u64> = test.code.cells.iter().map(|cell| cell.init).collect();
    let mut buffers: Vec<Vec<(u32, u64)>> = vec![Vec::new(); test.code.threads.len()];
    for step in steps {
        let buffer = &mut buffers[step.thread as usize];
        let own = buffer.iter().rev().find(|(cell, _)| *cell == step.cell).map(|(_, value)| *value);
        match (step.commit, step.kind) {
            (true, _) => {
                let place = match model {
                    Model::Pso => buffer.iter().position(|(cell, _)| *cell == step.cell),
                    _ => Some(0),
                };
                assert_eq!(Some(buffer.remove(place.expect("a store"))), step.write.map(|value| (step.cell, value)));
                memory[step.cell as usize] = step.write.expect("a value");
            }
            (false, AccessKind::Store) if model != Model::Sc => buffer.push((step.cell, step.write.expect("a value"))),
            (false, AccessKind::Store) => memory[step.cell as usize] = step.write.expect("a value"),
            (false, AccessKind::Load) => assert_eq!(step.read, Some(own.unwrap_or(memory[step.cell as usize]))),
            (false, AccessKind::Rmw) => {
                assert_eq!((own, step.read), (None, Some(memory[step.cell as usize])));
                if let Some(value) = step.write {
                    memory[step.cell as usize] = value;
                }
            }
        }
    }
    assert!(buffers.iter().all(Vec::is_empty), "everything has reached memory");
    memory
}

#[test]
fn every_state_of_the_examples_has_a_way() {
    let mut states = 0;
    for (name, test) in litmus_tests("examples/litmus") {
        for model in Model::ALL {
            for state in outcomes(&test, model, &Limits::default()).states {
                let steps = way(&test, model, &state, &Limits::default()).expect("a way");
                let memory = made(&test, model, &steps);
                for (location, value) in test.locations.iter().zip(&state) {
                    if let Spot::Cell(cell) = location.spot {
                        assert_eq!(location.ty.wrap(memory[cell as usize]), *value, "{name}");
                    }
                }
                states += 1;
            }
            assert_eq!(way(&test, model, &vec![77; test.shown], &Limits::default()), None);
        }
    }
    assert!(states > 100, "{states} states");
}
