//! A litmus test, and how a file becomes one.

use crate::asm::{Notation, parse_rows};
use crate::build::{Builder, Sites};
use crate::c::parse_functions;
use crate::code::{Code, Int, Reg, ThreadCode};
use crate::condition::{Constraints, Location, Named, Prop, Quantifier, Registers, Spot};
use crate::error::{Error, ErrorKind, Fault, Parsed, quoted};
use crate::init::{Memory, RegInit, RegName, parse_init, resolve};
use crate::lex::{Lexer, Style};
use crate::regs;
use crate::relaxed::table::{Line, parse_lines};
use crate::relaxed::{Cores, Program, translate_lines};
use crate::states::Model;
use crate::x86::{Machine, translate};
use membar_explore::Outcome;
use std::fmt;

/// Bytes of a file, at most.
pub const FILE_LIMIT: usize = 1 << 20;

/// A dialect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arch {
    /// X86 in Intel's operand order.
    X86,
    /// X86_64 in AT&T's operand order.
    X86_64,
    /// C, with C11's atomics and the Linux kernel's macros.
    C,
    /// RISC-V.
    RiscV,
    /// Arm's 64-bit instructions.
    AArch64,
}

impl Arch {
    /// Whether its tests are run by [`crate::Interpreter`] and on machines with store buffers: not those whose models
    /// let stores overtake loads.
    pub fn has_store_buffers(self) -> bool {
        !matches!(self, Arch::RiscV | Arch::AArch64)
    }

    /// The model of its machines; for C, that of x86.
    pub fn machine(self) -> Model {
        match self {
            Arch::X86 | Arch::X86_64 | Arch::C => Model::Tso,
            Arch::RiscV => Model::Rvwmo,
            Arch::AArch64 => Model::Armv8,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arch::X86 => "X86",
            Arch::X86_64 => "X86_64",
            Arch::C => "C",
            Arch::RiscV => "RISCV",
            Arch::AArch64 => "AArch64",
        })
    }
}

/// The final condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// How it is meant.
    pub quantifier: Quantifier,
    /// Statements about final values.
    pub prop: Prop,
}

/// A test that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LitmusTest {
    /// Its name.
    pub name: String,
    /// Its dialect.
    pub arch: Arch,
    /// The text in quotes after the name.
    pub doc: Option<String>,
    /// The lines `Key=value` before the first section.
    pub meta: Vec<(String, String)>,
    /// The program.
    pub code: Code,
    /// Everything whose final value is examined: first what states show, registers before memory, then what only the
    /// filter looks at.
    pub locations: Vec<Location>,
    /// How many of the locations states show.
    pub shown: usize,
    /// Executions that do not end so are left out.
    pub filter: Option<Prop>,
    /// The final condition.
    pub condition: Condition,
    /// The program of a test in RISCV or AArch64, whose `code` has cells and places but no instructions.
    pub relaxed: Option<Box<Program>>,
}

