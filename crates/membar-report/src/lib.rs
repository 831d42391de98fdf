//! Results as text, JSON, SARIF and pages.
//!
//! A result is data first and words second: [`Report::new`] turns a decided trace into a [`Report`], which holds every
//! fact and every sentence; [`text`] and [`json`] only lay it out. The report of a forbidden trace is a view of its
//! proof: nothing in it is computed again.
//!
//! | module | does |
//! |---|---|
//! | `data` | the structs, which are also the JSON schema (described in the book's reference/json.md) |
//! | `build` | from a trace, a model and a verdict to a report |
//! | `reduced` | what a proof needs as a trace, to be decided again |
//! | `readable` | the same proof in the form that people follow most easily |
//! | `story` | what happened and why, in two sentences |
//! | `shape` | what a cycle is called |
//! | `words` | each step of a proof in words |
//! | [`text`] | for a terminal, with colours, and one table row per trace for several models |
//! | `columns` | threads side by side, for a terminal |
//! | [`campaign`] | what came of a campaign of random tests, data |
//! | [`litmus`] | what came of litmus tests, data |
//! | [`listing`] | small programs as litmus tests and as C |
//! | [`monitor`] | what monitors found on an interleaving, data and text |
//! | [`html`] | one page with every view, for a browser |
//! | [`json`] | written while results arrive, so that memory does not grow with their number |
//!
//! This crate knows no algorithm: a checker hands over its findings in small structs ([`Decided`], [`Blame`]).
//!
//! ```
//! use membar_core::{Model, OpId, Ppo, Proof, Verdict, When};
//! use membar_report::{Decided, Report, text};
//!
//! let trace = membar_trace::parse("t.trace", b"0: x := 1\n1: x == 7\ncheck\n").unwrap().remove(0);
//! let model = Model::new("sc", Ppo::new(When::ALWAYS, When::ALWAYS, When::ALWAYS, When::ALWAYS));
//! let verdict = Verdict::Forbidden(Proof::Unwritten(OpId(1)));
//! let report = Report::new(&Decided::new("t.trace", 0, &trace, &model, &verdict));
//! let mut out = Vec::new();
//! text::Text::default().report(&report, &mut out).unwrap();
//! assert!(String::from_utf8(out).unwrap().contains("x == 7"));
//! ```

mod build;
pub mod campaign;
mod columns;
mod data;
pub mod html;
pub mod json;
pub mod kinds;
pub mod listing;
pub mod litmus;
pub mod monitor;
mod readable;
mod reduced;
mod shape;
mod story;
mod style;
mod table;
pub mod text;
pub mod verify;
mod words;

pub use build::{Blame, Decided, first_line};
pub use data::{
    Assumed, Edge, Effort, End, EventRef, InputError, LegalValue, LemmaRef, OpRef, Report, SCHEMA, Shape, StepRef,
    Stop, Violation,
};
pub use readable::readable;
pub use reduced::Reduced;
pub use style::{Style, capital, count, grouped, list, quoted_path, safe, with_command, wrapped};
