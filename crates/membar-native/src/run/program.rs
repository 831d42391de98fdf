//! The program as the explorer sees it.

use super::coroutine::Thread;
use super::facts::{Divergence, Facts};
use super::fault;
use super::float;
use super::heap::Heap;
use super::hooks;
use super::idle::Deed;
use super::layout::{
    self, ARENA, ARENA_LEN, CONTROL_SIZE, HEAP_SIZE, HEAPS, LIBRARY_SHADOW, LIFE, MAX_THREADS, MODULE_SHADOW, SHADOW,
    STACK_SIZE, STACKS, TABLE, TABLE_LEN, control, stack_base,
};
use super::module::{LoadError, Module};
use super::shadow::{self, read};
use super::slot::{Pending, Slot, Stand};
use super::snapshot;
use super::switch::{begin, switch};
use super::unwind::Unwinder;
use super::world::{World, install, world};
use membar_core::{Access, AccessKind, Performed, Remedy};
use membar_explore::{Awaited, Fault, Next, Program, Standing, Step, Stop, Waiting, Watched};
use serde::{Deserialize, Serialize};
use std::ffi::{CString, OsStr, c_int, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How to run a program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Options {
    /// Bytes of heap that an execution may use.
    pub heap: usize,
    /// Volatile accesses are seq_cst atomics.
    pub volatile_atomic: bool,
    /// Threads may wake up without a reason.
    pub spurious_wakeups: bool,
    /// Weak compare-exchanges may fail without a reason.
    pub spurious_failures: bool,
    /// Threads that are alike are explored up to renaming.
    pub symmetry: bool,
    /// Uninstrumented code touches nothing that threads share.
    pub opaque_private: bool,
    /// The range of values that `__VERIFIER_nondet_int` and similar functions return: from this number to that.
    pub nondet: Option<(i64, i64)>,
    /// Code that reports do not name, as ranges of offsets in the object.
    pub wrappers: Vec<(u32, u32)>,
    /// Return addresses of calls that make atomic accesses of the program's own. Those of a library find the last value there is: what
    /// their memory orders leave open is not the program's business. Empty if all accesses count.
    pub own_atomics: Vec<u32>,
    /// Waiting loops are recognised by everything on a stack, live or not: for comparison.
    pub whole_stacks: bool,
}

/// A loaded program, at some state of an execution. There can be one per process, and it stays on the thread that loaded
/// it.
#[derive(Debug)]
pub struct Native(PhantomData<*mut ()>);

/// Does not compile if [`Native`] is `Send` or `Sync`: then two implementations would fit, and which is meant is not known.
const _: fn() = || {
    trait Neither<A> {
        fn here() {}
    }
    impl<T: ?Sized> Neither<()> for T {}
    impl<T: ?Sized + Send> Neither<u8> for T {}
    impl<T: ?Sized + Sync> Neither<u16> for T {}
    <Native as Neither<_>>::here();
};

fn system(call: &'static str, result: c_int) -> Result<(), LoadError> {
    fault::done(result).map_err(|error| LoadError::Refused(call, error))
}

fn map(at: usize, len: usize, access: i32) -> Result<(), LoadError> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: a new mapping where there is none.
    let got = unsafe { libc::mmap(at as *mut c_void, len, access, flags, -1, 0) };
    if got as usize == at {
        return Ok(());
    }
    Err(LoadError::Open(format!("no room at {at:#x} for {} MiB: {}", len >> 20, std::io::Error::last_os_error())))
}