impl LitmusTest {
    /// Reads a test. `file` is what errors call it, and what it is named after if it has no name.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<LitmusTest, Error> {
        if bytes.len() > FILE_LIMIT {
            return Err(Error::whole_file(ErrorKind::TooMany { what: "bytes in the file", limit: FILE_LIMIT }, file));
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let at = error.valid_up_to();
                return Err(Fault::new(ErrorKind::InvalidUtf8, at..at + 1).at(file, bytes));
            }
        };
        parse(file, text).map_err(|fault| fault.at(file, bytes))
    }

    /// Whether the condition's proposition holds for an execution that ends with these registers and cells, whose values it
    /// leaves in `values`; nothing if the filter leaves the execution out.
    pub fn holds(
        &self,
        register: impl Fn(u32, Reg) -> u64,
        cell: impl Fn(u32) -> u64,
        values: &mut Vec<u64>,
    ) -> Option<bool> {
        values.clear();
        values.extend(self.locations.iter().map(|location| {
            location.ty.wrap(match location.spot {
                Spot::Reg { thread, reg } => register(thread, reg),
                Spot::Cell(at) => cell(at),
            })
        }));
        let counts = self.filter.as_ref().is_none_or(|filter| filter.holds(values));
        counts.then(|| self.condition.prop.holds(values))
    }

    /// The same as what there is to say of the execution: `exists` asks about an outcome, `~exists` and `forall` assert.
    pub fn outcome(&self, register: impl Fn(u32, Reg) -> u64, cell: impl Fn(u32) -> u64) -> Outcome {
        match (self.condition.quantifier, self.holds(register, cell, &mut Vec::new())) {
            (Quantifier::Exists, Some(true)) => Outcome::Asked,
            (Quantifier::NotExists, Some(true)) | (Quantifier::Forall, Some(false)) => Outcome::Refuted,
            _ => Outcome::Plain,
        }
    }

    /// Whether there is a condition that an execution can refute.
    pub fn asserts(&self) -> bool {
        match self.condition.quantifier {
            Quantifier::Exists => false,
            Quantifier::NotExists => true,
            Quantifier::Forall => self.condition.prop != Prop::And(Vec::new()),
        }
    }

    /// The test as a program at its beginning, to be explored.
    pub fn program(&self) -> crate::Interpreter {
        crate::Interpreter::new(std::sync::Arc::new(self.code.clone()))
    }

    /// A value of a location as states show it: an address by its name, anything else as a number.
    pub fn shown_value(&self, location: usize, value: u64) -> String {
        match self.pointed_at(value) {
            Some(name) => name.to_owned(),
            None if self.locations[location].ty.signed => (value as i64).to_string(),
            None => value.to_string(),
        }
    }

    /// The name of the cell that the value points to.
    pub fn pointed_at(&self, value: u64) -> Option<&str> {
        // Most values are small, and no small number is a pointer.
        if value < self.code.cells.first()?.pointer {
            return None;
        }
        self.code.cells.iter().find(|cell| cell.pointer == value).map(|cell| cell.name.as_str())
    }

    /// The condition as herd writes it: `exists (0:rax=0 /\ 1:rax=0)`.
    pub fn condition_text(&self) -> String {
        let mut text = format!("{} ", self.condition.quantifier.keyword());
        let name = |location: usize| self.locations[location].name.clone();
        self.condition.prop.write(&mut text, &name, &|location, value| self.shown_value(location, value));
        text
    }
}

/// The part of a test before the first section.
struct Header<'a> {
    arch: Arch,
    name: &'a str,
    doc: Option<&'a str>,
    meta: Vec<(&'a str, &'a str)>,
    /// Where the `{` is.
    end: usize,
}

const FIRST_LINE: &str = "a test begins with its dialect and its name: `X86_64 SB`";

