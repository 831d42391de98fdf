//! The commands, one file each.

mod campaign;
pub mod cargo;
pub mod cc;
pub mod check;
pub mod demo;
pub mod generate;
mod jobs;
pub mod litmus;
pub mod models;
pub mod monitor;
mod output;
pub mod programs;
pub mod replay;
pub mod report;
pub mod shrink;
pub mod simulate;
pub mod stress;
pub mod verify;
