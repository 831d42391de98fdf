//! The built-in models are what docs/models says they are.

use membar_core::{Mask, Model, Ppo, When};
use membar_model::{builtin, builtins, load, parse, source};

const TIME: When = When { always: false, same_address: false, time: true };
const ADDRESS_OR_TIME: When = When { always: false, same_address: true, time: true };

/// Load-load, load-store, store-store, store-load.
const TABLE: [(&str, [When; 4], bool); 5] = [
    ("sc", [When::ALWAYS, When::ALWAYS, When::ALWAYS, When::ALWAYS], true),
    ("tso", [When::ALWAYS, When::ALWAYS, When::ALWAYS, When::NEVER], true),
    ("pso", [When::ALWAYS, When::ALWAYS, When::SAME_ADDRESS, When::NEVER], true),
    ("wmo", [ADDRESS_OR_TIME, ADDRESS_OR_TIME, When::SAME_ADDRESS, When::NEVER], true),
    ("rmo", [TIME, ADDRESS_OR_TIME, When::SAME_ADDRESS, When::NEVER], false),
];

#[test]
fn builtins_equal_the_table() {
    assert_eq!(builtins().len(), TABLE.len());
    for (model, (name, [load_load, load_store, store_store, store_load], coherence)) in builtins().iter().zip(TABLE) {
        assert_eq!(model.name, name);
        assert_eq!(model.ppo, Ppo { load_load, load_store, store_load, store_store }, "{name}");
        assert_eq!(model.sync, Mask::FULL, "{name}");
        assert_eq!(model.coherence, coherence, "{name}");
        assert!(model.store_forwarding && model.lock_exclusion, "{name}");
        assert!(!model.title.is_empty() && model.about.ends_with('.'), "{name}");
    }
}

#[test]
fn a_builtin_is_a_model_file() {
    for model in builtins() {
        let text = source(&model.name).unwrap();
        assert_eq!(&parse("copy.toml", text).unwrap(), model);
        assert_eq!(&load(&model.name).unwrap(), model);
        assert_eq!(builtin(&model.name), Some(model));
    }
    assert_eq!((builtin("tso2"), source("tso2")), (None, None));
}

#[test]
fn each_builtin_is_weaker_than_the_one_before() {
    let holds = |strong: When, weak: When| {
        (strong.always || !weak.always)
            && (strong.on_one_address() || !weak.on_one_address())
            && (strong.always || strong.time || !weak.time)
    };
    for pair in builtins().windows(2) {
        for (earlier, later) in [(false, false), (false, true), (true, false), (true, true)] {
            assert!(holds(pair[0].ppo.entry(earlier, later), pair[1].ppo.entry(earlier, later)), "{}", pair[1].name);
        }
        assert_ne!(pair[0].ppo, pair[1].ppo);
    }
}

#[test]
fn defaults_are_as_documented() {
    let text = "name = 'm'\n[ppo]\nload-load = 'never'\nload-store = ['same-address']\nstore-load = 'time'\nstore-store = 'always'\n";
    let expected = Model {
        name: "m".into(),
        title: "m".into(),
        about: String::new(),
        ppo: Ppo {
            load_load: When::NEVER,
            load_store: When::SAME_ADDRESS,
            store_load: TIME,
            store_store: When::ALWAYS,
        },
        sync: Mask::FULL,
        store_forwarding: true,
        coherence: false,
        lock_exclusion: true,
    };
    assert_eq!(parse("m.toml", text).unwrap(), expected);
    let partial = format!("{text}[barriers]\nsync = ['load-load', 'store-store']\n[axioms]\nlock-exclusion = false\n");
    let model = parse("m.toml", &partial).unwrap();
    assert_eq!(model.sync, Mask::LOAD_LOAD | Mask::STORE_STORE);
    assert!(!model.lock_exclusion);
}

#[test]
fn inline_tables_and_dotted_keys_are_the_same_file() {
    let dotted = "name = 'm'\nppo.load-load = 'always'\nppo.load-store = 'always'\nppo.store-load = 'never'\nppo.store-store = 'always'\n";
    let inline = "name = 'm'\nppo = { load-load = 'always', load-store = 'always', store-load = 'never', store-store = 'always' }\n";
    assert_eq!(parse("m.toml", dotted).unwrap(), parse("m.toml", inline).unwrap());
}

#[test]
fn a_copy_may_change_its_words_but_not_its_meaning() {
    let reworded = source("tso").unwrap().replace("Total Store Order", "Our machine");
    assert_eq!(parse("my.toml", &reworded).unwrap().ppo, builtin("tso").unwrap().ppo);
    let renamed = source("tso").unwrap().replace("\"tso\"", "\"our-tso\"");
    assert_eq!(parse("my.toml", &renamed).unwrap().name, "our-tso");
}
