//! The first five models, strongest first, written down once more.

use membar_core::{Mask, Model, Ppo, When};

/// sc, tso, pso, wmo, rmo.
pub fn models() -> Vec<Model> {
    let time = When { always: false, same_address: false, time: true };
    let address_or_time = When { always: false, same_address: true, time: true };
    let (always, never, address) = (When::ALWAYS, When::NEVER, When::SAME_ADDRESS);
    let model = |name: &str, load_load, load_store, store_store, store_load| Model {
        name: name.into(),
        title: String::new(),
        about: String::new(),
        ppo: Ppo { load_load, load_store, store_load, store_store },
        sync: Mask::FULL,
        store_forwarding: true,
        coherence: name != "rmo",
        lock_exclusion: true,
    };
    vec![
        model("sc", always, always, always, always),
        model("tso", always, always, always, never),
        model("pso", always, always, address, never),
        model("wmo", address_or_time, address_or_time, address, never),
        model("rmo", time, address_or_time, address, never),
    ]
}
