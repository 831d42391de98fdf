//! The pass over the compiler's assembly.
//!
//! Problem: what the compiler's instrumentation gets wrong (see [`announced`]) or leaves out ([`inline`]) has to be put right
//! before the code is assembled, and what cannot be put right has to be reported with its place in the source.
//!
//! Algorithm:
//!
//! 1. Lines of the compiler's own are copied, with the changes that [`announced`] asks for and the calls that are missing
//!    ([`super::builtins`]).
//! 2. The text between `#APP` and `#NO_APP` is inline assembly. It is written again one statement per line, and before a
//!    statement that accesses memory, or the prefix that belongs to it, stands the call of `__membar_asm`.
//! 3. The place of a note is the mark that gcc leaves, `# 10 "a.c" 1`, and otherwise the last `.loc`.
//!
//! Guarantees: the pass adds and renames calls, and changes nothing else that runs.
//!
//! Assembly outside of functions is treated like that inside, as far as it is code. Anything not understood (an instruction, a macro,
//! bytes written as data, Intel notation) is noted, and a call before it tells the runtime when it is executed: the note counts
//! only then ([`Note::id`]). A file that is in Intel notation as a whole gets no calls, so its note always counts.

use super::announced::{self, Edit};
use super::att::{self, Statement};
use super::builtins::Builtins;
use super::inline::{self, Effect, effect};
use super::{Note, NoteKind};
use std::collections::{HashMap, HashSet};
use std::mem;

/// The section of an object that carries its notes to the link.
pub(super) const NOTES: &str = ".membar.notes";

/// Assembly after the pass.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub(super) text: String,
    pub(super) notes: Vec<Note>,
}

/// Runs the pass.
pub(super) fn rewrite(text: &str) -> Rewritten {
    let lines: Vec<&str> = text.lines().collect();
    let mut pass = Pass::new(text);
    if intel(&lines) {
        pass.note("is in Intel notation: membar sees none of the assembly in this file", None);
        pass.notes.iter_mut().for_each(|note| note.kind = NoteKind::File);
        return Rewritten { text: text.to_owned(), notes: pass.notes };
    }
    let edits = announced::edits(&lines);
    for (number, line) in lines.iter().enumerate() {
        pass.line(line, &lines[number..], edits.get(&number));
    }
    pass.flush_prefix();
    Rewritten { text: pass.out, notes: pass.notes }
}

/// Whether the compiler itself was asked for Intel notation.
fn intel(lines: &[&str]) -> bool {
    lines.iter().take_while(|line| line.trim() != "#APP").any(|line| line.trim_start().starts_with(".intel_syntax"))
}

/// Whether the name, which C++ may have mangled, says that the function is an atomic section as a whole, as testers write it.
pub(super) fn is_section(name: &str) -> bool {
    const PREFIX: &str = "__VERIFIER_atomic_";
    let from = if name.starts_with("_Z") { name.find(PREFIX) } else { name.starts_with(PREFIX).then_some(0) };
    from.is_some_and(|from| {
        let rest = &name[from + PREFIX.len()..];
        // Of a mangled name the types of parameters follow: none.
        !["begin", "end", "beginv", "endv"].contains(&rest)
    })
}

/// If the compiler announces here that such a function begins or returns: the call that says so.
fn section_call(line: &str) -> Option<String> {
    let calls = [("__tsan_func_entry", "__membar_section_begin"), ("__tsan_func_exit", "__membar_section_end")];
    let is_call = line.trim_start().starts_with("call") || line.trim_start().starts_with("jmp");
    let (old, new) = calls.into_iter().find(|(old, _)| is_call && line.contains(old))?;
    Some(line.replace(old, new))
}

/// A section that holds notes, as assembly.
pub(super) fn notes_section(notes: &[Note]) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    if notes.is_empty() {
        return out;
    }
    let _ = writeln!(out, "\t.section\t{NOTES},\"\",@progbits");
    for note in notes {
        for byte in serde_json::to_string(note).unwrap_or_default().bytes().chain([b'\n']) {
            let _ = writeln!(out, "\t.byte\t{byte}");
        }
    }
    out
}

