//! A verified program in words.

use super::{AccessRef, ErrorRef, FenceRef, LinkRef, StatisticsRef, StepRef, VerifyReport, ViolationRef, remarks};
use crate::columns::{Row, columns};
use crate::kinds::{ErrorKind, NoteKind, StepKind};
use crate::style::{self, Style, count, list, safe, with_command};
use membar_core::{AccessKind, ProgramModel, ProgramVerdict, Relation};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Breaks long lines at blanks, but not within quoted source.
pub(super) fn wrapped(words: &str, width: usize, newline: &str) -> String {
    const KEPT: char = '\u{a0}';
    let mut quoted = false;
    let keep = |c: char| {
        quoted ^= c == '`';
        if c == ' ' && quoted { KEPT } else { c }
    };
    let kept: String = words.chars().map(keep).collect();
    // Very long source is better broken than put on a separate line.
    let long = kept.split(' ').any(|word| word.chars().count() > width);
    style::wrapped(if long { words } else { &kept }, width, newline).replace(KEPT, " ")
}

/// Steps of an execution that are shown.
const STEPS: usize = 60;
/// Calls of a stack that are shown.
const FRAMES: usize = 12;
/// Lines of a program's output that are shown.
const PRINTED: usize = 20;
/// Characters of a line of source that are shown in a column.
const SOURCE: usize = 44;

impl VerifyReport {
    /// Writes the report for a terminal, with this many violations in full; all of them: also with what it cost.
    pub fn text(&self, style: Style, shown: usize, out: &mut impl Write) -> io::Result<()> {
        self.heading(style, out)?;
        self.summary(style, shown, out)?;
        for error in &self.errors {
            self.error(error, style, out)?;
        }
        for (i, failure) in self.failures.iter().enumerate() {
            self.failure(failure, i, style, out)?;
        }
        self.all_violations(style, shown, out)
    }

    /// The verdict and what it is about.
    fn heading(&self, style: Style, out: &mut impl Write) -> io::Result<()> {
        let (program, model, word) = (safe(&self.program), self.model, self.word());
        let painted = match self.verdict {
            ProgramVerdict::Safe => style.good(word).to_string(),
            ProgramVerdict::Undecided => style.open(word).to_string(),
            _ => style.bad(word).to_string(),
        };
        let what = safe(&self.headline());
        match self.verdict {
            ProgramVerdict::Error | ProgramVerdict::Fails => {
                let under = if self.is_about_model() { format!(" under {model}") } else { String::new() };
                let room = style.prose().saturating_sub(7 + under.len());
                writeln!(out, "{painted}{under}  {}", wrapped(&format!("{program}: {what}"), room, "\n       "))
            }
            _ => {
                let line = style.head(&format!("{word} under {model}  {program}: {what}"));
                writeln!(out, "{}", line.replacen(word, &painted, 1))
            }
        }
    }

