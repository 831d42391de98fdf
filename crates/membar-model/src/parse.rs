//! From TOML text to a model, with a place for everything that is wrong.
//!
//! The text is read as TOML first (`toml`'s own errors keep their place), then key by key: unknown keys before missing
//! ones, since a misspelt key is both. The first fault is reported.

use crate::contradiction::{self, Settings};
use crate::error::line_of;
use crate::table::{self, Table};
use crate::{ErrorKind, ModelError, builtin};
use membar_core::Located;
use membar_core::{Mask, Model, nearest, quoted};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(crate) type Span = Range<usize>;
pub(crate) type Value<'t> = Spanned<DeValue<'t>>;

/// Reads a model. `file_name` is for messages only.
///
/// The name of a built-in model is refused unless the two say the same.
pub fn parse(file_name: &str, text: &str) -> Result<Model, ModelError> {
    let model = parse_text(file_name, text)?;
    let same = |other: &Model| Model { title: String::new(), about: String::new(), ..other.clone() };
    match builtin(&model.name) {
        Some(taken) if same(taken) != same(&model) => Err(taken_name(file_name, text, &model.name)),
        _ => Ok(model),
    }
}

fn taken_name(file: &str, text: &str, name: &str) -> ModelError {
    let span = DeTable::parse(text).ok().and_then(|table| table.get_ref().get("name").map(Spanned::span));
    ModelError::new(
        ErrorKind::TakenName,
        format!("{} is the name of a built-in model that says something else", quoted(name)),
    )
    .at(Located::new(file, text, span.unwrap_or(0..0)))
    .note(format!("`membar models show {name}` prints the built-in one"))
    .help(format!("choose another name, such as `my-{name}`"))
}

/// A setting and where its value stands.
pub(crate) struct Set<T> {
    pub value: T,
    pub span: Span,
}

/// The text that is read.
pub(crate) struct Doc<'t> {
    pub file: &'t str,
    pub text: &'t str,
}

impl Doc<'_> {
    pub(crate) fn place(&self, span: &Span) -> Located {
        Located::new(self.file, self.text, span.clone())
    }

    /// The text of a value as it was written, on one line.
    pub(crate) fn shown(&self, span: &Span) -> String {
        let text = self.text.get(span.clone()).unwrap_or_default();
        quoted(&text.split_whitespace().collect::<Vec<_>>().join(" ")).trim_matches('`').to_owned()
    }

    pub(crate) fn error(&self, kind: ErrorKind, span: &Span, message: String) -> ModelError {
        ModelError::new(kind, message).at(self.place(span))
    }
}

/// The tables of a model file and their keys; the first is the file itself.
const KEYS: [(&str, &[&str]); 4] = [
    ("", &["name", "title", "about", "ppo", "barriers", "axioms"]),
    ("ppo", &table::KEYS),
    ("barriers", &["sync"]),
    ("axioms", &["store-forwarding", "coherence", "lock-exclusion", "write-order", "atomic-writes", "split-atomics"]),
];

const PAIRS_HELP: &str = r#"write "all", or a list of "load-load", "load-store", "store-load" and "store-store""#;

/// Reads a model of whatever name.
pub(crate) fn parse_text(file: &str, text: &str) -> Result<Model, ModelError> {
    let doc = Doc { file, text };
    let table = DeTable::parse(text).map_err(|error| syntax(&doc, &error))?;
    let top = Section { doc: &doc, name: "", span: 0..0, table: Some(table.get_ref()) };
    top.known_keys()?;
    let name = top.required("name")?;
    let name = Set { value: top.string("name", name)?.to_owned(), span: name.span() };
    let text_of = |key| top.get(key).map(|(_, value)| top.string(key, value).map(|text| text.trim().to_owned()));
    let title = text_of("title").transpose()?.unwrap_or_else(|| name.value.clone());
    let about = text_of("about").transpose()?.unwrap_or_default();

    let ppo = top.section("ppo")?;
    if ppo.table.is_none() {
        return Err(doc
            .error(ErrorKind::MissingKey, &ppo.span, "the table `[ppo]` is missing".to_owned())
            .note("it says which pairs keep their order: load-load, load-store, store-load and store-store")
            .help("`membar models show tso` prints a model file to start from"));
    }
    let [barriers, axioms] = [top.section("barriers")?, top.section("axioms")?];
    let set = Settings {
        table: Table::read(&ppo)?,
        store_forwarding: axioms.switch("store-forwarding")?,
        coherence: axioms.switch("coherence")?,
        write_order: axioms.switch("write-order")?,
    };
    let on = |set: &Option<Set<bool>>, default: bool| set.as_ref().map_or(default, |set| set.value);
    let model = Model {
        name: name.value,
        title,
        about,
        ppo: set.table.ppo(),
        sync: barriers.mask("sync")?,
        store_forwarding: on(&set.store_forwarding, true),
        coherence: on(&set.coherence, false),
        lock_exclusion: on(&axioms.switch("lock-exclusion")?, true),
        write_order: on(&set.write_order, true),
        atomic_writes: on(&axioms.switch("atomic-writes")?, false),
        split_atomics: on(&axioms.switch("split-atomics")?, false),
    };
    valid_name(&doc, &model.name, &name.span)?;
    contradiction::check(&doc, &model, &set)?;
    Ok(model)
}

