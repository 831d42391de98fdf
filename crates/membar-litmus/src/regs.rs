//! The registers of X86 and X86_64, under all their names.

/// Part of a register: which one, and how many of its low bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Register {
    /// Index into the table, which is also the order in which states list them.
    pub(crate) index: u8,
    /// 8, 16, 32 or 64; [`VECTOR`] for a vector register.
    pub(crate) bits: u8,
}

pub(crate) const RAX: u8 = 0;
/// The size of a vector register.
pub(crate) const VECTOR: u8 = 128;
/// How many registers there are: 16 general ones, then xmm0 to xmm15.
pub(crate) const ALL: usize = 32;

/// 64, 32, 16 and 8 bits. The first eight exist in X86, where they have 32 bits.
const NAMES: [[&str; 4]; 16] = [
    ["rax", "eax", "ax", "al"],
    ["rbx", "ebx", "bx", "bl"],
    ["rcx", "ecx", "cx", "cl"],
    ["rdx", "edx", "dx", "dl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["rbp", "ebp", "bp", "bpl"],
    ["rsp", "esp", "sp", "spl"],
    ["r8", "r8d", "r8w", "r8b"],
    ["r9", "r9d", "r9w", "r9b"],
    ["r10", "r10d", "r10w", "r10b"],
    ["r11", "r11d", "r11w", "r11b"],
    ["r12", "r12d", "r12w", "r12b"],
    ["r13", "r13d", "r13w", "r13b"],
    ["r14", "r14d", "r14w", "r14b"],
    ["r15", "r15d", "r15w", "r15b"],
];

/// The register of this name, in any case, on a machine of 32 or 64 bits.
pub(crate) fn register(name: &str, machine: u8) -> Option<Register> {
    let (known, first) = if machine == 64 { (16, 0) } else { (8, 1) };
    if machine == 64
        && let Some(number) = name.to_ascii_lowercase().strip_prefix("xmm")
    {
        let number = number.parse().ok().filter(|&n: &u8| n < 16 && n.to_string() == number)?;
        return Some(Register { index: 16 + number, bits: VECTOR });
    }
    NAMES[..known].iter().zip(0..).find_map(|(names, index)| {
        let at = names[first..].iter().position(|known| known.eq_ignore_ascii_case(name))?;
        Some(Register { index, bits: 64 >> (at + first) })
    })
}

/// The name of the whole register in states.
pub(crate) fn shown(index: u8, machine: u8) -> String {
    let Some(names) = NAMES.get(usize::from(index)) else { return format!("xmm{}", index - 16) };
    if machine == 64 { names[0].to_owned() } else { names[1].to_uppercase() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for (index, names) in NAMES.iter().enumerate() {
            for (at, name) in names.iter().enumerate() {
                let expected = Register { index: index as u8, bits: 64 >> at };
                assert_eq!(register(name, 64), Some(expected));
                assert_eq!(register(&name.to_uppercase(), 64), Some(expected));
                assert_eq!(register(name, 32), (index < 8 && at > 0).then_some(expected));
            }
            assert_eq!(register(&shown(index as u8, 64), 64).map(|r| r.index), Some(index as u8));
        }
        assert_eq!(shown(RAX, 32), "EAX");
        for n in 0..16 {
            assert_eq!(register(&shown(16 + n, 64), 64), Some(Register { index: 16 + n, bits: VECTOR }));
        }
        for name in ["xmm16", "xmm01", "xmm", "xmm+1"] {
            assert_eq!(register(name, 64), None);
        }
        assert_eq!(register("xmm0", 32), None);
    }
}
