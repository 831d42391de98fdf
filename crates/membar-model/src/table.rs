//! The table `[ppo]`: which pairs of one thread's operations keep their order.
//!
//! A key is two words, earlier and later, and each word is a kind of operation or a group of two: `access` is load and
//! store, `sync` is acquire and release. So a key stands for one pair of kinds, for two or for four.
//!
//! 1. A pair that several keys stand for is given by the one with the most single kinds in it, wherever it stands. Two
//!    keys with equally many are refused: nothing says which is meant.
//! 2. The pairs of two accesses have to be given.
//! 3. Where no key stands for a pair with an acquire or a release, both count as a load and as a store ([`Ppo::new`]).
//!    Where one does, a pair of that kind that no key gives is `"never"`.
//! 4. A condition has to mean something for every pair of its key.

use crate::error::line_of;
use crate::parse::{Section, Span, Value};
use crate::{ErrorKind, ModelError};
use membar_core::{Condition, Kind, Ppo, When};

/// The words of a key, and the kinds that each stands for.
const WORDS: [(&str, &[Kind]); 6] = [
    ("load", &[Kind::Load]),
    ("store", &[Kind::Store]),
    ("acquire", &[Kind::Acquire]),
    ("release", &[Kind::Release]),
    ("access", &[Kind::Load, Kind::Store]),
    ("sync", &[Kind::Acquire, Kind::Release]),
];

/// All keys. Those of two accesses come first: a misspelt key is more likely to be one of them.
pub(crate) const KEYS: [&str; 36] = [
    "load-load",
    "load-store",
    "store-load",
    "store-store",
    "load-access",
    "store-access",
    "access-load",
    "access-store",
    "access-access",
    "acquire-load",
    "acquire-store",
    "acquire-access",
    "release-load",
    "release-store",
    "release-access",
    "sync-load",
    "sync-store",
    "sync-access",
    "load-acquire",
    "load-release",
    "load-sync",
    "store-acquire",
    "store-release",
    "store-sync",
    "access-acquire",
    "access-release",
    "access-sync",
    "acquire-acquire",
    "acquire-release",
    "acquire-sync",
    "release-acquire",
    "release-release",
    "release-sync",
    "sync-acquire",
    "sync-release",
    "sync-sync",
];

/// The form of a key, for messages.
pub(crate) const KEYS_HELP: &str =
    "a key is two of load, store, acquire, release, access and sync, the earlier first, such as `acquire-access`";

/// Does a condition mean something for a pair of kinds?
type Means = fn(Kind, Kind) -> bool;

/// The conditions by name, what each is for, and whether it means something for a pair of kinds.
const CONDITIONS: [(&str, &str, Means); 19] = [
    ("always", "", |_, _| true),
    ("never", "", |_, _| true),
    ("same-address", "two accesses", |e, l| !e.locks() && !l.locks()),
    ("same-lock", "two of acquire and release", |e, l| e.locks() && l.locks()),
    ("same-session", "acquire and a later access, an access and a later release, and two accesses", |e, l| {
        matches!(e, Kind::Acquire | Kind::Load | Kind::Store)
            && matches!(l, Kind::Release | Kind::Load | Kind::Store)
            && !(e.locks() && l.locks())
    }),
    ("guarded", "an access and an acquire or a release", |e, l| e.locks() != l.locks()),
    ("time", "", |_, _| true),
    (Condition::AnotherStore.name(), "two loads", |e, l| (e, l) == (Kind::Load, Kind::Load)),
    (Condition::FromAtomic.name(), "a store and a later load", |e, l| (e, l) == (Kind::Store, Kind::Load)),
    (Condition::EarlierAcquires.name(), "two accesses", accesses),
    (Condition::LaterReleases.name(), "two accesses", accesses),
    (Condition::ReleaseAcquire.name(), "two accesses", accesses),
    (Condition::Address.name(), "two accesses", accesses),
    (Condition::Data.name(), "an access and a later store", |e, l| accesses(e, l) && l == Kind::Store),
    (Condition::Control.name(), "two accesses", accesses),
    (Condition::ThroughStore.name(), "an access and a later load", |e, l| accesses(e, l) && l == Kind::Load),
    (Condition::PastAddress.name(), "two accesses", accesses),
    (Condition::PastIsb.name(), "two accesses", accesses),
    (Condition::AcquireFromPair.name(), "two loads", |e, l| (e, l) == (Kind::Load, Kind::Load)),
];

fn accesses(earlier: Kind, later: Kind) -> bool {
    !earlier.locks() && !later.locks()
}

/// The pair of kinds as a key.
pub(crate) fn name(earlier: Kind, later: Kind) -> String {
    format!("{}-{}", earlier.name(), later.name())
}