fn valid_name(doc: &Doc<'_>, name: &str, span: &Span) -> Result<(), ModelError> {
    if !name.is_empty() && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_')) {
        return Ok(());
    }
    let message = if name.is_empty() {
        "the name is empty".to_owned()
    } else {
        format!("{} cannot be a model's name", quoted(name))
    };
    Err(doc
        .error(ErrorKind::BadName, span, message)
        .help("a name is made of lower-case letters, digits, `-` and `_`, such as `my-tso`"))
}

/// A fault of the text as TOML.
fn syntax(doc: &Doc<'_>, error: &toml::de::Error) -> ModelError {
    let span = error.span().unwrap_or(0..0);
    if error.message().starts_with("duplicate key") {
        return duplicate(doc, &span);
    }
    // Where a value is expected, the parser's own words are about what kind of value it tried last.
    let before = doc.text.get(..span.start).unwrap_or_default().trim_end_matches([' ', '\t']);
    let found = doc.text.get(span.clone()).unwrap_or_default();
    if before.ends_with(['=', '[', ',']) && !before.trim_start().is_empty() {
        if found.starts_with(|c: char| c.is_ascii_alphabetic()) && !found.contains(['"', '\'']) {
            let word = doc.shown(&span);
            return doc
                .error(ErrorKind::Syntax, &span, format!("this is not TOML: the word `{word}` is not in quotes"))
                .help(format!("write `\"{word}\"`"));
        }
        if before.ends_with('=') && found.trim().is_empty() {
            return doc
                .error(ErrorKind::Syntax, &span, "this is not TOML: there is no value after `=`".to_owned())
                .help("write a string, such as `\"always\"`, a list, `true` or `false`");
        }
    }
    let what =
        error.message().split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(", ");
    doc.error(ErrorKind::Syntax, &span, format!("this is not TOML: {what}"))
        .help("`membar models show tso` prints a model file to start from")
}

fn duplicate(doc: &Doc<'_>, span: &Span) -> ModelError {
    let shown = doc.shown(span);
    let key = shown.trim_matches(['"', '\'']);
    let (recovered, _) = DeTable::parse_recoverable(doc.text);
    // A table's second header replaces the first in what the parser recovers.
    let header = || doc.text.find(&format!("[{key}]")).filter(|at| *at + 1 < span.start);
    let error = doc.error(ErrorKind::DuplicateKey, span, format!("`{key}` is given twice"));
    match first_use(recovered.get_ref(), key, span.start).or_else(header) {
        Some(at) => error.note(format!("the first time is at line {}", line_of(doc.text, at))),
        None => error,
    }
    .help("remove one of the two")
}

/// Where a key of this name stands last before `limit`.
fn first_use(table: &DeTable<'_>, key: &str, limit: usize) -> Option<usize> {
    table
        .iter()
        .flat_map(|(name, value)| {
            let here = (name.get_ref() == key).then(|| name.span().start);
            let below = value.get_ref().as_table().and_then(|table| first_use(table, key, limit));
            [here, below]
        })
        .flatten()
        .filter(|&at| at < limit)
        .max()
}

/// A table of the file, or the place where it could be.
pub(crate) struct Section<'d, 't> {
    pub doc: &'d Doc<'t>,
    /// As in [`KEYS`].
    name: &'static str,
    span: Span,
    table: Option<&'d DeTable<'t>>,
}

impl<'d, 't> Section<'d, 't> {
    /// The key as it is named in messages: `ppo.load-load`.
    pub(crate) fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    fn get(&self, key: &str) -> Option<(Span, &'d Value<'t>)> {
        self.table?.iter().find(|(name, _)| name.get_ref() == key).map(|(name, value)| (name.span(), value))
    }

    /// All entries, in the order of the text.
    pub(crate) fn entries(&self) -> Vec<(&'d str, Span, &'d Value<'t>)> {
        let mut entries: Vec<_> =
            self.table.into_iter().flatten().map(|(key, value)| (key.get_ref().as_ref(), key.span(), value)).collect();
        entries.sort_by_key(|(_, span, _)| span.start);
        entries
    }

    fn required(&self, key: &str) -> Result<&'d Value<'t>, ModelError> {
        self.get(key).map(|(_, value)| value).ok_or_else(|| self.missing(key))
    }

    pub(crate) fn missing(&self, key: &str) -> ModelError {
        let example = match self.name {
            "ppo" => r#"add `load-store = "always"`, for example, below `[ppo]`"#.replace("load-store", key),
            _ => r#"add `name = "my-model"` at the top of the file"#.to_owned(),
        };
        self.doc.error(ErrorKind::MissingKey, &self.span, format!("`{}` is missing", self.path(key))).help(example)
    }