/// Loads the object on the stack of the program's first thread: constructors may go wrong like anything else.
fn load_on_stack(object: &Path) -> Result<Module, LoadError> {
    type Work<'a> = (&'a Path, Option<Result<Module, LoadError>>);
    extern "C" fn load(work: usize) -> ! {
        // SAFETY: the code that switched here waits for this.
        let (object, loaded) = unsafe { &mut *(work as *mut Work<'_>) };
        *loaded = Some(Module::load(object));
        Thread::rest(Stand::Done)
    }
    let mut work: Work<'_> = (object, None);
    let w = world();
    w.running = true;
    // SAFETY: the stack is mapped, and nothing runs on it.
    unsafe { switch(&raw mut w.scheduler, begin(stack_base(0), load, (&raw mut work) as usize)) };
    let float = float::leave();
    let w = world();
    (w.running, w.float) = (false, float);
    w.threads[0].place = 0;
    let fault = || world().threads[0].fault.take().unwrap_or_else(|| Fault::error(""));
    work.1.unwrap_or_else(|| Err(LoadError::Constructor(fault())))
}

impl World {
    /// Makes the handlers registered so far for the end of the program those that every execution begins with.
    fn keep_handlers(&mut self, object: &Path) {
        if !self.handlers.any(&self.module) {
            return;
        }
        let base = self.module.base;
        let (from, to) = crate::build::layout(object)[1];
        let streams = crate::build::stream_destructors(object);
        self.handlers.begin(&self.module, |handler| {
            (from..to).contains(&handler.argument.wrapping_sub(base))
                || streams.contains(&handler.function.wrapping_sub(base))
        });
        self.first_handlers.copy(&self.handlers);
    }
}

impl Native {
    /// Loads a program. Its constructors run.
    pub fn load(object: &Path, args: &[&OsStr], options: &Options) -> Result<Native, LoadError> {
        const WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
        map(TABLE, TABLE_LEN, WRITE)?;
        map(ARENA, ARENA_LEN, WRITE)?;
        map(SHADOW, 4 * ARENA_LEN, WRITE)?;
        map(LIFE, MAX_THREADS * HEAP_SIZE / 16, WRITE)?;
        for thread in 0..MAX_THREADS {
            let guard = STACKS + thread * STACK_SIZE;
            // SAFETY: a page of the arena.
            system("mprotect", unsafe { libc::mprotect(guard as *mut c_void, layout::GUARD, libc::PROT_NONE) })?;
        }
        for (i, function) in hooks::functions().into_iter().enumerate() {
            // SAFETY: the table has room for all.
            unsafe { *((TABLE + 8 * i) as *mut usize) = function };
        }
        // The C++ library asks whether there are threads before it counts references atomically.
        unsafe extern "C" {
            static mut __libc_single_threaded: u8;
        }
        // SAFETY: the C library's own, which nobody else uses meanwhile.
        unsafe { __libc_single_threaded = 0 };
        // The unwinder that Rust's functions use must have been used once: the program's own has its own tables, and
        // an exception of the program that passes a hook needs both.
        let _ = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(())));
        // SAFETY: this was just mapped, except for the registers, which are on their own pages. Nobody writes it any more.
        system("mprotect", unsafe { libc::mprotect(TABLE as *mut c_void, layout::REGS - TABLE, libc::PROT_READ) })?;
        install(World::new(Heap::new(if options.heap == 0 { HEAP_SIZE } else { options.heap })));
        fault::catch().map_err(|error| LoadError::Refused("signals", error))?;
        world().object = object.to_string_lossy().into_owned();
        let module = load_on_stack(object)?;
        map(MODULE_SHADOW - 4096, 4 * module.len + 2 * 4096, WRITE)?;
        let libraries = shadow::library_bytes(module.libraries.iter().map(|library| library.len));
        if libraries > 0 {
            map(LIBRARY_SHADOW, libraries, WRITE)?;
        }
        let w = world();
        // The arguments are on the heap before it is kept, so that the program may change them.
        let mut pointers: Vec<usize> = Vec::new();
        for arg in args {
            let text = CString::new(arg.as_bytes()).unwrap_or_default();
            let bytes = text.as_bytes_with_nul();
            let block = w.heap.allocate(0, bytes.len(), 16, 0, 0).unwrap_or(HEAPS);
            // SAFETY: a new block of that size.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), block as *mut u8, bytes.len()) };
            pointers.push(block);
        }
        pointers.push(0);
        let vector = w.heap.allocate(0, 8 * pointers.len(), 16, 0, 0).unwrap_or(HEAPS);
        // SAFETY: a new block of that size.
        unsafe { std::ptr::copy_nonoverlapping(pointers.as_ptr(), vector as *mut usize, pointers.len()) };
        unsafe extern "C" {
            static environ: usize;
        }
        // SAFETY: the C library's own.
        w.args = [args.len(), vector, unsafe { environ }];
        w.loaded(module);
        w.keep_handlers(object);
        let imports = crate::build::imports(object).ok();
        let names = || imports.iter().flatten().map(|import| import.name.as_str());
        // SAFETY: the object's code, which is mapped and does not change.
        let code =
            unsafe { std::slice::from_raw_parts(w.module.text.0 as *const u8, w.module.text.1 - w.module.text.0) };
        w.floats = imports.is_none() || !w.module.libraries.is_empty() || float::matters(names(), code, w.float);
        if !options.opaque_private {
            let base = w.module.base;
            let [program, own] = crate::build::layout(object).map(|(from, to)| (base + from, base + to));
            if program.0 < program.1 {
                w.watch_opaque(object, program, own);
            }
        }
        w.snapshots.allowed = imports.is_some() && snapshot::allow(names(), |name| w.opaque.thunks.sees(name));
        w.volatile_atomic = options.volatile_atomic;
        w.spurious_wakeups = options.spurious_wakeups;
        w.spurious_failures = options.spurious_failures;
        w.symmetry = options.symmetry;
        w.nondet = options.nondet;
        w.whole_stacks = options.whole_stacks;
        if !options.own_atomics.is_empty() {
            w.own_atomics = vec![0; w.module.len.div_ceil(64)];
            for at in options.own_atomics.iter().map(|&back| back as usize).filter(|&back| back < w.module.len) {
                w.own_atomics[at / 64] |= 1 << (at % 64);
            }
        }
        if !options.wrappers.is_empty() {
            w.wrappers = vec![0; w.module.len.div_ceil(64)];
            w.unwinder = Unwinder::load(object);
            for &(from, to) in &options.wrappers {
                for at in from as usize..(to as usize).min(w.module.len) {
                    w.wrappers[at / 64] |= 1 << (at % 64);
                }
            }
        }
        World::begin();
        Ok(Native(PhantomData))
    }

    /// Begins again, knowing this, with these remedies, and with these schedules not to be run but to be
    /// reported. `sampling` if executions are run from beginning to end, and no state is gone back to.
    pub fn prepare(
        &mut self,
        facts: &Facts,
        remedies: &[(u32, Remedy)],
        poison: Vec<(Vec<Step>, Fault)>,
        sampling: bool,
    ) {
        let w = world();
        w.sampling = sampling;
        w.know(facts);
        if !w.loop_list.is_empty() && !w.whole_stacks {
            w.liveness.load(Path::new(&w.object), w.module.base);
        }
        w.remedies = remedies.iter().copied().collect();
        w.poison = poison;
        World::begin();
    }

    /// From now on accesses find what they are told to, or what memory holds. At the beginning.
    pub fn tell(&mut self, on: bool) {
        world().tell(on);
    }

    /// The schedule that is being run is written here: a flag of four bytes that is not touched, its length, its steps of four
    /// bytes each.
    pub(crate) fn set_black_box(&mut self, at: *mut u8, len: usize) {
        world().black_box = at;
        world().black_box_len = (len - 8) / 4;
    }

    /// The facts learnt, and whether they are more than was known from the beginning: then what was explored does not count.
    pub fn facts(&self) -> (Facts, bool) {
        let w = world();
        (w.facts(), w.grown || w.shadow.grown)
    }

    /// If the program did something else the second time.
    pub fn divergence(&self) -> Option<Divergence> {
        world().diverged.clone()
    }

    /// Executions begun, steps made for the first time and again, bytes restored for each execution.
    pub fn statistics(&self) -> (u64, u64, u64, usize) {
        let w = world();
        (w.executions, w.steps, w.replayed, w.pages.bytes())
    }
}