    /// Lines with a label each: why, what to do, what was seen.
    fn summary(&self, style: Style, shown: usize, out: &mut impl Write) -> io::Result<()> {
        let line = |label: &str, text: &str, out: &mut dyn Write| {
            writeln!(out, "  {label} {}", wrapped(text, style.prose() - 8, "\n        "))
        };
        let cause = self.failures.first().and_then(|failure| Some((failure, self.violations.get(failure.violation?)?)));
        let first = cause.map(|(_, violation)| violation).or(self.violations.first());
        let told = |violation: &&ViolationRef| self.verdict != ProgramVerdict::Safe || violation.allowed.is_empty();
        match (cause, first.filter(told)) {
            (Some((failure, violation)), Some(_)) => line("Why: ", &failure.because(violation), out)?,
            (None, Some(violation)) => line("What:", &violation.sentence(), out)?,
            _ => {}
        }
        let orders = match first {
            Some(first) if self.needs.is_empty() => orders(&first.fences),
            _ => self.needs.clone(),
        };
        match &self.plan {
            Some(plan) => line("Fix: ", &format!("{} ({})", fences(plan), self.checked(plan)), out)?,
            None if !orders.is_empty() && self.verdict != ProgramVerdict::Safe => {
                let why = self.unfixed.as_ref().map_or(String::new(), |why| format!(" ({why})"));
                line("Need:", &format!("{}{why}", safe(&list(&orders, "and"))), out)?;
            }
            None => {}
        }
        if let Some(asks) = self.asks() {
            line("Asks:", &safe(&asks), out)?;
        }
        line("Seen:", &self.explored(), out)?;
        let allowed = self.violations.len() - self.counted();
        if allowed > 0 {
            let is = if allowed == 1 { "is" } else { "are" };
            let what = format!("{} {is} allowed: {}", count(allowed, "violation"), self.allowed_words());
            line("Note:", &safe(&what), out)?;
        }
        for note in &self.notes {
            match (note.kind, &note.file, note.line) {
                (NoteKind::Untried, ..) => line("Note:", &note.message, out)?,
                (NoteKind::Allow, Some(file), Some(at)) if !note.message.contains("--allow") => {
                    line("Note:", &safe(&format!("{}:{at}: {}", base(file), note.message)), out)?;
                }
                (NoteKind::Allow, ..) => line("Note:", &safe(&note.message), out)?,
                _ => {}
            }
        }
        if let Some(why) = &self.incomplete {
            line("Left:", why, out)?;
        }
        if !self.size.is_empty() {
            line("Size:", &self.size.join("; "), out)?;
        }
        if let Some(advice) = self.advice.clone().or_else(|| self.next()) {
            line("Next:", &advice, out)?;
        }
        if let Some(cost) = self.statistics.as_ref().filter(|_| shown == usize::MAX) {
            line("Cost:", &cost.words(), out)?;
        }
        Ok(())
    }

    /// An error of the program.
    fn error(&self, error: &ErrorRef, style: Style, out: &mut impl Write) -> io::Result<()> {
        let n = count(error.executions as usize, "execution");
        let what = wrapped(&format!("{} ({n})", safe(error.headline())), style.prose() - 8, "\n    ");
        writeln!(out, "\n{}: {what}", style.bad(error.kind))?;
        for line in error.message.lines().skip(1) {
            // Indented lines stay indented.
            let fits = line.chars().count() <= style.prose() - 6;
            let line = if fits { safe(line) } else { wrapped(&safe(line), style.prose() - 6, "\n      ") };
            writeln!(out, "    {line}")?;
        }
        // Of a race, the access that came first.
        for (n, stack) in [&error.other, &error.stack].into_iter().enumerate() {
            if n == 1 && !error.other.is_empty() && !stack.is_empty() {
                writeln!(out, "  and")?;
            }
            stack.iter().take(FRAMES).try_for_each(|frame| writeln!(out, "    {}", frame.text()))?;
            if stack.len() > FRAMES {
                writeln!(out, "    … {} more", stack.len() - FRAMES)?;
            }
        }
        if let Some(output) = &error.output {
            printed(output, PRINTED, out)?;
        }
        let command = self.command.line(&error.schedule, "");
        writeln!(out, "{}", with_command("  See it:", &command, style.prose()))
    }

    /// Violations: some in full, the others in a line each.
    fn all_violations(&self, style: Style, shown: usize, out: &mut impl Write) -> io::Result<()> {
        // Those that harm nobody, are allowed, or have been told with what they lead to, are named; -v shows them too.
        let harmless = (self.is_harmless() || !self.failures.is_empty()) && shown < usize::MAX;
        let full = |violation: &ViolationRef| !harmless && (violation.allowed.is_empty() || shown == usize::MAX);
        let full = self.violations.iter().take_while(|violation| full(violation)).count().min(shown);
        for (i, violation) in self.violations.iter().take(full).enumerate() {
            let of = self.violations.len();
            let allowed = if violation.allowed.is_empty() { "" } else { " (allowed)" };
            let head = format!("violation {} of {of}{allowed}{}", i + 1, violation.called());
            writeln!(out, "\n{}", style.heading(wrapped(&head, style.prose(), "\n  ")))?;
            self.violation(violation, style, out)?;
        }
        if self.violations.len() > full {
            let these = match (full, self.counted()) {
                (0, 0) => "allowed, shown in full with -v:",
                (0, _) => "not SC, shown in full with -v:",
                _ => "and these, shown in full with -v:",
            };
            writeln!(out, "\n{these}")?;
            for violation in &self.violations[full..] {
                let allowed = if violation.allowed.is_empty() { "" } else { " (allowed)" };
                let words = format!("{}{allowed}", violation.sentence());
                writeln!(out, "  {}", wrapped(&words, style.prose() - 4, "\n    "))?;
            }
        }
        Ok(())
    }

