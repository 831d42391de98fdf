//! Functions of the C library that must be the same in every execution, or that membar has to see into.
//!
//! The heap is ours ([`super::heap`]). Functions that copy or compare memory announce what they read and write. Time stands
//! still but for what a thread itself sees pass; random numbers come from generators that threads share, in the order of their steps; both are the same in every
//! execution. Functions that block on the outside world or make processes are refused by name; so are system calls.

mod alloc;
mod ending;
mod environment;
mod exceptions;
mod files;
mod numbers;
mod outside;
mod strings;
mod syscalls;
mod text;

pub use alloc::*;
pub use ending::*;
pub use environment::*;
pub use exceptions::*;
pub use files::*;
pub use numbers::*;
pub use outside::*;
pub use strings::*;
pub use syscalls::*;
pub use text::*;

use super::access::{plain_within as plain, whole_range};
use super::fault;
use super::heap::{BadFree, Block, Life};
use super::layout::{ARENA, ARENA_LEN, TLS, TLS_SIZE};
use super::module::text as text_at;
use super::registers::register;
use super::thread;
use super::world::world;
use membar_core::AccessKind;
use membar_explore::{Fault, FaultKind, Message, Piece, message};
use std::ffi::{c_char, c_double, c_int, c_long, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
