use super::*;
use crate::Instr;

#[test]
fn builtins_are_files_with_their_names() {
    for (profile, (name, text)) in builtins().iter().zip(SOURCES) {
        assert_eq!(profile.name, name);
        assert_eq!(&load(name).unwrap(), profile);
        assert_eq!(source(name), Some(text));
        assert!(!profile.title.is_empty() && profile.about.ends_with('.'), "{name}");
        assert_eq!(profile.program(1).unwrap().operations() as u32, profile.threads * profile.operations, "{name}");
    }
    assert_eq!((builtin("nothing"), source("nothing")), (None, None));
}

fn wrong(text: &str) -> String {
    parse("my.toml", text).unwrap_err().to_string()
}

#[test]
fn faults_have_a_place_and_advice() {
    assert_eq!(
        wrong("name = \"x\"\n[mix]\nlaods = 3\n"),
        "error: `[mix]` has no key `laods`\n --> my.toml:3:1\n  |\n3 | laods = 3\n  | ^^^^^\n  = help: did you mean `loads`?"
    );
    let all = [
        (
            "name = \"x\"\n[size]\nthreads = 0\n[mix]\nloads = 1\n",
            "`size.threads` must be from 1 to 1024, but this is 0",
        ),
        ("name = \"x\"\n[size]\nthreads = -4\n", "must be from 1 to 1024, but this is -4"),
        ("name = \"x\"\n[size]\nthreads = 1e3\n", "`size.threads` must be an integer, but its type is float"),
        ("name = \"x\"\n[mix]\nlocks = 1\n", "but there are no locks"),
        ("name = \"x\"\n[mix]\n", "the mix has nothing in it"),
        ("name = \"x\"\nsize = 3\n", "`size` must be a table, but its type is integer"),
        ("name = \"x\"\n[sharing]\npattern = \"hto\"\n", "did you mean `hot`?"),
        ("name = \"x\"\n[sharing]\nstride = 12\n[mix]\nloads = 1\n", "not a multiple of 8"),
        ("name = \"x\"\n[pace]\nstride = 12\n", "it belongs below `[sharing]`"),
        ("name = \"X\"\n", "`X` cannot be a profile's name"),
        ("[mix]\nloads = 1\n", "`name` is missing"),
        ("name = x\n", "this is not TOML"),
    ];
    for (text, expected) in all {
        let shown = wrong(text);
        assert!(shown.contains(expected) && shown.contains("--> my.toml:"), "{shown}");
    }
    assert!(load("modw").unwrap_err().to_string().contains("did you mean `modv`?"));
    assert!(load("no/such.toml").unwrap_err().to_string().contains("cannot be read"));
    let large = Profile { threads: 1024, operations: 1 << 20, ..builtins()[0].clone() };
    assert!(large.program(0).unwrap_err().to_string().contains("too many"));
}

#[test]
fn programs_keep_their_invariant_and_their_mix() {
    for profile in builtins() {
        for seed in 0..20 {
            let program = profile.program(seed).unwrap();
            let mut copy = crate::ProgramBuilder::new(program.addresses(), program.locks());
            let mut counts = [0u32; 9];
            for t in 0..program.threads() {
                copy.thread();
                let mut held: Vec<u32> = Vec::new();
                for i in program.thread(t) {
                    let instr = program.instr(i);
                    copy.push(instr);
                    assert!(
                        program
                            .depends(i)
                            .iter()
                            .all(|dep| dep.on < dep.instr && program.thread(t).contains(&(dep.on as usize)))
                    );
                    match instr {
                        Instr::Acquire { lock } => {
                            assert!(held.iter().all(|&other| other < lock), "out of order");
                            held.push(lock);
                            assert!(held.len() <= profile.nesting as usize);
                        }
                        Instr::Release { lock } => held.retain(|&other| other != lock),
                        _ => {}
                    }
                    counts[match instr {
                        Instr::Load { .. } => 0,
                        Instr::Store { .. } => 1,
                        Instr::Exchange { .. } => 2,
                        Instr::Add { .. } => 3,
                        Instr::Cas { .. } => 4,
                        Instr::Fence { mask: None } => 5,
                        Instr::Fence { mask: Some(_) } => 6,
                        Instr::Acquire { .. } | Instr::Release { .. } => 7,
                        Instr::Delay { .. } => 8,
                    }] += 1;
                }
                assert!(held.is_empty(), "held at the end");
            }
            assert!(copy.finish().is_ok());
            let (total, all) =
                (profile.mix.all().iter().sum::<u32>() as f64, (profile.threads * profile.operations) as f64);
            let mut mix = profile.mix.all();
            // Fences with sets have masks as well, and a reservation is a load and a store: the total does not count the second.
            mix[6] += mix[8] + mix[10];
            let pairs = mix[9];
            mix[0] += pairs;
            mix[1] += pairs;
            let total = total + f64::from(pairs);
            for (share, count) in mix.into_iter().zip(counts).take(8) {
                let (expected, found) = (share as f64 / total, count as f64 / all);
                assert!((expected - found).abs() < 0.05, "{}: {counts:?}", profile.name);
            }
            assert_eq!(profile.burst > 0, counts[8] > 0);
        }
    }
}

#[test]
fn sums_never_reach_the_next_constant() {
    let profile = builtin("atomics").unwrap();
    let program = profile.program(3).unwrap();
    let mut sums = vec![0u64; program.addresses() as usize];
    for i in 0..program.len() {
        match program.instr(i) {
            Instr::Add { addr, by } => sums[addr as usize] += by,
            Instr::Store { value, .. } | Instr::Exchange { value, .. } | Instr::Cas { value, .. } => {
                assert_eq!(value % (1 << 40), 0);
            }
            _ => {}
        }
    }
    assert!(sums.iter().all(|&sum| sum > 0 && sum < 1 << 40));
}
