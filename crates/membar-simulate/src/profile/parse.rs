//! From TOML text, or from what the user gives to `--profile`, to a profile.
//!
//! The text is read as TOML first (`toml`'s own errors keep their place), then key by key. The first fault is reported.

use super::{NUMBERS, Profile, ProfileError, SOURCES, Sharing, builtin, out_of_range};
use membar_core::Located;
use membar_core::{nearest, quoted};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The largest profile file that is read, in bytes.
pub const MOST_BYTES: u64 = 1 << 20;

/// The profile that a user means: the name of a built-in one, or else the path of a file that ends in `.toml`.
pub fn load(name_or_path: &str) -> Result<Profile, ProfileError> {
    if let Some(profile) = builtin(name_or_path) {
        return Ok(profile.clone());
    }
    let names = SOURCES.map(|(name, _)| name);
    let path = Path::new(name_or_path);
    if path.extension().is_some_and(|extension| extension == "toml") {
        let unreadable =
            |why: String| ProfileError::new("", format!("the profile {} cannot be read: {why}", quoted(name_or_path)));
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| unreadable(error.to_string()))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(unreadable(format!("it is larger than {MOST_BYTES} bytes")));
        }
        let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8 text".to_owned()))?;
        return parse(name_or_path, &text);
    }
    let error = ProfileError::new("", format!("there is no profile {}", quoted(name_or_path)))
        .note(format!("built-in profiles: {}", names.join(", ")));
    Err(match nearest(name_or_path, names) {
        Some(meant) => error.help(format!("did you mean `{meant}`?")),
        None => error.help("for a profile of your own, give the path of its `.toml` file"),
    })
}

/// Reads a profile. `file_name` is for messages only.
pub fn parse(file_name: &str, text: &str) -> Result<Profile, ProfileError> {
    let doc = Doc { file: file_name, text };
    let table = DeTable::parse(text).map_err(|error| {
        let what: Vec<&str> = error.message().split('\n').map(str::trim).filter(|line| !line.is_empty()).collect();
        doc.error(&error.span().unwrap_or(0..0), "", format!("this is not TOML: {}", what.join(", ")))
            .help("the built-in profiles are files of this kind: start from one")
    })?;
    let mut profile = Profile::blank();
    // Where each setting stands, for faults that show only when all of them are known.
    let mut places: Vec<(String, Span)> = Vec::new();
    doc.known_keys("", table.get_ref())?;
    for (key, value) in table.get_ref() {
        match key.get_ref().as_ref() {
            "name" => profile.name = doc.string("name", value)?.to_owned(),
            "title" => profile.title = doc.string("title", value)?.trim().to_owned(),
            "about" => profile.about = doc.string("about", value)?.trim().to_owned(),
            name => {
                let Some(table) = value.get_ref().as_table() else {
                    let help = format!("write `[{name}]` on a separate line");
                    return Err(doc.wrong_type(name, value, "a table").help(help));
                };
                places.push((name.to_owned(), key.span()));
                doc.section(name, table, &mut profile, &mut places)?;
            }
        }
    }
    doc.check_name(&profile.name, table.get_ref())?;
    profile.validate().map_err(|error| match places.iter().find(|(key, _)| *key == error.key) {
        Some((_, span)) => error.at(Located::new(file_name, text, span.clone())),
        None => error,
    })?;
    Ok(profile)
}

type Span = Range<usize>;
type Value<'t> = Spanned<DeValue<'t>>;

/// The keys of each table; the first is the file itself. Numbers are in [`NUMBERS`].
const KEYS: [(&str, &[&str]); 2] =
    [("", &["name", "title", "about", "size", "mix", "sharing", "pace", "order"]), ("sharing", &["pattern"])];

fn keys(table: &str) -> Vec<&'static str> {
    let words = KEYS.iter().filter(|(name, _)| *name == table).flat_map(|(_, keys)| keys.iter().copied());
    words.chain(NUMBERS.iter().filter(|number| number.table == table).map(|number| number.key)).collect()
}

/// The text that is read.
struct Doc<'t> {
    file: &'t str,
    text: &'t str,
}

