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
    let g = |i: usize| a[i].parse::<u32>().unwrap();
    let w = Workload { threads: g(3), addresses: g(4), ops: g(5), mix: if a[2] == "paper" { Mix::PAPER } else { Mix::LOADS_STORES }, seed: 1 };
    let t = simulate(&w, if a[1] == "tso" { Machine::Tso } else { Machine::Pso }, Observe::default());
    membar_check::experiment(&t, &model(&a[1]), g(6) as usize, g(7) as usize);
}