    /// Reports the first key, in the order of the text, that does not belong here.
    fn known_keys(&self) -> Result<(), ModelError> {
        let Some((_, known)) = KEYS.iter().find(|(name, _)| *name == self.name) else { return Ok(()) };
        let unknown = self.table.into_iter().flatten().filter(|(key, _)| !known.contains(&key.get_ref().as_ref()));
        let Some((key, _)) = unknown.min_by_key(|(key, _)| key.span().start) else { return Ok(()) };
        let whose = if self.name.is_empty() { "a model file".to_owned() } else { format!("`[{}]`", self.name) };
        let error =
            self.doc.error(ErrorKind::UnknownKey, &key.span(), format!("{whose} has no key {}", quoted(key.get_ref())));
        Err(if let Some(meant) = nearest(key.get_ref(), known.iter().copied()) {
            error.help(format!("did you mean `{meant}`?"))
        } else if let Some((home, _)) = KEYS.iter().find(|(_, keys)| keys.contains(&key.get_ref().as_ref())) {
            error.help(match *home {
                "" => "it belongs at the top of the file, above the first table".to_owned(),
                home => format!("it belongs below `[{home}]`"),
            })
        } else if self.name == "ppo" {
            error.help(table::KEYS_HELP)
        } else {
            error.help(format!("the keys are {}", known.join(", ")))
        })
    }

    /// The table of this name below this one, with its keys checked; an empty one where the file has none.
    fn section(&self, name: &'static str) -> Result<Section<'d, 't>, ModelError> {
        let doc = self.doc;
        let Some((key, value)) = self.get(name) else { return Ok(Section { doc, name, span: 0..0, table: None }) };
        let Some(table) = value.get_ref().as_table() else {
            return Err(self.wrong_type(name, value, "a table").help(format!("write `[{name}]` on a separate line")));
        };
        let section = Section { doc, name, span: key, table: Some(table) };
        section.known_keys()?;
        Ok(section)
    }

    fn wrong_type(&self, key: &str, value: &Value<'_>, expected: &str) -> ModelError {
        let found = value.get_ref().type_str();
        let message = format!("`{}` must be {expected}, but its type is {found}", self.path(key));
        self.doc.error(ErrorKind::WrongType, &value.span(), message)
    }

    fn string(&self, key: &str, value: &'d Value<'t>) -> Result<&'d str, ModelError> {
        value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.wrong_type(key, value, "a string").help(format!(r#"write `{key} = "…"`"#)))
    }

    fn switch(&self, key: &str) -> Result<Option<Set<bool>>, ModelError> {
        let Some((_, value)) = self.get(key) else { return Ok(None) };
        match value.get_ref().as_bool() {
            Some(on) => Ok(Some(Set { value: on, span: value.span() })),
            None => Err(self.wrong_type(key, value, "true or false").help(format!("write `{key} = true`"))),
        }
    }

    /// The words of a string or of a list of strings, each once.
    pub(crate) fn words(
        &self,
        key: &str,
        value: &'d Value<'t>,
        help: &str,
    ) -> Result<Vec<(&'d str, Span)>, ModelError> {
        if let Some(word) = value.get_ref().as_str() {
            return Ok(vec![(word, value.span())]);
        }
        let Some(list) = value.get_ref().as_array() else {
            return Err(self.wrong_type(key, value, "a string or a list of strings").help(help));
        };
        let mut words: Vec<(&str, Span)> = Vec::new();
        for entry in list.iter() {
            let Some(word) = entry.get_ref().as_str() else {
                return Err(self.wrong_type(key, entry, "a list of strings").help(help));
            };
            if words.iter().any(|(other, _)| *other == word) {
                let message = format!("{} is listed twice in `{}`", quoted(word), self.path(key));
                return Err(self
                    .doc
                    .error(ErrorKind::RepeatedWord, &entry.span(), message)
                    .help("remove one of the two"));
            }
            words.push((word, entry.span()));
        }
        if words.is_empty() {
            let message = format!("the list of `{}` is empty", self.path(key));
            return Err(self.doc.error(ErrorKind::EmptyList, &value.span(), message).help(help));
        }
        Ok(words)
    }

    pub(crate) fn unknown_word(&self, word: &str, span: &Span, what: &str, known: &[&str], help: &str) -> ModelError {
        let error = self.doc.error(ErrorKind::UnknownWord, span, format!("{} is not a {what}", quoted(word)));
        match nearest(word, known.iter().copied()) {
            Some(meant) => error.help(format!("did you mean `{meant}`?")),
            None => error.help(help),
        }
    }

    /// The pairs that a barrier orders; everything by default.
    fn mask(&self, key: &str) -> Result<Mask, ModelError> {
        let Some((_, value)) = self.get(key) else { return Ok(Mask::FULL) };
        let alone = value.get_ref().as_str().is_some();
        let pairs = Mask::PAIRS.map(|(_, _, name)| name);
        let mut mask = Mask::NONE;
        for (word, span) in self.words(key, value, PAIRS_HELP)? {
            match Mask::PAIRS.iter().find(|(_, _, name)| *name == word) {
                Some((pair, _, _)) => mask = mask | *pair,
                None if word == "all" && alone => return Ok(Mask::FULL),
                None => return Err(self.unknown_word(word, &span, "pair of accesses", &pairs, PAIRS_HELP)),
            }
        }
        Ok(mask)
    }
}
