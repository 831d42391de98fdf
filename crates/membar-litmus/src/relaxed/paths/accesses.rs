//! The accesses that instructions make, and what depends on them.
//!
//! A load is one access. So is a store; one that is conditional divides the way: it fails, or it succeeds if a load-reserved from the same
//! address came before. An atomic is one access or two, as the architecture has it ([`Style`](super::Style)); of a compare-exchange there is a
//! way for each outcome, and on Arm two for success, since the register then depends on what was read or on what was compared.
//!
//! Each function returns whether the way goes on, and adds others to `todo`.

use super::{Access, Deps, Expr, Going, Node, Reserved, Walk};
use crate::code::{Int, Reg};
use crate::relaxed::code::{Calc, Marks, Reserve};

/// What an access touches, and how.
#[derive(Clone, Copy)]
pub(super) struct Touch {
    pub(super) at: (Node, Deps),
    pub(super) ty: Int,
    pub(super) marks: Marks,
    pub(super) site: u32,
}

/// An atomic: its read, the operand of what it writes, and the marks of its write.
#[derive(Clone, Copy)]
pub(super) struct Atomic {
    pub(super) dst: Option<Reg>,
    pub(super) read: Touch,
    pub(super) value: (Node, Deps),
    pub(super) writes: Marks,
}

impl Atomic {
    /// The marks of one access that reads and writes.
    fn marks(&self) -> Marks {
        Marks { acquire: self.read.marks.acquire, acquire_pc: false, release: self.writes.release }
    }
}

impl Access {
    /// Adds the upper half of what is written, if there is one.
    fn widen(&mut self, upper: Option<(Node, Deps)>) {
        if let Some((node, deps)) = upper {
            self.upper = Some(node);
            self.data |= deps.data;
            self.pick_data |= deps.pick;
        }
    }
}

/// Depends on this access.
fn on(event: u8) -> Deps {
    Deps { data: 1 << event, pick: 0 }
}

impl Going {
    /// Adds an access; its number.
    fn access(&mut self, touch: Touch, value: (Node, Deps)) -> u8 {
        let Touch { at, ty, marks, site } = touch;
        let mut ctrl = self.ctrl;
        // A branch on a value that was picked depends on what picked it.
        ctrl.pick &= !ctrl.data;
        self.path.events.push(Access {
            reads: false,
            writes: false,
            at: at.0,
            value: value.0,
            upper: None,
            ty,
            marks,
            returns: true,
            atomic: false,
            amo: false,
            pair: 0,
            addr: at.1.data,
            data: value.1.data,
            ctrl: ctrl.data,
            pick_addr: at.1.pick,
            pick_data: value.1.pick,
            pick_ctrl: ctrl.pick,
            site,
        });
        self.path.events.len() as u8 - 1
    }

    fn last(&mut self) -> &mut Access {
        self.path.events.last_mut().expect("just added")
    }

    pub(super) fn load(&mut self, dst: Option<Reg>, touch: Touch, reserve: Reserve) {
        let event = self.access(touch, (touch.at.0, Deps::default()));
        let last = self.last();
        (last.reads, last.atomic, last.returns) = (true, reserve != Reserve::No, dst.is_some());
        let read = self.node(Expr::Read(event));
        self.set(dst, read, on(event));
        let alone = Reserved { first: event, all: 1 << event };
        match (reserve, &mut self.reserved) {
            (Reserve::No, _) => {}
            (Reserve::Join, Some(reserved)) => reserved.all |= 1 << event,
            (_, reserved) => *reserved = Some(alone),
        }
    }

    pub(super) fn store(&mut self, touch: Touch, value: (Node, Deps)) {
        self.access(touch, value);
        self.last().writes = true;
    }

    /// The read of an atomic: alone, or the whole of it.
    fn read_part(&mut self, atomic: Atomic) -> (u8, Node) {
        let event = self.access(atomic.read, (atomic.read.at.0, Deps::default()));
        let last = self.last();
        // An atomic that drops what it read is no acquire.
        (last.reads, last.atomic, last.amo, last.returns) = (true, true, true, atomic.dst.is_some());
        (event, self.node(Expr::Read(event)))
    }

    fn write_part(&mut self, read: u8, atomic: Atomic, value: (Node, Deps)) {
        self.access(Touch { marks: atomic.writes, ..atomic.read }, value);
        let last = self.last();
        (last.writes, last.atomic, last.amo, last.pair) = (true, true, true, 1 << read);
    }
}

