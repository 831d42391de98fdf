//! Verified programs as SARIF 2.1.0, which code-review tools read.
//!
//! One run. A violation or an error of a program is a result; what was not decided, what was not seen and what was wrong with
//! the input are notifications of the invocation. A violation has the execution step by step as a code flow, one thread
//! flow a thread, in one order of execution; and the fences as a fix where `repair` knows the place.
//!
//! A result's fingerprint is made of its rule, file, functions and source, and of no line or column: it stays the same when
//! code moves. Paths are relative to the root of the repository (`%SRCROOT%`), those outside of it absolute.

use super::repair;
use super::{
    AccessRef, AllowRef, EditRef, ErrorRef, FailureRef, FenceRef, FrameRef, Harm, StepRef, VerifyReport, ViolationRef,
};
use crate::kinds::{AllowedBy, NoteKind, StepKind};
use crate::style::count;
use membar_core::{AccessKind, ProgramVerdict};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// The contents of a document.
pub struct SarifRun<'a> {
    /// The programs.
    pub reports: &'a [VerifyReport],
    /// The faults of the input: objects with `file`, `line`, `column`, `message` and `help`.
    pub errors: &'a [Value],
    /// The exit code.
    pub exit_code: u8,
    /// Were programs left out because of an interrupt?
    pub interrupted: bool,
    /// The command.
    pub command: String,
    /// The version of the tool.
    pub version: &'a str,
    /// The directory that names of files start from.
    pub directory: &'a Path,
    /// The directory that paths in the document start from.
    pub root: &'a Path,
    /// The text of a file.
    pub source: &'a dyn Fn(&str) -> Option<String>,
}

/// Kinds of findings: id, name, what it is, and what to do.
const RULES: [(&str, &str, &str, &str); 9] = [
    (
        "tso-violation",
        "NotSequentiallyConsistentUnderTso",
        "The program can leave sequential consistency on TSO machines (x86, SPARC)",
        "Under TSO a store waits in its core's buffer while later loads of its thread go on. There is an execution in which \
         another thread sees that, and which no interleaving of the threads explains. Put a full fence between the store and \
         the load, or make the store `memory_order_seq_cst`. `membar verify --html FILE` writes a page that steps through the \
         execution.",
    ),
    (
        "pso-violation",
        "NotSequentiallyConsistentUnderPso",
        "The program can leave sequential consistency on PSO machines",
        "Under PSO each address has a store buffer of its own, so stores of a thread also overtake each other. There is an \
         execution in which another thread sees that, and which no interleaving of the threads explains. Put a release fence \
         between two stores, a full fence between a store and a load, or use stronger memory orders.",
    ),
    (
        "c11-violation",
        "NotSequentiallyConsistentUnderC11",
        "The program can leave sequential consistency on Arm, RISC-V and Power machines, or by the compiler",
        "The memory orders of C11 and C++20 allow an execution that no interleaving of the threads explains. Use stronger orders: a \
         release store and an acquire load make what came before the store visible after the load; `memory_order_seq_cst` keeps \
         all of its accesses in one order. `membar verify --model c11 --html FILE` writes a page about the execution.",
    ),
    (
        "weak-failure",
        "FailsUnderTheModel",
        "A program error in an execution that the memory model allows and sequential consistency does not",
        "On a machine of the model the program fails: an assertion does not hold, a thread crashes or waits for ever. No \
         interleaving of the threads does that; the result names the violation of sequential consistency that it rests on. \
         `membar replay` runs the execution again, step by step, with what is delayed.",
    ),
    (
        "race",
        "DataRace",
        "Two threads use a variable at once, and at least one of the accesses is not atomic",
        "Such a program has no meaning in C and C++. Make the accesses atomic, or order them: by a mutex, or by a release store \
         after the first one that an acquire load before the second one reads.",
    ),
    (
        "deadlock",
        "Deadlock",
        "Threads wait for each other, or for something that does not happen",
        "In the given schedule no thread can continue. `membar replay` runs it step by step.",
    ),
    (
        "livelock",
        "Livelock",
        "Threads go round without end",
        "In the schedule that is given the threads come back to where they were, again and again. `membar replay` runs it \
         again, step by step.",
    ),
    (
        "fault",
        "Fault",
        "A failed assertion, a crash, or a use of memory that is not there",
        "The schedule that is given leads there in a sequentially consistent execution. `membar replay` runs it again, step by \
         step.",
    ),
    (
        "condition",
        "ConditionRefuted",
        "The condition of a litmus test (`~exists` or `forall`) does not hold",
        "The schedule that is given leads to a final state that refutes it, in a sequentially consistent execution. `membar \
         replay` runs it again, step by step.",
    ),
];

