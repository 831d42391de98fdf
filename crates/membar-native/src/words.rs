//! Names for the threads, places, variables and values of a program in reports.
//!
//! # Problem
//!
//! A run ([`Traced`]) is made of offsets in the object and addresses of cells; a report speaks of `flag[0]`, of `node#1.next`
//! and of line 12 of `dekker.c`.
//!
//! # Algorithm
//!
//! Everything comes from [`Symbols`]. Blocks of the heap have no names; they are the type's name and a number, in the order in
//! which a report mentions them. Since the same blocks are the same in every execution ([`Location::Heap`]: who allocated it, and
//! as which of its blocks), so are their names in one report.
//!
//! # Guarantees
//!
//! Everything has a name, if need be an ugly one. Names are not made harmless for a terminal.

use crate::run::{Located, Standing, Traced};
use membar_core::Order;
use membar_explore::{Control, Fault, FaultKind, Location, Piece};
use membar_symbols::{Frame, Named, Scalar, Symbols};
use rustc_hash::FxHashMap;

/// The byte that the run side fills new blocks with.
const FRESH: u8 = 0xbe;

/// Where an access is made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The function; empty if it is not known.
    pub function: String,
    /// The file; empty if it is not known.
    pub file: String,
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
    /// The column, from 1; 0 if it is not known.
    pub column: u32,
    /// The text of the line.
    pub text: String,
}

/// The words of a program.
#[derive(Debug)]
pub struct Words {
    symbols: Symbols,
    /// Blocks by the thread that allocated them and their number among its blocks, and their type.
    blocks: FxHashMap<(u32, u32, String), u32>,
    /// How many blocks of each type have a number.
    numbers: FxHashMap<String, u32>,
    /// Variables on stacks that have been seen while their frames were there.
    locals: FxHashMap<u64, Location>,
}

impl Words {
    /// Nothing has been mentioned yet.
    pub fn new(symbols: Symbols) -> Words {
        let (blocks, numbers, locals) = Default::default();
        Words { symbols, blocks, numbers, locals }
    }

    /// The symbols that they come from.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Remembers which variables are on stacks in a run: where a message comes from, their frames may be gone.
    pub fn remember(&mut self, traced: &Traced) {
        let stacks = traced.cells.iter().filter(|cell| matches!(cell.location, Location::Stack { .. }));
        self.locals.extend(stacks.map(|cell| (cell.at, cell.location.clone())));
    }

    /// `main`, `T1`, `T2`
    pub fn thread(id: u32) -> String {
        if id == 0 { "main".into() } else { format!("T{id}") }
    }

    /// Where a step is made that these return addresses lead to, the innermost first.
    pub fn place(&self, traced: &Traced, thread: u32, stack: &[u32], addr: u32) -> Place {
        if !stack.is_empty() {
            return self.place_of(stack);
        }
        // The beginning and the end of a thread are not instructions.
        let start = traced.starts.get(thread as usize).map_or(0, |start| u64::from(*start) + 1);
        let frame = self.symbols.user_frame(start);
        let (what, name) = match traced.cells.iter().find(|cell| cell.addr == addr).map(|cell| &cell.location) {
            Some(Location::Control { what: Control::Start, .. }) => ("starts", Words::thread(thread)),
            _ => ("ends", Words::thread(thread)),
        };
        let frame = frame.unwrap_or(Frame { function: String::new(), file: String::new(), line: 0, column: 0 });
        let Frame { function, file, line, column } = frame;
        Place { function, file, line, column, text: format!("{name} {what}") }
    }

    /// The user's place that these return addresses lead to, the innermost first.
    pub fn place_of(&self, stack: &[u32]) -> Place {
        let wide: Vec<u64> = stack.iter().map(|pc| u64::from(*pc)).collect();
        let frame = self.symbols.user_place(&wide).or_else(|| self.symbols.place(*wide.first()?).into_iter().next());
        let Some(Frame { function, file, line, column }) = frame else { return Place::default() };
        // A bracket alone says nothing.
        let text = self.symbols.statement(&file, line, column).filter(|text| text.contains(char::is_alphanumeric));
        let text = text.unwrap_or_default();
        Place { function, file, line, column, text }
    }

