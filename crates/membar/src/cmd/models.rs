//! `membar models`: the built-in models, as data.

use crate::cli::{DataFormat, LimitArgs, Models, ModelsAction};
use crate::decide::{Detail, Guarded};
use crate::progress::Progress;
use crate::stop::{self, ALLOWED, FORBIDDEN, UNDECIDED};
use membar::check::diff::{Side, Size, separate};
use membar::core::VerdictKind;
use membar::report::{Style, count, safe, wrapped};
use membar::{Budget, Chosen, Failure, Trace};
use std::fmt::Write as _;
use std::io::Write;

/// Runs the command.
pub fn run(args: &Models, style: Style) -> Result<u8, Failure> {
    let (text, code) = match &args.action {
        None | Some(ModelsAction::List) => (list(style), ALLOWED),
        Some(ModelsAction::Show { name }) => (show(name)?, ALLOWED),
        Some(ModelsAction::Diff { a, b, operations, format, limits }) => {
            diff([a, b], usize::from(*operations), *format, limits, style)?
        }
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(code)
}

fn list(style: Style) -> String {
    let models = || membar::model::builtins().iter().chain(membar::model::instruction_sets());
    let width = models().map(|model| model.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for model in models() {
        let pad = width - model.name.len();
        let _ = writeln!(text, "{}{:pad$}  {}", style.heading(&model.name), "", model.title);
    }
    text.push('\n');
    for sentence in [
        "The first five are each weaker than the one before; those that follow order accesses by locks only.",
        "The last ones are those of instruction sets, with marks, reservations and dependencies.",
        "For programs there is also c11 (`membar verify --model c11`): `membar models show c11`.",
        "`membar models diff A B` finds the smallest traces that tell two apart.",
        "`membar models show NAME` prints one as a file; `--model FILE.toml` uses yours.",
    ] {
        let _ = writeln!(text, "{}", wrapped(sentence, style.prose(), "\n"));
    }
    text
}

/// The model that is for programs only, in words.
const C11: &str = include_str!("c11.txt");

fn show(name: &str) -> Result<String, Failure> {
    if name == "c11" {
        return Ok(C11.to_owned());
    }
    if let Some(text) = membar::model::source(name) {
        return Ok(text.to_owned());
    }
    membar::model::load(name).map_err(|error| Failure::Usage(error.to_string()))?;
    std::fs::read_to_string(name)
        .map_err(|error| Failure::Usage(format!("error: the model file `{}` cannot be read: {error}", safe(name))))
}

/// Everything known about one side of a difference.
struct Known {
    allows: String,
    forbids: String,
    side: Side,
    text: Option<String>,
}

fn diff(
    names: [&str; 2],
    ops: usize,
    format: DataFormat,
    limits: &LimitArgs,
    style: Style,
) -> Result<(String, u8), Failure> {
    let [a, b] = [Chosen::load(names[0])?, Chosen::load(names[1])?];
    if let Some(said) = [&a, &b].into_iter().find(|chosen| chosen.model.ppo.any(|when| !when.also.is_empty())) {
        let name = safe(&said.arg);
        return Err(Failure::Usage(format!(
            "error: `{name}` has conditions about marks, dependencies or what was read, which `models diff` does not compare"
        )));
    }
    let interrupt = stop::on_key();
    let progress = Progress::start(None, limits.time.0);
    progress.file(&format!("{} and {}", a.arg, b.arg));
    progress.work("");
    let limits = limits.budget(&interrupt).start();
    let size = Size { ops, ..Size::default() };
    let found = separate(&a.model, &b.model, size, &limits, &mut |now| {
        let size = format!("{} in {}", count(now.ops, "operation"), count(now.threads, "thread"));
        progress.say(format!("{} traces of {size} decided", now.decided));
    });
    progress.finish();
    let known = |allows: &Chosen, forbids: &Chosen, side: Side| -> Result<Known, Failure> {
        let text = match side.trace() {
            Some(trace) => Some(confirmed(trace, allows, forbids)?),
            None => None,
        };
        Ok(Known { allows: allows.arg.clone(), forbids: forbids.arg.clone(), side, text })
    };
    let sides = [known(&a, &b, found.only_first)?, known(&b, &a, found.only_second)?];
    let differ = sides.iter().any(|side| side.text.is_some());
    let open = sides.iter().any(|side| matches!(side.side, Side::Open { .. }));
    let code = if differ { FORBIDDEN } else { [ALLOWED, UNDECIDED][usize::from(open)] };
    let text = match format {
        DataFormat::Text => diff_text(&sides, differ, style),
        DataFormat::Json => diff_json(&sides),
    };
    Ok((text, code))
}

/// The trace as text, once both verdicts have been certified.
fn confirmed(trace: &Trace, allows: &Chosen, forbids: &Chosen) -> Result<String, Failure> {
    let mut decider = Guarded::default();
    for (chosen, wanted) in [(allows, VerdictKind::Allowed), (forbids, VerdictKind::Forbidden)] {
        let answer = decider.answer(("the trace", 0, trace), &chosen.model, &Budget::default(), Detail::Verdict);
        let verdict = answer.map(|answer| answer.verdict);
        if verdict != Ok(wanted) {
            let name = safe(&chosen.arg);
            return Err(Failure::Internal(format!("{name} does not say `{wanted}`: {verdict:?}")));
        }
    }
    let mut text = Vec::new();
    membar::trace::write_trace(trace, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn diff_text(sides: &[Known; 2], differ: bool, style: Style) -> String {
    let mut text = String::new();
    let [a, b] = [safe(&sides[0].allows), safe(&sides[1].allows)];
    let head = if differ { "differ" } else { "were not told apart" };
    let _ = writeln!(text, "{}", style.heading(&format!("{a} and {b} {head}.")));
    for Known { allows, forbids, side, text: trace } in sides {
        let (allows, forbids) = (safe(allows), safe(forbids));
        let what = match side {
            Side::Trace(found) => format!("{}, the fewest possible.", count(found.len(), "operation")),
            Side::Never => format!("nothing, of any size: {allows} keeps every order that {forbids} keeps."),
            Side::None { ops } => format!("nothing of up to {}.", count(*ops, "operation")),
            Side::Open { ops, reason } => format!("nothing of up to {}; then {reason}.", count(*ops, "operation")),
        };
        let sentence = format!("Allowed by {allows}, forbidden by {forbids}: {what}");
        let _ = writeln!(text, "\n{}", wrapped(&sentence, style.prose(), "\n"));
        for line in trace.iter().flat_map(|trace| trace.lines()) {
            let _ = writeln!(text, "    {line}");
        }
    }
    if differ {
        let sentence = "Save a trace to a file and `membar check --model NAME FILE` explains it.";
        let _ = writeln!(text, "\n{}", wrapped(sentence, style.prose(), "\n"));
    }
    text
}

fn diff_json(sides: &[Known; 2]) -> String {
    let side = |known: &Known| {
        let (status, ops) = match &known.side {
            Side::Trace(trace) => ("found", Some(trace.len())),
            Side::Never => ("never", None),
            Side::None { ops } => ("none", Some(*ops)),
            Side::Open { ops, .. } => ("undecided", Some(*ops)),
        };
        serde_json::json!({
            "allows": known.allows, "forbids": known.forbids, "status": status, "operations": ops, "trace": known.text,
        })
    };
    format!("{}\n", serde_json::json!({ "schema": 1, "differences": [side(&sides[0]), side(&sides[1])] }))
}
