//! Small programs as text: litmus tests in two dialects, and a C program that looks for an outcome on a real machine.
//!
//! A trace on a page and a program of `membar gen` are the same thing here: threads of loads, stores, read-modify-writes and
//! barriers, without branches, and an outcome to ask about. Both become a [`Listing`], which is printed here alone.
//!
//! `membar gen --as c` does not go through this: its programs have a hundred thousand instructions, locks and delays, and print
//! what they read instead of counting an outcome, so each access is a call of assembly that logs it.

use std::fmt::{Display, Write as _};

/// A small program and an outcome.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The names of its addresses, and what they hold first.
    pub memory: Vec<(String, u64)>,
    /// The lines of each thread.
    pub threads: Vec<Vec<Line>>,
    /// The values to ask about, all of which have to be there at the end.
    pub outcome: Vec<(Place, u64)>,
}

/// What a thread does. Addresses are places in [`Listing::memory`]. Each register is written by one line of the whole program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// Reads memory.
    Load {
        /// The register.
        into: usize,
        /// The address.
        addr: u32,
    },
    /// Writes memory.
    Store {
        /// The address.
        addr: u32,
        /// The value.
        value: u64,
    },
    /// Reads and writes at once.
    Exchange {
        /// The register.
        into: usize,
        /// The address.
        addr: u32,
        /// The value that is written.
        value: u64,
    },
    /// Reads, and writes the sum.
    Add {
        /// The register.
        into: usize,
        /// The address.
        addr: u32,
        /// The value that is added.
        by: u64,
    },
    /// Reads, and writes if it read what it expected. Variable `c` with the register's number says whether it did.
    CompareExchange {
        /// The register.
        into: usize,
        /// The address.
        addr: u32,
        /// An expression in C.
        expected: String,
        /// The value that is written.
        value: u64,
    },
    /// A full barrier.
    Barrier,
    /// A barrier that keeps stores in order.
    StoreBarrier,
}

/// Where a value of an outcome is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In a register.
    Register(usize),
    /// In memory.
    Memory(u32),
}

impl Line {
    /// The register that holds what the line reads.
    pub fn reads(&self) -> Option<usize> {
        match self {
            &(Line::Load { into, .. }
            | Line::Exchange { into, .. }
            | Line::Add { into, .. }
            | Line::CompareExchange { into, .. }) => Some(into),
            Line::Store { .. } | Line::Barrier | Line::StoreBarrier => None,
        }
    }
}

/// How statements in C refer to memory and registers.
struct Statements {
    /// Before an address.
    pointer: &'static str,
    /// Before a register that is written.
    register: &'static str,
    /// The order of read-modify-writes.
    order: &'static str,
}

/// The program, but for what depends on the listing. Its own names have an underscore, or capitals: no name of a listing may.
const COUNTING: &str = include_str!("counting.c.in");
const REGISTERS: [&str; 6] = ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"];
const RELAXED: &str = "memory_order_relaxed";
const SEQ_CST: &str = "memory_order_seq_cst";

fn joined(parts: impl Iterator<Item = impl Display>, between: &str) -> String {
    parts.map(|part| part.to_string()).collect::<Vec<_>>().join(between)
}

impl Listing {
    /// The numbers of all registers.
    fn registers(&self) -> impl Iterator<Item = usize> {
        self.threads.iter().flatten().filter_map(Line::reads)
    }

    fn name(&self, addr: u32) -> &str {
        &self.memory[addr as usize].0
    }

    /// The outcome, with registers as `register` calls them.
    fn outcome(&self, register: impl Fn(usize) -> String, equals: &str, and: &str) -> String {
        let part = |&(place, value): &(Place, u64)| match place {
            Place::Register(number) => format!("{}{equals}{value}", register(number)),
            Place::Memory(addr) => format!("{}{equals}{value}", self.name(addr)),
        };
        joined(self.outcome.iter().map(part), and)
    }

    /// The question at the end of a litmus test. Registers have their thread's number before their names.
    fn exists(&self, name: impl Fn(usize, usize) -> String) -> String {
        let named = |number| {
            let reads = |lines: &Vec<Line>| lines.iter().any(|line| line.reads() == Some(number));
            let thread = self.threads.iter().position(reads).unwrap_or(0);
            format!("{thread}:{}", name(thread, number))
        };
        format!("exists ({})\n", self.outcome(named, "=", " /\\ "))
    }

