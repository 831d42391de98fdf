//! The form of a proof that is shown is a proof, on every forbidden trace that random machines make.
//! Catches what no other test does: a rewriting that the command would silently take back.

use membar::report::{Decided, Report, readable, text::Text};
use membar::{Certifier, Checker, Limits, Verdict};
use membar_testkit::{Small, small};

#[test]
fn readable_proofs_are_proofs() {
    let (mut checker, mut certifier) = (Checker::new(), Certifier::new());
    let (mut rewritten, mut forbidden) = (0, 0);
    for seed in 0..3000 {
        let trace = small(&Small::ALL, seed);
        for model in membar::model::builtins() {
            let outcome = checker.check(&trace, model, &Limits::default());
            let Verdict::Forbidden(proof) = outcome.verdict else { continue };
            forbidden += 1;
            let shown = readable(proof.clone(), model);
            certifier.proof(&trace, model, &shown).unwrap_or_else(|flaw| panic!("seed {seed}, {}: {flaw}", model.name));
            assert!(shown.len() <= proof.len());
            rewritten += usize::from(shown != proof);
            // Words are found for whatever it holds.
            let verdict = Verdict::Forbidden(shown);
            let report = Report::new(&Decided::new("t", 0, &trace, model, &verdict));
            let mut out = Vec::new();
            Text::default().report(&report, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            for nonsense in ["line 0", "  ,", "( ", "of it ", "()"] {
                assert!(!text.contains(nonsense), "seed {seed}, {}\n{text}", model.name);
            }
        }
    }
    assert!(forbidden > 1000 && rewritten > 300, "{forbidden} {rewritten}");
}
