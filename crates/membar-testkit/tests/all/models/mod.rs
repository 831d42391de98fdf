//! The built-in models, written down once more.
#![allow(dead_code, reason = "each test uses its own part")]

use membar_core::{Kind, Model, Ppo, When};

/// sc, tso, pso, wmo, rmo: strongest first.
pub fn models() -> Vec<Model> {
    let time = When { time: true, ..When::NEVER };
    let address_or_time = When { same_address: true, time: true, ..When::NEVER };
    let (always, never, address) = (When::ALWAYS, When::NEVER, When::SAME_ADDRESS);
    let model = |name: &str, load_load, load_store, store_store, store_load| Model {
        coherence: name != "rmo",
        atomic_writes: name == "sc",
        ..Model::new(name, Ppo::new(load_load, load_store, store_load, store_store))
    };
    vec![
        model("sc", always, always, always, always),
        model("tso", always, always, always, never),
        model("pso", always, always, address, never),
        model("wmo", address_or_time, address_or_time, address, never),
        model("rmo", time, address_or_time, address, never),
    ]
}

/// wc, rc, rcpc, ec, scope, lc.
pub fn synchronized() -> Vec<Model> {
    let (always, never, address) = (When::ALWAYS, When::NEVER, When::SAME_ADDRESS);
    // acquire → access and access → release; the two opposite pairs; two synchronization operations; release → acquire.
    let model = |name: &str, inside: When, outside: When, sync: When, release_acquire: When| {
        let store_load = if name == "lc" { address } else { never };
        let mut ppo = Ppo::new(address, address, store_load, address);
        for access in [Kind::Load, Kind::Store] {
            ppo.set(Kind::Acquire, access, inside);
            ppo.set(access, Kind::Release, inside);
            ppo.set(access, Kind::Acquire, outside);
            ppo.set(Kind::Release, access, outside);
        }
        for (earlier, later) in [
            (Kind::Acquire, Kind::Acquire),
            (Kind::Acquire, Kind::Release),
            (Kind::Release, Kind::Release),
            (Kind::Release, Kind::Acquire),
        ] {
            ppo.set(earlier, later, sync);
        }
        ppo.set(Kind::Release, Kind::Acquire, release_acquire);
        Model { coherence: name != "lc", write_order: name != "lc", ..Model::new(name, ppo) }
    };
    vec![
        model("wc", always, always, always, always),
        model("rc", always, never, always, always),
        model("rcpc", always, never, always, address),
        model("ec", When::GUARDED, never, address, address),
        model("scope", When::SAME_SESSION, never, address, address),
        model("lc", always, never, address, address),
    ]
}

/// All eleven.
pub fn all() -> Vec<Model> {
    models().into_iter().chain(synchronized()).collect()
}

/// The one of this name.
pub fn named(name: &str) -> Model {
    all().into_iter().find(|model| model.name == name).expect("a built-in model")
}
