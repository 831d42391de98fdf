//! Allocation: the program's heap is ours (`run/heap.rs`).

use super::*;

/// The return address of the hook's caller, and that of its caller in turn. For a library, those who called it are what the
/// user knows.
fn caller() -> [usize; 2] {
    let w = world();
    // SAFETY: the stack pointer of the stub's caller.
    let pc = unsafe { *(register(0) as *const usize) };
    if w.module.base == 0 {
        return [pc, 0];
    }
    let known = if w.module.is_code(pc) { None } else { fault::call_from_program(register(0)) };
    // Of a chain of wrappers, as containers and their allocators are, the caller of the first of them.
    let user = |&back: &usize| !w.wrappers.is_empty() && w.module.is_code(back) && !w.is_wrapper(w.module.offset(back));
    let callers = || fault::callers(register(2), w.current);
    let caller = callers().take(32).find(user).or_else(|| callers().next());
    [known.unwrap_or(pc), caller.unwrap_or(0)]
}

/// There is no block for the caller, for this reason.
fn fails(error: c_int) -> usize {
    // SAFETY: the C library's own.
    unsafe { *libc::__errno_location() = error };
    0
}

pub(super) fn allocate(size: usize, align: usize) -> usize {
    let w = world();
    let id = w.current;
    let [pc, caller] = caller();
    w.threads[id].dirty = true;
    match w.heap.allocate(id, size, align, pc, caller) {
        Some(block) => block,
        None if size > isize::MAX as usize / 2 || w.module.base == 0 => fails(libc::ENOMEM),
        None => {
            let message = format!(
                "needs more heap than an execution may have ({} MiB in all, {} MiB per thread); see --heap",
                w.heap.limit >> 20,
                crate::run::layout::HEAP_SIZE >> 20
            );
            fault::raise_here(Fault { kind: FaultKind::Memory, ..Fault::error(message) })
        }
    }
}

pub extern "C-unwind" fn malloc(size: usize) -> usize {
    allocate(size, 16)
}

pub extern "C-unwind" fn calloc(n: usize, size: usize) -> usize {
    let Some(size) = n.checked_mul(size) else { return fails(libc::ENOMEM) };
    let block = allocate(size, 16);
    if block != 0 {
        // A thread that gets the block from another one may miss these writes, as any others.
        whole_range(block, size, true);
        // SAFETY: a new block of that size.
        unsafe { std::ptr::write_bytes(block as *mut u8, 0, size) };
    }
    block
}

pub extern "C-unwind" fn free(pointer: usize) {
    if pointer == 0 {
        return;
    }
    let w = world();
    let [pc, caller] = caller();
    match w.heap.block(pointer) {
        Ok(block) if block.mapped => {
            fault::raise(message!("frees memory that `munmap` gives back: ", fault::block(&block)))
        }
        Ok(block) => end(&block, pc, caller),
        Err(BadFree::NoBlock) => {
            let ours = pointer.wrapping_sub(ARENA) < ARENA_LEN || w.module.has(pointer);
            if ours {
                fault::raise("frees something that is not the beginning of a block of the heap");
            }
            // SAFETY: from a function of the C library that allocates for its caller.
            unsafe { libc::free(pointer as *mut c_void) };
        }
    }
}

/// The life of a block ends, unless it has ended.
fn end(block: &Block, pc: usize, caller: usize) {
    let w = world();
    if !block.alive {
        double_free(block);
    }
    w.threads[w.current].dirty = true;
    if !w.alone {
        // Later accesses to the block race with this.
        let id = w.current;
        w.shadow.claim(id, block.start, block.size);
        crate::run::access::end_all(block.start, block.size);
    }
    // Another thread may have freed it meanwhile.
    match world().heap.block(block.start) {
        Ok(block) if block.alive => world().heap.free(&block, world().current, pc, caller),
        _ => double_free(block),
    }
}

fn double_free(block: &Block) -> ! {
    fault::raise(message!("frees memory twice: ", fault::block(block)))
}

pub extern "C-unwind" fn realloc(pointer: usize, size: usize) -> usize {
    if pointer == 0 {
        return malloc(size);
    }
    if size == 0 {
        free(pointer);
        return 0;
    }
    let old = match world().heap.block(pointer) {
        Ok(block) => block.size,
        // SAFETY: as in `free`.
        Err(_) => unsafe { libc::malloc_usable_size(pointer as *mut c_void) },
    };
    let block = allocate(size, 16);
    if block != 0 {
        memcpy(block, pointer, old.min(size));
        free(pointer);
    }
    block
}

pub extern "C-unwind" fn reallocarray(pointer: usize, n: usize, size: usize) -> usize {
    n.checked_mul(size).map_or_else(|| fails(libc::ENOMEM), |size| realloc(pointer, size))
}

pub extern "C-unwind" fn aligned_alloc(align: usize, size: usize) -> usize {
    if align.is_power_of_two() && align <= 1 << 20 { allocate(size, align) } else { fails(libc::EINVAL) }
}

