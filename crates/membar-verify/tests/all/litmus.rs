//! Verification and final states are different programs: a test that is safe has the final states of SC and no others.

use membar_core::Relaxation;
use membar_explore::Strategy;
use membar_litmus::{Interpreter, Limits, LitmusTest, Model, outcomes};
use membar_verify::{Settings, Verdict, Watching, verify};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn litmus_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "litmus"));
    files.sort();
    files
}

#[test]
fn safe_tests_have_the_states_of_sc() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = litmus_files(&root.join("corpus/litmus"));
    files.extend(litmus_files(&root.join("examples/litmus")));
    assert!(files.len() > 40, "only {} tests", files.len());
    // Published tests, where they are at hand.
    files.extend(litmus_files(&root.join("../shared/data/litmus")));
    let (mut safe, mut seen) = (0, 0);
    for file in &files {
        let name = file.file_name().unwrap().to_string_lossy();
        let test = LitmusTest::parse(&name, &std::fs::read(file).unwrap()).unwrap_or_else(|e| panic!("{}", e.render()));
        let states = |model| {
            let outcomes = outcomes(&test, model, &Limits::default());
            assert!(outcomes.complete, "{name}");
            outcomes.states
        };
        for (model, machine) in [(Relaxation::Tso, Model::Tso), (Relaxation::Pso, Model::Pso)] {
            let program = Interpreter::new(Arc::new(test.code.clone()));
            let settings = Settings {
                strategy: Strategy::Dpor,
                watching: Watching::Class,
                max_steps: 1000,
                ..Settings::new(model)
            };
            let result = verify(&program, settings);
            assert!(result.search.is_complete(), "{name}");
            let more = states(machine) != states(Model::Sc);
            match result.verdict() {
                Verdict::Unsafe => {}
                verdict => {
                    assert!(!more, "{name} is {verdict:?} under {}, but has more states than under sc", model.name());
                    safe += 1;
                }
            }
            seen += usize::from(more);
        }
    }
    assert!(safe >= 10 && seen >= 10, "{safe} safe, {seen} with more states");
}