fn header(text: &str) -> Parsed<Header<'_>> {
    // Comments may stand before the dialect.
    let start = Lexer::new(text, usize::from(text.starts_with('\u{FEFF}')) * 3, Style::Litmus)?.peek().start;
    let line_end = text[start..].find('\n').map_or(text.len(), |len| start + len);
    let line = &text[start..line_end];
    let mut words = line.split_ascii_whitespace();
    let syntax = |expected, found: &str, at: std::ops::Range<usize>| {
        let found = if found.is_empty() { "nothing".to_owned() } else { format!("`{}`", quoted(found)) };
        Fault::new(ErrorKind::Syntax { expected, found, help: FIRST_LINE }, at)
    };
    let arch_word = words.next().unwrap_or("");
    let arch_span = start..start + arch_word.len();
    let arch = match arch_word {
        "X86" => Arch::X86,
        "X86_64" => Arch::X86_64,
        "C" => Arch::C,
        "RISCV" => Arch::RiscV,
        "AArch64" => Arch::AArch64,
        "ARM" | "PPC" | "MIPS" | "LISA" | "BPF" | "ASL" | "CPP" | "JAVA" => {
            let help = "the dialects here are X86, X86_64, RISCV, AArch64 and C";
            return Err(Fault::unsupported("dialect", arch_word, help, arch_span));
        }
        _ => return Err(syntax("a dialect such as X86_64", arch_word, arch_span)),
    };
    let name_word = words.next().unwrap_or("");
    let name = name_word.split(['(', '"', '{', ';']).next().unwrap_or("");
    let after = &line[arch_word.len()..];
    let name_at = start + line.len() - if name_word.is_empty() { 0 } else { after.trim_start().len() };
    if name.is_empty() {
        return Err(syntax("the name of the test", name_word, name_at..name_at + name_word.len().max(1)));
    }
    if let Some(bad) = name.find(|c: char| !(c.is_ascii_alphanumeric() || "_/.+[]-".contains(c))) {
        let at = name_at + bad;
        let help = "names have letters, digits and _ / . + [ ] -";
        let found = format!("`{}`", quoted(&name[bad..]));
        return Err(Fault::new(ErrorKind::Syntax { expected: "the name of the test", found, help }, at..at + 1));
    }
    let mut at = name_at + name.len();
    let mut header = Header { arch, name, doc: None, meta: Vec::new(), end: 0 };
    loop {
        at = match Lexer::new(text, at, Style::Litmus) {
            Ok(lexer) => lexer.peek().start,
            // A comment without an end, before a section: herd takes its lines for lines without a key, and ignores them.
            Err(fault) if text[fault.span.start..].contains("\n{") => {
                at = fault.span.start;
                at += text[at..].find('\n').map_or(1, |len| len + 1);
                continue;
            }
            Err(fault) => return Err(fault),
        };
        let rest = &text[at..];
        match rest.as_bytes().first() {
            None => {
                let (expected, found) = ("`{`", "the end of the file".into());
                let help = "after the name comes the section of initial values: `{ x=0; }`";
                return Err(Fault::new(ErrorKind::Syntax { expected, found, help }, at..at));
            }
            Some(b'{') => {
                header.end = at;
                return Ok(header);
            }
            Some(b'"') => {
                let Some(len) = rest[1..].find('"') else {
                    let (expected, found) = ("`\"`", "the end of the file".into());
                    return Err(Fault::new(
                        ErrorKind::Syntax { expected, found, help: "close the quotes" },
                        at..at + 1,
                    ));
                };
                header.doc.get_or_insert(&rest[1..1 + len]);
                at += len + 2;
            }
            Some(b';') => at += 1,
            // `(name for a paper)`
            Some(b'(') if rest.find(')') < rest.find('\n') => at += rest.find(')').map_or(1, |len| len + 1),
            Some(_) => {
                // A line `Key=value`; anything else is ignored, as herd does.
                let end = rest.find(['\n', '{']).unwrap_or(rest.len());
                if let Some((key, value)) = rest[..end].split_once('=') {
                    header.meta.push((key.trim(), value.trim()));
                }
                at += end;
            }
        }
    }
}

