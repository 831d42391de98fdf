//! One page that explains everything: a single file without network, to be opened from anywhere.
//!
//! A result becomes a [`Page`] (data), which is embedded as JSON; `page.js` lays it out with `elements.js`, and puts text
//! into the document only as text. Nothing that a user wrote is ever markup: in the JSON, `<`, `>` and `&` are written as escapes, and a policy
//! in the page's head keeps any other script from running and anything from being fetched.
//!
//! | module | does |
//! |---|---|
//! | `page` | the structs |
//! | `check` | from a decided trace to a case of a page |
//! | `verify` | from a verified program to cases of a page, with time from left to right, and from a schedule |
//! | `monitor` | from what a monitor found |
//! | `campaign` | from a campaign: verdicts, violations by shape, coverage, speed |
//! | `litmus` | from litmus tests: final states by model, histograms |
//! | `machine` | a memory order as steps of a machine with buffers |
//! | `rules` | what rules and axioms say |
//! | `copies` | a trace as a small program ([`crate::listing`]) |
//!
//! Guarantees: a page is at most [`MOST_BYTES`] long; parts that do not fit are named.

mod campaign;
mod check;
mod copies;
mod litmus;
mod machine;
mod monitor;
mod page;
mod rules;
mod verify;

pub use campaign::{campaign, violation_name};
pub use check::{PageContext, Prefix, case, needed, part, restored};
pub use page::{
    ArgumentStep, Arrow, Axiom, Bar, CampaignView, Case, Command, Copy, Cover, CoverPair, FINAL, Fact, Fix, Fixes,
    Graph, Group, INITIAL, ImpossibleRead, Lemma, Link, Machine, MachineStep, Made, Mark, ModelVerdict, Models, Node,
    Page, Row, Series, Shape, Source, StateRow, States, Stopped, Stuck, Timeline, TimelineEnd, Track, VERSION, Value,
    View, WrongStep,
};

pub use litmus::{Way, histogram, litmus};
pub use monitor::{Confirm, Confirmed, monitored};
pub use verify::{Read, cases, replayed};

use crate::kinds::ShownVerdict;
use crate::style::count;
use std::io::{self, Write};

/// No page is larger.
pub const MOST_BYTES: usize = 5_000_000;
/// Rows of the table of answers.
const ROWS: usize = 5_000;
/// Characters of a name that are shown.
const LONG: usize = 1_000;
/// Characters of a command that are shown.
const COMMAND: usize = 20_000;
/// Room for what is not a case.
const RESERVED: usize = 1_500_000;

const CSS: &str = concat!(include_str!("page.css"), include_str!("views.css"), include_str!("timeline.css"));
const JS: &str = concat!(
    include_str!("elements.js"),
    include_str!("views.js"),
    include_str!("timeline.js"),
    include_str!("threads.js"),
    include_str!("page.js")
);

/// Collects answers until the page is written.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    page: Page,
    bytes: usize,
    row_bytes: usize,
}

impl Pages {
    /// An empty page.
    pub fn new(made: Made) -> Pages {
        let mut made = made;
        shorten(&mut made.command, COMMAND);
        Pages { page: Page { version: VERSION, made, ..Page::default() }, bytes: 0, row_bytes: 0 }
    }

    /// Adds an answer, in full if it has a case that still fits: then its place is returned.
    pub fn add(&mut self, mut row: Row, case: Option<Case>) -> Option<usize> {
        for text in [&mut row.name, &mut row.model, &mut row.about] {
            shorten(text, LONG);
        }
        if let Some(case) = case {
            let size = |json: serde_json::Result<Vec<u8>>| json.map_or(MOST_BYTES, |json| escaped(&json).len());
            let bytes = size(serde_json::to_vec(&case)) + size(serde_json::to_vec(&row));
            if bytes <= (MOST_BYTES - RESERVED).saturating_sub(self.bytes) {
                self.bytes += bytes;
                row.case = Some(self.page.cases.len());
                self.page.cases.push(case);
            }
        }
        let bytes = serde_json::to_vec(&row).map_or(usize::MAX, |json| escaped(&json).len());
        let fits = self.page.rows.len() < ROWS && bytes <= (RESERVED / 3).saturating_sub(self.row_bytes);
        let place = row.case;
        // A case shown in full has a row, which was counted with it.
        if fits || row.case.is_some() {
            self.row_bytes += if row.case.is_some() { 0 } else { bytes };
            self.page.rows.push(row);
        } else {
            self.page.rows_omitted += 1;
        }
        place
    }