impl Walk<'_> {
    pub(super) fn store_conditional(
        &mut self,
        now: &mut Going,
        todo: &mut Vec<Going>,
        status: Option<Reg>,
        touch: Touch,
        value: (Node, Deps),
    ) -> bool {
        let upper = now.upper.take().map(|(_, value)| value);
        let reserved = now.reserved.take();
        let mut failed = now.clone();
        let one = failed.node(Expr::Value(1));
        failed.set(status, one, Deps::default());
        todo.push(failed);
        // It can succeed only after a load-reserved from the same address.
        let Some(reserved) = reserved else { return false };
        let from = now.path.events[usize::from(reserved.first)].at;
        let same = now.calc(Calc::Eq, touch.at.0, from, Int::I64);
        if !now.check(same, true) {
            return false;
        }
        let event = now.access(touch, value);
        let last = now.last();
        (last.writes, last.atomic, last.pair) = (true, true, reserved.all);
        last.widen(upper);
        let zero = now.node(Expr::Value(0));
        now.set(status, zero, if self.style.status_depends { on(event) } else { Deps::default() });
        true
    }

    pub(super) fn update(&mut self, now: &mut Going, op: Calc, atomic: Atomic) {
        let Atomic { dst, value, read: Touch { ty, .. }, .. } = atomic;
        let (event, read) = now.read_part(atomic);
        let operands = Int { bits: ty.bits, signed: op.is_signed() };
        let old = now.calc(Calc::Or, read, read, operands);
        let new = now.calc(Calc::Second, value.0, value.0, operands);
        let result = now.calc(op, old, new, operands);
        if self.style.whole_amo {
            let last = now.last();
            (last.writes, last.value, last.returns) = (true, result, true);
            (last.data, last.pick_data) = (value.1.data, value.1.pick);
            last.marks = atomic.marks();
        } else {
            now.write_part(event, atomic, (result, value.1));
        }
        now.set(dst, read, on(event));
    }

    /// CAS: it fails, or it succeeds, and then the register holds what was read, or what it held before, which is the same.
    pub(super) fn compare(
        &mut self,
        now: &mut Going,
        todo: &mut Vec<Going>,
        expected: (Node, Deps),
        atomic: Atomic,
    ) -> bool {
        let Atomic { dst, value, read: Touch { ty, .. }, .. } = atomic;
        let (event, read) = now.read_part(atomic);
        // Of 16 bytes, both halves.
        let (high, upper) = now.upper.take().unzip();
        let narrow = Int { bits: ty.bits.min(64), signed: ty.signed };
        let wanted = now.calc(Calc::Second, expected.0, expected.0, narrow);
        let mut equal = now.calc(Calc::Eq, read, wanted, Int::I64);
        let rest = if high.is_some() { now.node(Expr::Upper(event)) } else { read };
        now.rest = (rest, on(event));
        if let Some((high, _)) = high {
            let both = now.calc(Calc::Eq, rest, high, Int::I64);
            equal = now.calc(Calc::And, equal, both, Int::I64);
        }
        let high = high.unwrap_or_default();
        let compared = expected.1 | high.1;
        let mut failed = now.clone();
        if failed.check(equal, false) {
            failed.set(dst, read, on(event));
            todo.push(failed);
        }
        if !now.check(equal, true) {
            return false;
        }
        if self.style.whole_amo {
            let last = now.last();
            (last.writes, last.value) = (true, value.0);
            (last.data, last.pick_data) = (value.1.data | compared.data, value.1.pick);
            last.marks = atomic.marks();
            last.widen(upper);
            now.set(dst, read, on(event));
            return true;
        }
        now.write_part(event, atomic, value);
        let last = now.last();
        last.widen(upper);
        // Whether it writes at all was decided by what it compared.
        last.pick_data |= compared.data | compared.pick;
        if self.style.picks && dst.is_some() {
            // If the register depended on nothing, the second case orders less than the first, and is enough.
            if compared.data != 0 {
                let mut read_back = now.clone();
                let by = Deps { data: 1 << event, pick: compared.data | compared.pick };
                read_back.set(dst, read, by);
                read_back.rest = (rest, by);
                todo.push(read_back);
            }
            let by = |from: Deps| Deps { data: from.data, pick: compared.pick | 1 << event };
            now.set(dst, wanted, by(expected.1));
            now.rest = (high.0, by(high.1));
        } else {
            now.set(dst, read, on(event));
        }
        true
    }
}
