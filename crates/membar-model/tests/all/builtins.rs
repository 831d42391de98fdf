//! The built-in models are what the book's reference/models.md says they are.

use membar_core::{Kind, Mask, Model, Ppo, When};
use membar_model::{builtin, builtins, load, parse, source};

const TIME: When = When { time: true, ..When::NEVER };
const ADDRESS_OR_TIME: When = When { same_address: true, time: true, ..When::NEVER };

/// Load-load, load-store, store-store, store-load, coherence.
const TABLE: [(&str, [When; 4], bool); 5] = [
    ("sc", [When::ALWAYS, When::ALWAYS, When::ALWAYS, When::ALWAYS], true),
    ("tso", [When::ALWAYS, When::ALWAYS, When::ALWAYS, When::NEVER], true),
    ("pso", [When::ALWAYS, When::ALWAYS, When::SAME_ADDRESS, When::NEVER], true),
    ("wmo", [ADDRESS_OR_TIME, ADDRESS_OR_TIME, When::SAME_ADDRESS, When::NEVER], true),
    ("rmo", [TIME, ADDRESS_OR_TIME, When::SAME_ADDRESS, When::NEVER], false),
];

/// Acquire to access and access to release, access to acquire and release to access, release to acquire, other pairs of
/// locks.
const SYNCHRONIZED: [(&str, [When; 4]); 6] = {
    use When as W;
    [
        ("wc", [W::ALWAYS, W::ALWAYS, W::ALWAYS, W::ALWAYS]),
        ("rc", [W::ALWAYS, W::NEVER, W::ALWAYS, W::ALWAYS]),
        ("rcpc", [W::ALWAYS, W::NEVER, W::SAME_ADDRESS, W::ALWAYS]),
        ("ec", [W::GUARDED, W::NEVER, W::SAME_ADDRESS, W::SAME_ADDRESS]),
        ("scope", [W::SAME_SESSION, W::NEVER, W::SAME_ADDRESS, W::SAME_ADDRESS]),
        ("lc", [W::ALWAYS, W::NEVER, W::SAME_ADDRESS, W::SAME_ADDRESS]),
    ]
};

#[test]
fn builtins_equal_the_table() {
    assert_eq!(builtins().len(), TABLE.len() + SYNCHRONIZED.len());
    for (model, (name, [load_load, load_store, store_store, store_load], coherence)) in builtins().iter().zip(TABLE) {
        assert_eq!(model.name, name);
        assert_eq!(model.ppo, Ppo::new(load_load, load_store, store_load, store_store), "{name}");
        assert_eq!(model.coherence, coherence, "{name}");
        assert!(model.write_order, "{name}");
        assert_eq!(model.atomic_writes, name == "sc");
    }
    for model in builtins() {
        let name = &model.name;
        assert_eq!(model.sync, Mask::FULL, "{name}");
        assert!(model.store_forwarding && model.lock_exclusion, "{name}");
        assert!(!model.title.is_empty() && model.about.ends_with('.'), "{name}");
    }
}

