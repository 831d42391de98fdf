//! A data race in words: both places, and what would have ordered them.

use crate::Failure;
use crate::core::{AccessKind, Order};
use crate::programs::Subject;
use crate::report::kinds::ErrorKind as ErrorName;
use crate::report::list;
use crate::report::verify::{AccessRef, ErrorRef, ordered, remarks, tell_columns};
use crate::verify::{ErrorKind, Event, ProgramError, race};

/// The race as an error.
pub fn told<S: Subject>(subject: &mut S, error: &ProgramError) -> Result<ErrorRef, Failure> {
    let ErrorKind::Race { sites } = error.kind else {
        return Err(Failure::Internal("an error that is no race".into()));
    };
    let run = subject.trace(&error.schedule.0)?;
    let Some(found) = race(&run.steps, sites) else {
        return Err(Failure::Internal(format!("a race could not be confirmed (schedule {})", error.schedule)));
    };
    let event = |step: usize| Event::new(step, &run.steps[step]);
    let (earlier, later) = (event(found.earlier), event(found.later));
    let (mut first, mut second) = (subject.access(&run, &earlier), subject.access(&run, &later));
    let passing = found.missing.iter().map(|&(step, order)| {
        let event = event(step);
        (subject.access(&run, &event), event.access.c11.order().join(order))
    });
    let mut passing: Vec<(AccessRef, Order)> = passing.collect();
    let all = [&mut first, &mut second].into_iter().chain(passing.iter_mut().map(|(access, _)| access));
    tell_columns(all.collect());
    let mut message = format!(
        "data race on `{}`: {} at {}, and {} at {}, with nothing to order them",
        second.address,
        does(&first, &earlier),
        place(&first),
        does(&second, &later),
        place(&second),
    );
    for access in [&first, &second] {
        message += &format!("\n{}  `{}`", place(access), access.text);
    }
    message += &format!("\n{}", missing(&passing));
    for remark in remarks(passing.iter().map(|(access, _)| access).chain([&first, &second])) {
        message += &format!("\nnote: {remark}");
    }
    let output = run.output.clone().filter(|output| !output.is_empty());
    Ok(ErrorRef {
        kind: ErrorName::Race,
        message,
        stack: subject.stack(&run, &later),
        other: subject.stack(&run, &earlier),
        output,
        schedule: error.schedule.to_string(),
        executions: error.executions,
    })
}

fn does(access: &AccessRef, event: &Event) -> String {
    let what = match access.kind {
        AccessKind::Load => "reads it",
        AccessKind::Store => "writes it",
        AccessKind::Rmw => "updates it",
    };
    let how = match event.access.c11.order() {
        Order::Plain => String::new(),
        order => format!(" ({order})"),
    };
    format!("{} {what}{how}", access.thread_name)
}

pub(super) fn place(access: &AccessRef) -> String {
    match access.function {
        None => format!("line {}", access.line),
        Some(_) => access.position(),
    }
}

/// The operations that pass something on from one thread to the other, but do not order anything, with the orders that they need.
fn missing(passing: &[(AccessRef, Order)]) -> String {
    if passing.is_empty() {
        return "no atomic variable or lock passes anything from one to the other: use one, or make both accesses atomic".into();
    }
    let mut needs: Vec<String> = Vec::new();
    for (access, order) in passing {
        let need = ordered(access, *order);
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    format!("they would be ordered if: {}", list(&needs, "and").replace(" must be ", " were "))
}
