//! The program's machine code as its file has it: functions, and who is called.
//!
//! Everything is found in the file, so it is the same in every process, whatever has been done to the memory it was
//! loaded to. Addresses are the linker's.
//!
//! # Guarantees
//!
//! What is not known is taken for the worst: code without a symbol is nobody's function, a call that is not understood may do anything, and
//! if the tables of exceptions cannot be read, every function may catch one. A symbol with the name of a hook is that hook only if its code is
//! the stub's.
//!
//! # Complexity
//!
//! Loading is linear in the file, apart from sorting its symbols; each question is a search among those.

use super::super::hooks::NAMES;
use super::super::layout::TABLE;
use crate::files::Mapped;
use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, LittleEndian, UnwindSection};
use iced_x86::{Code as Op, Decoder, DecoderOptions, Instruction, Mnemonic, Register};
use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SectionKind, SymbolSection};
use rustc_hash::FxHashMap;
use std::path::Path;

/// A function of membar's that instrumented code calls, as far as its calls are understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hook {
    /// It says which address is about to be accessed, and by how many bytes.
    Access,
    /// The same of a range.
    Range,
    /// It makes an atomic access, and takes this many arguments. A compare-exchange may read and write its second argument: so
    /// many bytes.
    Atomic { arguments: u8, expected: Option<u8> },
    /// It is called by code of ours that the compiler knows nothing of, and may look at the values that the instruction takes from registers.
    Assembly { values: bool },
    /// It does nothing with memory.
    Nothing,
    /// It fills memory from its first argument on, which is its result: so many bytes, if that is known.
    Fill { bytes: Option<u16> },
    /// It reads how long to sleep, where this argument leads to, and fails if that is no time. How long makes no difference.
    Rest { time: u8 },
}

/// The target of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    Hook(Hook),
    /// A function of the program.
    Function(u64),
    /// One that does nothing but calculate and rest ([`super::quiet`]).
    Quiet,
    /// A function that takes no arguments on the stack.
    Few,
    Unknown,
    /// It may return twice.
    Twice,
}

/// A function, or something else with a name in a section of code.
#[derive(Debug)]
struct Symbol {
    start: u64,
    end: u64,
    name: String,
    function: bool,
}

#[derive(Debug, Default)]
pub struct Code {
    /// Sections with code.
    text: Vec<(u64, Vec<u8>)>,
    /// By address; of several names for one function, one.
    symbols: Vec<Symbol>,
    /// The stubs of hooks; of some nothing is known.
    hooks: FxHashMap<u64, Option<Hook>>,
    /// What is behind the words that the dynamic linker fills in: a name, and where it is if that is in the object.
    imports: FxHashMap<u64, (String, Option<u64>)>,
    /// Functions that catch exceptions, or clean up after them.
    catching: Vec<(u64, u64)>,
    /// It is not known which those are.
    all_catch: bool,
    /// Instrumented code, if it is kept apart.
    instrumented: Option<(u64, u64)>,
}

impl Code {
    /// Nothing is known about a file that cannot be read.
    pub fn load(path: &Path) -> Code {
        let (from, to) = crate::build::layout(path)[0];
        let instrumented = (from < to).then_some((from as u64, to as u64));
        Mapped::open(path).ok().and_then(|bytes| Code::parse(&bytes, instrumented)).unwrap_or_default()
    }

