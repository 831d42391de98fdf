//! The callers of a call, by what the compiler says about frames.
//!
//! # Problem
//!
//! A report names the user's call, not the function of a library that it leads to. Between the two may be functions without frame
//! pointers, and functions whose frames hold return addresses that earlier calls have left behind: those look like callers, and
//! differ from one run of a schedule to the next.
//!
//! # Algorithm
//!
//! The object's `.eh_frame` tells for each instruction where the frame of its function ends, and where the caller's frame pointer was saved.
//! [`Unwinder::caller`] goes from a call to the one above it. What it has looked up it keeps, by return address.
//!
//! # Guarantees
//!
//! A caller depends on the frames of the calls that are being made, and on nothing else on the stack. Where the object says nothing, or
//! something that needs more than the stack and frame pointers, there is no caller.

use super::registers::word_at;
use crate::files::Mapped;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, RegisterRule, UnwindContext, UnwindSection,
    X86_64,
};
use object::{Object, ObjectSection};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::path::Path;

/// A call that is being made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// Its return address.
    pub back: usize,
    /// The stack pointer after it.
    pub sp: usize,
    /// The frame pointer of the function that makes it.
    pub frame: usize,
}

impl Call {
    /// The call whose return address is here.
    pub fn at(sp: usize, frame: usize) -> Call {
        Call { back: word_at(sp), sp: sp + 8, frame }
    }
}

/// Where the frame of a function ends at one of its calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rule {
    /// From the frame pointer, not from the stack pointer.
    by_frame: bool,
    above: i64,
    /// Where the caller's frame pointer is, from there. Otherwise it is in place.
    saved: Option<i64>,
}

/// A section, and its address.
type Section = (u64, Vec<u8>);

/// What an object says about its frames, as far as it has been looked up.
#[derive(Debug, Default)]
pub struct Unwinder {
    frames: Option<Section>,
    /// A table for finding a function's there.
    header: Option<Section>,
    rules: RefCell<FxHashMap<u32, Option<Rule>>>,
}