/// Which text we are in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// The compiler's own.
    Code,
    /// Assembly of a function.
    Inline,
    /// Assembly outside of functions.
    TopLevel,
}

struct Pass<'a> {
    out: String,
    notes: Vec<Note>,
    mode: Mode,
    /// By number. The directory is left out where it is the compiler's own.
    files: HashMap<u32, String>,
    /// The name in `.file "a.c"`, for what has no line.
    name: Option<String>,
    /// The directory the compiler ran in.
    directory: Option<String>,
    /// From `.loc`.
    location: Option<(String, u32)>,
    /// From gcc's marks, while they hold.
    mark: Option<(String, u32)>,
    /// Within `.cfi_startproc` and `.cfi_endproc`.
    in_function: bool,
    /// The function is an atomic section as a whole.
    is_section: bool,
    /// Prefixes that stood alone, and wait for their instruction.
    prefixes: Vec<&'a str>,
    /// Data stands right before: it may be the first part of the next instruction, which nothing may come between.
    data: bool,
    /// Depth of `.macro`, `.rept` and the like.
    macros: u32,
    /// Macros that have been defined.
    defined: HashSet<&'a str>,
    /// Whether the section is one of code; and those of the sections that `.pushsection` and `.section` left.
    is_code: bool,
    pushed: Vec<bool>,
    previous: bool,
    /// Between `.intel_syntax` and `.att_syntax`.
    intel: bool,
    builtins: Builtins<'a>,
}

