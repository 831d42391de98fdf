//! Atomics of C11 and macros of the Linux kernel, as accesses and barriers.
//!
//! | C11 | before | after |
//! |---|---|---|
//! | load, any order; relaxed or acquire store, read-modify-write, fence | | |
//! | release store; release, acq_rel or seq_cst read-modify-write; release or acq_rel fence | store barrier | |
//! | seq_cst store | store barrier | full barrier |
//! | seq_cst fence | full barrier | |
//!
//! Every read-modify-write is interlocked, also a compare-exchange that fails. A weak compare-exchange never fails
//! without reason, as on the machines that the models describe. The kernel's fully ordered operations have a full
//! barrier on either side. For C11 they are relaxed between seq_cst fences; `READ_ONCE` and `WRITE_ONCE` are relaxed,
//! `rcu_dereference` is an acquire load, `smp_wmb` and `smp_rmb` are a release and an acquire fence.

use super::Function;
use super::expr::{Item, Val};
use crate::code::{Alu, Instr, Int, Operand, Update};
use crate::error::{ErrorKind, Fault, Parsed, quoted};
use crate::lex::Tok;
use crate::types::Type;
use membar_core::{Barrier, C11, Fence, Order};
use std::ops::Range;

const ORDERS: [(&str, Order); 6] = [
    ("relaxed", Order::Relaxed),
    ("consume", Order::Acquire),
    ("acquire", Order::Acquire),
    ("release", Order::Release),
    ("acq_rel", Order::AcqRel),
    ("seq_cst", Order::SeqCst),
];

/// The order of an access, and the barriers around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Around {
    order: C11,
    before: Barrier,
    after: Barrier,
    /// The full barriers are fences of the program, and not only what the order means on a machine with store buffers.
    fenced: bool,
}

const RELAXED: Around = around(Order::Relaxed, Barrier::None, Barrier::None);
const ACQUIRE: Around = around(Order::Acquire, Barrier::None, Barrier::None);
const RELEASE: Around = around(Order::Release, Barrier::Store, Barrier::None);
/// The kernel's fully ordered operations.
const FULL: Around = Around { fenced: true, ..around(Order::Relaxed, Barrier::Full, Barrier::Full) };

const fn around(order: Order, before: Barrier, after: Barrier) -> Around {
    Around { order: C11::new(order), before, after, fenced: false }
}

impl Around {
    fn store(order: Order) -> Around {
        let before = if order.releases() { Barrier::Store } else { Barrier::None };
        around(order, before, if order == Order::SeqCst { Barrier::Full } else { Barrier::None })
    }

    fn rmw(order: Order) -> Around {
        around(order, if order.releases() { Barrier::Store } else { Barrier::None }, Barrier::None)
    }

    fn fence(self, barrier: Barrier) -> Fence {
        if self.fenced && barrier == Barrier::Full { Fence::SeqCst } else { Fence::None }
    }
}

/// The value of a read-modify-write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gives {
    Old,
    New,
    /// Whether the new value is 0.
    Zero,
}

/// The meaning of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Call {
    /// C11's load: through a pointer, seq_cst or the order that is given.
    Load,
    /// The kernel's: of a location (`lvalue`) or through a pointer.
    KernelLoad {
        lvalue: bool,
        order: Order,
    },
    Store,
    KernelStore {
        lvalue: bool,
        around: Around,
    },
    /// `(pointer, value)`
    Exchange {
        kernel: Option<Around>,
    },
    /// `(pointer, expected, desired)`, the first two pointers
    CompareExchange,
    /// `(pointer, old, new)`
    KernelCompareExchange(Around),
    /// `(pointer, value)`, or in the kernel `(value, pointer)`
    Fetch {
        op: Alu,
        gives: Gives,
        kernel: Option<Around>,
    },
    /// The kernel's increments: `(pointer)`
    Step {
        op: Alu,
        gives: Gives,
        around: Around,
    },
    Fence,
    Barrier(Barrier, Fence),
}