    /// A litmus test in herd's dialect X86; none if it takes more registers than there are, or a compare-exchange.
    pub fn x86(&self, name: &str) -> Option<String> {
        let register = |thread: usize, number: usize| {
            let mut own = self.threads[thread].iter().filter_map(Line::reads);
            own.position(|of| of == number).and_then(|at| REGISTERS.get(at).copied())
        };
        let mut columns: Vec<Vec<String>> = Vec::new();
        for (t, lines) in self.threads.iter().enumerate() {
            let mut column = vec![format!("P{t}")];
            for line in lines {
                match *line {
                    Line::Load { into, addr } => {
                        column.push(format!("MOV {},[{}]", register(t, into)?, self.name(addr)));
                    }
                    Line::Store { addr, value } => column.push(format!("MOV [{}],${value}", self.name(addr))),
                    Line::Exchange { into, addr, value } => {
                        let into = register(t, into)?;
                        column.push(format!("MOV {into},${value}"));
                        column.push(format!("XCHG [{}],{into}", self.name(addr)));
                    }
                    Line::Add { into, addr, by } => {
                        let into = register(t, into)?;
                        column.push(format!("MOV {into},${by}"));
                        column.push(format!("LOCK XADD [{}],{into}", self.name(addr)));
                    }
                    Line::CompareExchange { .. } => return None,
                    Line::Barrier => column.push("MFENCE".into()),
                    Line::StoreBarrier => column.push("SFENCE".into()),
                }
            }
            columns.push(column);
        }
        let memory = self.memory.iter().map(|(name, value)| format!("{name}={value}; "));
        let mut text = format!("X86 {name}\n{{ {}}}\n", joined(memory, ""));
        let widths: Vec<usize> =
            columns.iter().map(|column| column.iter().map(String::len).max().unwrap_or(0)).collect();
        for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
            let cell = |(column, width): (&Vec<String>, &usize)| {
                format!(" {:width$} ", column.get(row).map_or("", String::as_str))
            };
            let _ = writeln!(text, "{};", joined(columns.iter().zip(&widths).map(cell), "|"));
        }
        Some(text + &self.exists(|thread, number| register(thread, number).unwrap_or("EAX").into()))
    }

    /// A litmus test in the dialect C.
    ///
    /// Accesses are relaxed, so that TSO and PSO may do with them what they may do with plain ones; the full barrier is a `seq_cst`
    /// fence, the store barrier a `release` fence.
    pub fn c_litmus(&self, name: &str, comment: &str) -> String {
        let style = Statements { pointer: "", register: "uint64_t ", order: RELAXED };
        let memory = self.memory.iter().map(|(name, value)| format!(" uint64_t {name} = {value};"));
        let mut text = format!("C {name}\n{comment}{{{} }}\n", joined(memory, ""));
        let params = joined(self.memory.iter().map(|(name, _)| format!("atomic_uint64_t *{name}")), ", ");
        for (t, lines) in self.threads.iter().enumerate() {
            let _ = writeln!(text, "\nP{t} ({params}) {{");
            for statement in lines.iter().flat_map(|line| self.statements(line, &style)) {
                let _ = writeln!(text, "  {statement}");
            }
            text.push_str("}\n");
        }
        text + "\n" + &self.exists(|_, number| format!("r{number}"))
    }

    /// A C program that runs the threads many times and counts how often they end with the outcome.
    pub fn counting(&self) -> String {
        let style = Statements { pointer: "&", register: "", order: SEQ_CST };
        let register = |number: usize| format!("r{number}");
        let mut variables: Vec<String> =
            self.memory.iter().map(|(name, _)| format!("static _Alignas(64) atomic_int {name};")).collect();
        if self.registers().next().is_some() {
            variables.push(format!("static int {};", joined(self.registers().map(register), ", ")));
        }
        let mut bodies = String::new();
        for (t, lines) in self.threads.iter().enumerate() {
            let _ = writeln!(bodies, "static void thread_{t}(void)\n{{");
            for statement in lines.iter().flat_map(|line| self.statements(line, &style)) {
                // A compiler may move relaxed accesses; the machine is what is tested.
                let _ = writeln!(bodies, "    {statement}\n    atomic_signal_fence({SEQ_CST});");
            }
            bodies.push_str("}\n\n");
        }
        let reset = self.memory.iter().map(|(name, value)| format!("            atomic_store(&{name}, {value});"));
        COUNTING
            .replace("@count@", &self.threads.len().to_string())
            .replace("@variables@", &variables.join("\n"))
            .replace("@threads@\n", &bodies)
            .replace("@bodies@", &joined((0..self.threads.len()).map(|t| format!("thread_{t}")), ", "))
            .replace("@reset@", &joined(reset, "\n"))
            .replace("@outcome@", &self.outcome(register, " == ", " && "))
    }

    /// A line as one statement in C, or two.
    fn statements(&self, line: &Line, style: &Statements) -> Vec<String> {
        let &Statements { pointer, register, order } = style;
        let at = |addr: u32| format!("{pointer}{}", self.name(addr));
        let one = match line {
            &Line::Load { into, addr } => {
                format!("{register}r{into} = atomic_load_explicit({}, {RELAXED});", at(addr))
            }
            &Line::Store { addr, value } => format!("atomic_store_explicit({}, {value}, {RELAXED});", at(addr)),
            &Line::Exchange { into, addr, value } => {
                format!("{register}r{into} = atomic_exchange_explicit({}, {value}, {order});", at(addr))
            }
            &Line::Add { into, addr, by } => {
                format!("{register}r{into} = atomic_fetch_add_explicit({}, {by}, {order});", at(addr))
            }
            &Line::CompareExchange { into, addr, ref expected, value } => {
                // The register holds the value expected, and then the value read, which is the same where it succeeds.
                let exchange = "atomic_compare_exchange_strong_explicit";
                return vec![
                    format!("{register}r{into} = {expected};"),
                    format!("int c{into} = {exchange}({}, &r{into}, {value}, {order}, {order});", at(addr)),
                ];
            }
            Line::Barrier => format!("atomic_thread_fence({SEQ_CST});"),
            Line::StoreBarrier => "atomic_thread_fence(memory_order_release);".into(),
        };
        vec![one]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind of line.
    fn all() -> Listing {
        let expected = "c1 ? 3 : r1".to_owned();
        Listing {
            memory: vec![("x".into(), 0), ("y".into(), 5)],
            threads: vec![
                vec![Line::Store { addr: 0, value: 1 }, Line::Barrier, Line::Load { into: 0, addr: 1 }],
                vec![
                    Line::CompareExchange { into: 1, addr: 1, expected: "5".into(), value: 3 },
                    Line::CompareExchange { into: 2, addr: 1, expected, value: 4 },
                    Line::StoreBarrier,
                    Line::Exchange { into: 3, addr: 0, value: 2 },
                    Line::Add { into: 4, addr: 1, by: 7 },
                ],
            ],
            outcome: vec![(Place::Register(0), 5), (Place::Register(3), 0), (Place::Memory(0), 1)],
        }
    }

    #[test]
    fn as_a_litmus_test_in_c() {
        let expected = "\
C all
(* why *)
{ uint64_t x = 0; uint64_t y = 5; }

P0 (atomic_uint64_t *x, atomic_uint64_t *y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  uint64_t r0 = atomic_load_explicit(y, memory_order_relaxed);
}

P1 (atomic_uint64_t *x, atomic_uint64_t *y) {
  uint64_t r1 = 5;
  int c1 = atomic_compare_exchange_strong_explicit(y, &r1, 3, memory_order_relaxed, memory_order_relaxed);
  uint64_t r2 = c1 ? 3 : r1;
  int c2 = atomic_compare_exchange_strong_explicit(y, &r2, 4, memory_order_relaxed, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  uint64_t r3 = atomic_exchange_explicit(x, 2, memory_order_relaxed);
  uint64_t r4 = atomic_fetch_add_explicit(y, 7, memory_order_relaxed);
}

exists (0:r0=5 /\\ 1:r3=0 /\\ x=1)
";
        assert_eq!(all().c_litmus("all", "(* why *)\n"), expected);
    }

    #[test]
    fn as_an_x86_litmus_test() {
        let mut listing = all();
        assert_eq!(listing.x86("all"), None, "compare-exchanges need a register of their own");
        listing.threads[1].drain(..2);
        let expected = "\
X86 all
{ x=0; y=5; }
 P0          | P1                ;
 MOV [x],$1  | SFENCE            ;
 MFENCE      | MOV EAX,$2        ;
 MOV EAX,[y] | XCHG [x],EAX      ;
             | MOV EBX,$7        ;
             | LOCK XADD [y],EBX ;
exists (0:EAX=5 /\\ 1:EAX=0 /\\ x=1)
";
        assert_eq!(listing.x86("all").as_deref(), Some(expected));
        listing.threads[0].extend((5..11).map(|into| Line::Load { into, addr: 0 }));
        assert_eq!(listing.x86("all"), None, "seven reads, six registers");
    }

    #[test]
    fn as_a_program_that_counts() {
        let program = all().counting();
        assert!(program.contains("static int r0, r1, r2, r3, r4;"), "{program}");
        assert!(program.contains("r3 = atomic_exchange_explicit(&x, 2, memory_order_seq_cst);"), "{program}");
        assert!(program.contains("&& r0 == 5 && r3 == 0 && x == 1)"), "{program}");
        assert!(!program.contains('@'), "{program}");
    }
}