fn parse(file: &str, text: &str) -> Parsed<LitmusTest> {
    let header = header(text)?;
    let mut lexer = Lexer::new(text, header.end, Style::Litmus)?;
    lexer.next()?;
    let mut memory = Memory::new(if header.arch == Arch::X86 { 32 } else { 64 });
    let registers = parse_init(&mut lexer, &mut memory)?;
    let mut sites = Sites::new(text);
    let name = match header.name {
        "--" => {
            let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
            base.strip_suffix(".litmus").unwrap_or(base)
        }
        name => name,
    };
    let mut test = LitmusTest {
        name: name.to_owned(),
        arch: header.arch,
        doc: header.doc.map(|doc| doc.split_whitespace().collect::<Vec<_>>().join(" ")),
        meta: header.meta.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        code: Code::default(),
        locations: Vec::new(),
        shown: 0,
        filter: None,
        condition: Condition { quantifier: Quantifier::Forall, prop: Prop::And(Vec::new()) },
        relaxed: None,
    };
    if !header.arch.has_store_buffers() {
        return relaxed(test, &mut lexer, memory, sites, registers);
    }
    let (builders, constraints, locations) = if header.arch == Arch::C {
        let mut functions = parse_functions(&mut lexer, &mut memory, &mut sites)?;
        let (constraints, locations) = finish(&mut lexer, &mut memory, &mut functions, registers)?;
        (functions.threads, constraints, locations)
    } else {
        let notation = if header.arch == Arch::X86 { Notation::Intel } else { Notation::Att };
        let rows = parse_rows(&mut lexer, notation, &mut memory)?;
        let mut processors = Processors { machine: notation.machine(), threads: Vec::with_capacity(rows.len()) };
        for (thread, written) in rows.iter().enumerate() {
            processors.threads.push(translate(thread as u32, written, notation, &mut memory, &mut sites)?);
        }
        let (constraints, locations) = finish(&mut lexer, &mut memory, &mut processors, registers)?;
        (processors.threads.into_iter().map(|(builder, _)| builder).collect(), constraints, locations)
    };
    let mut widths: Vec<u8> = builders.iter().flat_map(|builder| builder.indirect.iter().copied()).collect();
    widths.dedup();
    let indirect = match widths[..] {
        [only] => Some(only),
        _ => None,
    };
    let cells = memory.finish(indirect);
    test.code.threads = builders.into_iter().map(|builder| builder.code).collect();
    test.code.sites = sites.list;
    arrange(&mut test, constraints, locations, |cell| cells[cell as usize].1);
    test.code.cells = cells.into_iter().map(|(cell, _)| cell).collect();
    Ok(test)
}

/// The rest of a test in RISCV or AArch64.
fn relaxed(
    mut test: LitmusTest,
    lexer: &mut Lexer<'_>,
    mut memory: Memory,
    mut sites: Sites<'_>,
    registers: Vec<RegInit<'_>>,
) -> Parsed<LitmusTest> {
    let rows = parse_lines(lexer)?;
    let mut cores = Cores { arch: test.arch, threads: Vec::with_capacity(rows.len()) };
    for (number, lines) in rows.iter().enumerate() {
        cores.threads.push(translate_lines(test.arch, number as u32, lines, &mut memory, &mut sites)?);
    }
    let (constraints, locations) = finish(lexer, &mut memory, &mut cores, registers)?;
    let mut program = Program::new(test.arch, &cores.threads);
    for (at, bits) in program.direct_accesses() {
        if let Some(cell) = memory.at(at) {
            memory.accessed(cell, bits);
        }
    }
    let own = |label: &(&str, std::ops::Range<usize>)| label.0.to_owned();
    let row = |line: &Line<'_>| {
        let text = if line.mnemonic.is_empty() { "" } else { &sites.text[line.span.clone()] };
        (line.labels.iter().map(own).collect(), text.to_owned())
    };
    program.source = rows.iter().map(|lines| lines.iter().map(row).collect()).collect();
    let cells = memory.finish(program.widest_indirect());
    arrange(&mut test, constraints, locations, |cell| cells[cell as usize].1);
    test.code.cells = cells.into_iter().map(|(cell, _)| cell).collect();
    test.code.sites = sites.list;
    let threads = cores.threads.into_iter();
    test.code.threads = threads.map(|thread| ThreadCode { regs: thread.regs, ..ThreadCode::default() }).collect();
    program.lay_out(&test.code.cells);
    test.relaxed = Some(Box::new(program));
    Ok(test)
}

/// Gives registers that have initial values these, and reads what follows the code.
fn finish<R: Registers + Start>(
    lexer: &mut Lexer<'_>,
    memory: &mut Memory,
    registers: &mut R,
    starts: Vec<RegInit<'_>>,
) -> Parsed<(Constraints, Vec<Location>)> {
    for (name, value) in starts {
        let value = resolve(&value, memory)?;
        let (reg, _, ty) = registers.register(&name)?;
        registers.start(name.thread, reg, ty.wrap(value));
    }
    let mut named = Named::new(memory, registers);
    let constraints = named.constraints(lexer)?;
    Ok((constraints, named.list))
}

