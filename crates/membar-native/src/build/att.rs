//! Reads assembly in AT&T notation, one statement at a time.
//!
//! Problem: a line of assembly holds any number of statements, labels, prefixes and comments. Both the compiler's own
//! output and the user's inline assembly must be read, and nothing that is not understood may be taken for something
//! else.
//!
//! Algorithm: a line is cut at `;` and at comments, outside of strings. A statement is labels, then prefixes, then a
//! mnemonic, then operands that are cut at commas outside of parentheses.
//!
//! Guarantees: no text is rejected; text without meaning to us is a statement with an unknown mnemonic.

/// An operand, by its form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operand<'a> {
    /// `$1`
    Immediate(&'a str),
    /// `%eax`, without the percent sign.
    Register(&'a str),
    /// `4(%rax,%rbx,8)`, `x(%rip)`, `x`
    Memory(Memory<'a>),
    /// `*%rax`: a jump to where a register says.
    Indirect,
}

/// Memory as an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Memory<'a> {
    /// `fs` of `%fs:0`.
    pub(super) segment: Option<&'a str>,
    /// The text before the parenthesis, possibly empty.
    pub(super) displacement: &'a str,
    /// With both parentheses, empty if there is none.
    pub(super) address: &'a str,
    /// Without the percent sign.
    pub(super) base: Option<&'a str>,
    /// `*` of `jmp *x(%rip)`: the value read is the jump target.
    pub(super) indirect: bool,
}

impl Memory<'_> {
    /// Whether the address is counted from the stack pointer, which moves when we push.
    pub(super) fn on_stack_pointer(&self) -> bool {
        matches!(self.base, Some("rsp" | "esp"))
    }

    /// Whether the address is one of the frame: of a local variable, or of a register that had to be stored.
    pub(super) fn in_frame(&self) -> bool {
        self.on_stack_pointer() || matches!(self.base, Some("rbp" | "ebp"))
    }

    /// Whether the linker makes this memory: `x@GOTPCREL(%rip)` holds the address of `x`, and no thread writes it.
    pub(super) fn of_linker(&self) -> bool {
        self.displacement.contains('@')
    }
}

/// One statement. The text is all of it, so that it can be written again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Statement<'a> {
    /// Names before a colon.
    pub(super) labels: Vec<&'a str>,
    /// The labels as written.
    pub(super) label_text: &'a str,
    /// The text after the labels.
    pub(super) text: &'a str,
    /// `lock`, `rep` and the like.
    pub(super) prefixes: Vec<&'a str>,
    /// Lower case is assumed, as compilers write it; empty if there is none.
    pub(super) mnemonic: &'a str,
    /// In the order of the text: the destination is the last.
    pub(super) operands: Vec<Operand<'a>>,
}

impl<'a> Statement<'a> {
    /// Whether this is for the assembler, not for the machine.
    pub(super) fn is_directive(&self) -> bool {
        self.mnemonic.starts_with('.')
    }

    /// The one memory operand. Instructions have one at most, but for the string instructions.
    pub(super) fn memory(&self) -> Option<Memory<'a>> {
        self.operands.iter().find_map(|operand| match operand {
            Operand::Memory(memory) => Some(*memory),
            _ => None,
        })
    }

    /// The last operand, if it is memory.
    pub(super) fn memory_destination(&self) -> Option<Memory<'a>> {
        match self.operands.last() {
            Some(Operand::Memory(memory)) => Some(*memory),
            _ => None,
        }
    }

    /// The function that a direct call calls, without `@PLT`.
    pub(super) fn callee(&self) -> Option<&'a str> {
        match (self.mnemonic, self.operands.first()) {
            ("call" | "callq", Some(Operand::Memory(memory))) if memory.address.is_empty() && !memory.indirect => {
                Some(memory.displacement.split('@').next().unwrap_or(memory.displacement))
            }
            _ => None,
        }
    }

    /// Whether what follows need not be what runs next.
    pub(super) fn is_jump(&self) -> bool {
        self.mnemonic.starts_with('j')
            || self.mnemonic.starts_with("loop")
            || matches!(self.mnemonic, "ret" | "retq" | "ud2" | "hlt" | "iretq")
    }
}

/// Prefixes that are written as words.
pub(super) const PREFIXES: &[&str] = &[
    "lock", "rep", "repe", "repz", "repne", "repnz", "xacquire", "xrelease", "data16", "data32", "addr32", "rex64",
    "rex.W", "notrack", "bnd", "cs", "ds", "es", "ss", "fs", "gs",
];

/// The statements of a line, without comments. Strings may hold any sign.
pub(super) fn statements(line: &str) -> Vec<Statement<'_>> {
    let bytes = line.as_bytes();
    let (mut out, mut start, mut at, mut quoted) = (Vec::new(), 0, 0, false);
    let mut end = bytes.len();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'#' if !quoted => {
                end = at;
                break;
            }
            b';' if !quoted => {
                out.push(statement(&line[start..at]));
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    out.push(statement(&line[start.min(end)..end]));
    out.retain(|statement| !statement.labels.is_empty() || !statement.text.is_empty());
    out
}