const NAMED: [(&str, Call); 27] = [
    ("atomic_load", Call::Load),
    ("atomic_store", Call::Store),
    ("atomic_init", Call::KernelStore { lvalue: false, around: around(Order::Plain, Barrier::None, Barrier::None) }),
    ("atomic_exchange", Call::Exchange { kernel: None }),
    ("atomic_compare_exchange_strong", Call::CompareExchange),
    ("atomic_compare_exchange_weak", Call::CompareExchange),
    ("atomic_thread_fence", Call::Fence),
    ("READ_ONCE", Call::KernelLoad { lvalue: true, order: Order::Relaxed }),
    ("rcu_dereference", Call::KernelLoad { lvalue: true, order: Order::Acquire }),
    ("lockless_dereference", Call::KernelLoad { lvalue: true, order: Order::Acquire }),
    ("smp_load_acquire", Call::KernelLoad { lvalue: false, order: Order::Acquire }),
    ("atomic_read", Call::KernelLoad { lvalue: false, order: Order::Relaxed }),
    ("atomic_read_acquire", Call::KernelLoad { lvalue: false, order: Order::Acquire }),
    ("WRITE_ONCE", Call::KernelStore { lvalue: true, around: RELAXED }),
    ("rcu_assign_pointer", Call::KernelStore { lvalue: true, around: RELEASE }),
    (
        "smp_store_mb",
        Call::KernelStore {
            lvalue: true,
            around: Around { fenced: true, ..around(Order::Relaxed, Barrier::None, Barrier::Full) },
        },
    ),
    ("smp_store_release", Call::KernelStore { lvalue: false, around: RELEASE }),
    ("atomic_set", Call::KernelStore { lvalue: false, around: RELAXED }),
    ("atomic_set_release", Call::KernelStore { lvalue: false, around: RELEASE }),
    ("smp_mb", Call::Barrier(Barrier::Full, Fence::SeqCst)),
    ("smp_wmb", Call::Barrier(Barrier::Store, Fence::Release)),
    ("smp_rmb", Call::Barrier(Barrier::None, Fence::Acquire)),
    ("barrier", Call::Barrier(Barrier::None, Fence::None)),
    ("cpu_relax", Call::Barrier(Barrier::None, Fence::None)),
    ("smp_read_barrier_depends", Call::Barrier(Barrier::None, Fence::None)),
    ("smp_mb__before_atomic", Call::Barrier(Barrier::Full, Fence::SeqCst)),
    ("smp_mb__after_atomic", Call::Barrier(Barrier::Full, Fence::SeqCst)),
];

const OPERATIONS: [(&str, Alu); 5] =
    [("add", Alu::Add), ("sub", Alu::Sub), ("and", Alu::And), ("or", Alu::Or), ("xor", Alu::Xor)];

const HELP: &str = "supported are C11's atomic_load, _store, _exchange, _fetch_add, _fetch_sub, _fetch_or, _fetch_xor, \
                    _fetch_and, _compare_exchange_strong and _weak, with _explicit, the fences, and the kernel's READ_ONCE, \
                    WRITE_ONCE, smp_*, xchg, cmpxchg and atomic_*";

/// The meaning of the name, and whether the memory order is given.
fn lookup(name: &str) -> Option<(Call, bool)> {
    let find = |name: &str| NAMED.iter().find(|(known, _)| *known == name).map(|(_, call)| *call);
    if let Some(call) = find(name) {
        return Some((call, false));
    }
    let (stem, explicit) = match name.strip_suffix("_explicit") {
        Some(stem) => (stem, true),
        None => (name, false),
    };
    let operation = |word: &str| OPERATIONS.iter().find(|(known, _)| *known == word).map(|(_, op)| *op);
    let step = |word: &str| match word {
        "inc" => Some(Alu::Add),
        "dec" => Some(Alu::Sub),
        _ => None,
    };
    if explicit {
        let call = match stem.strip_prefix("atomic_fetch_").and_then(operation) {
            Some(op) => Some(Call::Fetch { op, gives: Gives::Old, kernel: None }),
            None => find(stem).filter(|call| {
                matches!(call, Call::Load | Call::Store | Call::Exchange { .. } | Call::CompareExchange)
            }),
        };
        return call.map(|call| (call, true));
    }
    let (stem, around) = if let Some(stem) = name.strip_suffix("_release") {
        (stem, RELEASE)
    } else if let Some(stem) = name.strip_suffix("_acquire") {
        (stem, ACQUIRE)
    } else if let Some(stem) = name.strip_suffix("_relaxed") {
        (stem, RELAXED)
    } else {
        (name, FULL)
    };
    let call = match stem {
        "xchg" | "atomic_xchg" => Call::Exchange { kernel: Some(around) },
        "cmpxchg" | "atomic_cmpxchg" => Call::KernelCompareExchange(around),
        _ => {
            let rest = stem.strip_prefix("atomic_")?;
            let (word, gives, around) = if let Some(word) = rest.strip_prefix("fetch_") {
                (word, Gives::Old, around)
            } else if let Some(word) = rest.strip_suffix("_return") {
                (word, Gives::New, around)
            } else if let Some(word) = rest.strip_suffix("_and_test") {
                (word, Gives::Zero, around)
            } else {
                // An operation that returns no value orders nothing.
                (rest, Gives::Old, RELAXED)
            };
            match (operation(word), step(word)) {
                (Some(op), _) => Call::Fetch { op, gives, kernel: Some(around) },
                (None, Some(op)) => Call::Step { op, gives, around },
                (None, None) => return None,
            }
        }
    };
    Some((call, false))
}