impl<'a> Pass<'a> {
    fn new(text: &str) -> Pass<'a> {
        let size = text.len();
        Pass {
            out: String::with_capacity(size + size / 16),
            notes: Vec::new(),
            mode: Mode::Code,
            files: HashMap::new(),
            name: None,
            directory: None,
            location: None,
            mark: None,
            in_function: false,
            is_section: false,
            prefixes: Vec::new(),
            data: false,
            macros: 0,
            defined: HashSet::new(),
            is_code: true,
            pushed: Vec::new(),
            previous: true,
            intel: false,
            builtins: Builtins::of(text),
        }
    }

    fn copy(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// Notes what is not understood, and has the runtime told when it is executed.
    fn unseen(&mut self, what: &str, text: &str) {
        if self.is_code {
            let id = self.note(what, Some(text));
            inline::tell(id, &mut self.out);
        }
    }

    fn note(&mut self, what: &str, instruction: Option<&str>) -> u64 {
        let words = match (instruction, self.mode) {
            (Some(text), _) => format!("`{}` {what}", text.split_whitespace().collect::<Vec<_>>().join(" ")),
            (None, _) => format!("assembly {what}"),
        };
        let place = match self.mode {
            Mode::Inline => self.mark.clone().or_else(|| self.location.clone()),
            Mode::TopLevel => self.mark.clone(),
            Mode::Code => self.location.clone(),
        };
        let what = match (&place, &self.name) {
            (None, Some(name)) => format!("{name}: {words}"),
            _ => words,
        };
        let note = Note { kind: NoteKind::Assembly, what, place };
        let id = note.id();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        id
    }

    /// One line, which is the first of those that are left.
    fn line(&mut self, line: &'a str, left: &[&'a str], edit: Option<&Edit>) {
        let text = line.trim();
        match text {
            "#APP" => {
                self.enter(if self.in_function { Mode::Inline } else { Mode::TopLevel });
                return self.copy(line);
            }
            "# Start of file scope inline assembly" => {
                self.enter(Mode::TopLevel);
                return self.copy(line);
            }
            "#NO_APP" | "# End of file scope inline assembly" => {
                self.flush_prefix();
                self.mode = Mode::Code;
                return self.copy(line);
            }
            _ => {}
        }
        if text.starts_with('.') {
            self.directive(text);
        }
        if self.mode == Mode::Code && !text.starts_with(['.', '#']) {
            if let Some(name) = text.split_once(':').map(|(name, _)| name).filter(|name| !name.contains([' ', '\t'])) {
                self.is_section = is_section(name);
            } else if self.is_section
                && let Some(call) = section_call(line)
            {
                return self.copy(&call);
            }
        }
        match self.mode {
            Mode::Code => self.code(line, left, edit),
            Mode::Inline | Mode::TopLevel => self.inline(line, text),
        }
    }

    fn enter(&mut self, mode: Mode) {
        self.mode = mode;
        (self.mark, self.macros, self.intel) = (None, 0, false);
        (self.is_code, self.previous) = (true, true);
        self.pushed.clear();
    }

    /// Keeps the place up to date. Everything here may stand in any mode.
    fn directive(&mut self, text: &str) {
        if let Some(rest) = text.strip_prefix(".loc").filter(|rest| rest.starts_with([' ', '\t'])) {
            let mut words = rest.split_whitespace();
            let file = words.next().and_then(|word| word.parse().ok()).and_then(|file: u32| self.files.get(&file));
            let line = words.next().and_then(|word| word.parse().ok());
            if let (Some(file), Some(line)) = (file, line) {
                self.location = Some((file.clone(), line));
            }
            self.mark = None;
        } else if let Some(rest) = text.strip_prefix(".file").filter(|rest| rest.starts_with([' ', '\t'])) {
            self.file(rest.trim_start());
        } else if text.starts_with(".cfi_startproc") {
            self.in_function = true;
        } else if text.starts_with(".cfi_endproc") {
            self.in_function = false;
        }
    }

    /// `"a.c"`, `1 "a.c"`, `0 "/dir" "a.c" md5 0x…`
    fn file(&mut self, rest: &str) {
        let (number, names) = match rest.split_once([' ', '\t']) {
            Some((number, names)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                (number.parse::<u32>().ok(), names)
            }
            _ => (None, rest),
        };
        let mut strings = strings(names);
        let (first, second) = (strings.next(), strings.next());
        let Some(number) = number else {
            self.name = first;
            return;
        };
        let path = match (first, second) {
            (Some(directory), Some(name)) => {
                if number == 0 {
                    self.directory = Some(directory.clone());
                }
                let own = self.directory.as_ref() == Some(&directory);
                if own || name.starts_with('/') { name } else { format!("{directory}/{name}") }
            }
            (Some(name), None) => name,
            _ => return,
        };
        self.files.insert(number, path);
    }

    /// A line of the compiler's own.
    fn code(&mut self, line: &str, left: &[&'a str], edit: Option<&Edit>) {
        let text = line.trim();
        let builtin = match edit {
            Some(Edit::Call(name)) => {
                self.builtins.calls(name);
                Effect::Nothing
            }
            _ => self.builtins.effect(left),
        };
        match edit {
            None => {
                match builtin {
                    Effect::Nothing => {}
                    Effect::Hooks(hooks) => inline::write(&hooks, &mut self.out),
                    Effect::Unseen(why) => self.unseen(why, text),
                }
                // `-fvisibility=hidden` would hide the one function that we must find. clang writes a comment behind it.
                let name = text.strip_prefix(".hidden").map(|rest| rest.split('#').next().unwrap_or(rest).trim());
                let hidden = name == Some("main");
                if !hidden {
                    self.copy(line);
                }
            }
            Some(Edit::Call(name)) => {
                self.out.push_str("\tcall\t");
                self.out.push_str(name);
                self.out.push_str("@PLT\n");
            }
            Some(Edit::Remove) => {}
            Some(Edit::Announce) => {
                for statement in att::statements(line) {
                    if let Effect::Hooks(hooks) = effect(&statement, &statement.prefixes) {
                        inline::write(&hooks, &mut self.out);
                    }
                }
                self.copy(line);
            }
        }
    }

    /// A line of inline assembly.
    fn inline(&mut self, line: &'a str, text: &str) {
        if let Some(mark) = gcc_mark(text) {
            // `# 0 "" 2` ends what `# 10 "a.c" 1` began.
            if mark.1 > 0 {
                self.mark = Some(mark);
            }
            self.flush_prefix();
            return self.copy(line);
        }
        for statement in att::statements(line) {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: Statement<'a>) {
        if !statement.label_text.is_empty() {
            self.flush_prefix();
            self.copy(statement.label_text);
        }
        if statement.text.is_empty() {
            return;
        }
        if statement.is_directive() {
            self.flush_prefix();
            self.inline_directive(&statement);
            self.out.push('\t');
            return self.copy(statement.text);
        }
        if self.macros > 0 || self.intel || !self.is_code {
            self.out.push('\t');
            return self.copy(statement.text);
        }
        self.prefixes.extend(&statement.prefixes);
        if statement.mnemonic.is_empty() {
            return;
        }
        let prefixes = mem::take(&mut self.prefixes);
        let meaning = match self.defined.contains(statement.mnemonic) {
            true => Effect::Unseen("is a macro, which membar does not look into"),
            false => effect(&statement, &prefixes),
        };
        let meaning = if mem::take(&mut self.data) { Effect::Nothing } else { meaning };
        match meaning {
            Effect::Nothing => {}
            Effect::Hooks(hooks) => inline::write(&hooks, &mut self.out),
            Effect::Unseen(why) => {
                let own = statement.prefixes.len();
                let text = prefixes[..prefixes.len() - own]
                    .iter()
                    .chain([&statement.text])
                    .copied()
                    .collect::<Vec<_>>()
                    .join(" ");
                self.unseen(why, &text);
                if inline::serialises(&statement) {
                    inline::FENCE.write(&mut self.out);
                }
            }
        }
        self.out.push('\t');
        for prefix in &prefixes[..prefixes.len() - statement.prefixes.len()] {
            self.out.push_str(prefix);
            self.out.push(' ');
        }
        self.copy(statement.text);
    }

    fn inline_directive(&mut self, statement: &Statement<'a>) {
        let text = statement.text;
        match statement.mnemonic {
            ".macro" => {
                self.macros += 1;
                self.defined.extend(text.split([' ', '\t', ',']).filter(|word| !word.is_empty()).nth(1));
            }
            ".rept" | ".irp" | ".irpc" => {
                if self.macros == 0 {
                    self.unseen("is repeated, and not seen by membar", text);
                }
                self.macros += 1;
            }
            ".endm" | ".endr" => self.macros = self.macros.saturating_sub(1),
            _ if self.macros > 0 => {}
            ".pushsection" => {
                self.pushed.push(self.is_code);
                self.is_code = holds_code(text);
            }
            ".popsection" => self.is_code = self.pushed.pop().unwrap_or(true),
            ".section" => (self.previous, self.is_code) = (self.is_code, holds_code(text)),
            ".previous" => mem::swap(&mut self.previous, &mut self.is_code),
            ".text" => (self.previous, self.is_code) = (self.is_code, true),
            ".data" | ".bss" => (self.previous, self.is_code) = (self.is_code, false),
            ".intel_syntax" => {
                self.unseen("begins Intel notation, which membar does not read", text);
                self.intel = true;
            }
            ".att_syntax" => self.intel = false,
            ".byte" | ".2byte" | ".4byte" | ".8byte" | ".word" | ".short" | ".hword" | ".value" | ".long" | ".int"
            | ".quad" | ".octa" | ".ascii" | ".asciz" | ".string" | ".incbin" | ".insn"
                if !self.intel =>
            {
                self.unseen("is code written as data, which membar does not see", text);
                self.data = true;
            }
            _ => {}
        }
    }

    /// Writes prefixes that found no instruction.
    fn flush_prefix(&mut self) {
        self.data = false;
        for prefix in mem::take(&mut self.prefixes) {
            self.out.push('\t');
            self.copy(prefix);
        }
    }
}

/// Whether a section, as `.section` or `.pushsection` names it, holds code.
fn holds_code(directive: &str) -> bool {
    let words = directive.split_once([' ', '\t']).map_or("", |(_, words)| words);
    let mut words = words.split(',').map(|word| word.trim().trim_matches('"'));
    let name = words.next().unwrap_or("");
    let flags = words.next().unwrap_or("");
    [".text", ".init", ".fini"].iter().any(|known| name.starts_with(known)) && !name.ends_with("_array")
        || flags.contains('x') && !flags.starts_with(['@', '%'])
}

/// `# 10 "a.c" 1`
fn gcc_mark(text: &str) -> Option<(String, u32)> {
    let rest = text.strip_prefix("# ")?;
    let (line, rest) = rest.split_once(' ')?;
    Some((strings(rest).next()?, line.parse().ok()?))
}

/// The strings of a line, with escapes undone as far as names of files need it.
fn strings(text: &str) -> impl Iterator<Item = String> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find('"')? + 1;
        let mut bytes = Vec::new();
        let mut at = rest[start..].bytes().enumerate();
        while let Some((offset, byte)) = at.next() {
            match byte {
                b'"' => {
                    rest = &rest[start + offset + 1..];
                    return Some(String::from_utf8_lossy(&bytes).into_owned());
                }
                b'\\' => {
                    let (_, next) = at.next()?;
                    if next.is_ascii_digit() {
                        // Three octal digits are a byte of a character beyond ASCII.
                        let digits = [next, at.next()?.1, at.next()?.1];
                        let value = digits
                            .iter()
                            .fold(0u32, |value, digit| value * 8 + u32::from(digit.wrapping_sub(b'0') & 7));
                        bytes.push(value as u8);
                    } else {
                        bytes.push(next);
                    }
                }
                byte => bytes.push(byte),
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(body: &str) -> Rewritten {
        rewrite(&format!(
            "\t.file\t\"a.c\"\n\t.file 1 \"a.c\"\n\t.cfi_startproc\n\t.loc 1 7 3\n{body}\n\t.cfi_endproc\n"
        ))
    }

    #[test]
    fn the_call_stands_before_the_prefix() {
        for body in [
            "lock; incl (%rdi)",
            "lock\nincl (%rdi)",
            "lock incl (%rdi)",
            "1: lock ; incl (%rdi)",
            "lock # why\n incl (%rdi)",
        ] {
            let found = function(&format!("#APP\n# 9 \"b.c\" 1\n{body}\n# 0 \"\" 2\n#NO_APP"));
            let call = found.text.find("call\t__membar_asm@PLT").expect(body);
            let lock = found.text.find("lock incl (%rdi)").expect(body);
            assert!(call < lock, "{body}");
            assert!(found.notes.is_empty());
        }
    }

    #[test]
    fn a_note_has_its_place() {
        let gcc = function("#APP\n# 9 \"b.c\" 1\nrdtsc\n# 0 \"\" 2\n#NO_APP");
        assert_eq!(gcc.notes[0].place, Some(("b.c".into(), 9)));
        assert!(gcc.notes[0].what.starts_with("`rdtsc` "), "{:?}", gcc.notes);
        let clang = function("\t#APP\n\trdtsc\n\t#NO_APP");
        assert_eq!(clang.notes[0].place, Some(("a.c".into(), 7)));
        let five = rewrite(
            "\t.file\t0 \"/d\" \"x/a.c\" md5 0x1\n\t.file 1 \"/usr\" \"y.h\" md5 0x2\n\t.cfi_startproc\n\t.loc\t0 3 0 # c\n\
             \t#APP\n\tcpuid\n\t#NO_APP\n\t.loc 1 4 0\n#APP\n\tcpuid\n#NO_APP\n",
        );
        let places: Vec<_> = five.notes.iter().map(|note| note.place.clone()).collect();
        assert_eq!(places, [Some(("x/a.c".into(), 3)), Some(("/usr/y.h".into(), 4))]);
    }

    #[test]
    fn unread_assembly_is_noted() {
        for (body, word) in [
            (".byte 0xf0,0x0f", "data"),
            (".rept 3\nmovl $1,(%rax)\n.endr", "repeated"),
            (".intel_syntax noprefix\nmov [rax],1\n.att_syntax", "Intel"),
            ("cmpxchg16b (%rdi)", "without `lock`"),
        ] {
            let found = function(&format!("#APP\n{body}\n#NO_APP"));
            assert_eq!(found.notes.len(), 1, "{body}");
            assert!(found.notes[0].what.contains(word), "{:?}", found.notes);
            // Told when it is executed.
            let told = found.text.find("call\t__membar_asm@PLT").expect(body);
            assert!(found.text[..told].contains(&format!("${}, %rdi", found.notes[0].id() as i64)), "{}", found.text);
            assert!(told < found.text.find(body.lines().next().unwrap_or("")).expect(body), "{}", found.text);
            assert_eq!(found.text.matches("__membar_asm").count(), 1, "{}", found.text);
        }
        let data = function("#APP\n.pushsection .rodata\n.byte 1\n.popsection\n#NO_APP");
        assert!(data.notes.is_empty());
        let beside = function("#APP\n.pushsection .text.cold,\"ax\"\nrdtsc\n.popsection\nrdtsc\n#NO_APP");
        assert_eq!(beside.text.matches("__membar_asm").count(), 2, "{}", beside.text);
    }

    #[test]
    fn a_macro_counts_where_it_is_used() {
        let found = rewrite(
            "#APP\n.macro twice x\nmovl $1,(\\x)\n.endm\n#NO_APP\n\t.cfi_startproc\n#APP\ntwice %rdi\n#NO_APP\n",
        );
        assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
        assert!(found.notes[0].what.contains("`twice %rdi` is a macro"), "{:?}", found.notes);
        assert!(found.text.find(".endm") < found.text.find("__membar_asm"), "{}", found.text);
    }

    #[test]
    fn assembly_outside_of_functions_is_like_that_inside() {
        for text in [
            "#APP\nfoo: movl (%rdi), %eax\nrdtsc\nret\n.data\n.long 7\n#NO_APP\n",
            "# Start of file scope inline assembly\nfoo:\n movl (%rdi), %eax\n rdtsc\n retq\n.data\n.long 7\n# End of file scope inline assembly\n",
        ] {
            let found = rewrite(&format!("\t.file\t\"a.c\"\n{text}"));
            assert_eq!(found.notes.len(), 1, "{text}");
            assert!(found.notes[0].what.contains("a.c: `rdtsc`"), "{:?}", found.notes);
            assert_eq!(found.text.matches("__membar_asm").count(), 2, "{}", found.text);
        }
        assert!(rewrite("#APP\n.symver foo,foo@V1\n#NO_APP\n").notes.is_empty());
    }

    #[test]
    fn other_text_is_unchanged() {
        let text =
            "\t.text\nfoo:\n\t.cfi_startproc\n\tmovl\t$1, -4(%rbp) # ; lock\n\tret\n\t.cfi_endproc\n\t.ascii \"a;b\"\n";
        assert_eq!(rewrite(text).text, text);
        assert!(!rewrite("\t.hidden\tmain\n").text.contains("main"));
        assert!(!rewrite("\t.hidden\tmain                 # -- Begin function main\n").text.contains(".hidden"));
    }

    #[test]
    fn notes_survive_as_bytes() {
        let note = Note { kind: NoteKind::Assembly, what: "\"x\"".into(), place: Some(("a.c".into(), 1)) };
        let bytes: Vec<u8> = notes_section(std::slice::from_ref(&note))
            .lines()
            .filter_map(|line| line.strip_prefix("\t.byte\t")?.parse().ok())
            .collect();
        let text = String::from_utf8(bytes).expect("UTF-8");
        assert_eq!(serde_json::from_str::<Note>(text.trim()).expect("a note"), note);
    }
}