    fn parse(bytes: &[u8], instrumented: Option<(u64, u64)>) -> Option<Code> {
        let file = object::File::parse(bytes).ok()?;
        let mut code = Code { instrumented, ..Code::default() };
        for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
            code.text.push((section.address(), section.data().ok()?.to_vec()));
        }
        let is_text = |index| {
            let SymbolSection::Section(index) = index else { return false };
            file.section_by_index(index).is_ok_and(|section| section.kind() == SectionKind::Text)
        };
        for symbol in file.symbols().filter(|symbol| is_text(symbol.section())) {
            let Ok(name) = symbol.name() else { continue };
            let (start, end) = (symbol.address(), symbol.address() + symbol.size());
            let function = symbol.kind() == object::SymbolKind::Text && end > start;
            if !name.is_empty() && symbol.kind() != object::SymbolKind::Section {
                code.symbols.push(Symbol { start, end, name: name.to_owned(), function });
            }
        }
        let stubs = code.symbols.iter().filter_map(|symbol| Some((symbol.start, code.hook(symbol)?)));
        code.hooks = stubs.collect();
        code.symbols.sort_by(|a, b| (a.start, !a.function, &a.name).cmp(&(b.start, !b.function, &b.name)));
        code.symbols.dedup_by_key(|symbol| symbol.start);
        let table = file.dynamic_symbol_table();
        for (at, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let Ok(symbol) = table.as_ref()?.symbol_by_index(index) else { continue };
            let here = (!symbol.is_undefined() && relocation.addend() == 0).then(|| symbol.address());
            code.imports.insert(at, (symbol.name().unwrap_or_default().to_owned(), here));
        }
        code.all_catch = code.find_catching(&file).is_none();
        Some(code)
    }

    fn find_catching(&mut self, file: &object::File<'_>) -> Option<()> {
        let address = |name| file.section_by_name(name).map_or(0, |section| section.address());
        let section = file.section_by_name(".eh_frame")?;
        let frames = EhFrame::from(EndianSlice::new(section.data().ok()?, LittleEndian));
        let bases = BaseAddresses::default()
            .set_eh_frame(section.address())
            .set_text(address(".text"))
            .set_got(address(".got"));
        let mut entries = frames.entries(&bases);
        while let Some(entry) = entries.next().ok()? {
            let CieOrFde::Fde(entry) = entry else { continue };
            let entry = entry.parse(EhFrame::cie_from_offset).ok()?;
            if entry.lsda().is_some() {
                self.catching.push((entry.initial_address(), entry.end_address()));
            }
        }
        Some(())
    }

    /// The hook that a symbol is the stub of. A program may have a function of its own by that name.
    fn hook(&self, symbol: &Symbol) -> Option<Option<Hook>> {
        let at = NAMES.iter().position(|name| *name == symbol.name)?;
        let entry = u32::try_from(TABLE + 8 * at).ok()?.to_le_bytes();
        let stub = self.bytes(symbol.start).get(..(symbol.end - symbol.start) as usize)?;
        (stub == [0xc3] || stub.windows(4).any(|word| word == entry)).then(|| hook(&symbol.name))
    }

    /// The code from an address on.
    fn bytes(&self, at: u64) -> &[u8] {
        let find = |(start, bytes): &'_ (u64, Vec<u8>)| {
            let from = usize::try_from(at.checked_sub(*start)?).ok()?;
            (from < bytes.len()).then_some(from)
        };
        self.text.iter().find_map(|section| Some(&section.1[find(section)?..])).unwrap_or_default()
    }

    /// The instruction at an address.
    pub fn decode(&self, at: u64) -> Option<Instruction> {
        let bytes = self.bytes(at);
        let mut decoder = Decoder::with_ip(64, &bytes[..bytes.len().min(15)], at, DecoderOptions::NONE);
        let instruction = decoder.decode();
        (!instruction.is_invalid()).then_some(instruction)
    }

    fn covering(&self, at: u64) -> Option<&Symbol> {
        let before = &self.symbols[..self.symbols.partition_point(|symbol| symbol.start <= at)];
        before.last().filter(|symbol| symbol.function && at < symbol.end)
    }

    /// The entry of the function that an instruction belongs to, if it has no other. Its rarely used part may be elsewhere, by its own name.
    pub fn function(&self, at: u64) -> Option<u64> {
        let symbol = self.covering(at)?;
        let symbol = match symbol.name.split_once(".cold") {
            None => symbol,
            Some((name, _)) => {
                let mut named = self.symbols.iter().filter(|symbol| symbol.name == name);
                named.next().filter(|_| named.next().is_none())?
            }
        };
        let inside = |start| self.instrumented.is_none_or(|(from, to)| (from..to).contains(&start));
        inside(symbol.start).then_some(symbol.start)
    }

    /// The end of the function that begins here, if nothing else with a name begins in it.
    pub fn end(&self, entry: u64) -> Option<u64> {
        let symbol = self.covering(entry).filter(|symbol| symbol.start == entry)?;
        let next = self.symbols.partition_point(|symbol| symbol.start <= entry);
        self.symbols.get(next).is_none_or(|next| next.start >= symbol.end).then_some(symbol.end)
    }

    /// The end of the function, or of the part of one, that an instruction is in.
    pub fn limit(&self, at: u64) -> Option<u64> {
        self.covering(at).map(|symbol| symbol.end)
    }

    /// Whether an address is where a function begins that others may call: a jump to it is a call.
    pub fn is_entry(&self, at: u64) -> bool {
        let own = self.covering(at).is_some_and(|symbol| symbol.start == at && !symbol.name.contains(".cold"));
        own || self.import_at(at).is_some()
    }

    /// Whether the function that begins here may continue elsewhere when one that it calls throws.
    pub fn catches(&self, entry: u64) -> bool {
        self.all_catch || self.catching.iter().any(|&(from, to)| (from..to).contains(&entry))
    }

    /// The word that a linkage stub jumps through.
    fn import_at(&self, at: u64) -> Option<u64> {
        if self.covering(at).is_some() {
            return None;
        }
        let mut jump = self.decode(at)?;
        if jump.mnemonic() == Mnemonic::Endbr64 {
            jump = self.decode(jump.next_ip())?;
        }
        let through = jump.code() == Op::Jmp_rm64 && jump.memory_base() == Register::RIP;
        through.then(|| jump.ip_rel_memory_address())
    }

    /// Who is called by an instruction that is a call.
    pub fn callee(&self, call: &Instruction) -> Callee {
        let word = match call.code() {
            Op::Call_rel32_64 => {
                let target = call.near_branch_target();
                match self.import_at(target) {
                    Some(word) => word,
                    None => return self.at(target),
                }
            }
            Op::Call_rm64 if call.memory_base() == Register::RIP => call.ip_rel_memory_address(),
            _ => return Callee::Unknown,
        };
        match self.imports.get(&word) {
            Some((_, Some(here))) => self.at(*here),
            Some((name, None)) if is_twice(name) => Callee::Twice,
            Some((name, None)) if FEW.contains(&name.as_str()) => Callee::Few,
            _ => Callee::Unknown,
        }
    }

    fn at(&self, target: u64) -> Callee {
        let stub = self.hooks.get(&target);
        if let Some(&Some(hook)) = stub {
            return Callee::Hook(hook);
        }
        match self.covering(target) {
            Some(symbol) if is_twice(&symbol.name) => Callee::Twice,
            Some(symbol) if stub.is_some() && is_few(&symbol.name) => Callee::Few,
            _ if stub.is_some() => Callee::Unknown,
            Some(symbol) if symbol.start == target => Callee::Function(target),
            _ => Callee::Unknown,
        }
    }

    /// No function catches anything.
    #[cfg(test)]
    pub fn assume_no_exceptions(&mut self) {
        self.all_catch = false;
    }

    /// The entry of the function of that name.
    #[cfg(test)]
    pub fn named(&self, name: &str) -> Option<u64> {
        self.symbols.iter().find(|symbol| symbol.name == name).map(|symbol| symbol.start)
    }
}

