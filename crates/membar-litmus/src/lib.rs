//! Litmus tests: parser, interpreter and final states.
//!
//! A litmus test is a small program with a question about how it can end. [`LitmusTest::parse`] reads herd's format in the
//! dialects X86, X86_64, C, RISCV and AArch64; [`outcomes`] finds every final state under the models of the dialect
//! ([`Model::of`]); [`Record`] writes them as herd does, or as JSON.
//!
//! ```
//! use membar_litmus::{Limits, LitmusTest, Model, outcomes};
//!
//! let text = "X86 SB
//! { }
//!  P0          | P1          ;
//!  MOV [x],$1  | MOV [y],$1  ;
//!  MOV EAX,[y] | MOV EAX,[x] ;
//! exists (0:EAX=0 /\\ 1:EAX=0)";
//! let test = LitmusTest::parse("SB.litmus", text.as_bytes())?;
//! assert_eq!(outcomes(&test, Model::Sc, &Limits::default()).states.len(), 3);
//! assert_eq!(outcomes(&test, Model::Tso, &Limits::default()).states.len(), 4);
//! # Ok::<(), membar_litmus::Error>(())
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `code` | the register machine that every dialect is translated to |
//! | `interp` | runs a program one access at a time |
//! | `test` | a test, and how a file becomes one |
//! | `init`, `condition` | what stands before and after the code |
//! | `asm`, `x86`, `regs` | X86 and X86_64: rows and operands, instructions, registers |
//! | `c` | C: statements, expressions, atomics |
//! | `relaxed` | RISCV and AArch64: their instructions, and all executions under rvwmo, ztso, armv8 and sc |
//! | `states` | final states: `axiomatic` enumerates executions, `machine` runs programs with loops |
//! | `record` | results as herd's log and as JSON |
//! | `verification` | exploring a test with monitors |
//!
//! Unsupported constructs are refused with line and column: accesses of different sizes to one location (except in RISCV
//! and AArch64), vector registers, spin locks and RCU grace periods of the kernel.

mod asm;
mod axiomatic;
mod build;
mod c;
mod code;
mod condition;
mod error;
mod init;
mod interp;
mod lex;
mod machine;
mod rc11;
mod record;
mod regs;
mod relaxed;
mod states;
mod test;
mod threads;
mod twins;
mod types;
mod verification;
mod x86;

pub use code::{
    Alu, Cell, Change, Code, Crash, Instr, Int, Operand, Place, Reg, Request, Settled, Site, ThreadCode, Update,
};
pub use condition::{Location, Prop, Quantifier, Spot};
pub use error::{Error, ErrorKind};
pub use interp::Interpreter;
pub use machine::{Transition, way};
pub use membar_core::Excerpt;
pub use record::{Record, crash_json, crash_message};
pub use relaxed::{Program as RelaxedProgram, register_number};
pub use states::{Limits, Method, Model, Outcomes, Relaxed, is_loop_free, outcomes, outcomes_by, outcomes_without};
pub use test::{Arch, Condition, FILE_LIMIT, LitmusTest};
pub use threads::LitmusThreads;
pub use verification::LitmusVerification;
