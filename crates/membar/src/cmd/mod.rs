//! The commands, one file each.

pub mod campaign;
pub mod cargo;
pub mod cc;
pub mod check;
pub mod convert;
pub mod demo;
pub mod generate;
mod jobs;
pub mod litmus;
pub mod many;
pub mod models;
pub mod monitor;
pub mod output;
pub mod programs;
pub mod replay;
pub mod report;
pub mod shrink;
pub mod simulate;
pub mod stress;
pub mod verify;
