//! RISC-V instructions, as far as memory order depends on them: which memory an instruction accesses, and which registers its
//! address, its data and its result come from.
//!
//! The base integer set, M, A (with Zabha and 64-bit Zacas), F, D, Zfh, C, Zicsr and the common bit manipulation are decoded; other
//! instructions are [`Kind::Unknown`]. Dependencies are syntactic, as the manual's: `xor x5, x5, x5` depends on `x5`, and `x0` carries nothing.

/// A register: 0 to 31 are integer, 32 to 63 floating point, and above that control registers by number.
pub type Reg = u16;

/// The first floating-point register.
pub const FLOAT: Reg = 32;
/// The first control and status register.
pub const CSR: Reg = 64;

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instr {
    /// What it does to memory, or to control flow.
    pub kind: Kind,
    /// Registers that the result, the stored value or the decision to branch is computed from.
    pub sources: [Option<Reg>; 3],
    /// The register that the address is computed from.
    pub base: Option<Reg>,
    /// What is added to it.
    pub offset: i64,
    /// The register that it writes.
    pub target: Option<Reg>,
    /// A second register that it writes: the control register of a `csrrw`.
    pub also: Option<Reg>,
    /// Its length in bytes.
    pub length: u8,
}

/// What an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Computes something.
    Compute,
    /// Decides what is executed next.
    Branch,
    /// Loads this many bytes.
    Load(u8),
    /// Stores this many bytes.
    Store(u8),
    /// Reads and writes this many bytes at once.
    Amo(Amo, u8, Order),
    /// Load reserved.
    Lr(u8, Order),
    /// Store conditional.
    Sc(u8, Order),
    /// A fence: predecessor and successor set, each of the bits `i o r w` from the left.
    Fence(u8, u8),
    /// `fence.tso`
    FenceTso,
    /// `fence.i`
    FenceI,
    /// It may access memory in a way that is not decoded: vectors, quadruple precision, `cbo.zero`.
    UnknownAccess,
    /// Not known; it accesses no memory as far as its major opcode says.
    Unknown,
}

/// The operation of an AMO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amo {
    #[allow(missing_docs)]
    Swap,
    #[allow(missing_docs)]
    Add,
    #[allow(missing_docs)]
    Xor,
    #[allow(missing_docs)]
    And,
    #[allow(missing_docs)]
    Or,
    #[allow(missing_docs)]
    Min,
    #[allow(missing_docs)]
    Max,
    #[allow(missing_docs)]
    MinUnsigned,
    #[allow(missing_docs)]
    MaxUnsigned,
    /// `amocas`: writes only if it finds the value of its target register.
    Cas,
}

/// The bits `aq` and `rl`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Order {
    /// `.aq`
    pub acquire: bool,
    /// `.rl`
    pub release: bool,
}

impl Amo {
    /// What is stored where `old` was found, both of `size` bytes.
    pub fn apply(self, old: u64, operand: u64, size: u8) -> u64 {
        let signed = |value: u64| {
            let unused = 64 - 8 * u32::from(size.min(8));
            ((value << unused) as i64) >> unused
        };
        let mask = mask(size);
        let (old, operand) = (old & mask, operand & mask);
        let new = match self {
            Amo::Swap | Amo::Cas => operand,
            Amo::Add => old.wrapping_add(operand),
            Amo::Xor => old ^ operand,
            Amo::And => old & operand,
            Amo::Or => old | operand,
            Amo::Min => {
                if signed(operand) < signed(old) {
                    operand
                } else {
                    old
                }
            }
            Amo::Max => {
                if signed(operand) > signed(old) {
                    operand
                } else {
                    old
                }
            }
            Amo::MinUnsigned => old.min(operand),
            Amo::MaxUnsigned => old.max(operand),
        };
        new & mask
    }

    /// What was found where `new` was stored, if that can be told.
    pub fn undo(self, new: u64, operand: u64, size: u8) -> Option<u64> {
        match self {
            Amo::Add => Some(new.wrapping_sub(operand) & mask(size)),
            Amo::Xor => Some((new ^ operand) & mask(size)),
            _ => None,
        }
    }
}