/// A pair of kinds, as a key of the file gives it.
#[derive(Clone)]
pub(crate) struct Entry {
    /// The key.
    pub key: &'static str,
    /// Where it stands.
    pub key_span: Span,
    /// The conditions.
    pub when: When,
    /// Where they stand.
    pub span: Span,
}

impl Entry {
    /// The pairs of kinds that the key stands for.
    fn pairs(&self) -> impl Iterator<Item = (Kind, Kind)> + use<> {
        pairs(self.key)
    }

    /// How many of its two words are a single kind.
    fn precision(&self) -> usize {
        let (earlier, later) = words(self.key);
        [earlier, later].iter().filter(|word| word.len() == 1).count()
    }
}

fn words(key: &str) -> (&'static [Kind], &'static [Kind]) {
    let kinds = |word: &str| WORDS.iter().find(|(name, _)| *name == word).map_or(&[] as &[Kind], |(_, kinds)| kinds);
    key.split_once('-').map_or((&[], &[]), |(earlier, later)| (kinds(earlier), kinds(later)))
}

fn pairs(key: &str) -> impl Iterator<Item = (Kind, Kind)> + use<> {
    let (earlier, later) = words(key);
    earlier.iter().flat_map(|&e| later.iter().map(move |&l| (e, l)))
}

/// The table as the file gives it.
pub(crate) struct Table {
    /// Per earlier and later kind, what gives it.
    given: [[Option<Entry>; 4]; 4],
    /// The first key, in the order of the text, that stands for a pair with an acquire or a release.
    pub locks: Option<Span>,
}

impl Table {
    /// Reads the section `[ppo]`, whose keys are known ones.
    pub(crate) fn read(section: &Section<'_, '_>) -> Result<Table, ModelError> {
        let mut entries: Vec<Entry> = Vec::new();
        for (key, key_span, value) in section.entries() {
            let Some(&key) = KEYS.iter().find(|known| **known == key) else { continue };
            entries.push(Entry { key, key_span, when: when(section, key, value)?, span: value.span() });
        }
        let locks = entries.iter().find(|e| e.pairs().any(|(a, b)| a.locks() || b.locks())).map(|e| e.key_span.clone());
        let mut table = Table { given: Default::default(), locks };
        for earlier in Kind::ALL {
            for later in Kind::ALL {
                let giving = |precision: usize| {
                    let gives = |e: &&Entry| e.precision() == precision && e.pairs().any(|p| p == (earlier, later));
                    entries.iter().filter(gives).collect::<Vec<_>>()
                };
                table.given[earlier as usize][later as usize] =
                    match (0..3).rev().map(giving).find(|keys| !keys.is_empty()).as_deref() {
                        Some([first, second, ..]) => return Err(ambiguous(section, (earlier, later), first, second)),
                        Some([entry]) => Some((*entry).clone()),
                        _ if earlier.locks() || later.locks() => None,
                        _ => return Err(section.missing(&name(earlier, later))),
                    };
            }
        }
        Ok(table)
    }

    /// The entry that gives a pair.
    pub(crate) fn entry(&self, earlier: Kind, later: Kind) -> Option<&Entry> {
        self.given[earlier as usize][later as usize].as_ref()
    }

    /// The table itself.
    pub(crate) fn ppo(&self) -> Ppo {
        let when = |earlier, later| self.entry(earlier, later).map_or(When::NEVER, |entry| entry.when);
        let [l, s] = [Kind::Load, Kind::Store];
        let mut ppo = Ppo::new(when(l, l), when(l, s), when(s, l), when(s, s));
        if self.locks.is_some() {
            for earlier in Kind::ALL {
                for later in Kind::ALL {
                    ppo.set(earlier, later, when(earlier, later));
                }
            }
        }
        ppo
    }
}

fn ambiguous(section: &Section<'_, '_>, pair: (Kind, Kind), first: &Entry, second: &Entry) -> ModelError {
    let pair = name(pair.0, pair.1);
    let message = format!("both `{}` and `{}` give `{pair}`", first.key, second.key);
    section
        .doc
        .error(ErrorKind::DuplicateKey, &second.key_span, message)
        .note(format!("`{}` is at line {}", first.key, line_of(section.doc.text, first.key_span.start)))
        .note("a key wins over one that is less specific, but these two are equally specific")
        .help(format!("add `{pair}`, which wins over both, or remove one of the two"))
}

/// The conditions that mean something for this key.
fn meaningful(key: &str) -> impl Iterator<Item = &'static str> + use<'_> {
    CONDITIONS.iter().filter(move |(_, _, means)| pairs(key).all(|(e, l)| means(e, l))).map(|&(name, _, _)| name)
}

