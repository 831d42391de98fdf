//! The commands, one file each.

pub mod check;
pub mod demo;
mod jobs;
pub mod models;
mod output;
pub mod shrink;