/// What is known of a hook by its name.
fn hook(name: &str) -> Option<Hook> {
    if name == "__membar_asm" {
        return Some(Hook::Assembly { values: true });
    }
    if ["memset", "__tsan_memset"].contains(&name) {
        return Some(Hook::Fill { bytes: None });
    }
    if ["sched_yield", "pthread_yield", "thrd_yield", "usleep", "sleep"].contains(&name) {
        // How long makes no difference.
        return Some(Hook::Nothing);
    }
    let time = match name {
        "nanosleep" | "thrd_sleep" => Some(0),
        "clock_nanosleep" => Some(2),
        _ => None,
    };
    if let Some(time) = time {
        return Some(Hook::Rest { time });
    }
    if let Some(atomic) = name.strip_prefix("__tsan_atomic") {
        return Some(match atomic.split_once('_')? {
            ("", _) => Hook::Nothing,
            // Each value takes two registers.
            ("128", what) => {
                let compares = matches!(what, "compare_exchange_strong" | "compare_exchange_weak");
                Hook::Atomic { arguments: 6, expected: compares.then_some(16) }
            }
            (_, "load") => Hook::Atomic { arguments: 2, expected: None },
            (_, "compare_exchange_val") => Hook::Atomic { arguments: 5, expected: None },
            (bits, "compare_exchange_strong" | "compare_exchange_weak") => {
                Hook::Atomic { arguments: 5, expected: Some(bits.parse::<u8>().ok()? / 8) }
            }
            _ => Hook::Atomic { arguments: 3, expected: None },
        });
    }
    let access = name.strip_prefix("__tsan_").or_else(|| name.strip_prefix("__membar_"))?;
    match access {
        "func_entry" | "func_exit" | "init" | "ignore_thread_begin" | "ignore_thread_end" => {
            return Some(Hook::Nothing);
        }
        "vptr_read" => return Some(Hook::Access),
        "read_range" | "write_range" | "early_write_range" => return Some(Hook::Range),
        _ => {}
    }
    let access = access.trim_end_matches(|c: char| c.is_ascii_digit());
    let access = access.trim_start_matches("unaligned_").trim_start_matches("volatile_");
    matches!(access, "read" | "write" | "early_write" | "update").then_some(Hook::Access)
}

/// Functions that come back to their caller more than once.
fn is_twice(name: &str) -> bool {
    let plain = name.trim_start_matches('_');
    ["setjmp", "sigsetjmp", "vfork", "getcontext", "savectx"].contains(&plain)
}

/// Functions of libraries with at most six arguments.
const FEW: &[&str] = &[
    "malloc",
    "calloc",
    "realloc",
    "free",
    "usleep",
    "nanosleep",
    "sleep",
    "abort",
    "exit",
    "rand",
    "random",
    "puts",
    "__assert_fail",
    "memcpy",
    "memset",
    "memmove",
    "memcmp",
    "strlen",
    "strcmp",
    "__errno_location",
    "__tls_get_addr",
    "__stack_chk_fail",
];

/// Of those that membar stands in for, all that begin like this too.
fn is_few(name: &str) -> bool {
    const BEGIN: &[&str] =
        &["pthread_", "sched_", "thrd_", "mtx_", "cnd_", "sem_", "__VERIFIER_", "_Znw", "_Zna", "_Zd"];
    BEGIN.iter().any(|begin| name.starts_with(begin)) || FEW.contains(&name)
}