    /// What was found with the plan. Errors that it is not for are still there.
    fn checked(&self, plan: &[FenceRef]) -> String {
        let it = if plan.len() == 1 { "it" } else { "these" };
        let is_c11 = self.model == ProgramModel::C11;
        match self.errors.iter().all(|error| is_c11 && error.kind == ErrorKind::Race) {
            true => format!("checked: safe with {it}"),
            false if is_c11 => format!("checked: no violation and no race with {it}"),
            false => format!("checked: no violation with {it}"),
        }
    }

    /// Finds out which lines have accesses in more than one column.
    pub fn look_at_columns(&mut self) {
        let accesses = self.violations.iter_mut().flat_map(|ViolationRef { store, access, cycle, .. }| {
            [store, access].into_iter().chain(cycle.iter_mut().map(|link| &mut link.access))
        });
        tell_columns(accesses.collect());
    }

    /// Where a violation was seen.
    pub(crate) fn seen_in(&self, violation: &ViolationRef) -> String {
        match violation.executions {
            0 => "executions in which a thread waits".to_owned(),
            n => format!("{n} of {}", count(self.interleavings as usize, self.unit.name())),
        }
    }

    fn violation(&self, violation: &ViolationRef, style: Style, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "  {}", wrapped(&violation.sentence(), style.prose() - 4, "\n    "))?;
        let below = |text: &str| wrapped(text, style.prose() - 2, "\n  ");
        let execution = format!("An execution under {} that is not sequentially consistent:", self.model);
        writeln!(out, "  {}\n", below(&execution))?;
        run(&violation.run, violation.is_c11(), style, out)?;
        writeln!(out, "\n  {}", below("Each of these comes before the next, and the last before the first:"))?;
        for (i, link) in violation.cycle.iter().enumerate() {
            let next = &violation.cycle[(i + 1) % violation.cycle.len()];
            let words = link.words(&next.access, self.model.name());
            let words = wrapped(&format!("{} {words}", link.access.place()), style.prose() - 8, "\n        ");
            writeln!(out, "    {}  {words}", style.dim(link.relation))?;
        }
        let orders = safe(&list(&orders(&violation.fences), "and"));
        let orders = orders.replace(" must reach ", " reaches ").replace(" must be ", " is ");
        if !orders.is_empty() {
            writeln!(out, "  {}", wrapped(&format!("It cannot happen if {orders}"), style.prose() - 4, "\n    "))?;
        }
        for remark in remarks(violation.cycle.iter().map(|link| &link.access)).iter().filter(|_| violation.is_c11()) {
            writeln!(out, "  {}", wrapped(&format!("Note: {}", safe(remark)), style.prose() - 4, "\n    "))?;
        }
        let said = format!("  In {}. See the SC execution:", self.seen_in(violation));
        let command = self.command.line(&violation.schedule, &format!(" --model {}", self.model));
        writeln!(out, "{}", with_command(&said, &command, style.prose()))
    }
}

/// Writes the last lines of a program's output.
pub(super) fn printed(output: &str, most: usize, out: &mut impl Write) -> io::Result<()> {
    let lines: Vec<&str> = output.lines().collect();
    let hidden = lines.len().saturating_sub(most);
    match hidden {
        0 => writeln!(out, "  The program printed:")?,
        n => writeln!(out, "  The program printed ({} before this):", count(n, "line"))?,
    }
    lines[hidden..].iter().try_for_each(|line| writeln!(out, "    | {}", safe(line)))
}

/// Notes of each access whether another of these is in its line, in another column.
pub fn tell_columns(accesses: Vec<&mut AccessRef>) {
    let mut columns: BTreeMap<(String, u32), BTreeSet<u32>> = BTreeMap::new();
    for access in &accesses {
        columns.entry((access.file.clone(), access.line)).or_default().insert(access.column);
    }
    for access in accesses {
        access.crowded = columns.get(&(access.file.clone(), access.line)).is_some_and(|columns| columns.len() > 1);
    }
}

