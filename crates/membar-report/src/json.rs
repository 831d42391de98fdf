//! Machine-readable reports.
//!
//! `{"schema":1,"results":[…],"errors":[…]}`, written while results arrive, one result per line. The structs of this crate
//! are the schema; the book's reference/json.md describes it.

use crate::data::{InputError, SCHEMA};
use serde::Serialize;
use std::io::{self, Write};

/// Errors that are kept until the end.
const ERRORS: usize = 10_000;

/// Writes the results of one run.
#[derive(Debug, Default)]
pub struct Json {
    begun: bool,
    results: bool,
    errors: Vec<InputError>,
    omitted: u64,
}

impl Json {
    fn begin(&mut self, out: &mut impl Write) -> io::Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            write!(out, "{{\"schema\":{SCHEMA},\"results\":[")?;
        }
        Ok(())
    }

    /// Writes a result.
    pub fn report(&mut self, report: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
        self.begin(out)?;
        out.write_all(if std::mem::replace(&mut self.results, true) { b",\n" } else { b"\n" })?;
        serde_json::to_writer(out, report).map_err(io::Error::from)
    }

    /// Notes something wrong with the input; it is written at the end.
    pub fn error(&mut self, error: InputError) {
        if self.errors.len() < ERRORS {
            self.errors.push(error);
        } else {
            self.omitted += 1;
        }
    }

    /// Writes the errors and closes the document.
    pub fn finish(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.begin(out)?;
        out.write_all(b"\n],\"errors\":")?;
        serde_json::to_writer(&mut *out, &self.errors).map_err(io::Error::from)?;
        if self.omitted > 0 {
            write!(out, ",\"errors_omitted\":{}", self.omitted)?;
        }
        out.write_all(b"}\n")
    }
}