    /// Whether the C++ library makes an access that these return addresses lead to, the innermost first. `std::atomic` only wraps it.
    pub fn is_library(&self, stack: &[u32]) -> bool {
        const WRAPPERS: [&str; 5] = ["atomic", "atomic.h", "atomic_base.h", "c11.h", "cxx_atomic_impl.h"];
        let frames = stack.iter().flat_map(|pc| self.symbols.place(u64::from(*pc)));
        let mut inner = frames.take_while(|frame| !self.symbols.is_user_file(&frame.file));
        inner.any(|Frame { file, .. }| {
            let name = file.rsplit('/').next().unwrap_or(&file);
            file.contains("/c++/") && !WRAPPERS.contains(&name)
        })
    }

    /// Whether the user's files are anywhere on a stack.
    pub fn is_in_user_file(&self, stack: &[u32]) -> bool {
        let mut frames = stack.iter().flat_map(|pc| self.symbols.place(u64::from(*pc)));
        frames.any(|frame| self.symbols.is_user_file(&frame.file))
    }

    /// The function at an offset, in quotes.
    pub fn function(&self, offset: u32) -> String {
        let frame = self.symbols.place(u64::from(offset) + 1).into_iter().next_back();
        frame.map_or_else(|| "a function".into(), |frame| format!("`{}`", frame.function))
    }

    /// Something at a place, without a number: for notes, which are made before anything is mentioned.
    pub fn touched(&self, location: &Location) -> String {
        if let Some(Named { name, .. }) = self.unnumbered(location, 1) {
            return format!("`{name}`");
        }
        let Location::Heap { size, stack, .. } = location else { return "something".into() };
        let Place { file, line, .. } = self.place_of(stack);
        let place = if file.is_empty() { String::new() } else { format!(" allocated at {file}:{line}") };
        format!("a block of {size} bytes{place}")
    }

    /// The stack in the user's files, the innermost first; all of it if none of it is.
    pub fn stack(&self, stack: &[u32]) -> Vec<Frame> {
        let all: Vec<Frame> = stack.iter().flat_map(|pc| self.symbols.place(u64::from(*pc))).collect();
        let user = |frame: &&Frame| self.symbols.is_user_file(&frame.file);
        let own: Vec<Frame> = all.iter().filter(user).cloned().collect();
        if own.is_empty() { all } else { own }
    }

    /// The name of a cell, or of a part of it.
    pub fn address(&mut self, traced: &Traced, addr: u32, part: u8) -> String {
        match traced.cells.iter().find(|cell| (cell.addr, cell.part) == (addr, part)) {
            Some(cell) => self.named(&cell.location, u32::from(cell.size)).name,
            None => format!("cell {addr}"),
        }
    }

    /// Whether the cell is one that threads are known by or begin with: not a variable of the program.
    pub fn is_control(&self, traced: &Traced, addr: u32) -> bool {
        // The environment and random numbers are the program's own business.
        let own = |what: Control| matches!(what, Control::Environment | Control::Random);
        let control = |cell: &Located| match &cell.location {
            Location::Control { what, .. } => !own(*what),
            Location::Object { offset } => self.counts_panics(*offset),
            _ => false,
        };
        traced.cells.iter().any(|cell| cell.addr == addr && control(cell)) || self.is_launch(traced, addr)
    }

    /// Whether a variable is the one in which Rust's standard library counts panics.
    fn counts_panics(&self, offset: u64) -> bool {
        let named = self.symbols.variable(offset, 1);
        named.is_some_and(|named| named.name.starts_with("std::panicking::panic_count"))
    }

    /// Whether the cell is in the block that `std::thread` hands to its thread: the function to call, and its arguments.
    pub fn is_launch(&self, traced: &Traced, addr: u32) -> bool {
        let cell = traced.cells.iter().find(|cell| cell.addr == addr);
        let Some(Location::Heap { stack, .. }) = cell.map(|cell| &cell.location) else { return false };
        let mut callers = stack.iter().take(8).flat_map(|pc| self.symbols.place(u64::from(*pc)));
        callers.any(|frame| {
            let name = frame.function.split('<').next().unwrap_or_default();
            matches!(name, "std::thread::thread" | "std::thread::_S_make_state")
        })
    }