/// One statement without its separator.
pub(super) fn statement(text: &str) -> Statement<'_> {
    let mut rest = text.trim();
    let mut statement = Statement::default();
    let whole = rest;
    while let Some((name, after)) = rest.split_once(':') {
        let name = name.trim_end();
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'@') || byte > 127);
        if !is_name {
            break;
        }
        statement.labels.push(name);
        rest = after.trim_start();
    }
    statement.label_text = whole[..whole.len() - rest.len()].trim_end();
    statement.text = rest;
    loop {
        let end = rest.find(|sign: char| sign.is_whitespace()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let after = after.trim_start();
        if !PREFIXES.contains(&word) {
            statement.mnemonic = word;
            if !word.starts_with('.') {
                statement.operands = split(after).map(operand).collect();
            }
            return statement;
        }
        statement.prefixes.push(word);
        rest = after;
    }
}

/// Cuts at commas outside of parentheses and braces.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = (!text.is_empty()).then_some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut depth = 0i32;
        for (at, sign) in text.char_indices() {
            match sign {
                '(' | '{' => depth += 1,
                ')' | '}' => depth -= 1,
                ',' if depth <= 0 => {
                    rest = Some(&text[at + 1..]);
                    return Some(text[..at].trim());
                }
                _ => {}
            }
        }
        rest = None;
        Some(text.trim())
    })
}

fn operand(text: &str) -> Operand<'_> {
    if let Some(value) = text.strip_prefix('$') {
        return Operand::Immediate(value);
    }
    let (indirect, text) = match text.strip_prefix('*') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text),
    };
    let mut segment = None;
    let mut place = text;
    if let Some(register) = text.strip_prefix('%') {
        match register.split_once(':') {
            Some((name, rest)) => (segment, place) = (Some(name), rest.trim_start()),
            // `%zmm0{%k1}` and `%st(1)` are registers all the same.
            None if indirect => return Operand::Indirect,
            None => return Operand::Register(register.split(['{', '(']).next().unwrap_or(register).trim_end()),
        }
    }
    let (displacement, address) = match place.rfind('(') {
        // `(4+4)` is a number in parentheses, not an address.
        Some(at) if place[at..].contains('%') => place.split_at(at),
        _ => (place, ""),
    };
    let base =
        address.trim_start_matches('(').split([',', ')']).next().map(str::trim).and_then(|name| name.strip_prefix('%'));
    Operand::Memory(Memory { segment, displacement: displacement.trim(), address, base, indirect })
}

/// Bytes of a register.
pub(super) fn register_size(name: &str) -> Option<u8> {
    let numbered = |prefix: &str| name.strip_prefix(prefix).is_some_and(|number| number.parse::<u8>().is_ok());
    Some(match name {
        "al" | "ah" | "bl" | "bh" | "cl" | "ch" | "dl" | "dh" | "sil" | "dil" | "bpl" | "spl" => 1,
        "ax" | "bx" | "cx" | "dx" | "si" | "di" | "bp" | "sp" | "cs" | "ds" | "es" | "fs" | "gs" | "ss" => 2,
        "eax" | "ebx" | "ecx" | "edx" | "esi" | "edi" | "ebp" | "esp" => 4,
        "rax" | "rbx" | "rcx" | "rdx" | "rsi" | "rdi" | "rbp" | "rsp" => 8,
        _ if numbered("xmm") => 16,
        _ if numbered("ymm") => 32,
        _ if numbered("zmm") => 64,
        _ if numbered("mm") => 8,
        _ if numbered("r") => 8,
        _ => match (name.strip_prefix('r')?, name.as_bytes().last()?) {
            (rest, b'b' | b'l') if rest[..rest.len() - 1].parse::<u8>().is_ok() => 1,
            (rest, b'w') if rest[..rest.len() - 1].parse::<u8>().is_ok() => 2,
            (rest, b'd') if rest[..rest.len() - 1].parse::<u8>().is_ok() => 4,
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_at_semicolons_and_comments() {
        let found = statements("1: lock; addl $0, (%rsp) ; nop # lock");
        assert_eq!(found.len(), 3);
        assert_eq!(
            (found[0].labels.as_slice(), found[0].prefixes.as_slice(), found[0].mnemonic),
            (&["1"][..], &["lock"][..], "")
        );
        assert_eq!(found[1].mnemonic, "addl");
        assert_eq!(found[2].text, "nop");
        assert_eq!(statements(".ascii \"a;b#\\\"c\"").len(), 1);
        assert!(statements("  # nothing").is_empty());
    }

    #[test]
    fn operands_are_told_apart_by_their_form() {
        let found = statement("movl %fs:0, %eax");
        assert!(matches!(found.operands[0], Operand::Memory(Memory { segment: Some("fs"), displacement: "0", .. })));
        let found = statement("mov -8(%rsp,%rax,4), %r10d");
        let memory = found.memory().expect("memory");
        assert!(memory.on_stack_pointer() && found.memory_destination().is_none());
        assert_eq!((memory.displacement, memory.address, memory.base), ("-8", "(%rsp,%rax,4)", Some("rsp")));
        assert_eq!(found.operands[1], Operand::Register("r10d"));
        assert_eq!(statement("call foo@PLT").callee(), Some("foo"));
        assert_eq!(statement("call *foo@GOTPCREL(%rip)").callee(), None);
        assert_eq!(statement("call *%rax").operands, [Operand::Indirect]);
        assert_eq!(statement("fstp %st(1)").operands, [Operand::Register("st")]);
    }

    #[test]
    fn registers_have_sizes() {
        for (name, size) in [("al", 1), ("r8b", 1), ("r10w", 2), ("r15d", 4), ("r9", 8), ("xmm15", 16), ("ymm3", 32)] {
            assert_eq!(register_size(name), Some(size), "{name}");
        }
        assert_eq!(register_size("rip"), None);
    }
}
