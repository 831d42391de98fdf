//! The program order that each model keeps, rule by rule.

use super::{Event, Fence, Instr, Model, Run, Stored};

type Source<'a> = dyn Fn(usize, (usize, usize)) -> Option<usize> + 'a;

impl Run<'_> {
    /// Whether `a`, which is before `b` in the thread, stays before it.
    pub(super) fn keeps(&self, a: usize, b: usize, source: &Source<'_>) -> bool {
        match self.model {
            Model::Sc => true,
            Model::Ztso => {
                let overtaken = !self.events[a].reads && !self.events[b].writes;
                !overtaken || self.rvwmo(a, b, source)
            }
            Model::Rvwmo => self.rvwmo(a, b, source),
            Model::Armv8 => self.armv8(a, b, source),
        }
    }

    fn overlap(&self, a: usize, b: usize) -> bool {
        (0..2).any(|location| (0..4).any(|byte| self.touches(a, (location, byte)) && self.touches(b, (location, byte))))
    }

    /// The instructions between two, without those that are left out.
    fn between(&self, a: usize, b: usize) -> impl Iterator<Item = (usize, Instr)> {
        let (Event { thread, instr: from, .. }, to) = (self.events[a], self.events[b].instr);
        let instrs = &self.program.threads[thread];
        (from + 1..to).filter(move |&at| !self.dropped[thread][at]).map(move |at| (at, instrs[at]))
    }

    /// The access that wrote a register.
    fn writer(&self, thread: usize, register: usize) -> Option<usize> {
        (0..self.events.len()).find(|&event| {
            let own = self.events[event].thread == thread;
            own && match self.instr(event) {
                Instr::Load { to, .. } => to == register,
                Instr::Atomic { to, .. } => to == register && self.events[event].reads,
                // The register of a store-conditional depends on it, on RISC-V.
                Instr::Conditional { to, .. } => to == register && self.model != Model::Armv8,
                _ => false,
            }
        })
    }

    fn depends(&self, event: usize, register: Option<usize>, on: usize) -> bool {
        register.is_some_and(|register| self.writer(self.events[event].thread, register) == Some(on))
    }

    fn addr(&self, a: usize, b: usize) -> bool {
        self.po(a, b) && self.depends(b, self.place(b).addr, a)
    }

    fn data(&self, a: usize, b: usize) -> bool {
        let value = match self.instr(b) {
            Instr::Store { value, .. } | Instr::Conditional { value, .. } => value,
            Instr::Atomic { value, .. } if self.events[b].writes => value,
            _ => return false,
        };
        match value {
            Stored::Constant(_) => false,
            Stored::Depends(_, register) | Stored::Register(register) => self.depends(b, Some(register), a),
        }
    }

    /// Whether a branch before the instruction at `at` depends on `a`.
    fn branches(&self, a: usize, at: usize) -> bool {
        let thread = self.events[a].thread;
        (0..at).any(|place| match self.program.threads[thread][place] {
            Instr::Depend { on } | Instr::Skip { on } if !self.dropped[thread][place] => {
                self.writer(thread, on) == Some(a)
            }
            _ => false,
        })
    }

    fn fenced(&self, a: usize, b: usize) -> bool {
        let (before, after) = (self.events[a], self.events[b]);
        self.between(a, b).any(|(_, instr)| match instr {
            Instr::Fence(Fence::Sets([pr, pw, sr, sw])) => {
                (pr && before.reads || pw && before.writes) && (sr && after.reads || sw && after.writes)
            }
            Instr::Fence(Fence::Tso) => before.reads || (before.writes && after.writes),
            _ => false,
        })
    }

    /// Acquire, acquire-PC, release, and whether the instruction is LR, SC or an atomic.
    fn marks(&self, event: usize) -> (bool, bool, bool, bool) {
        let Event { reads, writes, .. } = self.events[event];
        match self.instr(event) {
            Instr::Load { acquire, acquire_pc, reserve, .. } => (acquire, acquire_pc, false, reserve),
            Instr::Store { release, .. } => (false, false, release, false),
            Instr::Conditional { release, .. } => (false, false, release, true),
            Instr::Atomic { acquire, release, .. } => (acquire && reads, false, release && writes, true),
            _ => (false, false, false, false),
        }
    }

    fn paired(&self, a: usize, b: usize) -> bool {
        self.reserved[b] == Some(a)
            || (self.events[a].instr == self.events[b].instr && self.events[a].thread == self.events[b].thread)
    }

    /// Whether `b` reads, in some byte, from the write `m` of its own thread.
    fn forwards(&self, m: usize, b: usize, source: &Source<'_>) -> bool {
        self.po(m, b)
            && self.events[b].reads
            && (0..2).any(|l| (0..4).any(|byte| self.touches(b, (l, byte)) && source(b, (l, byte)) == Some(m)))
    }

    fn rvwmo(&self, a: usize, b: usize, source: &Source<'_>) -> bool {
        let (first, second) = (self.events[a], self.events[b]);
        let (acquire, _, first_release, first_special) = self.marks(a);
        let (second_acquire, _, release, second_special) = self.marks(b);
        let all = 0..self.events.len();
        // 1
        let one = second.writes && self.overlap(a, b);
        // 2
        let two = first.reads && second.reads && !first.writes && {
            let both = |byte| self.touches(a, byte) && self.touches(b, byte);
            let clear = |byte| {
                !all.clone().any(|m| self.events[m].writes && self.touches(m, byte) && self.po(a, m) && self.po(m, b))
            };
            (0..2).any(|l| (0..4).any(|n| both((l, n)) && clear((l, n)) && source(a, (l, n)) != source(b, (l, n))))
        };
        // 3
        let atomic = matches!(self.instr(a), Instr::Atomic { .. } | Instr::Conditional { .. });
        let three = atomic && self.forwards(a, b, source);
        // 7
        let seven = (acquire || first_release) && first_special && (second_acquire || release) && second_special;
        // 12
        let twelve = all
            .clone()
            .any(|m| (self.addr(a, m) || self.data(a, m)) && self.events[m].writes && self.forwards(m, b, source));
        // 13
        let thirteen = second.writes && all.clone().any(|m| self.addr(a, m) && self.po(m, b));
        one || two
            || three
            || self.fenced(a, b)
            || acquire
            || release
            || seven
            || self.reserved[b] == Some(a)
            || self.addr(a, b)
            || self.data(a, b)
            || (second.writes && self.branches(a, second.instr))
            || twelve
            || thirteen
    }

    fn armv8(&self, a: usize, b: usize, source: &Source<'_>) -> bool {
        let second = self.events[b];
        let (acquire, acquire_pc, first_release, _) = self.marks(a);
        let (second_acquire, second_pc, release, _) = self.marks(b);
        let all = 0..self.events.len();
        let addr_po = |to: usize| {
            let thread = self.events[a].thread;
            let inside = |m: usize| self.events[m].thread == thread && self.events[m].instr < to;
            all.clone().any(|m| self.addr(a, m) && inside(m))
        };
        // lws
        let lws = second.writes && self.overlap(a, b);
        // dob
        let isb = self
            .between(a, b)
            .any(|(at, instr)| instr == Instr::Fence(Fence::Isb) && (self.branches(a, at) || addr_po(at)));
        let forwarded = all
            .clone()
            .any(|m| (self.addr(a, m) || self.data(a, m)) && self.events[m].writes && self.forwards(m, b, source));
        let dob = self.addr(a, b)
            || self.data(a, b)
            || (second.writes && (self.branches(a, second.instr) || addr_po(second.instr)))
            || isb
            || forwarded;
        // aob
        let atomic = self.paired(a, b);
        let looks = (second_acquire || second_pc)
            && all.clone().any(|m| m != b && self.po(a, m) && self.paired(a, m) && self.forwards(m, b, source));
        // bob
        let whole =
            first_release && matches!(self.instr(a), Instr::Atomic { acquire: true, .. }) && self.events[a].writes;
        let bob = self.fenced(a, b) || acquire || acquire_pc || release || (first_release && second_acquire) || whole;
        lws || dob || atomic || looks || bob
    }
}
