//! The tests of `membar-certify`, in one program: it links once.

mod common;
mod oracle_proof;
mod oracle_witness;
mod proof;
mod readme;
mod replay;
mod weak;
mod witness;