/// The name of a file without its directories.
pub(super) fn base(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

impl AccessRef {
    /// Whether both are made at one place in the source.
    pub fn is_at(&self, other: &AccessRef) -> bool {
        (&self.file, self.line, self.column) == (&other.file, other.line, other.column)
    }

    /// `P0 line 7`, or `dekker.c:7 (lock, T1)` where there are functions.
    pub(crate) fn place(&self) -> String {
        let thread = safe(&self.thread_name);
        match &self.function {
            None => format!("{thread} line {}", self.line),
            Some(_) if self.line == 0 => thread,
            Some(function) if function.is_empty() || *function == self.thread_name => {
                format!("{} ({thread})", self.position())
            }
            Some(function) => format!("{} ({}, {thread})", self.position(), safe(function)),
        }
    }

    /// `dekker.c:7`, with the column if that is needed.
    pub fn position(&self) -> String {
        let column = if self.crowded && self.column > 0 { format!(":{}", self.column) } else { String::new() };
        format!("{}:{}{column}", safe(base(&self.file)), self.line)
    }

    /// `P0 line 7 `MOV [x],$1``
    pub(crate) fn short(&self) -> String {
        let text = if self.function.is_some() { self.source() } else { safe(&self.text) };
        if text.is_empty() { self.place() } else { format!("{} `{text}`", self.place()) }
    }

    /// Its effect.
    pub(crate) fn effect(&self, writes: bool) -> String {
        let address = &self.address;
        safe(&match (&self.read, &self.write) {
            (Some(read), Some(write)) => format!("{address} = {read}, then {write}"),
            (Some(read), None) => format!("{address} = {read}"),
            (None, Some(write)) if writes => format!("{address} := {write}"),
            _ => String::new(),
        })
    }

    /// The source, as far as there is room for it. Memory orders go without their prefix rather than be cut off.
    pub(super) fn source(&self) -> String {
        if self.text.chars().count() <= SOURCE {
            return safe(&self.text);
        }
        let text = self.text.replace("std::memory_order", "memory_order");
        let text = text.replace("memory_order_", "").replace("memory_order::", "");
        match text.char_indices().nth(SOURCE) {
            Some((at, _)) => format!("{}…", safe(&text[..at])),
            None => safe(&text),
        }
    }
}

impl FenceRef {
    /// `in P0`, or `in `lock` (dekker.c)`
    pub(crate) fn part(&self) -> String {
        match &self.function {
            Some(function) if !function.is_empty() => format!("in `{}` ({})", safe(function), safe(base(&self.file))),
            Some(_) => format!("in {}", safe(base(&self.file))),
            None => format!("in {}", safe(&self.thread_name)),
        }
    }

    pub(crate) fn place(&self) -> String {
        if self.replaces.is_some() {
            return match self.edits.first() {
                Some(edit) if self.crowded => format!("at column {} of line {}", edit.column, edit.line),
                _ => format!("in line {}", self.edits.last().map_or(self.after_line, |edit| edit.line)),
            };
        }
        if let Some(edit) = self.edits.last() {
            return match edit.text.ends_with('\n') {
                true => format!("between lines {} and {}", edit.line.saturating_sub(1), edit.line),
                false => format!("at column {} of line {}", edit.column, edit.line),
            };
        }
        let Self { after_line, before_line, after_column, before_column, .. } = self;
        match before_line.cmp(after_line) {
            Ordering::Greater if *after_line == 0 => format!("before line {before_line}"),
            // Other code between the two may matter: the place where it was tried is right.
            Ordering::Greater if *before_line > after_line + 1 && self.tried_before => {
                format!("right before line {before_line}")
            }
            Ordering::Greater if *before_line > after_line + 1 => format!("right after line {after_line}"),
            Ordering::Greater => format!("between lines {after_line} and {before_line}"),
            Ordering::Equal if before_column > after_column => {
                format!("between columns {after_column} and {before_column} of line {after_line}")
            }
            _ => format!("after line {after_line}"),
        }
    }
}

/// The orders that fences enforce, each once.
pub(crate) fn orders(fences: &[FenceRef]) -> Vec<String> {
    let mut orders: Vec<String> = Vec::new();
    for fence in fences {
        if !orders.contains(&fence.order) {
            orders.push(fence.order.clone());
        }
    }
    orders
}

/// Fences of one kind together, and of those the ones in one part of the program.
pub(super) fn fences(all: &[FenceRef]) -> String {
    /// A part of the program, and places in it.
    type Part = (String, Vec<String>);
    let mut kinds: Vec<(String, Vec<Part>)> = Vec::new();
    for fence in all {
        let kind = match &fence.replaces {
            None => format!("`{}`", fence.fence),
            Some(from) => match &fence.edits[..] {
                [_, failure] => format!("`{}` (`{}` if it fails) instead of `{from}`", fence.fence, failure.text),
                _ => format!("`{}` instead of `{from}`", fence.fence),
            },
        };
        let at = kinds.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            kinds.push((kind, Vec::new()));
            kinds.len() - 1
        });
        let (parts, part, place) = (&mut kinds[at].1, fence.part(), fence.place());
        match parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, places)) if places.contains(&place) => {}
            Some((_, places)) => places.push(place),
            None => parts.push((part, vec![place])),
        }
    }
    let part = |(part, places): &Part| format!("{part} {}", list(places, "and"));
    let kind = |(kind, parts): &(String, Vec<_>)| {
        let parts: Vec<String> = parts.iter().map(part).collect();
        format!("{kind} {}", list(&parts, "and"))
    };
    let mut words = kinds.iter().map(kind).collect::<Vec<_>>().join("; ");
    let mut includes: Vec<&str> = Vec::new();
    for fence in all {
        let include = fence.edits.first().map_or("", |edit| edit.text.trim());
        if include.starts_with("#include") && !includes.contains(&include) {
            includes.push(include);
        }
    }
    for include in includes {
        words += &format!(", with `{}`", safe(include));
    }
    words
}

