//! What follows from an execution so far: values and addresses, and the order that they give.

use super::{Choice, Expr, INIT, Model, NONE, Place, State};

impl Choice<'_> {
    /// Adds everything that follows. `None` if there is a contradiction.
    pub(super) fn close(&self, now: &mut State) -> Option<()> {
        loop {
            while self.evaluate(now)? {}
            let mut changed = false;
            for event in 0..self.events.len() as u8 {
                changed |= self.with_earlier(now, event)?;
                if self.events[usize::from(event)].reads {
                    changed |= self.sources(now, event)?;
                }
                if self.events[usize::from(event)].writes {
                    changed |= self.atomicity(now, event)?;
                }
            }
            if !changed {
                return Some(());
            }
        }
    }

    /// Values and addresses that are known now. Whether there were new ones.
    fn evaluate(&self, now: &mut State) -> Option<bool> {
        let mut changed = false;
        for (at, &expr) in self.nodes.iter().enumerate() {
            if now.values[at].is_some() {
                continue;
            }
            let value = |node: u32| now.values[node as usize];
            let known = match expr {
                Expr::Value(value) => Some(value),
                Expr::Read(event) => now.read[usize::from(event)].map(|read| read as u64),
                Expr::Upper(event) => now.read[usize::from(event)].map(|read| (read >> 64) as u64),
                Expr::Calc { op, a, b, ty } => op.fixed(value(a), value(b), a == b).map(|result| ty.wrap(result)),
                Expr::Select { cond, yes, no } => value(cond).and_then(|cond| value(if cond != 0 { yes } else { no })),
            };
            changed |= known.is_some();
            now.values[at] = known;
        }
        for (thread, path) in self.paths.iter().enumerate() {
            for &(node, wanted) in &path.checks {
                let node = node + self.node_begin[thread];
                if now.values[node as usize].is_some_and(|value| (value != 0) != wanted) {
                    return None;
                }
            }
        }
        let granules = &self.program.layout.granules;
        for (event, access) in self.events.iter().enumerate() {
            let begin = self.node_begin[usize::from(self.thread[event])];
            if let (Place::Unknown | Place::Assumed(..), Some(at)) =
                (now.place[event], now.values[(begin + access.at) as usize])
            {
                let place = match self.program.layout.covered(at, access.ty.bits / 8) {
                    Some(range) => Place::Known(range.start as u16, range.len() as u8),
                    None => Place::Wild,
                };
                if now.place[event] != Place::Unknown && now.place[event].granules() != place.granules() {
                    return None;
                }
                now.place[event] = place;
                changed = true;
            }
            if access.writes && now.write[event].is_none() {
                let known = |node: u32| now.values[(begin + node) as usize].map(u128::from);
                let upper = access.upper.map_or(Some(0), known);
                now.write[event] = known(access.value).zip(upper).map(|(low, high)| high << 64 | low);
                changed |= now.write[event].is_some();
            }
            if access.reads && now.read[event].is_none() && now.place[event] != Place::Unknown {
                let range = now.place[event].granules();
                let mut read = Some(0);
                for (at, granule) in range.clone().enumerate() {
                    let value = match now.source[event][at] {
                        NONE => None,
                        INIT => Some(granules[granule].init),
                        write => self.written(now, write, granule),
                    };
                    let shift = 8 * (granules[granule].at - granules[range.start].at);
                    read = read.zip(value).map(|(all, value)| all | u128::from(value) << shift);
                }
                let extended = |value: u128| match access.ty.bits {
                    128 => value,
                    _ => access.ty.wrap(value as u64).into(),
                };
                now.read[event] = read.map(extended);
                changed |= read.is_some();
            }
        }
        Some(changed)
    }

    /// The order of an access and the earlier ones of its thread to the same granules.
    fn with_earlier(&self, now: &mut State, later: u8) -> Option<bool> {
        let mut changed = false;
        let b = self.events[usize::from(later)];
        let range = now.place[usize::from(later)].granules();
        for earlier in self.begin[usize::from(self.thread[usize::from(later)])]..later {
            let a = self.events[usize::from(earlier)];
            let other = now.place[usize::from(earlier)].granules();
            for granule in range.start.max(other.start)..range.end.min(other.end) {
                let read = if a.reads { now.source_at(earlier, granule) } else { NONE };
                if b.writes {
                    // Rule 1, lws; and what was read before the write is before it. Two writes are in `co`.
                    if a.writes || self.on(1, "lws") {
                        changed |= now.edge(earlier, later)?;
                    }
                    if read == later {
                        return None;
                    }
                    if read < INIT {
                        changed |= now.edge(read, later)?;
                    }
                }
                let source = if b.reads { now.source_at(later, granule) } else { NONE };
                if source == NONE {
                    continue;
                }
                let seen = if a.writes { earlier } else { read };
                if seen == NONE || seen == source {
                    continue;
                }
                // The later read does not go back.
                if source == INIT {
                    return None;
                }
                if seen != INIT {
                    changed |= now.edge(seen, source)?;
                }
                // Rule 2: two reads of different writes, and no write of the thread between.
                if self.is_riscv() && !a.writes && self.on(2, "") {
                    let clear = |event: u8| {
                        let place = now.place[usize::from(event)];
                        !self.events[usize::from(event)].writes || (place != Place::Unknown && !place.covers(granule))
                    };
                    if (earlier + 1..later).all(clear) {
                        changed |= now.edge(earlier, later)?;
                    }
                }
            }
        }
        Some(changed)
    }

    /// The order that follows from what a read reads.
    fn sources(&self, now: &mut State, reader: u8) -> Option<bool> {
        let mut changed = false;
        let own = self.thread[usize::from(reader)];
        for granule in now.place[usize::from(reader)].granules() {
            let source = now.source_at(reader, granule);
            if source == NONE {
                continue;
            }
            if source != INIT {
                if self.thread[usize::from(source)] != own {
                    changed |= now.edge(source, reader)?;
                } else {
                    changed |= self.forwarded(now, source, reader)?;
                }
            }
            for &write in &self.writers {
                if write == reader || write == source || !now.place[usize::from(write)].covers(granule) {
                    continue;
                }
                // fr; and a write that is before the read is before what it reads.
                if source == INIT || now.before(source, write) {
                    changed |= now.edge(reader, write)?;
                } else if now.before(write, reader) {
                    changed |= now.edge(write, source)?;
                }
            }
        }
        Some(changed)
    }

    /// The order that follows from a read of a write of the same thread.
    fn forwarded(&self, now: &mut State, source: u8, reader: u8) -> Option<bool> {
        let (write, read) = (self.events[usize::from(source)], self.events[usize::from(reader)]);
        let begin = self.begin[usize::from(self.thread[usize::from(reader)])];
        let mut changed = false;
        // Rule 3: of an AMO or SC.
        if self.is_riscv() && write.atomic && self.on(3, "") {
            changed |= now.edge(source, reader)?;
        }
        // Rule 12; (addr | data); lrs.
        let mut before = if self.on(12, "lrs") { write.addr | write.data } else { 0 };
        // rmw; lrs; [A | Q]
        let acquires = (read.marks.acquire && (read.returns || !read.amo)) || read.marks.acquire_pc;
        if self.model == Model::Armv8 && self.on(0, "rmw-lrs") && acquires {
            before |= write.pair;
        }
        while before != 0 {
            let local = before.trailing_zeros() as u8;
            before &= before - 1;
            if begin + local != reader {
                changed |= now.edge(begin + local, reader)?;
            }
        }
        Some(changed)
    }

    /// Between what an atomic read and what it writes, no other thread writes.
    fn atomicity(&self, now: &mut State, writer: u8) -> Option<bool> {
        let access = self.events[usize::from(writer)];
        let mut changed = access.reads && self.uninterrupted(now, writer, writer)?;
        let mut reads = access.pair;
        while reads != 0 {
            let read = reads.trailing_zeros() as u8;
            reads &= reads - 1;
            let reader = self.begin[usize::from(self.thread[usize::from(writer)])] + read;
            changed |= self.uninterrupted(now, reader, writer)?;
        }
        Some(changed)
    }

    /// The same for one of its reads.
    fn uninterrupted(&self, now: &mut State, reader: u8, writer: u8) -> Option<bool> {
        let own = self.thread[usize::from(writer)];
        let mut changed = false;
        let (range, read) = (now.place[usize::from(writer)].granules(), now.place[usize::from(reader)].granules());
        for granule in range.start.max(read.start)..range.end.min(read.end) {
            let source = now.source_at(reader, granule);
            if source == NONE {
                continue;
            }
            for &write in &self.writers {
                let apart = write != writer && write != source && self.thread[usize::from(write)] != own;
                if !apart || !now.place[usize::from(write)].covers(granule) {
                    continue;
                }
                if source == INIT || now.before(source, write) {
                    changed |= now.edge(writer, write)?;
                } else if now.before(write, writer) {
                    changed |= now.edge(write, source)?;
                }
            }
        }
        Some(changed)
    }
}