/// The values that may be written for this key, but for those of instruction sets, which are many.
fn help(key: &str) -> String {
    let basic = |name: &&str| Condition::ALL.iter().all(|known| known.name() != *name);
    let named: Vec<_> = meaningful(key).filter(basic).map(|condition| format!("\"{condition}\"")).collect();
    // Every key has its own condition after `always` and `never`.
    format!("write {}, or a list such as [{}, \"time\"]", named.join(", "), named[2])
}

/// The conditions of a key.
fn when(section: &Section<'_, '_>, key: &'static str, value: &Value<'_>) -> Result<When, ModelError> {
    let help = help(key);
    let words = section.words(key, value, &help)?;
    let mut when = When::NEVER;
    for (word, span) in &words {
        let Some((_, purpose, means)) = CONDITIONS.iter().find(|(name, _, _)| name == word) else {
            return Err(section.unknown_word(word, span, "condition", &CONDITIONS.map(|(name, _, _)| name), &help));
        };
        if let Some((earlier, later)) = pairs(key).find(|&(earlier, later)| !means(earlier, later)) {
            return Err(misplaced(section, (key, word, span), (earlier, later), (purpose, *means)));
        }
        match *word {
            "always" => when.always = true,
            "same-address" | "same-lock" => when.same_address = true,
            "same-session" => when.same_session = true,
            "guarded" => when.guarded = true,
            "time" => when.time = true,
            word => {
                when.also =
                    Condition::ALL.iter().filter(|known| known.name() == word).fold(when.also, |all, &it| all.with(it))
            }
        }
    }
    let alone = words.iter().find(|(word, _)| matches!(*word, "always" | "never"));
    let other = words.iter().find(|(word, _)| alone.is_some_and(|(alone, _)| alone != word));
    if let (Some((alone, at)), Some((other, other_at))) = (alone, other) {
        let message = format!("`{alone}` contradicts `{other}` in `{}`", section.path(key));
        let line = line_of(section.doc.text, other_at.start);
        return Err(section
            .doc
            .error(ErrorKind::Contradiction, at, message)
            .note(format!("`{other}` is listed at line {line}; any condition of a list suffices"))
            .help(format!("`{alone}` can only stand alone: write `{key} = \"{alone}\"`, or remove it")));
    }
    Ok(when)
}

/// A condition that means nothing for a pair of its key.
fn misplaced(
    section: &Section<'_, '_>,
    (key, word, span): (&str, &str, &Span),
    (earlier, later): (Kind, Kind),
    (purpose, means): (&str, Means),
) -> ModelError {
    let error = section
        .doc
        .error(ErrorKind::Misplaced, span, format!("`{word}` means nothing in `{}`", section.path(key)))
        .note(format!("it is for {purpose}"));
    let twin = match word {
        "same-address" => "same-lock",
        "same-lock" => "same-address",
        _ => "",
    };
    if meaningful(key).any(|condition| condition == twin) {
        return error.help(format!("write \"{twin}\""));
    }
    // A group may only be too wide: the widest key that leaves out what the condition is not for.
    let fits = |other: &&&str| pairs(other).all(|pair| means(pair.0, pair.1) && pairs(key).any(|all| all == pair));
    match KEYS.iter().filter(fits).max_by_key(|other| pairs(other).count()) {
        Some(narrower) => error
            .note(format!("`{key}` stands for `{}` too", name(earlier, later)))
            .help(format!("write `{narrower} = \"{word}\"`")),
        None => error.help(help(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_all_pairs_of_words() {
        let mut all: Vec<String> =
            WORDS.iter().flat_map(|(e, _)| WORDS.iter().map(move |(l, _)| format!("{e}-{l}"))).collect();
        let mut keys = KEYS.map(str::to_owned).to_vec();
        all.sort();
        keys.sort();
        assert_eq!(all, keys);
        assert_eq!(pairs("access-sync").count(), 4);
        assert_eq!(pairs("load-sync").count(), 2);
    }

    #[test]
    fn every_condition_is_for_some_pair_and_every_pair_has_its_own() {
        for (name, purpose, means) in CONDITIONS {
            let all = Kind::ALL.iter().all(|&e| Kind::ALL.iter().all(|&l| means(e, l)));
            assert_eq!(all, purpose.is_empty(), "{name}");
        }
        for (key, conditions) in [
            ("load-store", "same-address same-session"),
            ("acquire-load", "same-session guarded"),
            ("store-release", "same-session guarded"),
            ("release-load", "guarded"),
            ("load-acquire", "guarded"),
            ("release-acquire", "same-lock"),
            ("access-sync", "guarded"),
            ("access-access", "same-address same-session"),
        ] {
            let all: Vec<_> = meaningful(key).collect();
            let all: Vec<_> =
                all.into_iter().filter(|name| Condition::ALL.iter().all(|known| known.name() != *name)).collect();
            assert_eq!(all.join(" "), format!("always never {conditions} time"), "{key}");
        }
    }
}