impl StatisticsRef {
    fn words(&self) -> String {
        let Self { resets, accesses, replayed, reset_bytes, .. } = self;
        let nanoseconds = 1e9 * self.seconds_per_access;
        let megabytes = self.resident_bytes as f64 / 1e6;
        let again = match self.restarts {
            0 => String::new(),
            n => format!("; begun again {} because something new showed", count(n as usize, "time")),
        };
        format!(
            "{resets} resets of {reset_bytes} bytes, {accesses} accesses and {replayed} again, {nanoseconds:.0} ns each, \
             {megabytes:.0} MB resident{again}"
        )
    }
}

impl ViolationRef {
    /// `: SB, store buffering: …`
    fn called(&self) -> String {
        let title = self.shape.as_ref().and_then(crate::data::Shape::title);
        title.map_or_else(String::new, |title| format!(": {title}"))
    }

    /// Whether the model has no store buffers.
    pub(crate) fn is_c11(&self) -> bool {
        self.cycle.iter().any(|link| link.relation == Relation::Po && link.kept.is_none())
    }

    pub(crate) fn sentence(&self) -> String {
        let (store, access) = (&self.store, &self.access);
        if self.is_c11() {
            return self.stale();
        }
        let done = match access.kind {
            AccessKind::Load => "reads",
            AccessKind::Store => "writes",
            _ => "accesses",
        };
        let address = safe(&access.address);
        let buffered = "is still in a store buffer";
        // An interlocked operation is never in a buffer: something before the access is.
        let relaxed = |link: &&LinkRef| link.kept == Some(false);
        match self.cycle.iter().rev().find(relaxed) {
            Some(late) if store.kind == AccessKind::Rmw => format!(
                "{} {done} `{address}` before {} changes it, and while {} {buffered}",
                access.short(),
                store.place(),
                late.access.short()
            ),
            _ => format!("{} {done} `{address}` while {} {buffered}", access.short(), store.short()),
        }
    }
}