/// The bits of a value of `size` bytes.
pub fn mask(size: u8) -> u64 {
    if size >= 8 { u64::MAX } else { (1 << (8 * size)) - 1 }
}

impl Instr {
    const fn new(kind: Kind, length: u8) -> Instr {
        Instr { kind, sources: [None; 3], base: None, offset: 0, target: None, also: None, length }
    }

    fn reads(mut self, registers: &[Reg]) -> Instr {
        for (to, &from) in self.sources.iter_mut().zip(registers) {
            *to = Some(from).filter(|&register| register != 0);
        }
        self
    }

    fn writes(self, register: Reg) -> Instr {
        Instr { target: Some(register).filter(|&register| register != 0), ..self }
    }

    fn at(self, base: Reg, offset: i64) -> Instr {
        Instr { base: Some(base), offset, ..self }
    }
}

/// Decodes an instruction of RV64 (or RV32, whose encodings differ only in a few compressed instructions).
pub fn decode(word: u32, rv32: bool) -> Instr {
    if word & 3 != 3 { compressed(word as u16, rv32) } else { full(word) }
}

fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1 << count) - 1)
}

/// Sign-extends the low `count` bits.
fn signed(value: u32, count: u32) -> i64 {
    i64::from(((value << (32 - count)) as i32) >> (32 - count))
}

fn full(word: u32) -> Instr {
    let (rd, rs1, rs2) = (bits(word, 7, 5) as Reg, bits(word, 15, 5) as Reg, bits(word, 20, 5) as Reg);
    let funct3 = bits(word, 12, 3);
    let immediate = signed(word >> 20, 12);
    let store_immediate = signed(bits(word, 25, 7) << 5 | bits(word, 7, 5), 12);
    let new = |kind| Instr::new(kind, 4);
    match word & 0x7f {
        0x03 if funct3 != 7 => new(Kind::Load(1 << (funct3 & 3))).at(rs1, immediate).writes(rd),
        0x07 => match funct3 {
            1..=3 => new(Kind::Load(1 << funct3)).at(rs1, immediate).writes(FLOAT + rd),
            _ => new(Kind::UnknownAccess).at(rs1, 0),
        },
        0x23 if funct3 < 4 => new(Kind::Store(1 << funct3)).at(rs1, store_immediate).reads(&[rs2]),
        0x27 => match funct3 {
            1..=3 => new(Kind::Store(1 << funct3)).at(rs1, store_immediate).reads(&[FLOAT + rs2]),
            _ => new(Kind::UnknownAccess).at(rs1, 0),
        },
        0x2f if funct3 < 4 => atomic(word, 1 << funct3).at(rs1, 0),
        0x2f => new(Kind::UnknownAccess).at(rs1, 0),
        0x0f => match funct3 {
            0 if bits(word, 28, 4) == 8 && bits(word, 20, 8) == 0x33 => new(Kind::FenceTso),
            0 => new(Kind::Fence(bits(word, 24, 4) as u8, bits(word, 20, 4) as u8)),
            1 => new(Kind::FenceI),
            2 if word >> 20 == 4 => new(Kind::UnknownAccess).at(rs1, 0), // cbo.zero
            2 => new(Kind::Compute),
            _ => new(Kind::Unknown),
        },
        0x63 => new(Kind::Branch).reads(&[rs1, rs2]),
        0x67 => new(Kind::Branch).reads(&[rs1]).writes(rd),
        0x6f | 0x37 | 0x17 => new(Kind::Compute).writes(rd),
        0x13 | 0x1b => new(Kind::Compute).reads(&[rs1]).writes(rd),
        0x33 | 0x3b => new(Kind::Compute).reads(&[rs1, rs2]).writes(rd),
        0x43 | 0x47 | 0x4b | 0x4f => {
            let rs3 = bits(word, 27, 5) as Reg;
            new(Kind::Compute).reads(&[FLOAT + rs1, FLOAT + rs2, FLOAT + rs3]).writes(FLOAT + rd)
        }
        0x53 => match bits(word, 27, 5) {
            // Comparisons, conversions to integers, moves and classification write an integer register.
            0x14 => new(Kind::Compute).reads(&[FLOAT + rs1, FLOAT + rs2]).writes(rd),
            0x18 | 0x1c => new(Kind::Compute).reads(&[FLOAT + rs1]).writes(rd),
            0x1a | 0x1e => new(Kind::Compute).reads(&[rs1]).writes(FLOAT + rd),
            0x08 | 0x0b => new(Kind::Compute).reads(&[FLOAT + rs1]).writes(FLOAT + rd),
            _ => new(Kind::Compute).reads(&[FLOAT + rs1, FLOAT + rs2]).writes(FLOAT + rd),
        },
        0x73 if funct3 & 3 != 0 => {
            let csr = CSR + (word >> 20) as Reg;
            let source = if funct3 & 4 == 0 { rs1 } else { 0 };
            // `csrrs` and `csrrc` with x0 or 0 do not write; the others do.
            let writes = funct3 & 3 == 1 || rs1 != 0;
            Instr { also: writes.then_some(csr), ..new(Kind::Compute).reads(&[csr, source]).writes(rd) }
        }
        0x73 => new(Kind::Compute),
        _ => new(Kind::Unknown),
    }
}