impl Doc<'_> {
    fn error(&self, span: &Span, key: &str, message: String) -> ProfileError {
        ProfileError::new(key, message).at(Located::new(self.file, self.text, span.clone()))
    }

    /// Reports the first key, in the order of the text, that does not belong here.
    fn known_keys(&self, name: &str, table: &DeTable<'_>) -> Result<(), ProfileError> {
        let known = keys(name);
        let unknown = table.iter().filter(|(key, _)| !known.contains(&key.get_ref().as_ref()));
        let Some((key, _)) = unknown.min_by_key(|(key, _)| key.span().start) else { return Ok(()) };
        let whose = if name.is_empty() { "a profile".to_owned() } else { format!("`[{name}]`") };
        let error = self.error(&key.span(), "", format!("{whose} has no key {}", quoted(key.get_ref())));
        let home = ["size", "mix", "sharing", "pace", "order"]
            .into_iter()
            .find(|home| keys(home).contains(&key.get_ref().as_ref()));
        Err(match (nearest(key.get_ref(), known.iter().copied()), home) {
            (Some(meant), _) => error.help(format!("did you mean `{meant}`?")),
            (None, Some(home)) => error.help(format!("it belongs below `[{home}]`")),
            (None, None) => error.help(format!("the keys are {}", known.join(", "))),
        })
    }

    fn section(
        &self,
        name: &str,
        table: &DeTable<'_>,
        profile: &mut Profile,
        places: &mut Vec<(String, Span)>,
    ) -> Result<(), ProfileError> {
        self.known_keys(name, table)?;
        for (key, value) in table {
            let key = key.get_ref().as_ref();
            places.push((format!("{name}.{key}"), value.span()));
            if let Some(number) = NUMBERS.iter().find(|number| number.table == name && number.key == key) {
                let Some(integer) = value.get_ref().as_integer() else {
                    return Err(self.wrong_type(&format!("{name}.{key}"), value, "an integer"));
                };
                let shown = self.text.get(value.span()).unwrap_or_default();
                let parsed =
                    i64::from_str_radix(integer.as_str(), integer.radix()).ok().and_then(|n| u32::try_from(n).ok());
                let Some(parsed) = parsed else {
                    let place = Located::new(self.file, self.text, value.span());
                    return Err(out_of_range(number, quoted(shown).trim_matches('`')).at(place));
                };
                *(number.get)(profile) = parsed;
            } else {
                profile.sharing = self.pattern(value)?;
            }
        }
        Ok(())
    }

    fn pattern(&self, value: &Value<'_>) -> Result<Sharing, ProfileError> {
        let word = self.string("sharing.pattern", value)?;
        if let Some((sharing, _)) = Sharing::ALL.iter().find(|(_, name)| *name == word) {
            return Ok(*sharing);
        }
        let names = Sharing::ALL.map(|(_, name)| name);
        let error = self.error(&value.span(), "sharing.pattern", format!("{} is not a sharing pattern", quoted(word)));
        Err(match nearest(word, names) {
            Some(meant) => error.help(format!("did you mean `{meant}`?")),
            None => error.help(format!("the patterns are {}", names.join(", "))),
        })
    }

    fn check_name(&self, name: &str, table: &DeTable<'_>) -> Result<(), ProfileError> {
        let span = table.iter().find(|(key, _)| key.get_ref() == "name").map(|(_, value)| value.span());
        let help = "a name is made of lower-case letters, digits, `-` and `_`, such as `my-mix`";
        let Some(span) = span else {
            return Err(self
                .error(&(0..0), "name", "`name` is missing".to_owned())
                .help("add `name = \"my-mix\"` at the top"));
        };
        if !name.is_empty() && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_')) {
            return Ok(());
        }
        Err(self.error(&span, "name", format!("{} cannot be a profile's name", quoted(name))).help(help))
    }

    fn string<'v>(&self, key: &str, value: &'v Value<'_>) -> Result<&'v str, ProfileError> {
        let text = value.get_ref().as_str();
        text.ok_or_else(|| self.wrong_type(key, value, "a string").help("write it in quotes"))
    }

    fn wrong_type(&self, key: &str, value: &Value<'_>, expected: &str) -> ProfileError {
        let found = value.get_ref().type_str();
        self.error(&value.span(), key, format!("`{key}` must be {expected}, but its type is {found}"))
    }
}