impl Unwinder {
    /// Nothing is known about a file that cannot be read.
    pub fn load(object: &Path) -> Unwinder {
        Mapped::open(object).ok().and_then(|bytes| Unwinder::parse(&bytes)).unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Option<Unwinder> {
        let file = object::File::parse(bytes).ok()?;
        let section = |name| {
            let section = file.section_by_name(name)?;
            Some((section.address(), section.data().ok()?.to_vec()))
        };
        Some(Unwinder { frames: section(".eh_frame"), header: section(".eh_frame_hdr"), rules: RefCell::default() })
    }

    /// The end of the frame of the function that makes a call, with the call that it was entered by. `base` is where the object is
    /// loaded, and `top` is where the stack ends.
    #[inline]
    pub fn caller(&self, call: Call, base: usize, top: usize) -> Option<Call> {
        let offset = u32::try_from(call.back.checked_sub(base)?).ok()?;
        let rule = *self.rules.borrow_mut().entry(offset).or_insert_with(|| self.look(offset));
        let Rule { by_frame, above, saved } = rule?;
        let from = if by_frame { call.frame } else { call.sp };
        let end = from.wrapping_add_signed(above as isize);
        if end <= call.sp || end > top || end % 8 != 0 {
            return None;
        }
        let frame = match saved.map(|saved| end.wrapping_add_signed(saved as isize)) {
            Some(at) if at < call.sp || at >= end || at % 8 != 0 => return None,
            Some(at) => word_at(at),
            None => call.frame,
        };
        Some(Call { back: word_at(end - 8), sp: end, frame })
    }

    #[cold]
    #[inline(never)]
    fn look(&self, offset: u32) -> Option<Rule> {
        let (address, frames) = self.frames.as_ref()?;
        let frames = EhFrame::from(EndianSlice::new(frames, LittleEndian));
        let mut bases = BaseAddresses::default().set_eh_frame(*address);
        // After a call that does not return there may be another function.
        let pc = u64::from(offset).checked_sub(1)?;
        let mut context = UnwindContext::new();
        let row = match &self.header {
            Some((address, header)) => {
                bases = bases.set_eh_frame_hdr(*address);
                let header = EhFrameHdr::from(EndianSlice::new(header, LittleEndian)).parse(&bases, 8).ok()?;
                let table = header.table()?;
                table.unwind_info_for_address(&frames, &bases, &mut context, pc, EhFrame::cie_from_offset).ok()?
            }
            None => frames.unwind_info_for_address(&bases, &mut context, pc, EhFrame::cie_from_offset).ok()?,
        };
        let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return None };
        let by_frame = register == X86_64::RBP;
        let saved = match row.register(X86_64::RBP) {
            RegisterRule::Undefined | RegisterRule::SameValue => None,
            RegisterRule::Offset(at) => Some(at),
            _ => return None,
        };
        let known = by_frame || register == X86_64::RSP;
        let usual = matches!(row.register(X86_64::RA), RegisterRule::Offset(-8));
        (known && usual).then_some(Rule { by_frame, above: offset, saved })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// `outer` has no frame pointer and a large frame; `inner` has one.
    const CODE: &str = "
        .text
        .globl outer
        outer: .cfi_startproc
        sub $0x48, %rsp
        .cfi_def_cfa_offset 0x50
        call inner
        after_outer: add $0x48, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .globl inner
        inner: .cfi_startproc
        push %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        mov %rsp, %rbp
        .cfi_def_cfa_register %rbp
        sub $0x20, %rsp
        call hook
        after_inner: leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .globl hook
        hook: ret
        .globl bare
        bare: call hook
        after_bare: ret
        ";

    /// The object's bytes, and the offset of a label in it.
    fn object() -> (Vec<u8>, impl Fn(&str) -> usize) {
        let directory = tempfile::tempdir().expect("a directory");
        let [source, library] = ["code.s", "code.so"].map(|name| directory.path().join(name));
        std::fs::write(&source, CODE).expect("written");
        let made = Command::new("cc").args(["-shared", "-nostdlib", "-o"]).arg(&library).arg(&source).status();
        assert!(made.expect("a C compiler").success());
        let bytes = std::fs::read(&library).expect("read");
        let symbols: FxHashMap<String, usize> = {
            use object::ObjectSymbol;
            let file = object::File::parse(&*bytes).expect("an object");
            file.symbols().filter_map(|it| Some((it.name().ok()?.to_owned(), it.address() as usize))).collect()
        };
        (bytes, move |name: &str| symbols[name])
    }

    /// A stack in which `main` has called `outer`, that has called `inner`, and that the hook. What the frames do not use is filled
    /// with `stale`. The first word is the hook's return address.
    fn stack(label: &impl Fn(&str) -> usize, stale: usize, frame_of_main: usize) -> Vec<usize> {
        let mut words = vec![stale; 32];
        words[0] = label("after_inner");
        // Four words of the frame of `inner`, its caller's frame pointer, and its return address; nine words of that of `outer`.
        (words[5], words[6], words[16]) = (frame_of_main, label("after_outer"), 0x1234);
        words
    }

    fn address(words: &[usize], at: usize) -> usize {
        words.as_ptr() as usize + 8 * at
    }

    #[test]
    fn return_addresses_that_are_left_over_are_not_callers() {
        let (bytes, label) = object();
        let unwinder = Unwinder::parse(&bytes).expect("an object");
        for stale in [0, label("after_bare"), label("after_outer"), 0x1234] {
            let words = stack(&label, stale, 0x5678);
            let (sp, top) = (address(&words, 0), address(&words, words.len()));
            let call = Call::at(sp, address(&words, 5));
            let outer = unwinder.caller(call, 0, top).expect("a caller");
            assert_eq!(outer, Call { back: label("after_outer"), sp: address(&words, 7), frame: 0x5678 });
            let main = unwinder.caller(outer, 0, top).expect("a caller");
            assert_eq!(main, Call { back: 0x1234, sp: address(&words, 17), frame: 0x5678 });
        }
    }

    #[test]
    fn the_table_of_functions_is_not_needed() {
        let (bytes, label) = object();
        let unwinder = Unwinder { header: None, ..Unwinder::parse(&bytes).expect("an object") };
        let whole = Unwinder::parse(&bytes).expect("an object");
        for name in ["after_inner", "after_outer", "after_bare"] {
            let offset = label(name) as u32;
            assert_eq!(unwinder.look(offset), whole.look(offset), "{name}");
        }
    }

    #[test]
    fn there_is_no_caller_where_nothing_is_known_or_the_stack_ends() {
        let (bytes, label) = object();
        let unwinder = Unwinder::parse(&bytes).expect("an object");
        let words = stack(&label, 0, 0);
        let call = Call::at(address(&words, 0), address(&words, 5));
        assert_eq!(unwinder.caller(call, 0, address(&words, 6)), None, "the end of the stack");
        let top = address(&words, words.len());
        for frame in [0, 3, usize::MAX, address(&words, 31)] {
            assert_eq!(unwinder.caller(Call { frame, ..call }, 0, top), None, "a frame pointer that is none");
        }
        for back in [label("after_bare"), 0, 1, usize::MAX, 0xffff_ffff] {
            assert_eq!(unwinder.caller(Call { back, ..call }, 0, top), None, "no function");
        }
        assert_eq!(unwinder.caller(call, label("after_inner") + 1, top), None, "below the object");
        assert_eq!(Unwinder::default().caller(call, 0, top), None, "no object");
        assert_eq!(Unwinder::load(Path::new("/nowhere")).caller(call, 0, top), None, "no file");
    }

    #[test]
    fn what_is_cut_off_or_changed_gives_no_panic() {
        let (bytes, label) = object();
        let labels = ["after_inner", "after_outer", "after_bare"].map(|name| label(name) as u32);
        let whole = Unwinder::parse(&bytes).expect("an object");
        let right = labels.map(|offset| whole.look(offset));
        let (at, frames) = whole.frames.clone().expect("frames");
        let header = whole.header.clone();
        let with = |frames: Option<Section>, header: Option<Section>| {
            let unwinder = Unwinder { frames, header, rules: RefCell::default() };
            labels.map(|offset| unwinder.look(offset))
        };
        for len in 0..frames.len() {
            let cut = || Some((at, frames[..len].to_vec()));
            for found in [with(cut(), header.clone()), with(cut(), None)] {
                assert!(found.iter().zip(&right).all(|(found, right)| found.is_none() || found == right), "{len}");
            }
        }
        assert_eq!(with(Some((at, Vec::new())), header.clone()), [None; 3]);
        let (at_header, table) = header.expect("a header");
        for len in 0..table.len() {
            let found = with(Some((at, frames.clone())), Some((at_header, table[..len].to_vec())));
            assert!(found.iter().zip(&right).all(|(found, right)| found.is_none() || found == right), "{len}");
        }
        for i in 0..frames.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = frames.clone();
                changed[i] = value;
                with(Some((at, changed.clone())), Some((at_header, table.clone())));
                with(Some((at, changed)), None);
            }
        }
        for len in 0..bytes.len() {
            Unwinder::parse(&bytes[..len]);
        }
    }
}