    /// A value of a cell, or of a part of it.
    pub fn value(&mut self, traced: &Traced, addr: u32, part: u8, value: u64) -> String {
        let is = |cell: &&Located| (cell.addr, cell.part) == (addr, part);
        let Some(cell) = traced.cells.iter().find(is) else { return value.to_string() };
        let size = u32::from(cell.size);
        let ty = self.named(&cell.location, size).ty;
        let pointer = matches!(ty, Scalar::Pointer { .. } | Scalar::Unknown | Scalar::Unsigned | Scalar::Signed);
        if matches!(cell.location, Location::Heap { .. }) && is_fresh(value, size) {
            return "uninitialised".into();
        }
        let pointee = traced.pointees.iter().find(|(at, _)| *at == value && size >= 8 && pointer);
        match pointee {
            Some((_, location)) => self.pointer(location, &ty, value),
            None => ty.show(value, size),
        }
    }

    /// A pointer to this, which a cell of such a type holds.
    fn pointer(&mut self, location: &Location, ty: &Scalar, value: u64) -> String {
        match location {
            Location::Heap { thread, number, size, offset, stack } => {
                let (block, _) = self.block(*thread, *number, *size, 0, 1, stack);
                if *offset == 0 { format!("&{block}") } else { format!("&{block}+{offset}") }
            }
            Location::Object { offset } => {
                let whole = self.symbols.object(*offset);
                let named = whole.or_else(|| self.symbols.variable(*offset, 1).map(|named| named.name));
                let named = named.map(|name| if name.starts_with("_ZTV") { "vtable".into() } else { name });
                named.map_or_else(|| ty.show(value, 8), |name| format!("&{name}"))
            }
            Location::Stack { .. } | Location::ThreadLocal { .. } | Location::Library { .. } => {
                format!("&{}", self.named(location, 1).name)
            }
            Location::Control { thread, .. } => Words::thread(*thread),
        }
    }

    /// Name and type of what is at a place.
    pub fn named(&mut self, location: &Location, size: u32) -> Named {
        let unknown = |name: String| Named { name, ty: Scalar::Unknown };
        let Location::Heap { thread, number, size: block, offset, stack } = location else {
            return self.unnumbered(location, size).unwrap_or_else(|| unknown("something".into()));
        };
        let (name, part) = self.block(*thread, *number, *block, *offset, size, stack);
        match part {
            Some(Named { name: path, ty }) => Named { name: format!("{name}{path}"), ty },
            None if *offset == 0 => unknown(name),
            None => unknown(format!("{name}+{offset}")),
        }
    }

    /// Name and type of what is at a place, unless it is in a block of the heap.
    fn unnumbered(&self, location: &Location, size: u32) -> Option<Named> {
        let unknown = |name: String| Named { name, ty: Scalar::Unknown };
        let whose = |thread: u32, name: String| match thread {
            0 => name,
            id => format!("{}'s {name}", Words::thread(id)),
        };
        Some(match location {
            Location::Object { offset } => {
                self.symbols.variable(*offset, size).unwrap_or_else(|| unknown(format!("data+{offset:#x}")))
            }
            Location::Library { library, name, offset } if name.is_empty() => unknown(format!("{library}+{offset:#x}")),
            Location::Library { name, offset: 0, .. } => unknown(name.clone()),
            Location::Library { name, offset, .. } => unknown(format!("{name}+{offset}")),
            Location::ThreadLocal { thread, offset } => {
                let named = self.symbols.thread_local(*offset, size);
                let Named { name, ty } = named.unwrap_or_else(|| unknown(format!("thread-local+{offset:#x}")));
                Named { name: format!("{}'s {name}", Words::thread(*thread)), ty }
            }
            Location::Stack { thread, addr, frames } => {
                let local = |&(pc, cfa): &(u32, u64)| self.symbols.local(u64::from(pc), cfa, *addr, size);
                let before = match self.locals.get(addr) {
                    Some(Location::Stack { frames, .. }) => &frames[..],
                    _ => &[],
                };
                let Named { name, ty } = frames
                    .iter()
                    .chain(before)
                    .find_map(local)
                    .unwrap_or_else(|| unknown(format!("stack+{:#x}", addr & 0xf_ffff)));
                Named { name: whose(*thread, name), ty }
            }
            Location::Heap { .. } => return None,
            Location::Control { thread, what } => unknown(match what {
                Control::Choice => "choice".into(),
                Control::Section => "atomic section".into(),
                Control::Handlers => "list of exit handlers".into(),
                Control::Environment => "environment".into(),
                Control::Random => "state of the random numbers".into(),
                Control::Large => "lock of large atomics".into(),
                Control::Futex => "queue of a futex".into(),
                Control::Start => format!("start of {}", Words::thread(*thread)),
                Control::End => format!("end of {}", Words::thread(*thread)),
                Control::Wake => format!("wake-up of {}", Words::thread(*thread)),
                Control::Fate => format!("join or detach of {}", Words::thread(*thread)),
            }),
        })
    }