fn atomic(word: u32, size: u8) -> Instr {
    let (rd, rs2) = (bits(word, 7, 5) as Reg, bits(word, 20, 5) as Reg);
    let order = Order { acquire: word >> 26 & 1 != 0, release: word >> 25 & 1 != 0 };
    let amo = |amo| Instr::new(Kind::Amo(amo, size, order), 4).reads(&[rs2]).writes(rd);
    match word >> 27 {
        0x00 => amo(Amo::Add),
        0x01 => amo(Amo::Swap),
        0x02 => Instr::new(Kind::Lr(size, order), 4).writes(rd),
        0x03 => Instr::new(Kind::Sc(size, order), 4).reads(&[rs2]).writes(rd),
        0x04 => amo(Amo::Xor),
        0x05 => amo(Amo::Cas).reads(&[rs2, rd]),
        0x08 => amo(Amo::Or),
        0x0c => amo(Amo::And),
        0x10 => amo(Amo::Min),
        0x14 => amo(Amo::Max),
        0x18 => amo(Amo::MinUnsigned),
        0x1c => amo(Amo::MaxUnsigned),
        _ => Instr::new(Kind::UnknownAccess, 4),
    }
}

fn compressed(half: u16, rv32: bool) -> Instr {
    let word = u32::from(half);
    let (rd, rs2) = (bits(word, 7, 5) as Reg, bits(word, 2, 5) as Reg);
    // The eight registers of the short fields are x8 to x15.
    let (short1, short2) = (bits(word, 7, 3) as Reg + 8, bits(word, 2, 3) as Reg + 8);
    let new = |kind| Instr::new(kind, 2);
    let by4 = i64::from(bits(word, 10, 3) << 3 | bits(word, 6, 1) << 2 | bits(word, 5, 1) << 6);
    let by8 = i64::from(bits(word, 10, 3) << 3 | bits(word, 5, 2) << 6);
    let stack_load4 = i64::from(bits(word, 12, 1) << 5 | bits(word, 4, 3) << 2 | bits(word, 2, 2) << 6);
    let stack_load8 = i64::from(bits(word, 12, 1) << 5 | bits(word, 5, 2) << 3 | bits(word, 2, 3) << 6);
    let stack_store4 = i64::from(bits(word, 9, 4) << 2 | bits(word, 7, 2) << 6);
    let stack_store8 = i64::from(bits(word, 10, 3) << 3 | bits(word, 7, 3) << 6);
    let byte = i64::from(bits(word, 6, 1) | bits(word, 5, 1) << 1);
    let (stack, link) = (2, 1);
    match (word & 3, bits(word, 13, 3)) {
        (0, 0) if half == 0 => new(Kind::Unknown),
        (0, 0) => new(Kind::Compute).reads(&[stack]).writes(short2),
        (0, 1) => new(Kind::Load(8)).at(short1, by8).writes(FLOAT + short2),
        (0, 2) => new(Kind::Load(4)).at(short1, by4).writes(short2),
        (0, 3) if rv32 => new(Kind::Load(4)).at(short1, by4).writes(FLOAT + short2),
        (0, 3) => new(Kind::Load(8)).at(short1, by8).writes(short2),
        // Zcb: lbu, lhu and lh, sb, sh.
        (0, 4) => match bits(word, 10, 3) {
            0 => new(Kind::Load(1)).at(short1, byte).writes(short2),
            1 => new(Kind::Load(2)).at(short1, byte & 2).writes(short2),
            2 => new(Kind::Store(1)).at(short1, byte).reads(&[short2]),
            3 => new(Kind::Store(2)).at(short1, byte & 2).reads(&[short2]),
            _ => new(Kind::Unknown),
        },
        (0, 5) => new(Kind::Store(8)).at(short1, by8).reads(&[FLOAT + short2]),
        (0, 6) => new(Kind::Store(4)).at(short1, by4).reads(&[short2]),
        (0, 7) if rv32 => new(Kind::Store(4)).at(short1, by4).reads(&[FLOAT + short2]),
        (0, 7) => new(Kind::Store(8)).at(short1, by8).reads(&[short2]),
        (1, 1) if rv32 => new(Kind::Compute).writes(link),
        (1, 0 | 1) => new(Kind::Compute).reads(&[rd]).writes(rd),
        (1, 2) => new(Kind::Compute).writes(rd),
        (1, 3) if rd == stack => new(Kind::Compute).reads(&[stack]).writes(stack),
        (1, 3) => new(Kind::Compute).writes(rd),
        (1, 4) if bits(word, 10, 2) == 3 => {
            // Zcb's one-operand instructions stand where a second operand would be.
            let single = bits(word, 12, 1) == 1 && bits(word, 5, 2) == 3;
            let sources: &[Reg] = if single { &[short1] } else { &[short1, short2] };
            new(Kind::Compute).reads(sources).writes(short1)
        }
        (1, 4) => new(Kind::Compute).reads(&[short1]).writes(short1),
        (1, 5) => new(Kind::Compute),
        (1, 6 | 7) => new(Kind::Branch).reads(&[short1]),
        (2, 0) => new(Kind::Compute).reads(&[rd]).writes(rd),
        (2, 1) => new(Kind::Load(8)).at(stack, stack_load8).writes(FLOAT + rd),
        (2, 2) => new(Kind::Load(4)).at(stack, stack_load4).writes(rd),
        (2, 3) if rv32 => new(Kind::Load(4)).at(stack, stack_load4).writes(FLOAT + rd),
        (2, 3) => new(Kind::Load(8)).at(stack, stack_load8).writes(rd),
        (2, 4) => match (bits(word, 12, 1), rd, rs2) {
            (1, 0, 0) => new(Kind::Compute), // c.ebreak
            (0, _, 0) => new(Kind::Branch).reads(&[rd]),
            (1, _, 0) => new(Kind::Branch).reads(&[rd]).writes(link),
            (0, _, _) => new(Kind::Compute).reads(&[rs2]).writes(rd),
            (_, _, _) => new(Kind::Compute).reads(&[rd, rs2]).writes(rd),
        },
        (2, 5) => new(Kind::Store(8)).at(stack, stack_store8).reads(&[FLOAT + rs2]),
        (2, 6) => new(Kind::Store(4)).at(stack, stack_store4).reads(&[rs2]),
        (2, 7) if rv32 => new(Kind::Store(4)).at(stack, stack_store4).reads(&[FLOAT + rs2]),
        (2, 7) => new(Kind::Store(8)).at(stack, stack_store8).reads(&[rs2]),
        _ => new(Kind::Unknown),
    }
}

#[cfg(test)]
mod tests;