impl ViolationRef {
    /// Under c11: what may be read that is out of date, and what does not keep it from being read.
    fn stale(&self) -> String {
        let (store, access) = (&self.store, &self.access);
        let address = safe(&access.address);
        let Some(old) = access.read.as_ref().map(|old| safe(old)).filter(|_| access.kind != AccessKind::Store) else {
            return format!(
                "{} may come before {} in the order of the writes to `{address}`, although it is made after it",
                access.short(),
                store.short()
            );
        };
        // Each link's access comes before the next one's; the last one's before the first.
        let links = self.cycle.len();
        let before = &self.cycle[links - 1];
        let passes = links > 2 && self.cycle[links - 2].relation == Relation::Rf && before.relation == Relation::Po;
        let seen = before.access.read.as_ref().filter(|_| passes && !before.access.control);
        match seen {
            Some(seen) => {
                let line = |access: &AccessRef| match access.function {
                    None => format!("line {}", access.line),
                    Some(_) => access.position(),
                };
                let (first, second) = (line(&before.access), line(access));
                let kept = match first == second {
                    true => "nothing keeps the second of these accesses after the first".to_owned(),
                    false => format!("nothing keeps {second} after {first}"),
                };
                let seer = before.access.short();
                format!("{seer} may see {} while `{address}` is still {old} in {second}: {kept}", safe(seen))
            }
            None => format!(
                "{} may still read `{address}` = {old}, from before {}, in an execution that no interleaving explains",
                access.short(),
                store.short()
            ),
        }
    }
}

impl LinkRef {
    pub(crate) fn words(&self, next: &AccessRef, model: &str) -> String {
        let address = safe(&self.access.address);
        let (same_file, same_line) = (next.file == self.access.file, next.line == self.access.line);
        let same_function = next.function == self.access.function;
        let line = match () {
            () if same_file && same_line && next.column == self.access.column => {
                format!("its {} of {}", next.kind, safe(&next.address))
            }
            () if same_file && same_line => format!("column {} of that line", next.column),
            () if same_file && same_function => format!("line {}", next.line),
            () => next.place(),
        };
        match (self.relation, self.kept) {
            (Relation::Po, Some(true)) => format!("is before {line} in its thread, and {model} keeps that order"),
            (Relation::Po, Some(false)) => {
                format!("is before {line} in its thread, but {model} does not keep that order")
            }
            (Relation::Po, None) => format!("is before {line} in its thread"),
            (Relation::Rf, _) => {
                let ordered = match self.ordered {
                    None => "",
                    Some(true) => ", and happens before it",
                    Some(false) => ", but does not happen before it",
                };
                format!("writes the {address} that {} reads{ordered}", next.place())
            }
            (Relation::Co, _) => format!("writes {address}, which {} overwrites", next.place()),
            _ => format!("reads the {address} that {} overwrites", next.place()),
        }
    }
}

/// The execution under the model.
fn run(steps: &[StepRef], is_c11: bool, style: Style, out: &mut impl Write) -> io::Result<()> {
    let mut rows = Vec::new();
    let mut at = 0;
    let files = steps.iter().filter(|step| !step.access.control).map(|step| &step.access.file);
    let several = files.collect::<BTreeSet<_>>().len() > 1;
    while at < steps.len() {
        let step = &steps[at];
        let access = &step.access;
        // A store that reaches memory immediately is one row.
        let at_once = steps.get(at + 1).is_some_and(|next| next.step == StepKind::Commit && next.access == *access);
        let number = match several {
            true => format!("{}:{}", safe(base(&access.file)), access.line),
            false => format!("{:>3}", access.line),
        };
        let mark = match (step.step, step.delayed, step.overtakes) {
            (StepKind::Issue, true, _) if is_c11 => "not seen in time",
            (StepKind::Issue, _, true) if is_c11 && access.kind == AccessKind::Load => "reads what was there before",
            (StepKind::Issue, _, true) if is_c11 => "comes before it all the same",
            _ if is_c11 => "",
            (StepKind::Commit, true, _) => "<- reaches memory now",
            (StepKind::Commit, ..) => "<- reaches memory",
            (StepKind::Issue, true, _) if access.kind == AccessKind::Rmw => "too late",
            (StepKind::Issue, true, _) => "-> delayed in the store buffer",
            (StepKind::Issue, _, true) => "overtakes it",
            _ if access.kind == AccessKind::Store && !at_once => "-> store buffer",
            _ => "",
        };
        let marked = step.delayed || step.overtakes;
        at += if at_once && step.step == StepKind::Issue { 2 } else { 1 };
        if access.control && !marked {
            continue;
        }
        rows.push(Row {
            thread: access.thread,
            name: safe(&access.thread_name),
            number,
            text: access.source(),
            effect: access.effect(access.function.is_some()),
            mark: mark.into(),
            marked,
        });
    }
    columns(&rows, STEPS, style, out)
}
