//! Litmus tests: parser, interpreter and final states.

mod code;

pub use code::{Alu, Cell, Change, Code, Instr, Int, Operand, Place, Reg, Request, Settled, Site, ThreadCode, Update};
