//! The kind of value that some bytes hold, and its form in a report.

/// The kind of a value, as far as the debug information tells.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Scalar {
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A truth value.
    Bool,
    /// A character.
    Char,
    /// A floating-point number.
    Float,
    /// A pointer or a reference.
    Pointer {
        /// The type it points to, as it is written in the source: `node`, `int`, `char *`.
        to: String,
    },
    /// An enumeration: its values and their names.
    Enum(Vec<(i64, String)>),
    /// Not known, or more than one value.
    Unknown,
}

impl Scalar {
    /// The value as a reader of the program would write it. Only the lowest `size` bytes of `value` count.
    pub fn show(&self, value: u64, size: u32) -> String {
        let value = value & mask(size);
        match self {
            Scalar::Signed => signed(value, size).to_string(),
            Scalar::Unsigned => value.to_string(),
            Scalar::Bool => match value {
                0 => "false".to_owned(),
                1 => "true".to_owned(),
                // A truth value that is neither is worth seeing as it is.
                _ => value.to_string(),
            },
            Scalar::Char => character(value, size),
            Scalar::Float => match size {
                4 => format!("{:?}", f32::from_bits(value as u32)),
                8 => format!("{:?}", f64::from_bits(value)),
                _ => format!("{value:#x}"),
            },
            Scalar::Pointer { .. } => match value {
                0 => "null".to_owned(),
                _ => format!("{value:#x}"),
            },
            Scalar::Enum(names) => names
                .iter()
                .find(|(number, _)| *number as u64 & mask(size) == value)
                .map_or_else(|| signed(value, size).to_string(), |(_, name)| name.clone()),
            // Small numbers are mostly numbers, large ones mostly addresses or several values side by side.
            Scalar::Unknown if value < 0x1_0000 => value.to_string(),
            Scalar::Unknown => format!("{value:#x}"),
        }
    }

    /// The rest of the type when only a part of the value is accessed.
    pub(crate) fn part(self) -> Scalar {
        match self {
            Scalar::Signed | Scalar::Unsigned | Scalar::Bool | Scalar::Char => Scalar::Unsigned,
            _ => Scalar::Unknown,
        }
    }
}

fn mask(size: u32) -> u64 {
    match size {
        0..8 => (1 << (8 * size)) - 1,
        _ => u64::MAX,
    }
}

fn signed(value: u64, size: u32) -> i64 {
    match size {
        1..8 => {
            let unused = 64 - 8 * size;
            (value << unused) as i64 >> unused
        }
        _ => value as i64,
    }
}

/// `'a' (97)`: both, since a `char` is as often a small number as it is a letter.
fn character(value: u64, size: u32) -> String {
    let code = if size == 1 { signed(value, size) } else { value as i64 };
    let shown = u32::try_from(code).ok().and_then(char::from_u32).filter(|c| match size {
        1 => (' '..='~').contains(c),
        _ => !c.is_control(),
    });
    match (shown, code) {
        (Some('\''), _) => format!("'\\'' ({code})"),
        (Some('\\'), _) => format!("'\\\\' ({code})"),
        (Some(c), _) => format!("'{c}' ({code})"),
        (None, 0) => "'\\0' (0)".to_owned(),
        (None, 10) => "'\\n' (10)".to_owned(),
        (None, 9) => "'\\t' (9)".to_owned(),
        (None, _) => code.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_the_source_would_write_them() {
        let cases: &[(Scalar, u64, u32, &str)] = &[
            (Scalar::Signed, 0xffff_ffff, 4, "-1"),
            (Scalar::Signed, 0xffff_ffff, 8, "4294967295"),
            (Scalar::Signed, 0x80, 1, "-128"),
            (Scalar::Unsigned, 0xffff_ffff_ffff, 4, "4294967295"),
            (Scalar::Bool, 1, 1, "true"),
            (Scalar::Bool, 7, 1, "7"),
            (Scalar::Char, 97, 1, "'a' (97)"),
            (Scalar::Char, 0, 1, "'\\0' (0)"),
            (Scalar::Char, 0xff, 1, "-1"),
            (Scalar::Char, 0xe9, 4, "'é' (233)"),
            (Scalar::Float, 0x3fc0_0000, 4, "1.5"),
            (Scalar::Float, 0x3ff8_0000_0000_0000, 8, "1.5"),
            (Scalar::Pointer { to: "node".into() }, 0, 8, "null"),
            (Scalar::Pointer { to: "node".into() }, 0x7f00, 8, "0x7f00"),
            (Scalar::Enum(vec![(0, "IDLE".into()), (-1, "BAD".into())]), 0xffff_ffff, 4, "BAD"),
            (Scalar::Enum(vec![(0, "IDLE".into())]), 5, 4, "5"),
            (Scalar::Unknown, 12, 16, "12"),
            (Scalar::Unknown, 0x1_0000_0001, 8, "0x100000001"),
            (Scalar::Signed, 3, 0, "0"),
        ];
        for (scalar, value, size, shown) in cases {
            assert_eq!(scalar.show(*value, *size), *shown, "{scalar:?}");
        }
    }
}