/// Arguments: expressions, and then memory orders.
struct Args {
    items: Vec<(Item, Range<usize>)>,
    orders: Vec<Order>,
}

impl Function<'_, '_> {
    /// A call whose name was read.
    pub(super) fn call(&mut self, name: &str, at: Range<usize>) -> Parsed<Val> {
        // A compiler's barrier only.
        let nothing = name == "atomic_signal_fence";
        let Some((call, explicit)) = (if nothing { Some((Call::Fence, false)) } else { lookup(name) }) else {
            return Err(Fault::unsupported("function", name, HELP, at));
        };
        let Args { mut items, orders } = self.arguments()?;
        let span = at.start..self.lexer.last_end;
        let wanted = match call {
            Call::Barrier(..) | Call::Fence => 0,
            Call::Load | Call::KernelLoad { .. } | Call::Step { .. } => 1,
            Call::Store | Call::KernelStore { .. } | Call::Exchange { .. } | Call::Fetch { .. } => 2,
            Call::CompareExchange | Call::KernelCompareExchange(_) => 3,
        };
        let ordered = match call {
            Call::Fence => 1,
            Call::CompareExchange if explicit => 2,
            _ => usize::from(explicit),
        };
        if items.len() != wanted || orders.len() != ordered {
            let help = match (ordered, wanted) {
                (1, 0) => "it has one argument, a memory order such as memory_order_seq_cst",
                (1, _) => "the last argument is a memory order such as memory_order_relaxed",
                (2, _) => "the arguments are object, expected, desired, and two memory orders",
                (_, 3) => "it has three arguments",
                (_, 2) => "it has two arguments",
                (_, 1) => "it has one argument",
                _ => "it has no arguments",
            };
            return Err(self.wrong(help, span));
        }
        let order = orders.first().copied().unwrap_or(Order::SeqCst);
        match call {
            Call::Barrier(barrier, fence) => {
                self.b.barrier(barrier);
                self.b.fence(fence);
                Ok(Val::int(0))
            }
            Call::Fence => {
                if !nothing {
                    self.b.barrier(match order {
                        Order::SeqCst => Barrier::Full,
                        order if order.releases() => Barrier::Store,
                        _ => Barrier::None,
                    });
                    self.b.fence(Fence::of(order));
                }
                Ok(Val::int(0))
            }
            Call::Load | Call::KernelLoad { .. } => {
                let (lvalue, order) = match call {
                    Call::KernelLoad { lvalue, order } => (lvalue, order),
                    _ => (false, order),
                };
                let pointer = self.pointer(items.remove(0), lvalue)?;
                self.load(pointer, order, &span)
            }
            Call::Store | Call::KernelStore { .. } => {
                let (lvalue, around) = match call {
                    Call::KernelStore { lvalue, around } => (lvalue, around),
                    _ => (false, Around::store(order)),
                };
                let pointer = self.pointer(items.remove(0), lvalue)?;
                let value = self.value(items.remove(0).0)?;
                self.before(around);
                self.store(pointer, value, around.order.order(), &span)?;
                self.after(around);
                Ok(value)
            }
            Call::Exchange { kernel } => {
                let pointer = self.pointer(items.remove(0), false)?;
                let value = self.value(items.remove(0).0)?;
                self.rmw(Update::Exchange, pointer, value, kernel.unwrap_or(Around::rmw(order)), &span)
            }
            Call::Fetch { op, gives, kernel } => {
                // C11 has the pointer first, the kernel last.
                let first = self.value(items.remove(0).0)?;
                let second = self.value(items.remove(0).0)?;
                let c11 = kernel.is_none() || first.ty.stars > 0;
                let (pointer, value) = if c11 { (first, second) } else { (second, first) };
                let around = kernel.filter(|_| !c11).unwrap_or(Around::rmw(order));
                self.fetch(op, gives, pointer, value, around, &span)
            }
            Call::Step { op, gives, around } => {
                let pointer = self.pointer(items.remove(0), false)?;
                self.fetch(op, gives, pointer, Val::int(1), around, &span)
            }
            Call::KernelCompareExchange(around) => {
                let pointer = self.pointer(items.remove(0), false)?;
                let expected = self.value(items.remove(0).0)?.op;
                let value = self.value(items.remove(0).0)?;
                self.rmw(Update::CompareExchange { expected }, pointer, value, around, &span)
            }
            Call::CompareExchange => {
                let pointer = self.pointer(items.remove(0), false)?;
                let expected = items.remove(0);
                let value = self.value(items.remove(0).0)?;
                let around = Around::rmw(order);
                let failure = orders.get(1).copied().unwrap_or(order);
                let around = Around { order: around.order.failing(failure), ..around };
                self.compare_exchange(pointer, expected, value, around, &span)
            }
        }
    }

