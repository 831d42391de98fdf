//! The `.membar` section: an instrumented object inside a native one.
//!
//! ```text
//! "MEMBAR01"  length: u64, little endian  language: 'C' or '+'  object
//! ```
//!
//! The linker joins the sections of all objects, archive members included, into one. It may put zeros between them, so
//! the start of each is searched for.

use super::Language;

/// The section's name.
pub(super) const SECTION: &str = ".membar";

const MAGIC: &[u8; 8] = b"MEMBAR01";
const HEADER: usize = MAGIC.len() + 8 + 1;

/// One object in a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part<'a> {
    pub(super) language: Language,
    pub(super) object: &'a [u8],
}

/// The contents of the section for one object.
pub(super) fn encode(language: Language, object: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + object.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&(object.len() as u64).to_le_bytes());
    out.push(match language {
        Language::C => b'C',
        Language::Cxx => b'+',
    });
    out.extend_from_slice(object);
    out
}

/// The objects of a joined section, or what is wrong with it.
pub(super) fn decode(mut bytes: &[u8]) -> Result<Vec<Part<'_>>, &'static str> {
    let mut parts = Vec::new();
    loop {
        let padding = bytes.iter().take_while(|byte| **byte == 0).count();
        bytes = &bytes[padding..];
        if bytes.is_empty() {
            return Ok(parts);
        }
        let Some((header, rest)) = bytes.split_at_checked(HEADER) else { return Err("it ends within a header") };
        let Some(header) = header.strip_prefix(MAGIC) else { return Err("it was made by another version") };
        let Some((length, language)) = header.split_first_chunk::<8>() else { return Err("it ends within a header") };
        let language = match language {
            b"C" => Language::C,
            b"+" => Language::Cxx,
            _ => return Err("it has an unknown language"),
        };
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| "it has an impossible length")?;
        let Some((object, rest)) = rest.split_at_checked(length) else { return Err("it ends within an object") };
        parts.push(Part { language, object });
        bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_sections_come_apart_again() {
        let mut bytes = encode(Language::C, b"one\0\0");
        bytes.extend([0; 7]);
        bytes.extend(encode(Language::Cxx, b""));
        bytes.extend(encode(Language::Cxx, b"two"));
        let found: Vec<_> =
            decode(&bytes).expect("sound").iter().map(|part| (part.language, part.object.to_vec())).collect();
        assert_eq!(
            found,
            [(Language::C, b"one\0\0".to_vec()), (Language::Cxx, vec![]), (Language::Cxx, b"two".to_vec())]
        );
        assert_eq!(decode(b""), Ok(vec![]));
    }

    #[test]
    fn damage_is_found() {
        let whole = encode(Language::C, b"object");
        for length in 1..whole.len() {
            assert!(decode(&whole[..length]).is_err(), "{length}");
        }
        for at in 0..HEADER {
            let mut changed = whole.clone();
            changed[at] ^= 0x40;
            assert!(decode(&changed).is_err(), "{at}");
        }
    }
}