/// Puts the locations in the order in which states list them, and values into the form that their type gives them.
fn arrange(
    test: &mut LitmusTest,
    constraints: Constraints,
    mut locations: Vec<Location>,
    cell_type: impl Fn(u32) -> Int,
) {
    for location in &mut locations {
        if let Spot::Cell(cell) = location.spot {
            location.ty = cell_type(cell);
        }
    }
    let mut shown = vec![false; locations.len()];
    constraints.locations.iter().for_each(|&location| shown[location] = true);
    let key = |location: &Location| match location.spot {
        Spot::Reg { thread, .. } => {
            let name = location.name.split_once(':').map_or("", |(_, name)| name);
            let rank = match (test.arch, location.spot) {
                (Arch::RiscV | Arch::AArch64, Spot::Reg { reg, .. }) => reg,
                (Arch::C, _) => 0,
                (arch, _) => {
                    let register = regs::register(name, if arch == Arch::X86 { 32 } else { 64 });
                    register.map_or(0, |register| register.index.into())
                }
            };
            (0, thread, rank, name.to_owned(), 0)
        }
        // Cells of an array are next to each other, in their order.
        Spot::Cell(cell) => {
            let name = location.name.trim_start_matches('[');
            (1, 0, 0, name.split(['[', ']']).next().unwrap_or(name).to_owned(), cell)
        }
    };
    let mut order: Vec<usize> = (0..locations.len()).collect();
    order.sort_by_cached_key(|&at| (!shown[at], key(&locations[at])));
    let mut place = vec![0; order.len()];
    for (new, &old) in order.iter().enumerate() {
        place[old] = new;
    }
    let fix = |leaf: &mut Prop| match leaf {
        Prop::Is(location, value) => {
            *value = locations[*location].ty.wrap(*value);
            *location = place[*location];
        }
        Prop::Same(left, right) => {
            *left = place[*left];
            *right = place[*right];
        }
        _ => {}
    };
    let Constraints { mut filter, quantifier, mut prop, .. } = constraints;
    prop.leaves(&mut |leaf| fix(leaf));
    if let Some(filter) = &mut filter {
        filter.leaves(&mut |leaf| fix(leaf));
    }
    test.shown = shown.iter().filter(|&&shown| shown).count();
    test.locations = order.iter().map(|&at| locations[at].clone()).collect();
    test.filter = filter;
    test.condition = Condition { quantifier, prop };
}

/// Sets what a register holds at the start.
trait Start {
    fn start(&mut self, thread: u32, reg: Reg, value: u64);
}

impl Start for crate::c::Functions<'_> {
    fn start(&mut self, thread: u32, reg: Reg, value: u64) {
        self.threads[thread as usize].code.regs[usize::from(reg)] = value;
    }
}

impl Start for Cores {
    fn start(&mut self, thread: u32, reg: Reg, value: u64) {
        self.threads[thread as usize].regs[usize::from(reg)] = value;
    }
}

/// The threads of an assembly test.
struct Processors {
    machine: u8,
    threads: Vec<(Builder, Machine)>,
}

impl Start for Processors {
    fn start(&mut self, thread: u32, reg: Reg, value: u64) {
        self.threads[thread as usize].0.code.regs[usize::from(reg)] = value;
    }
}

impl Registers for Processors {
    fn register(&mut self, name: &RegName<'_>) -> Parsed<(Reg, String, Int)> {
        let Some((builder, machine)) = self.threads.get_mut(name.thread as usize) else {
            let help = "registers are named with their thread: `0:rax` is one of P0";
            return Err(Fault::unknown("thread", &format!("P{}", name.thread), help, name.span.clone()));
        };
        let Some(register) = regs::register(name.name, self.machine) else {
            let help =
                "the registers are EAX, EBX, ECX, EDX, ESI, EDI, EBP and ESP, in X86_64 rax and so on, and r8 to r15";
            return Err(Fault::unknown("register", name.name, help, name.span.clone()));
        };
        let reg = machine.general(builder, register.index, &name.span)?;
        let ty = Int { bits: self.machine, signed: true };
        Ok((reg, regs::shown(register.index, self.machine), ty))
    }
}