pub extern "C-unwind" fn posix_memalign(out: *mut usize, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || align > 1 << 20 {
        return libc::EINVAL;
    }
    let block = allocate(size, align);
    if block == 0 {
        return libc::ENOMEM;
    }
    plain(out as usize, 8, true);
    // SAFETY: the program's own variable.
    unsafe { *out = block };
    0
}

pub extern "C-unwind" fn valloc(size: usize) -> usize {
    allocate(size, 4096)
}

pub extern "C-unwind" fn usable_size(pointer: usize) -> usize {
    world().heap.block(pointer).map_or(0, |block| block.size)
}

pub extern "C-unwind" fn new_aligned(size: usize, align: usize) -> usize {
    allocate(size, align)
}

const PAGE: usize = 4096;

/// What these rights to access memory make of it. None if it may be executed.
fn rights(protection: c_int) -> Option<Life> {
    match protection {
        any if any & libc::PROT_EXEC != 0 => None,
        any if any & libc::PROT_WRITE != 0 => Some(Life::Live),
        any if any & libc::PROT_READ != 0 => Some(Life::ReadOnly),
        _ => Some(Life::NoAccess),
    }
}

pub extern "C-unwind" fn mmap(_: usize, len: usize, protection: c_int, flags: c_int, _: c_int, _: c_long) -> usize {
    let fixed = libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE;
    let Some(life) = rights(protection).filter(|_| flags & fixed == 0 && flags & libc::MAP_ANONYMOUS != 0) else {
        fault::limit("calls `mmap` for something else than new memory, which membar does not run");
    };
    if len == 0 {
        fails(libc::EINVAL);
        return libc::MAP_FAILED as usize;
    }
    let len = len.saturating_add(PAGE - 1) & !(PAGE - 1);
    let block = allocate(len, PAGE);
    if block == 0 {
        return libc::MAP_FAILED as usize;
    }
    // SAFETY: a new block of that size.
    unsafe { std::ptr::write_bytes(block as *mut u8, 0, len) };
    world().heap.map(block);
    if life != Life::Live {
        world().heap.change(block, block + len, life);
    }
    block
}

/// The pages of a mapping, as addresses, that a function is called for, and the block that they are in.
fn pages(addr: usize, len: usize, function: &str) -> Result<(usize, usize, Block), c_int> {
    if !addr.is_multiple_of(PAGE) || len == 0 {
        return Err(libc::EINVAL);
    }
    let to = addr.saturating_add(len).saturating_add(PAGE - 1) & !(PAGE - 1);
    match world().heap.find(addr) {
        Some(block) if block.alive && to <= block.start + block.size => Ok((addr, to, block)),
        Some(block) if !block.alive => double_free(&block),
        _ => {
            let message = format!("calls `{function}` for memory that it has not mapped, which membar does not run");
            fault::limit(message)
        }
    }
}

pub extern "C-unwind" fn munmap(addr: usize, len: usize) -> c_int {
    let [pc, caller] = caller();
    match pages(addr, len, "munmap") {
        Ok((_, _, block)) if !block.mapped => {
            fault::raise(message!("unmaps memory that it has not mapped: ", fault::block(&block)))
        }
        Ok((from, to, block)) if from == block.start && to == block.start + block.size => end(&block, pc, caller),
        Ok((from, to, _)) => crate::run::access::change_rights(from, to, Life::Unmapped),
        Err(error) => {
            fails(error);
            return -1;
        }
    }
    0
}

pub extern "C-unwind" fn mprotect(addr: usize, len: usize, protection: c_int) -> c_int {
    if len == 0 && addr.is_multiple_of(PAGE) {
        return 0;
    }
    let (from, to) = match pages(addr, len, "mprotect") {
        Ok((from, to, _)) => (from, to),
        Err(error) => {
            fails(error);
            return -1;
        }
    };
    let Some(new) = rights(protection) else {
        fault::limit("calls `mprotect` for code, which membar does not run");
    };
    if has_hole(from, to) {
        fails(libc::ENOMEM);
        return -1;
    }
    crate::run::access::change_rights(from, to, new);
    0
}

/// Whether some of these pages have been taken out of their mapping.
fn has_hole(from: usize, to: usize) -> bool {
    (from..to).step_by(PAGE).any(|page| crate::run::heap::life(page) == Life::Unmapped as u8)
}

pub extern "C-unwind" fn madvise(addr: usize, len: usize, advice: c_int) -> c_int {
    match advice {
        libc::MADV_DONTNEED => match pages(addr, len, "madvise") {
            Ok((from, to, _)) if has_hole(from, to) => {
                fails(libc::ENOMEM);
                -1
            }
            Ok((from, to, _)) => {
                crate::run::access::overwrite(from, to - from);
                // SAFETY: memory of a block.
                unsafe { std::ptr::write_bytes(from as *mut u8, 0, to - from) };
                0
            }
            Err(_) if len == 0 => 0,
            Err(error) => {
                fails(error);
                -1
            }
        },
        libc::MADV_FREE | libc::MADV_REMOVE => {
            fault::limit("calls `madvise` to give memory away at some time, which membar does not run")
        }
        _ => 0,
    }
}
