//! What RISC-V and Arm instructions say besides address and value: barriers in their words, marks and dependencies.
//!
//! ```text
//! 0: lr x == 0 aq        0: sc x := 1 rl      0: sc x fails
//! 0: fence rw,w          0: fence.tso         0: fence.i       0: dmb ld       0: isb
//! 0: y == 1 addr(-1)     0: y := 2 data(-1,-3) ctrl(-2)
//! ```

use crate::line::{Action, Fault, Parser};
use membar_core::{Depends, Marks, Mask};

/// A barrier's mask and how it was written.
pub(crate) type Barrier = (Mask, Marks);

/// What stands in a `fence`'s sets: does it hold loads, and stores?
fn set(text: &[u8]) -> Option<(bool, bool)> {
    let mut seen = [false; 4];
    for &byte in text {
        let at = b"iorw".iter().position(|&known| known == byte)?;
        if std::mem::replace(&mut seen[at], true) {
            return None;
        }
    }
    (!text.is_empty()).then_some((seen[2], seen[3]))
}

/// The pairs that a `fence` with these sets orders.
pub(crate) fn sets(before: &[u8], after: &[u8]) -> Option<Mask> {
    let ((loads, stores), after) = (set(before)?, set(after)?);
    let mut mask = Mask::NONE;
    for (earlier, wanted) in [(false, loads), (true, stores)] {
        for (later, also) in [(false, after.0), (true, after.1)] {
            if wanted && also {
                mask = mask | Mask::pair(earlier, later);
            }
        }
    }
    Some(mask)
}

/// `fence.tso`: loads before everything, stores before stores.
pub(crate) fn tso() -> Mask {
    Mask::LOAD_LOAD | Mask::LOAD_STORE | Mask::STORE_STORE
}

/// The pairs that `dmb` and `dsb` order, by their option. Every sharing domain counts as the whole system. A DSB that waits for
/// stores holds up whatever follows it.
pub(crate) fn domain(word: &[u8], option: &[u8]) -> Option<Mask> {
    let (name, loads, stores) = match option {
        [name @ .., b'l', b'd'] => (name, true, false),
        [name @ .., b's', b't'] => (name, false, true),
        name => (name, true, true),
    };
    let known =
        matches!(name, b"ish" | b"osh" | b"nsh") || matches!((name, loads && stores), (b"sy", true) | (b"", false));
    known.then_some(match (loads, stores) {
        (true, false) => Mask::LOAD_LOAD | Mask::LOAD_STORE,
        (false, _) if word == b"dsb" => Mask::STORE_STORE | Mask::STORE_LOAD,
        (false, _) => Mask::STORE_STORE,
        _ => Mask::FULL,
    })
}

/// The barrier without operands.
pub(crate) fn bare(word: &[u8]) -> Option<Barrier> {
    Some(match word {
        b"fence" => (Mask::FULL, Marks::FENCE),
        b"fence.tso" => (tso(), Marks::FENCE),
        b"fence.i" => (Mask::NONE, Marks::FENCE_I),
        b"isb" => (Mask::NONE, Marks::ISB),
        b"dmb" | b"dsb" => (Mask::FULL, Marks::DMB),
        _ => return None,
    })
}

/// The mark of a word behind an access.
pub(crate) fn mark(word: &[u8]) -> Option<Marks> {
    Marks::WORDS.iter().find(|(_, known)| known.as_bytes() == word).map(|&(mark, _)| mark)
}

/// The kind of dependency.
pub(crate) fn depends(word: &[u8]) -> Option<Depends> {
    Depends::ALL.iter().copied().find(|how| how.name().as_bytes() == word)
}

const FENCE_HELP: &str = "write `fence`, `fence r,rw` with sets of r, w, i and o, `fence.tso` or `fence.i`";
const PIECES_HELP: &str =
    "write `pieces(1,3)`: the bytes of each piece, lowest first, that add up to those of the access";
const DEPENDS_HELP: &str = "write `addr(-1)`: how many operations of the thread earlier the value was returned";