    /// Adds the campaign that the answers come from. Where the lists of its violations are too long, they become shorter.
    pub fn campaign(&mut self, mut view: CampaignView) {
        let size = |view: &CampaignView| serde_json::to_vec(view).map_or(usize::MAX, |json| escaped(&json).len());
        while size(&view) > RESERVED / 3 && view.groups.iter().any(|group| !group.violations.is_empty()) {
            for group in &mut view.groups {
                let keep = group.violations.len() / 2;
                group.omitted += (group.violations.len() - keep) as u64;
                group.violations.truncate(keep);
            }
        }
        for command in &mut view.commands {
            shorten(&mut command.line, COMMAND);
        }
        self.page.campaign = Some(view);
    }

    /// The data, complete.
    pub fn finish(mut self) -> Page {
        let Page { campaign, rows, rows_omitted, .. } = &self.page;
        let all = ShownVerdict::ALL.iter().map(|&verdict| answers(rows, verdict)).sum::<usize>() as u64 + rows_omitted;
        // Rows about one thing have its name.
        let subject = rows.first().map(|row| &row.subject).filter(|name| rows.iter().all(|row| row.subject == **name));
        let subject = subject.filter(|_| *rows_omitted == 0).map(|name| short_name(name));
        let violations = count(rows.len(), "violation");
        let is_unsafe = rows.iter().all(|row| row.verdict == ShownVerdict::Unsafe);
        let fails = rows.iter().filter(|row| row.verdict == ShownVerdict::Fails).count();
        let others = count(rows.len() - fails, "violation");
        // A program that is safe although it is not robust: its answer, then what does not count.
        let is_safe = rows.len() > 1
            && rows[0].verdict == ShownVerdict::Safe
            && rows.iter().all(|row| row.model == rows[0].model);
        let heading = match &subject {
            Some(subject) if fails > 0 && fails < rows.len() => {
                format!("{} and {others} in {subject}", count(fails, "failure"))
            }
            Some(subject) if is_safe => format!("{subject} and {}", count(rows.len() - 1, "violation")),
            Some(subject) if is_unsafe => format!("{violations} in {subject}"),
            Some(subject) => format!("{} about {subject}", count(rows.len(), "answer")),
            None => count(all as usize, "answer"),
        };
        let failing = rows.iter().find(|row| row.verdict == ShownVerdict::Fails);
        let title = match (campaign, &rows[..], subject) {
            (None, [_, _, ..], Some(subject)) if failing.is_some() => {
                format!("{subject} fails under {}", failing.map_or("", |row| &row.model))
            }
            (None, [row, ..], Some(subject)) if is_safe => format!("{subject} is safe under {}", row.model),
            (Some(view), _, _) => view.headline.first().cloned().unwrap_or_default(),
            (None, [], _) => "membar".into(),
            (None, [row], _) => {
                let words = row.words.clone().unwrap_or_else(|| format!("{} under {}", row.verdict, row.model));
                format!("{}: {words}", short_name(&row.name))
            }
            (None, [row, ..], Some(subject)) if is_unsafe && rows.iter().all(|other| other.model == row.model) => {
                format!("{subject}: {violations} under {}", row.model)
            }
            (None, _, Some(subject)) => format!("{subject}: {}", verdicts(rows)),
            (None, _, None) => format!("{all} answers: {}", verdicts(rows)),
        };
        (self.page.heading, self.page.title) = (heading, title);
        shorten(&mut self.page.heading, LONG);
        shorten(&mut self.page.title, LONG);
        self.page
    }
}