impl SarifRun<'_> {
    /// Writes the document.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &self.document())?;
        out.write_all(b"\n")
    }

    fn document(&self) -> Value {
        let mut results = Vec::new();
        for report in self.reports {
            let failures = report.failures.iter().map(|failure| self.failure(report, failure));
            let errors = report.errors.iter().map(|error| self.error(report, error));
            let violations = report.violations.iter().map(|violation| self.violation(report, violation));
            results.extend(failures.chain(errors).chain(violations));
        }
        number_twins(&mut results);
        let models: Vec<&str> = self.reports.iter().map(|report| report.model.name()).collect();
        let model = models.first().copied().unwrap_or("tso");
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "membar",
                    "version": self.version,
                    "semanticVersion": self.version,
                    "rules": RULES.iter().map(rule).collect::<Vec<_>>(),
                }},
                "automationDetails": { "id": format!("membar-verify/{model}/") },
                "invocations": [self.invocation()],
                "originalUriBaseIds": { "%SRCROOT%": { "uri": directory_uri(self.root) } },
                "columnKind": "unicodeCodePoints",
                "results": results,
                "properties": { "programs": self.reports.iter().map(program).collect::<Vec<_>>() },
            }],
        })
    }

    fn invocation(&self) -> Value {
        let mut notes = Vec::new();
        let mut say = |level: &str, text: String, place: Option<Value>| {
            let mut note = json!({ "level": level, "message": { "text": text } });
            if let Some(place) = place {
                note["locations"] = json!([place]);
            }
            notes.push(note);
        };
        for error in self.errors {
            let text = |key: &str| error[key].as_str().unwrap_or_default();
            let help = if text("help").is_empty() { String::new() } else { format!(" ({})", text("help")) };
            let line = error["line"].as_u64().and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
            let place = (!text("file").is_empty()).then(|| self.location(text("file"), line, 0, None));
            say("error", format!("{}{help}", text("message")), place);
        }
        for report in self.reports {
            let place = || Some(self.location(&report.main, 0, 0, None));
            if let Some(why) = &report.incomplete {
                let known = match report.verdict {
                    ProgramVerdict::Undecided if report.counted() > 0 => {
                        "undecided: whether violations do harm is not known"
                    }
                    ProgramVerdict::Undecided => "undecided: no violation was found, but not everything was explored",
                    ProgramVerdict::Safe => "no violation was found in what was explored",
                    _ => "there may be more: not everything was explored",
                };
                say("warning", format!("{}: {known}: {why}", report.program), place());
            }
            for note in &report.notes {
                let place = note.file.as_deref().map(|file| self.location(file, note.line.unwrap_or(0), 0, None));
                let level = if note.kind == NoteKind::Assembly { "warning" } else { "note" };
                say(level, note.message.clone(), place);
            }
        }
        if self.interrupted {
            say("warning", "interrupted: programs that came after were left out".into(), None);
        }
        let description = match self.exit_code {
            0 => "all programs are safe",
            1 => "a program is unsafe, fails, or has an error",
            3 => "undecided within the limits",
            _ => "something is wrong with the input",
        };
        json!({
            "executionSuccessful": self.errors.is_empty(),
            "exitCode": self.exit_code,
            "exitCodeDescription": description,
            "commandLine": self.command,
            "workingDirectory": { "uri": directory_uri(self.directory) },
            "toolExecutionNotifications": notes,
        })
    }

    fn violation(&self, report: &VerifyReport, violation: &ViolationRef) -> Value {
        let id = format!("{}-violation", report.model);
        let fences = report.plan.as_deref().unwrap_or_default();
        let checked = "checked: the program is safe with all of this";
        let harmless = violation.harm == Harm::None && report.verdict == ProgramVerdict::Safe;
        let advice = match &report.plan {
            Some(plan) => format!("Fix: {} ({checked}).", super::text::fences(plan)),
            None if harmless => "Nothing fails in any execution of the model.".into(),
            None => format!("Needed: {}.", super::text::orders(&violation.fences).join("; ")),
        };
        let (store, access) = (&violation.store, &violation.access);
        let told = if violation.is_c11() { "the store that is not seen" } else { "the store that is delayed" };
        let mut related = vec![self.access(store, 1, told)];
        let places = fences.iter().filter(|fence| fence.after_line.max(fence.before_line) > 0);
        for (id, fence) in (2..).zip(places) {
            let place = if fence.after_line > 0 { fence.after_line } else { fence.before_line };
            let line = fence.edits.last().map_or(place, |edit| edit.line);
            let words = format!("`{}` {}", fence.fence, fence.place());
            let mut place = self.location(&fence.file, line, 0, fence.function.as_deref());
            place["id"] = id.into();
            place["message"] = json!({ "text": words });
            related.push(place);
        }
        let key = [access, store].map(|access| {
            let function = access.function.as_deref().unwrap_or(&access.thread_name);
            [&self.named(&access.file), function, &access.text, access.kind.name(), &access.address].join("\0")
        });
        let mut result = self.result(&id, format!("{}. {advice}", violation.sentence()), &key.join("\0"));
        result["locations"] = json!([self.access(access, 0, "the access that overtakes it")]);
        result["relatedLocations"] = related.into();
        result["codeFlows"] = json!([self.flow(report, violation)]);
        if fences.iter().any(|fence| !fence.edits.is_empty()) {
            result["fixes"] = json!([self.fix(fences, checked)]);
        }
        if harmless {
            // Other kinds than `fail` have no level.
            (result["kind"], result["level"]) = ("informational".into(), "none".into());
        } else if report.verdict == ProgramVerdict::Undecided {
            result["level"] = "warning".into();
        }
        let suppressions: Vec<Value> = violation.allowed.iter().map(|allowed| self.suppression(allowed)).collect();
        if !suppressions.is_empty() {
            result["suppressions"] = suppressions.into();
        }
        let mut properties = self.properties(report, &violation.schedule, violation.executions);
        properties.insert("certified".into(), violation.certified.into());
        properties.insert(
            "harm".into(),
            match &violation.harm {
                Harm::Failures(list) => {
                    list.iter().filter_map(|&i| report.failures.get(i)).map(|f| f.error.headline()).collect()
                }
                Harm::None => "none".into(),
                Harm::Unknown => "unknown".into(),
            },
        );
        if let Some(shape) = violation.shape.as_ref().filter(|shape| !shape.name.is_empty()) {
            properties.insert("shape".into(), shape.name.as_str().into());
        }
        result["properties"] = properties.into();
        result
    }

    fn suppression(&self, allowed: &AllowRef) -> Value {
        let kind = if allowed.by == AllowedBy::Comment { "inSource" } else { "external" };
        let location = self.location(&allowed.file, allowed.line, 0, None);
        json!({ "kind": kind, "status": "accepted", "justification": allowed.words(), "location": location })
    }

    /// A program error under the model: as any other, with its execution and the violation that it rests on.
    fn failure(&self, report: &VerifyReport, failure: &FailureRef) -> Value {
        let mut result = self.found("weak-failure", report, &failure.error);
        let cause = failure.violation.and_then(|at| report.violations.get(at));
        let mut text = format!("Under {}: {}", failure.model, failure.error.message);
        if let Some(cause) = cause {
            text += &format!("\nIt rests on a violation of sequential consistency: {}.", failure.because(cause));
            let (store, access) = (&cause.store, &cause.access);
            result["relatedLocations"] = json!([
                self.access(store, 1, "the store that is not seen"),
                self.access(access, 2, "the access that misses it")
            ]);
        }
        if let Some(plan) = &report.plan {
            text += &format!("\nFix: {}.", super::text::fences(plan));
            if plan.iter().any(|fence| !fence.edits.is_empty()) {
                result["fixes"] = json!([self.fix(plan, "checked: the program is safe with all of this")]);
            }
        }
        result["message"]["text"] = text.into();
        let mut threads: BTreeMap<u32, (String, Vec<Value>)> = BTreeMap::new();
        for (i, step) in failure.steps.iter().enumerate() {
            let (access, mark) = (&step.access, failure.mark(i));
            if (access.control || access.line == 0) && mark.is_empty() {
                continue;
            }
            let importance = if mark.is_empty() { "important" } else { "essential" };
            let what = [access.effect(true), mark].join(" ");
            let flow = threads.entry(access.thread).or_insert_with(|| (access.thread_name.clone(), Vec::new()));
            let location = self.access(access, 0, what.trim());
            flow.1.push(json!({ "location": location, "executionOrder": i + 1, "importance": importance }));
        }
        result["codeFlows"] = json!([flows(format!("An execution under {} that fails", failure.model), threads)]);
        result["properties"]["certified"] = failure.certified.into();
        result
    }

    fn error(&self, report: &VerifyReport, error: &ErrorRef) -> Value {
        self.found(error.kind.name(), report, error)
    }

    fn found(&self, rule: &str, report: &VerifyReport, error: &ErrorRef) -> Value {
        let place = error.stack.iter().find(|frame| frame.line > 0);
        // Where it happened comes last, in parentheses, with a line.
        let headline = error.headline();
        let words =
            headline.strip_suffix(')').and_then(|text| text.rsplit_once(" (")).map_or(headline, |(text, _)| text);
        let key = match place {
            Some(frame) => [&self.named(&frame.file), frame.function.as_str(), words].join("\0"),
            None => [&self.named(&report.main), words].join("\0"),
        };
        let mut result = self.result(rule, error.message.clone(), &key);
        result["locations"] = json!([match place {
            Some(frame) => self.frame(frame),
            None => self.location(&report.main, 0, 0, None),
        }]);
        let stacks: Vec<Value> = [&error.stack, &error.other]
            .into_iter()
            .filter(|stack| !stack.is_empty())
            .map(|stack| {
                let frames: Vec<Value> = stack.iter().map(|frame| json!({ "location": self.frame(frame) })).collect();
                json!({ "frames": frames })
            })
            .collect();
        if !stacks.is_empty() {
            result["stacks"] = stacks.into();
        }
        if let Some(other) = error.other.first() {
            let mut place = self.frame(other);
            place["id"] = 1.into();
            place["message"] = json!({ "text": "the access that it races with" });
            result["relatedLocations"] = json!([place]);
        }
        result["properties"] = self.properties(report, &error.schedule, error.executions).into();
        result
    }

    fn result(&self, rule: &str, message: String, key: &str) -> Value {
        json!({
            "ruleId": rule,
            "ruleIndex": RULES.iter().position(|(id, ..)| *id == rule),
            "kind": "fail",
            "level": "error",
            "message": { "text": message },
            "partialFingerprints": { "membar/v1": format!("{:016x}", hash(&format!("{rule}\0{key}"))) },
        })
    }

    fn properties(&self, report: &VerifyReport, schedule: &str, executions: u64) -> Map<String, Value> {
        let replay = report.command.line(schedule, &format!(" --model {}", report.model));
        let properties =
            json!({ "model": report.model.name(), "schedule": schedule, "replay": replay, "executions": executions });
        if let Value::Object(properties) = properties { properties } else { Map::new() }
    }

    /// The execution, one flow per thread.
    fn flow(&self, report: &VerifyReport, violation: &ViolationRef) -> Value {
        let mut threads: BTreeMap<u32, (String, Vec<Value>)> = BTreeMap::new();
        let is_c11 = violation.is_c11();
        // Without buffers a store is one step.
        let steps = violation.run.iter().filter(|step| !is_c11 || step.step == StepKind::Issue);
        for (order, step) in (1..).zip(steps) {
            let access = &step.access;
            let essential = step.delayed || step.overtakes;
            if (access.control || access.line == 0) && !essential {
                continue;
            }
            let importance = if essential { "essential" } else { "important" };
            let location = self.access(access, 0, &does(step, is_c11));
            let flow = threads.entry(access.thread).or_insert_with(|| (access.thread_name.clone(), Vec::new()));
            flow.1.push(json!({ "location": location, "executionOrder": order, "importance": importance }));
        }
        flows(format!("An execution under {} that is not sequentially consistent", report.model), threads)
    }

    /// All of the fences, as they were tried.
    fn fix(&self, fences: &[FenceRef], checked: &str) -> Value {
        let mut files: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for EditRef { file, line, column, text, removes } in repair::edits(fences) {
            let (column, end) = (self.column(&file, line, column), self.column(&file, line, column + removes));
            let at = json!({ "startLine": line, "startColumn": column, "endLine": line, "endColumn": end });
            let replacement = json!({ "deletedRegion": at, "insertedContent": { "text": text } });
            files.entry(file).or_default().push(replacement);
        }
        let changes: Vec<Value> = files
            .into_iter()
            .map(|(file, replacements)| json!({ "artifactLocation": self.artifact(&file), "replacements": replacements }))
            .collect();
        let what = if fences.iter().any(|fence| fence.replaces.is_some()) { "stronger memory order" } else { "fence" };
        let text = format!("Insert {} ({checked})", count(fences.len(), what));
        json!({ "description": { "text": text }, "artifactChanges": changes })
    }

    /// A column in characters, from one in bytes.
    fn column(&self, file: &str, line: u32, column: u32) -> u32 {
        let text = (self.source)(file).unwrap_or_default();
        let own = text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default();
        let before = own.get(..column.saturating_sub(1) as usize).unwrap_or_default();
        before.encode_utf16().count() as u32 + 1
    }

    fn frame(&self, frame: &FrameRef) -> Value {
        self.location(&frame.file, frame.line, 0, Some(&frame.function))
    }

    fn access(&self, access: &AccessRef, id: u32, message: &str) -> Value {
        let mut place = self.location(&access.file, access.line, access.column, access.function.as_deref());
        if id > 0 {
            place["id"] = id.into();
        }
        place["message"] = json!({ "text": format!("{}: {message}", access.short()) });
        if access.line > 0 && !access.text.is_empty() {
            place["physicalLocation"]["region"]["snippet"] = json!({ "text": access.text });
        }
        place
    }

    fn location(&self, file: &str, line: u32, column: u32, function: Option<&str>) -> Value {
        let mut physical = json!({ "artifactLocation": self.artifact(file) });
        if line > 0 {
            physical["region"] = json!({ "startLine": line });
            if column > 0 {
                physical["region"]["startColumn"] = column.into();
            }
        }
        let mut location = json!({ "physicalLocation": physical });
        if let Some(name) = function.filter(|name| !name.is_empty()) {
            location["logicalLocations"] = json!([{ "name": name, "kind": "function" }]);
        }
        location
    }

    fn artifact(&self, file: &str) -> Value {
        let uri = self.named(file);
        if uri.starts_with("file:") { json!({ "uri": uri }) } else { json!({ "uri": uri, "uriBaseId": "%SRCROOT%" }) }
    }

    /// The file as the document names it.
    fn named(&self, file: &str) -> String {
        let path = plain(&self.directory.join(file));
        path.strip_prefix(self.root).map_or_else(|_| format!("file://{}", uri(&path)), uri)
    }
}