impl<'a> Parser<'a> {
    /// A barrier in the words of RISC-V or Arm, the word of which was taken.
    pub(crate) fn barrier(&mut self, word: &str) -> Result<Option<Action<'a>>, Fault> {
        let Some((mut mask, marks)) = bare(word.as_bytes()) else { return Ok(None) };
        if word == "fence" && self.next().is_some_and(|byte| byte.is_ascii_alphabetic()) {
            let start = self.at_next();
            let before = self.word();
            self.token(b",", "`,` and the successor set", FENCE_HELP)?;
            self.next();
            let after = self.word();
            mask = sets(before.as_bytes(), after.as_bytes()).ok_or_else(|| self.unknown(start, FENCE_HELP))?;
        } else if matches!(word, "dmb" | "dsb") && self.next().is_some_and(|byte| byte.is_ascii_alphabetic()) {
            let start = self.at_next();
            let option = self.word();
            let help = "write `dmb sy`, `dmb ld` or `dmb st` (or `ish`, `ishld`, `ishst`), or `dsb` with the same";
            mask = domain(word.as_bytes(), option.as_bytes()).ok_or_else(|| self.unknown(start, help))?;
        }
        self.marks = marks;
        Ok(Some(Action::Fence(Some(mask))))
    }

    /// `lr x == 1`, `sc x := 1`, `sc x fails`: the word was taken.
    pub(crate) fn reservation(&mut self, reserves: bool) -> Result<Action<'a>, Fault> {
        let addr = self.addr()?;
        if !reserves && self.rest_word() == "fails" {
            self.word();
            self.marks = Marks::CONDITIONAL.with(Marks::FAILED);
            return Ok(Action::Failed { addr });
        }
        let start = self.at_next();
        let writes = self.operator()?;
        if writes == reserves {
            let (expected, help) = if reserves {
                ("`==`: a load reserved loads", "write `lr x == 1`")
            } else {
                ("`:=`: a store conditional stores", "write `sc x := 1`, or `sc x fails` where it did not")
            };
            return Err(self.expected_at(start, expected, help));
        }
        let value = self.value(writes)?;
        self.read_at = self.value_at.clone();
        self.marks = if reserves { Marks::RESERVES } else { Marks::CONDITIONAL };
        Ok(if writes { Action::Store { addr, value } } else { Action::Load { addr, value } })
    }

    /// The marks and dependencies behind an operation.
    pub(crate) fn suffixes(&mut self) -> Result<(), Fault> {
        while self.next().is_some_and(|byte| byte.is_ascii_alphabetic()) {
            let start = self.at_next();
            let word = self.word();
            if let Some(mark) = mark(word.as_bytes()) {
                self.marks = self.marks.with(mark);
            } else if let Some(how) = depends(word.as_bytes()) {
                self.dependencies(how)?;
            } else if word == "pieces" {
                self.pieces()?;
            } else {
                let help = "behind an operation stand `aq`, `rl`, `aqpc`, `addr(-1)`, `data(-1)`, `ctrl(-1)` and `pieces(2,2)`, then `@`";
                return Err(self.unknown(start, help));
            }
        }
        Ok(())
    }

    /// `(2,2)`, which has to add up to the access.
    fn pieces(&mut self) -> Result<(), Fault> {
        let start = self.at_next();
        self.token(b"(", "`(` and the bytes of the first piece", PIECES_HELP)?;
        loop {
            let at = self.at_next();
            let width = self.number("number of bytes", u64::from(self.width))? as u8;
            if width == 0 {
                return Err(self.expected_at(at, "a piece of at least one byte", PIECES_HELP));
            }
            self.pieces.push(width);
            if self.next() != Some(b',') {
                break;
            }
            self.token(b",", "`,`", PIECES_HELP)?;
        }
        self.token(b")", "`)` or `,`", PIECES_HELP)?;
        let sum: u32 = self.pieces.iter().map(|&width| u32::from(width)).sum();
        if sum == u32::from(self.width) {
            Ok(())
        } else {
            Err(self.expected_at(start, "pieces that add up to the bytes of the access", PIECES_HELP))
        }
    }

    /// `(-1,-3)`
    fn dependencies(&mut self, how: Depends) -> Result<(), Fault> {
        self.token(b"(", "`(` and the operation it depends on", DEPENDS_HELP)?;
        loop {
            self.token(b"-", "`-` and a number", DEPENDS_HELP)?;
            let start = self.at_next();
            let back = self.number("dependency", u64::from(u32::MAX))? as u32;
            if back == 0 {
                return Err(self.unknown(start, DEPENDS_HELP));
            }
            self.deps.push((how, back));
            if self.next() != Some(b',') {
                return self.token(b")", "`)` or `,`", DEPENDS_HELP);
            }
            self.token(b",", "`,`", DEPENDS_HELP)?;
        }
    }
}

/// Passes over marks and dependencies, straight from the buffer, telling of each; `None` where something else stands there.
#[inline]
pub(crate) fn scan(text: &[u8], at: &mut usize, mut tell: impl FnMut(Marks, Option<(Depends, u32)>)) -> Option<()> {
    let byte = |at: usize| text.get(at).copied().unwrap_or(b'\n');
    loop {
        while matches!(byte(*at), b' ' | b'\t') {
            *at += 1;
        }
        let start = *at;
        while byte(*at).is_ascii_lowercase() {
            *at += 1;
        }
        if *at == start {
            return Some(());
        }
        let word = &text[start..*at];
        if let Some(mark) = mark(word) {
            if crate::line::in_name(byte(*at)) {
                return None;
            }
            tell(mark, None);
            continue;
        }
        let how = depends(word)?;
        if byte(*at) != b'(' {
            return None;
        }
        loop {
            *at += 1;
            if byte(*at) != b'-' {
                return None;
            }
            *at += 1;
            let (mut back, digits) = (0u32, *at);
            while byte(*at).is_ascii_digit() {
                back = back.checked_mul(10)?.checked_add(u32::from(byte(*at) - b'0'))?;
                *at += 1;
            }
            if *at == digits || back == 0 {
                return None;
            }
            tell(Marks::NONE, Some((how, back)));
            match byte(*at) {
                b',' => {}
                b')' => break,
                _ => return None,
            }
        }
        *at += 1;
    }
}
