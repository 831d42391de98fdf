use membar_core::*;
use membar_stress::*;
fn model(name: &str) -> Model {
    let ss = if name == "tso" { When::ALWAYS } else { When::SAME_ADDRESS };
    Model { name: name.into(), title: String::new(), about: String::new(),
        ppo: Ppo { load_load: When::ALWAYS, load_store: When::ALWAYS, store_load: When::NEVER, store_store: ss },
        sync: Mask::FULL, store_forwarding: true, coherence: true, lock_exclusion: true }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: u64 = a[1].parse().unwrap();
    let conflicts: usize = a[2].parse().unwrap();
    let passes: usize = a[3].parse().unwrap();
    let corrupt_it = a.get(4).is_some_and(|x| x == "corrupt");
    for (mname, machine) in [("tso", Machine::Tso), ("pso", Machine::Pso)] {
        for (mixname, mix) in [("paper", Mix::PAPER), ("60/40", Mix::LOADS_STORES)] {
            for p in [2, 4, 8, 16, 32] {
                for ad in [4, 16, 64, 256] {
                    let w = Workload { threads: p, addresses: ad, ops: n as _, mix, seed: 1 };
                    let mut t = simulate(&w, machine, Observe::default());
                    if corrupt_it { t = corrupt(&t, 5).unwrap().trace; }
                    print!("{mname} {mixname} p={p} a={ad}: ");
                    membar_check::experiment(&t, &model(mname), conflicts, passes);
                }
            }
        }
    }
}