fn rule((id, name, short, full): &(&str, &str, &str, &str)) -> Value {
    json!({
        "id": id,
        "name": name,
        "shortDescription": { "text": short },
        "fullDescription": { "text": full },
        "help": { "text": full, "markdown": full },
        "defaultConfiguration": { "level": "error" },
        "properties": { "tags": ["concurrency", "memory-model"], "precision": "very-high", "problem.severity": "error" },
    })
}

/// A code flow, with a flow for each thread.
fn flows(text: String, threads: BTreeMap<u32, (String, Vec<Value>)>) -> Value {
    let flows = threads.into_values().map(|(name, locations)| {
        json!({ "id": name, "message": { "text": format!("thread {name}") }, "locations": locations })
    });
    json!({ "message": { "text": text }, "threadFlows": flows.collect::<Vec<_>>() })
}

fn program(report: &VerifyReport) -> Value {
    json!({
        "property": report.property.name(),
        "program": report.program, "model": report.model.name(), "verdict": report.verdict.name(), "complete": report.complete,
        "strategy": report.strategy, "interleavings": report.interleavings, "seconds": report.seconds,
    })
}

/// The effect of a step of the machine, in words.
fn does(step: &StepRef, is_c11: bool) -> String {
    let effect = step.access.effect(true);
    let what = match (step.step, step.delayed, step.overtakes) {
        (_, true, _) if is_c11 => "is not seen in time",
        (_, _, true) if is_c11 => "comes before it all the same",
        _ if is_c11 => "",
        (StepKind::Commit, ..) => "reaches memory",
        (_, true, _) if step.access.kind == AccessKind::Rmw => "comes too late",
        (_, true, _) => "is delayed in the store buffer",
        (_, _, true) => "overtakes it",
        _ if step.access.kind == AccessKind::Store => "goes into the store buffer",
        _ => "",
    };
    match (effect.as_str(), what) {
        ("", what) => what.into(),
        (effect, "") => effect.into(),
        (effect, what) => format!("{effect} {what}"),
    }
}

/// Results that look alike but for their lines are told apart by a number.
fn number_twins(results: &mut [Value]) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for result in results {
        let print = &mut result["partialFingerprints"]["membar/v1"];
        let times = seen.entry(print.as_str().unwrap_or_default().to_owned()).or_insert(0);
        *times += 1;
        *print = format!("{}:{times}", print.as_str().unwrap_or_default()).into();
    }
}

/// FNV-1a: stable from one version to the next.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The path without `.` and `..`, as far as names tell.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// A path as it is written in a URI.
fn uri(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.to_string_lossy().replace('\\', "/").bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b'+' => text.push(byte.into()),
            _ => text += &format!("%{byte:02X}"),
        }
    }
    text
}

fn directory_uri(path: &Path) -> String {
    format!("file://{}/", uri(path).trim_end_matches('/'))
}