    /// The name of a block, and of some bytes in it if its type is known.
    fn block(
        &mut self,
        thread: u32,
        number: u32,
        block: u64,
        offset: u64,
        size: u32,
        stack: &[u32],
    ) -> (String, Option<Named>) {
        let stack: Vec<u64> = stack.iter().map(|pc| u64::from(*pc)).collect();
        // A library's own allocations have none of the user's types.
        let pc = self.symbols.user_pc(&stack);
        let typed = pc.and_then(|pc| self.symbols.heap(pc, block, offset, size));
        let (ty, part) = match typed {
            Some((ty, part)) => (ty, Some(part)),
            None => ("block".to_owned(), None),
        };
        let ty = ty.strip_prefix("struct ").unwrap_or(&ty).to_owned();
        let numbers = &mut self.numbers;
        let id = *self.blocks.entry((thread, number, ty.clone())).or_insert_with(|| {
            let next = numbers.entry(ty.clone()).or_default();
            *next += 1;
            *next
        });
        let part = part.map(|Named { name, ty }| {
            let path = if name.is_empty() || name.starts_with(['.', '[', '+']) { name } else { format!(".{name}") };
            Named { name: path, ty }
        });
        (format!("{ty}#{id}"), part)
    }

    /// The message of a fault in words.
    pub fn fault(&mut self, fault: &Fault) -> String {
        let terminates = (fault.kind == FaultKind::Terminate).then(|| self.terminates(&fault.stack)).flatten();
        terminates.map_or_else(|| fault.message.text(|piece| self.piece(piece)), str::to_owned)
    }