    fn wrong(&self, help: &'static str, span: Range<usize>) -> Fault {
        Fault::new(ErrorKind::Operands { text: quoted(&self.sites.text[span.clone()]), help }, span)
    }

    fn arguments(&mut self) -> Parsed<Args> {
        const HELP: &str = "arguments stand in parentheses, separated by commas";
        let mut args = Args { items: Vec::new(), orders: Vec::new() };
        self.lexer.expect("(", "`(`", HELP)?;
        if self.lexer.take(")")? {
            return Ok(args);
        }
        loop {
            let token = self.lexer.peek();
            let order = match token.tok {
                Tok::Word(word) => word.strip_prefix("memory_order_").or(word.strip_prefix("mo_")),
                _ => None,
            };
            if let Some(order) = order {
                let Some((_, order)) = ORDERS.iter().find(|(known, _)| *known == order) else {
                    let help = "the orders are relaxed, consume, acquire, release, acq_rel and seq_cst";
                    return Err(Fault::unknown("memory order", order, help, token.span()));
                };
                self.lexer.next()?;
                args.orders.push(*order);
            } else {
                let item = self.item()?;
                args.items.push((item, token.start..self.lexer.last_end));
            }
            if self.lexer.take(")")? {
                return Ok(args);
            }
            self.lexer.expect(",", "`,` or `)`", HELP)?;
            if args.items.len() + args.orders.len() > 8 {
                return Err(self.lexer.unexpected("`)`", "no function has that many arguments"));
            }
        }
    }

    /// The pointer of an argument that is a location (`*x`) or a pointer (`x`).
    fn pointer(&mut self, (item, span): (Item, Range<usize>), lvalue: bool) -> Parsed<Val> {
        match (item, lvalue) {
            (Item::Deref(pointer, _), true) => Ok(pointer),
            (_, true) => Err(self.wrong("the argument is a location such as `*x`", span)),
            (item, false) => self.value(item),
        }
    }

    fn before(&mut self, around: Around) {
        self.b.barrier(around.before);
        self.b.fence(around.fence(around.before));
    }

    fn after(&mut self, around: Around) {
        self.b.barrier(around.after);
        self.b.fence(around.fence(around.after));
    }

    /// A read-modify-write; its value is what was there before.
    fn rmw(&mut self, update: Update, pointer: Val, value: Val, around: Around, span: &Range<usize>) -> Parsed<Val> {
        let (at, ty) = self.place(pointer, span)?;
        let dst = self.temp(span)?;
        let site = self.sites.add(self.thread, span, around.order);
        self.before(around);
        let int = Int { signed: true, ..ty.value() };
        self.b.emit(Instr::Rmw { update, dst, at, value: value.op, ty: int, site });
        self.after(around);
        let old = Val { op: Operand::Reg(dst), ty, temp: true };
        if ty.value().signed {
            return Ok(old);
        }
        self.compute(Alu::Or, old.op, Operand::Value(0), ty, Some(old), span)
    }

    fn fetch(
        &mut self,
        op: Alu,
        gives: Gives,
        pointer: Val,
        value: Val,
        around: Around,
        span: &Range<usize>,
    ) -> Parsed<Val> {
        let old = self.rmw(Update::Apply(op), pointer, value, around, span)?;
        if gives == Gives::Old {
            return Ok(old);
        }
        let new = self.compute(op, old.op, value.op, old.ty, Some(old), span)?;
        if gives == Gives::New {
            return Ok(new);
        }
        self.compute(Alu::Eq, new.op, Operand::Value(0), Type::INT, Some(new), span)
    }

    /// C11's: the expected value is read, and written if the exchange fails, where the second argument points to.
    fn compare_exchange(
        &mut self,
        pointer: Val,
        (expected, expected_span): (Item, Range<usize>),
        value: Val,
        around: Around,
        span: &Range<usize>,
    ) -> Parsed<Val> {
        let (where_to, wanted) = match expected {
            Item::Address(local) => (Err(local), Val { op: Operand::Reg(local.reg), ty: local.ty, temp: false }),
            item => {
                let pointer = self.value(item)?;
                (Ok(pointer), self.load(pointer, Order::Plain, &expected_span)?)
            }
        };
        let old = self.rmw(Update::CompareExchange { expected: wanted.op }, pointer, value, around, span)?;
        let wanted = self.convert(wanted, old.ty)?;
        let result = self.compute(Alu::Eq, old.op, wanted.op, Type::INT, None, span)?;
        let skip = self.b.branch(result.op, false);
        match where_to {
            Ok(pointer) => self.store(pointer, old, Order::Plain, &expected_span)?,
            Err(local) => {
                let old = self.convert(old, local.ty)?;
                self.b.emit(Instr::Set { dst: local.reg, src: old.op });
            }
        }
        self.patch(skip);
        Ok(result)
    }
}
