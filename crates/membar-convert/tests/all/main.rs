//! Logs of every format, and what they become.

mod formats;
mod never_panics;
