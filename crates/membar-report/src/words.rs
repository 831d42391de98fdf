//! Each step of a proof in words.
//!
//! A sentence names lines; the operations behind them are shown once, where the report is laid out.

use crate::data::{End, EventRef};
use crate::style::list;
use membar_core::{AddrId, Condition, Event, Kind, Lemma, Marks, Model, OpId, OpKind, ProofStep, Rule, Trace, When};
use std::collections::HashMap;

/// The subject of sentences.
pub(crate) struct Words<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) model: &'a Model,
    /// Lines that are not operations, by address.
    inits: HashMap<u32, u64>,
    finals: HashMap<u32, u64>,
    orders: HashMap<u32, u64>,
}

/// The name of an operation.
pub(crate) fn noun(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Load => "load",
        OpKind::Store => "store",
        OpKind::Rmw => "read-modify-write",
        OpKind::Fence => "barrier",
        OpKind::Acquire => "acquire",
        OpKind::Release => "release",
    }
}

/// `a` or `an`, with the noun.
fn a(kind: OpKind) -> String {
    let article = if kind == OpKind::Acquire { "an" } else { "a" };
    format!("{article} {}", noun(kind))
}

impl<'a> Words<'a> {
    #[inline]
    pub(crate) fn new(trace: &'a Trace, model: &'a Model) -> Words<'a> {
        Words {
            trace,
            model,
            inits: trace.inits.iter().map(|init| (init.addr.0, init.line)).collect(),
            finals: trace.finals.iter().map(|end| (end.addr.0, end.line)).collect(),
            orders: trace.orders.iter().map(|order| (order.addr.0, order.line)).collect(),
        }
    }

    /// The `final` line of an address.
    pub(crate) fn final_line(&self, addr: Option<AddrId>) -> Option<u64> {
        addr.and_then(|addr| self.finals.get(&addr.0)).copied()
    }

    /// The `order` line of an address.
    pub(crate) fn order_line(&self, addr: Option<AddrId>) -> Option<u64> {
        addr.and_then(|addr| self.orders.get(&addr.0)).copied()
    }

    /// The operation without its thread and times: `x := 1`.
    pub(crate) fn text(&self, op: OpId) -> String {
        let mut text = String::new();
        // Writing to a string succeeds.
        let _ = membar_trace::write_op(self.trace, op, &mut text);
        let start = text.find(": ").map_or(0, |at| at + 2);
        let end = text.rfind(" @ ").unwrap_or(text.len());
        text[start..end].to_owned()
    }

    pub(crate) fn name(&self, addr: AddrId) -> String {
        self.trace.addr_names().get(addr.index()).map_or_else(String::new, ToString::to_string)
    }

    /// The address of an operation.
    pub(crate) fn addr(&self, event: Event) -> Option<AddrId> {
        event.as_op().map(|op| self.trace.addr(op)).filter(|&addr| addr != AddrId::NONE)
    }

    /// The event as data; `about` is the address that matters where it is an end.
    pub(crate) fn event(&self, event: Event, about: Option<AddrId>) -> EventRef {
        let address = about.map(|addr| self.name(addr));
        match event.as_op() {
            Some(op) => EventRef::Op(self.op(op)),
            None if event == Event::INIT => {
                let line = about.and_then(|addr| self.inits.get(&addr.0)).copied();
                EventRef::End(End { initial: true, last: false, address, line })
            }
            None => {
                let line = self.final_line(about);
                EventRef::End(End { initial: false, last: true, address: address.filter(|_| line.is_some()), line })
            }
        }
    }

    /// The ends of a step.
    pub(crate) fn ends(&self, step: &ProofStep) -> (EventRef, EventRef) {
        let about = self.about(step);
        (self.event(step.from, about), self.event(step.to, about))
    }

    /// The address that a step is about.
    fn about(&self, step: &ProofStep) -> Option<AddrId> {
        self.addr(step.from).or_else(|| self.addr(step.to)).or(match step.rule {
            Rule::BeforeRead { load } => self.addr(load),
            _ => None,
        })
    }

    /// `line 4`, `the initial value of x`.
    fn short(&self, event: Event, about: Option<AddrId>) -> String {
        self.event(event, about).short()
    }

    /// Why the step holds.
    pub(crate) fn why(&self, lemma: &Lemma, step: &ProofStep, numbers: &[Option<u32>]) -> String {
        let about = self.about(step);
        let (from, to) = (self.short(step.from, about), self.short(step.to, about));
        match step.rule {
            Rule::LoadOp | Rule::StoreStore | Rule::StoreLoad | Rule::Lock => self.kept(step),
            Rule::Time => self.time(step),
            Rule::Kept { by, through } => self.condition(step, by, through),
            Rule::Membar { fence } => {
                let by = self.numbered(4);
                format!(
                    "the barrier between them (line {}: {}) orders them{by}",
                    self.trace.line(fence),
                    self.text(fence)
                )
            }
            Rule::ReadsFrom => self.read_from(step.to, step.from, about),
            Rule::OwnStore { load } => {
                let read = self.read_from(load.into(), step.to, about);
                if step.to == Event::INIT {
                    let name = self.of(about);
                    return format!(
                        "{read}, although its own thread had stored to {name} at {from}, which would thus be older than \
                         the initial value"
                    );
                }
                format!("{read} although its own thread had stored to {} at {from}, so {to} came later", self.of(about))
            }
            Rule::BeforeRead { load } => self.before_read(step, load, about, numbers),
            Rule::AfterRead => self.after_read(lemma, step, about, numbers),
            Rule::WriteOrder => {
                let line = self.order_line(about);
                let values = |event: Event| event.as_op().map_or(0, |op| self.trace.write(op));
                format!(
                    "the `order` line{} lists {} before {}",
                    line.map_or_else(String::new, |line| format!(" {line}")),
                    values(step.from),
                    values(step.to)
                )
            }
            Rule::Init => "initial values come first".into(),
            Rule::Final => "final values come last".into(),
            Rule::Assume(_) => "assumed in this case".into(),
            Rule::Case(index) => {
                let also = cited(&step.premises, numbers);
                format!("case {} leaves no other order{also}", index + 1)
            }
        }
    }

    fn of(&self, about: Option<AddrId>) -> String {
        about.map_or_else(|| "it".into(), |addr| self.name(addr))
    }

    /// `line 8 read x == 1 from line 5`
    fn read_from(&self, read: Event, write: Event, about: Option<AddrId>) -> String {
        let about = self.addr(read).or(about);
        let from = if write == Event::INIT { "the initial value".into() } else { self.short(write, about) };
        let Some(op) = read.as_op() else {
            let end = self.short(read, about);
            return if write == Event::INIT {
                format!("{end} is the initial one")
            } else {
                format!("{end} was written by {from}")
            };
        };
        let line = self.trace.line(op);
        match self.trace.kind(op) {
            OpKind::Release => format!("line {line} releases the lock that {from} acquired"),
            OpKind::Store => {
                let reserved = "while the reservation is held nothing comes between";
                match self.trace.reservation(op) {
                    // The two halves of an atomic that the model splits.
                    Some(load) if self.trace.line(load) == line => {
                        format!("line {line} read and wrote, after {from}: nothing comes between")
                    }
                    Some(load) => format!(
                        "line {line} is the store conditional of line {}, after {from}: {reserved}",
                        self.trace.line(load)
                    ),
                    None => format!("line {line} stores under its thread's reservation, after {from}: {reserved}"),
                }
            }
            _ if write == Event::INIT => format!("line {line} read {}, the initial value", self.read_text(op)),
            _ if write == read => format!("line {line} read {} from itself", self.read_text(op)),
            _ => format!("line {line} read {} from {from}", self.read_text(op)),
        }
    }

    /// `x == 1`
    fn read_text(&self, op: OpId) -> String {
        format!("{} == {}", self.name(self.trace.addr(op)), self.trace.read(op))
    }

    /// `line 6 also writes x`, or what it does to the lock.
    fn also(&self, other: Event, about: Option<AddrId>) -> String {
        let name = self.of(about);
        match other.as_op().map(|op| (self.trace.line(op), self.trace.kind(op))) {
            Some((line, OpKind::Acquire)) => format!("line {line} takes {name} too"),
            Some((line, OpKind::Release)) => format!("line {line} gives {name} back too"),
            Some((line, _)) => format!("line {line} also writes {name}"),
            None => self.short(other, about),
        }
    }

    /// R6: S' before L, so S' before S.
    fn before_read(&self, step: &ProofStep, load: Event, about: Option<AddrId>, numbers: &[Option<u32>]) -> String {
        let read = self.read_from(load, step.to, about);
        let other = self.also(step.from, about);
        let cited = cited(&step.premises, numbers);
        let load = if load == Event::FINAL { "the end".into() } else { self.short(load, about) };
        if step.to == Event::INIT {
            return format!("{read}; {other} and is before {load}{cited}, so it would be older than the initial value");
        }
        if step.from == Event::INIT {
            return format!("{read}, so the initial value is older");
        }
        let to = self.short(step.to, about);
        if load == "the end" {
            return format!("{read}; {other}, so it came earlier{cited}");
        }
        format!("{read}; {other} and is before {load}{cited}, so it is before {to}")
    }

    /// R7: S before S', so L before S'.
    fn after_read(&self, lemma: &Lemma, step: &ProofStep, about: Option<AddrId>, numbers: &[Option<u32>]) -> String {
        let first = step.premises.first().and_then(|&premise| lemma.steps.get(premise as usize));
        let source = first.map_or(Event::INIT, |step| step.from);
        let read = self.read_from(step.from, source, about);
        let to = self.short(step.to, about);
        let cited = cited(&step.premises, numbers);
        if source == Event::INIT {
            return format!("{read}; {to} overwrites that, so the read came before");
        }
        if step.from == Event::FINAL {
            let from = self.short(source, about);
            return format!("{read}, but {to} overwrites {from}{cited}");
        }
        let later = match step.to.as_op().map(|op| self.trace.kind(op)) {
            Some(OpKind::Acquire | OpKind::Release) => format!("{to} uses {} after that", self.of(about)),
            _ => format!("{to} overwrites that"),
        };
        format!("{read}; {later}{cited}, so line {} came before {to}", self.line(step.from))
    }

    fn line(&self, event: Event) -> u64 {
        event.as_op().map_or(0, |op| self.trace.line(op))
    }

    /// The one had ended before the other began.
    fn time(&self, step: &ProofStep) -> String {
        let (Some(from), Some(to)) = (step.from.as_op(), step.to.as_op()) else { return "time".into() };
        let trace = self.trace;
        let moment = |recorded: Option<u64>, used: Option<u64>| match (recorded, used) {
            (Some(recorded), Some(used)) if recorded != used => format!("{recorded}, taken as {used}"),
            (_, used) => used.unwrap_or(0).to_string(),
        };
        let ended = moment(trace.span(from).end, trace.period(from).end);
        let began = moment(trace.span(to).begin, trace.period(to).begin);
        format!("line {} had ended ({ended}) before line {} began ({began})", trace.line(from), trace.line(to))
    }

    /// The number of a rule in RISC-V's manual, where the model is made of those.
    fn numbered(&self, rule: u8) -> String {
        let riscv = self.model.ppo.any(|when| !when.also.is_empty()) && !self.model.split_atomics;
        if riscv { format!(" (rule {rule})") } else { String::new() }
    }

    /// Why a store conditional should not have stored.
    pub(crate) fn unreserved(&self, op: OpId) -> String {
        let before = &self.trace.thread_ops(self.trace.thread(op))[..self.trace.po(op) as usize];
        let of = |&&op: &&OpId| self.trace.marks(op).meets(Marks::RESERVES.with(Marks::CONDITIONAL));
        match before.iter().rev().find(of) {
            None => "its thread has no load reserved before it".into(),
            Some(&last) if self.trace.marks(last).meets(Marks::CONDITIONAL) => {
                format!("the store conditional at line {} had used up the reservation", self.trace.line(last))
            }
            Some(&load) => {
                let line = self.trace.line(load);
                format!("since the load reserved at line {line} its own thread's atomic found another thread's store")
            }
        }
    }

    /// Program order that a condition about marks, dependencies or what was read keeps.
    fn condition(&self, step: &ProofStep, by: Condition, through: Option<OpId>) -> String {
        let [earlier, later] = [step.from, step.to].map(|event| format!("line {}", self.line(event)));
        let middle = through.map_or_else(String::new, |op| format!("line {}", self.trace.line(op)));
        let why = match by {
            Condition::AnotherStore => {
                format!(
                    "{earlier} and {later} read one address from different stores, with no store of their thread between"
                )
            }
            Condition::FromAtomic => format!("{later} read from {earlier}, an atomic of its own thread"),
            Condition::EarlierAcquires => format!("{earlier} is marked acquire"),
            Condition::LaterReleases => format!("{later} is marked release"),
            Condition::ReleaseAcquire => format!("{earlier} is marked release and {later} acquire"),
            Condition::Address => format!("{later}'s address came from {earlier}"),
            Condition::Data => format!("{later}'s value came from {earlier}"),
            Condition::Control => format!("whether {later} is executed came from {earlier}"),
            Condition::ThroughStore => {
                format!("{later} read from {middle}, whose address or value came from {earlier}")
            }
            Condition::PastAddress => format!("the address of {middle}, between the two, came from {earlier}"),
            Condition::PastIsb => {
                format!("a branch or an address before the ISB of {middle}, between the two, came from {earlier}")
            }
            Condition::AcquireFromPair => {
                format!("{later} is marked acquire and read from {middle}, the store conditional of {earlier}")
            }
        };
        match by.rule().filter(|_| !self.model.split_atomics) {
            Some(number) => format!("{why} (rule {number})"),
            None => format!("{why} ({})", by.arm()),
        }
    }

    /// Program order that the model keeps: which entry of its table says so.
    fn kept(&self, step: &ProofStep) -> String {
        let (Some(from), Some(to)) = (step.from.as_op(), step.to.as_op()) else { return "program order".into() };
        let (trace, model) = (self.trace, self.model);
        let wanted = |e: Kind, l: Kind| match step.rule {
            Rule::LoadOp => e == Kind::Load && !l.locks(),
            Rule::StoreStore => (e, l) == (Kind::Store, Kind::Store),
            Rule::StoreLoad => (e, l) == (Kind::Store, Kind::Load),
            _ => e.locks() || l.locks(),
        };
        let (first, second) = (trace.kind(from), trace.kind(to));
        let mut kept = When::NEVER;
        for e in first.kinds().iter() {
            for l in second.kinds().iter().filter(|&l| wanted(e, l)) {
                kept = kept.or(model.ppo.entry(e, l));
            }
        }
        let pair = format!("under {} {} stays before a later {}", model.name, a(first), noun(second));
        let one_session = || match (first, second) {
            (OpKind::Acquire, _) => trace.in_session(from, to),
            (_, OpKind::Release) => trace.in_session(to, from),
            _ => trace.one_session(from, to),
        };
        let [lock, data] = if first.locks() { [from, to] } else { [to, from] }.map(|op| trace.addr(op));
        if kept.always {
            format!("{pair} of its thread")
        } else if kept.same_address && trace.addr(from) == trace.addr(to) {
            let by = if first.locks() { String::new() } else { self.numbered(1) };
            format!("{pair} of its thread and {}{by}", if first.locks() { "lock" } else { "address" })
        } else if kept.same_session && one_session() {
            format!("{pair} inside its session")
        } else if kept.guarded && trace.guards(lock, data) {
            format!(
                "{pair} of its thread where the lock guards the data, as {} guards {}",
                self.name(lock),
                self.name(data)
            )
        } else {
            let (ended, began) = (trace.period(from).end.unwrap_or(0), trace.period(to).begin.unwrap_or(0));
            format!("{pair} that begins ({began}) after it has ended ({ended})")
        }
    }
}

/// ` (step 3)`, ` (steps 1, 2)`, or nothing where the premises need no saying.
fn cited(premises: &[u32], numbers: &[Option<u32>]) -> String {
    const MOST: usize = 12;
    let mut cited: Vec<String> = premises
        .iter()
        .filter_map(|&premise| numbers.get(premise as usize).copied().flatten())
        .map(|number| number.to_string())
        .collect();
    if cited.len() > MOST {
        let more = cited.len() - MOST;
        cited.truncate(MOST);
        cited.push(format!("{more} more"));
    }
    match cited.len() {
        0 => String::new(),
        1 => format!(" (step {})", cited[0]),
        _ => format!(" (steps {})", list(&cited, "and")),
    }
}