/// How many answers there are of each kind, the worst first.
fn verdicts(rows: &[Row]) -> String {
    let words = |&verdict: &ShownVerdict| {
        let (found, answers) = (rows.iter().filter(|row| row.verdict == verdict).count(), answers(rows, verdict));
        let of = if verdict == ShownVerdict::Unsafe { "violation" } else { "error" };
        let more = if found > answers { format!(" ({})", count(found, of)) } else { String::new() };
        let word = if verdict == ShownVerdict::Fails { "failing" } else { verdict.name() };
        (answers > 0).then(|| format!("{answers} {word}{more}"))
    };
    ShownVerdict::ALL.iter().filter_map(words).collect::<Vec<_>>().join(", ")
}

/// The number of answers with this verdict: a program has one for each model, however many violations or errors it has.
fn answers(rows: &[Row], verdict: ShownVerdict) -> usize {
    let rows = rows.iter().filter(|row| row.verdict == verdict);
    if matches!(verdict, ShownVerdict::Unsafe | ShownVerdict::Error) {
        rows.map(|row| (&row.subject, &row.model)).collect::<std::collections::BTreeSet<_>>().len()
    } else {
        rows.count()
    }
}

/// Files without their directories.
fn short_name(names: &str) -> String {
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    names.split(' ').map(name).collect::<Vec<_>>().join(" ")
}

/// Cuts a text that is longer than any that makes sense.
fn shorten(text: &mut String, most: usize) {
    if let Some((at, _)) = text.char_indices().nth(most) {
        text.truncate(at);
        text.push('…');
    }
}

/// Writes the page.
pub fn write(page: &Page, out: &mut impl Write) -> io::Result<()> {
    let data = serde_json::to_vec(page)?;
    let title = escaped_text(&page.title);
    let said: String = page
        .cases
        .iter()
        .take(20)
        .map(|case| {
            let short = |text: &str| {
                let mut text = text.to_owned();
                shorten(&mut text, LONG / 2);
                escaped_text(&text)
            };
            let lines: Vec<String> = case.headline.iter().take(4).map(|line| short(line)).collect();
            format!("<p><b>{}</b>: {}</p>", short(&case.name), lines.join(" "))
        })
        .collect();
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-membar'; img-src data:; base-uri 'none'; \
         form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta \
         name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"membar\">\n<link rel=\"icon\" \
         href=\"data:,\">\n<title>{title}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n<noscript><main><h1>{title}</h1>{said}<p>The \
         drawings and the stepper need JavaScript, which is part of this file.</p></main></noscript>\n<div \
         id=\"page\"></div>\n<script type=\"application/json\" id=\"data\" nonce=\"membar\">"
    )?;
    out.write_all(&escaped(&data))?;
    write!(out, "</script>\n<script nonce=\"membar\">\n{JS}</script>\n</body>\n</html>\n")
}

/// JSON that stands in a script element and means nothing to the markup around it: `<`, `>`, `&` and the two line ends that
/// scripts know and JSON does not are written as escapes.
fn escaped(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() + json.len() / 16);
    let mut at = 0;
    while at < json.len() {
        match json[at] {
            b'<' => out.extend_from_slice(br"\u003c"),
            b'>' => out.extend_from_slice(br"\u003e"),
            b'&' => out.extend_from_slice(br"\u0026"),
            0xE2 if json[at..].starts_with("\u{2028}".as_bytes()) => {
                out.extend_from_slice(br"\u2028");
                at += 2;
            }
            0xE2 if json[at..].starts_with("\u{2029}".as_bytes()) => {
                out.extend_from_slice(br"\u2029");
                at += 2;
            }
            byte => out.push(byte),
        }
        at += 1;
    }
    out
}

/// Text as markup.
fn escaped_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in crate::style::safe(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