#[test]
fn synchronized_builtins_equal_the_table() {
    for (model, (name, [inside, outside, release_acquire, other])) in builtins()[TABLE.len()..].iter().zip(SYNCHRONIZED)
    {
        assert_eq!(model.name, name);
        let ordered = name != "lc";
        assert_eq!((model.write_order, model.coherence, model.atomic_writes), (ordered, ordered, false), "{name}");
        for earlier in Kind::ALL {
            for later in Kind::ALL {
                let expected = match (earlier, later) {
                    (Kind::Store, Kind::Load) if ordered => When::NEVER,
                    (Kind::Load | Kind::Store, Kind::Load | Kind::Store) => When::SAME_ADDRESS,
                    (Kind::Acquire, Kind::Load | Kind::Store) | (Kind::Load | Kind::Store, Kind::Release) => inside,
                    (Kind::Release, Kind::Load | Kind::Store) | (Kind::Load | Kind::Store, Kind::Acquire) => outside,
                    (Kind::Release, Kind::Acquire) => release_acquire,
                    _ => other,
                };
                assert_eq!(model.ppo.entry(earlier, later), expected, "{name}: {}-{}", earlier.name(), later.name());
            }
        }
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

/// Does every pair keep its order under the first wherever it does under the second?
fn keeps_more(strong: &Model, weak: &Model) -> bool {
    let holds = |s: When, w: When| {
        let implies = |s: bool, w: bool| s || !w;
        s.always
            || !w.always
                && implies(s.same_address, w.same_address)
                && implies(s.same_session, w.same_session)
                && implies(s.guarded, w.guarded)
                && implies(s.time, w.time)
    };
    let mut pairs = Kind::ALL.into_iter().flat_map(|e| Kind::ALL.into_iter().map(move |l| (e, l)));
    pairs.all(|(e, l)| holds(strong.ppo.entry(e, l), weak.ppo.entry(e, l)))
}

#[test]
fn the_chains_of_builtins_are_chains() {
    let chains: [&[&str]; 4] = [
        &["sc", "tso", "pso", "wmo", "rmo"],
        &["tso", "wc", "rc", "rcpc", "scope"],
        &["rcpc", "ec"],
        // lc orders a store before a later load of its address, which rc does not.
        &["sc", "lc"],
    ];
    for chain in chains {
        for pair in chain.windows(2) {
            let [strong, weak] = [builtin(pair[0]).unwrap(), builtin(pair[1]).unwrap()];
            assert!(keeps_more(strong, weak), "{pair:?}");
            assert!(!keeps_more(weak, strong), "{pair:?}");
        }
    }
    for (a, b) in [("pso", "wc"), ("ec", "scope"), ("wmo", "wc"), ("lc", "rc")] {
        let [a, b] = [builtin(a).unwrap(), builtin(b).unwrap()];
        assert!(!keeps_more(a, b) && !keeps_more(b, a), "{} {}", a.name, b.name);
    }
}

const BASE: &str = "name = 'm'\n[ppo]\nload-load = 'never'\nload-store = ['same-address']\nstore-load = 'time'\nstore-store = 'always'\n";

#[test]
fn defaults_are_as_documented() {
    let ppo = Ppo::new(When::NEVER, When::SAME_ADDRESS, TIME, When::ALWAYS);
    let expected = Model { title: "m".into(), ..Model::new("m", ppo) };
    assert_eq!(parse("m.toml", BASE).unwrap(), expected);
    let partial = format!(
        "{BASE}[barriers]\nsync = ['load-load', 'store-store']\n[axioms]\nlock-exclusion = false\natomic-writes = true\n"
    );
    let model = parse("m.toml", &partial).unwrap();
    assert_eq!(model.sync, Mask::LOAD_LOAD | Mask::STORE_STORE);
    assert!(!model.lock_exclusion && model.atomic_writes && model.write_order);
    let unordered = BASE.replace("'time'", "['same-address', 'time']") + "[axioms]\nwrite-order = false\n";
    assert!(!parse("m.toml", &unordered).unwrap().write_order);
}

#[test]
fn the_more_specific_key_wins_wherever_it_stands() {
    let ppo = |keys: &str| parse("m.toml", &format!("{BASE}{keys}")).unwrap().ppo;
    let before = ppo("release-acquire = 'same-lock'\nsync-sync = 'always'\n");
    let after = ppo("sync-sync = 'always'\nrelease-acquire = 'same-lock'\n");
    assert_eq!(before, after);
    assert_eq!(before.entry(Kind::Release, Kind::Acquire), When::SAME_ADDRESS);
    assert_eq!(before.entry(Kind::Acquire, Kind::Release), When::ALWAYS);
    assert_eq!(before.entry(Kind::Acquire, Kind::Load), When::NEVER, "one key about locks, and the rest is never");
    let three =
        ppo("sync-sync = 'always'\naccess-sync = 'time'\naccess-release = 'always'\nload-release = 'guarded'\n");
    assert_eq!(three.entry(Kind::Store, Kind::Acquire), TIME);
    assert_eq!(three.entry(Kind::Store, Kind::Release), When::ALWAYS);
    assert_eq!(three.entry(Kind::Load, Kind::Release), When::GUARDED);
    // Two equally specific keys for one pair, but a third decides it.
    let settled = ppo("sync-sync = 'always'\naccess-release = 'time'\nload-sync = 'guarded'\nload-release = 'never'\n");
    assert_eq!(settled.entry(Kind::Load, Kind::Release), When::NEVER);
    assert_eq!(settled.entry(Kind::Load, Kind::Acquire), When::GUARDED);
    // Groups of accesses.
    let grouped =
        parse("m.toml", "name = 'm'\n[ppo]\naccess-access = 'same-address'\nload-access = 'always'\n").unwrap();
    let expected = Ppo::new(When::ALWAYS, When::ALWAYS, When::SAME_ADDRESS, When::SAME_ADDRESS);
    assert_eq!(grouped.ppo, expected);
    assert!(grouped.ppo.locks_are_accesses());
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

#[test]
fn instruction_sets_are_model_files() {
    for model in membar_model::instruction_sets() {
        let text = source(&model.name).unwrap();
        assert_eq!(&parse("copy.toml", text).unwrap(), model);
        assert_eq!(&load(&model.name).unwrap(), model);
        assert!(!model.title.is_empty() && model.about.ends_with('.'), "{}", model.name);
        assert!(model.coherence && model.store_forwarding && model.write_order && !model.atomic_writes);
    }
    // RVWMO has each condition that has a number in some entry, and Armv8 the others; Ztso keeps all pairs but one kind anyway.
    let [ztso, rvwmo, armv8] = membar_model::instruction_sets() else { panic!("three") };
    for &condition in membar_core::Condition::ALL {
        let has = |when: membar_core::When| when.also.has(condition);
        assert!(rvwmo.ppo.any(has) || armv8.ppo.any(has), "{condition}");
        assert_eq!(condition.rule().is_some(), rvwmo.ppo.any(has), "{condition}");
    }
    assert!(ztso.ppo.entry(Kind::Load, Kind::Store).always && !ztso.ppo.entry(Kind::Store, Kind::Load).always);
}