pub(super) fn access(pending: &Pending) -> Access {
    let Pending { cell, site, kind, barrier, c11, part, expected, compares, .. } = *pending;
    let expected = compares.then_some(expected);
    Access { kind, barrier, c11, part, addr: cell, site, expected }
}

impl Program for Native {
    fn threads(&self) -> usize {
        world().known
    }

    #[inline]
    fn next(&self, thread: usize) -> Next {
        let w = world();
        if w.void {
            return Next::Done;
        }
        match w.threads[thread].slots.last() {
            Some(slot) => match slot.stand {
                Stand::Access => Next::Access(access(&slot.pending)),
                Stand::Fault => Next::Fault,
                Stand::Done | Stand::Over | Stand::Dropped => Next::Done,
            },
            None => Next::Done,
        }
    }

    #[inline(always)]
    fn waiting(&self, thread: usize) -> Waiting<'_> {
        let w = world();
        let this = &w.threads[thread];
        let Some(slot) = this.slots.last() else { return Waiting::default() };
        let parked = slot.idle.parked;
        if slot.pending.waits && !parked {
            return Waiting { round: std::slice::from_ref(&slot.awaited), blocking: true, ..Waiting::default() };
        }
        let (from, to) = slot.idle.round;
        if slot.pending.guarded && from == to {
            return Waiting { round: std::slice::from_ref(&slot.awaited), blocking: true, ..Waiting::default() };
        }
        let round = &this.history.log[from as usize..to as usize];
        let lock = (slot.pending.waits && parked).then_some(&slot.awaited);
        Waiting { round, repeated: slot.idle.repeated as usize, blocking: false, parked, lock }
    }

    #[inline(always)]
    fn is_blocked(&self, thread: usize) -> bool {
        let this = &world().threads[thread];
        let Some(slot) = this.slots.last() else { return false };
        if slot.pending.guarded && slot.awaited.blocks(self.value(slot.awaited.addr)) {
            return true;
        }
        if slot.idle.parked {
            return self.waiting(thread).is_parked(|addr| self.value(addr));
        }
        if slot.pending.waits {
            return slot.awaited.blocks(self.value(slot.awaited.addr));
        }
        let (from, to) = slot.idle.round;
        // Few of the threads in a loop are about to close it.
        from + slot.idle.repeated + 1 == to
            && this.history.log[from as usize..to as usize].iter().all(|read| read.blocks(self.value(read.addr)))
    }

    fn stirs(&self, parked: usize, other: usize) -> bool {
        let blocked = |slot: &Slot| slot.pending.waits && slot.awaited.blocks(self.value(slot.awaited.addr));
        let [this, that] = [parked, other].map(|thread| &world().threads[thread]);
        let (Some(slot), Some(slot_of_other)) = (this.slots.last(), that.slots.last()) else { return false };
        if blocked(slot) {
            return false;
        }
        let round = this.history.round(&slot.idle);
        if slot_of_other.idle.parked && !blocked(slot_of_other) {
            return super::park::can_disturb(round, that.history.round(&slot_of_other.idle));
        }
        let waiting = self.waiting(other);
        let lets_go = |awaited: &Awaited, (found, deed): (&Awaited, &Deed)| {
            deed.kind != AccessKind::Load && found.addr == awaited.addr && !awaited.blocks(deed.new)
        };
        waiting.round.iter().chain(waiting.lock).any(|awaited| round.iter().any(|access| lets_go(awaited, access)))
    }

    fn is_symmetric(&self) -> bool {
        !world().twins.is_empty()
    }

    fn twin(&self, thread: usize) -> Option<usize> {
        world().threads[thread].ties.twin.map(usize::from)
    }

    fn tell_apart(&mut self, thread: usize) {
        world().tell_apart(thread);
    }

    fn shows_address(&mut self, thread: usize) {
        world().stands_out(thread);
    }

    fn private_writes(&self, thread: usize) -> Vec<u64> {
        let w = world();
        let place = |&(at, size): &(usize, usize)| {
            let own = w.own_memory(thread, at).map_or(at as u64, |place| !place);
            own.wrapping_mul(32).wrapping_add(size as u64)
        };
        w.threads[thread].written.iter().map(place).collect()
    }

    fn is_control(&self, thread: usize, addr: u32) -> bool {
        let cell = world().shadow.cells.get(addr as usize);
        cell.is_some_and(|cell| (cell.at as usize).wrapping_sub(control(thread)) < CONTROL_SIZE)
    }

    fn own_place(&self, thread: usize, addr: u32) -> Option<u64> {
        let w = world();
        w.own_memory(thread, w.shadow.cells.get(addr as usize)?.at as usize)
    }

    fn own_value(&self, thread: usize, value: u64) -> Option<u64> {
        world().own_memory(thread, value as usize)
    }

    fn is_dropped(&self) -> bool {
        let w = world();
        let stopped = |slot: &Slot| slot.stand == Stand::Dropped;
        !w.void && w.threads[..w.known].iter().any(|thread| thread.slots.last().is_some_and(stopped))
    }

    fn may_wait(&self, thread: usize) -> bool {
        let w = world();
        let may_wait = w.threads[thread].slots.len() == 1 && thread > 0 || w.is_over();
        if !may_wait {
            w.look_at_end(thread);
        }
        may_wait
    }

    #[inline(always)]
    fn standing(&self, thread: usize) -> Standing {
        let w = world();
        match w.threads[thread].slots.last() {
            Some(slot) if !w.void => slot.standing(),
            _ => Standing::Stopped,
        }
    }

    #[inline(always)]
    fn value(&self, addr: u32) -> u64 {
        if world().sampling {
            return world().shadow.cells.get(addr as usize).map_or(0, read);
        }
        world().values.get(addr as usize).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn step(&mut self, thread: usize) -> Performed {
        let mut made = Vec::new();
        let _ = World::steps(thread, 0, Watched::default(), &mut made);
        made[0]
    }

    fn choose(&mut self, thread: usize, outcome: u32) -> Performed {
        let performed = World::choice(thread, outcome);
        if world().told.on {
            world().chose();
        }
        performed
    }

    #[inline(always)]
    fn steps(&mut self, thread: usize, more: usize, watched: Watched, made: &mut Vec<Performed>) -> Stop {
        World::steps(thread, more, watched, made)
    }

    fn memory(&mut self, addr: u32) -> u64 {
        World::at_cell(addr)
    }

    fn step_finding(&mut self, thread: usize, found: u64, dead: bool) -> Performed {
        World::step_finding(thread, found, dead)
    }

    fn leave(&mut self, addr: u32, value: u64) {
        world().leave_at(addr, value);
    }

    fn hold(&mut self, addr: u32, value: u64) {
        world().hold_at(addr, value);
    }

    fn merge(&mut self, access: &Access, value: u64, written: u64) -> u64 {
        world().merge(access, value, written)
    }

    fn is_void(&self) -> bool {
        world().void
    }

    #[inline]
    fn undo(&mut self) {
        world().undo();
    }

    fn restart(&mut self, _: usize) {
        World::rewind();
    }

    fn state(&self, state: &mut Vec<u64>) {
        // The contents of private memory at an earlier state are not known, so no two states are known to be the same.
        state.push(world().path.len() as u64);
    }

    fn fault(&self, thread: usize) -> Fault {
        world().threads[thread].fault.clone().unwrap_or_else(|| Fault::error(""))
    }
}
