//! The functions that code compiled with `-fsanitize=thread` calls.
//!
//! Plain and volatile accesses are announced and then made by the program. Atomic operations are made here. What each
//! memory order means under TSO and PSO:
//!
//! | operation | before it | after it |
//! |---|---|---|
//! | release or seq_cst store; release, acq_rel or seq_cst read-modify-write | store barrier | |
//! | seq_cst store | | full barrier |
//! | release or acq_rel fence | store barrier | |
//! | seq_cst fence | full barrier | |
//!
//! Every read-modify-write is interlocked, compare-exchanges that fail included. Everything else is plain.

use super::access::{self, Event, plain, whole_range};
use super::choose::surprise;
use super::registers::{operand, register};
use super::shadow::wide;
use super::world::world;
use membar_core::{AccessKind, Barrier, Fence, Order};

/// A memory order as the compiler passes it. Above it there may be hints.
fn order(number: i32) -> Order {
    match number & 0xff {
        0 => Order::Relaxed,
        // `consume` is an acquire.
        1 | 2 => Order::Acquire,
        3 => Order::Release,
        4 => Order::AcqRel,
        _ => Order::SeqCst,
    }
}

fn before(order: Order) -> Barrier {
    if order.releases() { Barrier::Store } else { Barrier::None }
}

/// Adds a barrier after the last access of the thread that runs.
pub fn barrier(barrier: Barrier) {
    // All parts of that access come before it.
    access::settle();
    let w = world();
    let thread = &mut w.threads[w.current];
    thread.barrier = thread.barrier.max(barrier);
}

/// Adds a C11 fence there.
fn fence(fence: Fence) {
    let w = world();
    let thread = &mut w.threads[w.current];
    thread.fence = thread.fence.then(fence);
}

pub extern "C-unwind" fn read_plain<const N: usize>(addr: usize) {
    // The machine moves no more than 8 bytes at once that it promises anything about.
    if N > 8 { whole_range(addr, N, false) } else { plain(addr, N, false) }
}

pub extern "C-unwind" fn write_plain<const N: usize>(addr: usize) {
    if N > 8 { whole_range(addr, N, true) } else { plain(addr, N, true) }
}

pub extern "C-unwind" fn early_write<const N: usize>(addr: usize) {
    access::early_write(addr, N);
}

pub extern "C-unwind" fn early_write_range(addr: usize, size: usize) {
    access::early_write(addr, size);
}

pub extern "C-unwind" fn update_plain<const N: usize>(addr: usize) {
    access::update(addr, N);
}

pub extern "C-unwind" fn update_volatile<const N: usize>(addr: usize) {
    if world().volatile_atomic { write_volatile::<N>(addr) } else { update_plain::<N>(addr) }
}

pub extern "C-unwind" fn read_volatile<const N: usize>(addr: usize) {
    if world().volatile_atomic {
        Event::atomic(AccessKind::Load, addr, N, Order::SeqCst).announce();
    } else {
        read_plain::<N>(addr);
    }
}

pub extern "C-unwind" fn write_volatile<const N: usize>(addr: usize) {
    if world().volatile_atomic {
        Event::atomic(AccessKind::Store, addr, N, Order::SeqCst).before(Barrier::Store).announce();
        barrier(Barrier::Full);
    } else {
        write_plain::<N>(addr);
    }
}

pub extern "C-unwind" fn read_range(addr: usize, size: usize) {
    whole_range(addr, size, false);
}

pub extern "C-unwind" fn write_range(addr: usize, size: usize) {
    whole_range(addr, size, true);
}

pub extern "C-unwind" fn vptr_update(addr: usize, value: usize) {
    // Constructors of derived classes write the pointer once more: only what changes it is seen by others.
    // SAFETY: the object is being built by the caller.
    if unsafe { *(addr as *const usize) } != value {
        plain(addr, 8, true);
    }
}

pub extern "C-unwind" fn nothing() {}

pub extern "C-unwind" fn thread_fence(number: i32) {
    match order(number) {
        Order::SeqCst => barrier(Barrier::Full),
        Order::Release | Order::AcqRel => barrier(Barrier::Store),
        _ => {}
    }
    fence(Fence::of(order(number)));
}