    /// Why `std::terminate` is called without an exception: its caller tells.
    fn terminates(&self, stack: &[u32]) -> Option<&'static str> {
        let mut callers = stack.iter().take(4).flat_map(|pc| self.symbols.place(u64::from(*pc)));
        callers.find_map(|frame| match frame.function.as_str() {
            name if name.ends_with("thread::~thread") => {
                Some("destroys a `std::thread` that was neither joined nor detached (`std::terminate`)")
            }
            name if name.ends_with("thread::operator=") => {
                Some("assigns to a `std::thread` that was neither joined nor detached (`std::terminate`)")
            }
            "__cxa_pure_virtual" => Some("calls a pure virtual function (`std::terminate`)"),
            "__cxa_rethrow" => Some("rethrows an exception where none is being handled (`std::terminate`)"),
            _ => None,
        })
    }

    /// Why `std::terminate` is called with an exception, by the place of the call.
    fn terminated(&self, pc: u32) -> String {
        let place = self.symbols.place(u64::from(pc));
        match place.first().map_or("", |frame| frame.function.as_str()) {
            "__cxa_call_terminate" | "__clang_call_terminate" => ", which leaves a `noexcept` function".into(),
            _ => match self.symbols.user_frame(u64::from(pc)) {
                Some(frame) => format!(", and `std::terminate` is called at {}:{}", frame.file, frame.line),
                None => String::new(),
            },
        }
    }

    fn piece(&mut self, piece: &Piece) -> String {
        match piece {
            Piece::Text(text) => text.clone(),
            Piece::Variable(Some(location)) => format!("`{}`", self.named(location, 1).name),
            Piece::Variable(None) => "something".into(),
            Piece::Line(stack) => {
                let Place { file, line, .. } = self.place_of(stack);
                if file.is_empty() { "an unknown place".into() } else { format!("{file}:{line}") }
            }
            Piece::Terminates(pc) => self.terminated(*pc),
        }
    }

    /// The reason why a thread cannot continue: the variable that it waits for, and the thread that changed it last, with the place.
    pub fn wait(&mut self, traced: &Traced, thread: u32) -> Option<Wait> {
        let Some(Standing::Access(next, _)) = traced.threads.get(thread as usize) else { return None };
        let polled = traced.polls.get(thread as usize).and_then(Option::as_ref);
        let step = polled.unwrap_or(next);
        let location = &traced.cells.iter().find(|cell| cell.addr == step.made.addr)?.location;
        let place = self.place(traced, thread, &step.stack, step.made.addr);
        let last = traced.steps.iter().rev().find(|other| {
            let performed = other.made.performed();
            performed.access.addr == step.made.addr && performed.writes
        });
        // A thread that polls holds nothing, and waits for nobody who does.
        let holder = last.filter(|_| polled.is_none()).map(|last| (last.made.thread, self.place_of(&last.stack)));
        let sync = step.made.performed().access.kind == membar_core::AccessKind::Rmw;
        let what = match location {
            Location::Control { thread, what: Control::End } => Waits::End(*thread),
            Location::Control { .. } => Waits::Woken,
            _ if self.is_parked(&step.stack) => Waits::Unparked,
            location => {
                let name = self.named(location, 1).name;
                match (sync, polled) {
                    (true, Some(_)) => Waits::Loop(name),
                    (true, None) => Waits::Lock(name),
                    _ => Waits::Value(name),
                }
            }
        };
        Some(Wait { what, place, holder })
    }

    /// Whether these return addresses, from the innermost outwards, lead to `std::thread::park`.
    fn is_parked(&self, stack: &[u32]) -> bool {
        let library = stack.iter().map(|&pc| u64::from(pc)).take_while(|&pc| self.symbols.user_frame(pc).is_none());
        library.flat_map(|pc| self.symbols.place(pc)).any(|frame| frame.function.ends_with("Thread>::park"))
    }
}

/// Whether this is what the heap holds before anything is written there.
fn is_fresh(value: u64, size: u32) -> bool {
    let bytes = value.to_le_bytes();
    size > 1 && bytes.iter().take(size as usize).all(|byte| *byte == FRESH)
}

/// The object or event that a thread waits for, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The reason.
    pub what: Waits,
    /// The place.
    pub place: Place,
    /// The thread that changed it last, and where.
    pub holder: Option<(u32, Place)>,
}

/// The object or event that a thread waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Waits {
    /// The end of a thread.
    End(u32),
    /// To be woken, at a condition variable.
    Woken,
    /// A token, in `std::thread::park`.
    Unparked,
    /// A mutex or another object that threads wait for each other with.
    Lock(String),
    /// Another value of a variable.
    Value(String),
    /// Nothing that anybody changes: it loops, and acquires and releases this.
    Loop(String),
}

/// The languages of fences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// `atomic_thread_fence(memory_order_seq_cst)`
    C,
    /// `std::atomic_thread_fence(std::memory_order_seq_cst)`
    Cxx,
    /// `std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst)`
    Rust,
}

impl Dialect {
    /// A fence as the source would have it.
    pub fn fence(self, order: Order) -> String {
        match self {
            Dialect::C => format!("atomic_thread_fence(memory_order_{order})"),
            Dialect::Cxx => format!("std::atomic_thread_fence(std::memory_order_{order})"),
            Dialect::Rust => {
                let order = match order {
                    Order::Acquire => "Acquire",
                    Order::Release => "Release",
                    Order::AcqRel => "AcqRel",
                    _ => "SeqCst",
                };
                format!("std::sync::atomic::fence(std::sync::atomic::Ordering::{order})")
            }
        }
    }
}