/// Annotations of programs for a sanitizer: ignored, and the answer is 0.
pub extern "C-unwind" fn annotation() -> usize {
    0
}

pub extern "C-unwind" fn inline_assembly(addr: usize, what: u32, rax: u64, rdx: u64) {
    world().this().scratch = scratch();
    announced_assembly(addr, what, rax, rdx);
    world().this().scratch = 0;
}

/// The registers that the stub has saved below its return address, as one number; not 0. Those for vectors and numbers too: code that calls
/// nothing keeps what it likes in them.
fn scratch() -> u64 {
    let top = super::registers::register(0);
    // Not the flags, which are above them and mostly leftovers. `rdi` and `rsi` have been stored by the caller.
    let kept = super::stubs::SAVED.map(|i| top - 16 - 8 * i);
    // SAFETY: the stub has pushed them.
    let kept = kept.into_iter().map(|at| unsafe { *(at as *const u64) });
    kept.chain(super::stubs::vectors_below(top)).fold(1, super::live::mix) | 1
}

fn announced_assembly(addr: usize, what: u32, rax: u64, rdx: u64) {
    let size = (what & 0xff) as usize;
    let locked = || Event::atomic(AccessKind::Rmw, addr, size, Order::SeqCst).before(Barrier::Store).assembly();
    match what >> 8 {
        1 if size > 8 => whole_range(addr, size, false),
        2 if size > 8 => whole_range(addr, size, true),
        1 => plain(addr, size, false),
        2 => plain(addr, size, true),
        3 => locked().announce(),
        4 => {
            let mask = if size >= 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
            locked().expects(rax & mask).announce();
        }
        5 => {
            barrier(Barrier::Full);
            fence(Fence::SeqCst);
        }
        6 => {
            barrier(Barrier::Store);
            fence(Fence::Release);
        }
        8 => {
            let expected =
                if size == 8 { rdx << 32 | rax & 0xffff_ffff } else { wide(u128::from(rdx) << 64 | u128::from(rax)) };
            locked().expects(expected).announce();
        }
        9 => world().executed(addr as u64),
        10 => whole_range(addr, rax as usize, false),
        11 => whole_range(addr, rax as usize, true),
        12 => access::update(addr, size),
        _ => {}
    }
}

/// Integers of all sizes.
pub trait Int: Copy + PartialEq {
    fn value(self) -> u64;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn nand(self, other: Self) -> Self;
}

macro_rules! int {
    ($($ty:ty: $value:expr),*) => {$(
        impl Int for $ty {
            fn value(self) -> u64 { let value: fn($ty) -> u64 = $value; value(self) }
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            fn sub(self, other: Self) -> Self { self.wrapping_sub(other) }
            fn and(self, other: Self) -> Self { self & other }
            fn or(self, other: Self) -> Self { self | other }
            fn xor(self, other: Self) -> Self { self ^ other }
            fn nand(self, other: Self) -> Self { !(self & other) }
        }
    )*};
}
int!(u8: u64::from, u16: u64::from, u32: u64::from, u64: |v| v, u128: wide);

/// An access of the program's own counts as it is; one of a library's finds the last value there is.
#[inline]
fn whose(event: Event) -> Event {
    let w = world();
    if w.own_atomics.is_empty() {
        return event;
    }
    // SAFETY: the stack pointer of a stub's caller.
    let back = w.module.offset(unsafe { *(register(0) as *const usize) }) as usize;
    let own = w.own_atomics.get(back / 64).is_some_and(|bits| bits >> (back % 64) & 1 != 0);
    if own { event } else { event.fresh() }
}

pub extern "C-unwind" fn atomic_load<T: Int>(addr: *const T, number: i32) -> T {
    whose(Event::atomic(AccessKind::Load, addr as usize, size_of::<T>(), order(number))).announce();
    // SAFETY: the program accesses this memory; a bad pointer is caught as a fault of the program.
    unsafe { addr.read_unaligned() }
}

pub extern "C-unwind" fn atomic_store<T: Int>(addr: *mut T, value: T, number: i32) {
    let order = order(number);
    whose(Event::atomic(AccessKind::Store, addr as usize, size_of::<T>(), order)).before(before(order)).announce();
    // SAFETY: as above.
    unsafe { addr.write_unaligned(value) };
    if order == Order::SeqCst {
        barrier(Barrier::Full);
    }
}

fn update<T: Int>(addr: *mut T, value: T, number: i32, new: impl Fn(T, T) -> T) -> T {
    operand(value.value());
    let order = order(number);
    whose(Event::atomic(AccessKind::Rmw, addr as usize, size_of::<T>(), order)).before(before(order)).announce();
    // SAFETY: as above.
    unsafe {
        let old = addr.read_unaligned();
        addr.write_unaligned(new(old, value));
        old
    }
}

pub extern "C-unwind" fn atomic_exchange<T: Int>(addr: *mut T, value: T, order: i32) -> T {
    update(addr, value, order, |_, value| value)
}

pub extern "C-unwind" fn atomic_fetch_add<T: Int>(addr: *mut T, value: T, order: i32) -> T {
    update(addr, value, order, T::add)
}

pub extern "C-unwind" fn atomic_fetch_sub<T: Int>(addr: *mut T, value: T, order: i32) -> T {
    update(addr, value, order, T::sub)
}

pub extern "C-unwind" fn atomic_fetch_and<T: Int>(addr: *mut T, value: T, order: i32) -> T {
    update(addr, value, order, T::and)
}

pub extern "C-unwind" fn atomic_fetch_or<T: Int>(addr: *mut T, value: T, order: i32) -> T {
    update(addr, value, order, T::or)
}

pub extern "C-unwind" fn atomic_fetch_xor<T: Int>(addr: *mut T, value: T, order: i32) -> T {
    update(addr, value, order, T::xor)
}

pub extern "C-unwind" fn atomic_fetch_nand<T: Int>(addr: *mut T, value: T, order: i32) -> T {
    update(addr, value, order, T::nand)
}

pub extern "C-unwind" fn atomic_compare_exchange<T: Int>(
    addr: *mut T,
    expected: *mut T,
    desired: T,
    order: i32,
    failure: i32,
) -> i32 {
    // SAFETY: as above; `expected` is the caller's own.
    let wanted = unsafe { expected.read_unaligned() };
    let old = atomic_compare_exchange_val(addr, wanted, desired, order, failure);
    if old == wanted {
        return 1;
    }
    unsafe { expected.write_unaligned(old) };
    0
}

/// Whether a weak compare-exchange fails here although it need not.
fn fails_without_reason() -> bool {
    let w = world();
    if !w.spurious_failures {
        w.grown |= !w.weak && !w.alone;
        w.weak |= !w.alone;
        return false;
    }
    w.module.len > 0 && surprise()
}

/// One that fails without a reason is a load.
pub extern "C-unwind" fn atomic_compare_exchange_weak<T: Int>(
    addr: *mut T,
    expected: *mut T,
    desired: T,
    order: i32,
    failure: i32,
) -> i32 {
    if !fails_without_reason() {
        return atomic_compare_exchange(addr, expected, desired, order, failure);
    }
    let old = atomic_load(addr, failure);
    // It will not fail like this again: a loop around it is not where it was.
    world().this().dirty = true;
    // SAFETY: the caller's own.
    unsafe { expected.write_unaligned(old) };
    0
}

pub extern "C-unwind" fn atomic_compare_exchange_val<T: Int>(
    addr: *mut T,
    wanted: T,
    desired: T,
    success: i32,
    failure: i32,
) -> T {
    operand(desired.value());
    let (success, failure) = (order(success), order(failure));
    let event = Event::atomic(AccessKind::Rmw, addr as usize, size_of::<T>(), success).before(before(success));
    whose(event.failing(failure)).expects(wanted.value()).announce();
    // SAFETY: as above.
    unsafe {
        let old = addr.read_unaligned();
        if old == wanted {
            addr.write_unaligned(desired);
        }
        old
    }
}
