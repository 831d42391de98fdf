//! Reports about a compiled program: its notes, its faults, and who waits for whom.

use super::{About, Native};
use crate::explore::{Fault, Form};
use crate::report::kinds::NoteKind;
use crate::report::verify::{NoteRef, ReplayCommand, StatisticsRef};
use membar_native::build::{self, Note};
use membar_native::words::{Place, Wait, Waits, Words};
use membar_native::{Traced, Unseen};
use membar_symbols::short_name;

impl Native {
    /// A note about an unseen action of code that is not instrumented.
    fn unseen(&self, one: &Unseen) -> NoteRef {
        let place = self.words.place_of(&[one.site]);
        let (file, line) = (!place.file.is_empty()).then_some((place.file, place.line)).unzip();
        if one.strange {
            let message = "accesses memory that membar does not manage (no variable of the program, and not from \
                           `malloc` or `mmap`), which another thread uses too";
            return NoteRef { kind: NoteKind::Memory, message: message.into(), file, line };
        }
        let function = match one.offset {
            Some(offset) => self.words.function(offset),
            None if one.name.is_empty() => format!("a function of {}", one.library),
            None => format!("`{}`", short_name(&one.name)),
        };
        let library =
            if one.library.is_empty() || one.name.is_empty() { String::new() } else { format!(" of {}", one.library) };
        let what = match &one.touches {
            Some(location) => format!("touches {}, which another thread uses too", self.words.touched(location)),
            None => "may touch memory that threads share".into(),
        };
        NoteRef {
            kind: NoteKind::Opaque,
            message: format!("{function}{library} is not instrumented, and {what}"),
            file,
            line,
        }
    }

    /// An access that may overtake a store to bytes of the same word, which could not be confirmed or excluded.
    pub(super) fn unconfirmed(&self, store_site: u32, access_site: u32) -> NoteRef {
        let [place, store] = [access_site, store_site].map(|site| self.words.place_of(&[site]));
        let message = format!(
            "`{}` may overtake the store at {} `{}`: there are accesses to some bytes of an atomic word and not to others, and whether \
             that is possible could not be decided",
            place.text,
            at(&store),
            store.text,
        );
        let (file, line) = (!place.file.is_empty()).then_some((place.file, place.line)).unzip();
        NoteRef { kind: NoteKind::Parts, message, file, line }
    }

    /// A step inside an atomic section of another thread.
    fn intruder(&self, site: u32) -> NoteRef {
        let place = self.words.place_of(&[site]);
        let message = format!(
            "`{}` comes in the middle of another thread's `__VERIFIER_atomic_begin` … `_end`, which excludes that; what was found may need it",
            place.text
        );
        let (file, line) = (!place.file.is_empty()).then_some((place.file, place.line)).unzip();
        NoteRef { kind: NoteKind::Sections, message, file, line }
    }

    fn stuck(&self, site: u32) -> NoteRef {
        let place = self.words.place_of(&[site]);
        let message = format!(
            "`{}` waits in a `__VERIFIER_atomic_begin` … `_end` for another thread, which must not run meanwhile",
            place.text
        );
        let (file, line) = (!place.file.is_empty()).then_some((place.file, place.line)).unzip();
        NoteRef { kind: NoteKind::Sections, message, file, line }
    }

    pub(super) fn sentence(&mut self, thread: u32, fault: &Fault) -> String {
        sentence(thread, fault.form, &self.words.fault(fault))
    }

    pub(super) fn deadlock(&mut self, traced: &Traced, threads: &[u32]) -> String {
        let waits: Vec<(u32, Option<Wait>)> =
            threads.iter().map(|&thread| (thread, self.words.wait(traced, thread))).collect();
        let heading: Vec<String> = waits.iter().map(|(thread, wait)| waiting(*thread, wait.as_ref())).collect();
        let mut message = heading.join(", ");
        for (thread, wait) in &waits {
            let Some(Wait { what, place, holder }) = wait else { continue };
            message += &format!("\n{} is at {} `{}`", Words::thread(*thread), at(place), place.text);
            match (what, holder) {
                (Waits::Lock(name), Some((holder, place))) if holder != thread => {
                    message += &format!("; {} has `{name}` since {}", Words::thread(*holder), at(place));
                }
                (Waits::Lock(name), Some((_, place))) => {
                    message += &format!("; it has `{name}` itself, since {}", at(place));
                }
                _ => {}
            }
        }
        message
    }

    /// Beside what was found.
    pub(super) fn told(&self, seconds: f64) -> About {
        let statistics = self.session.statistics();
        let unseen = self.session.facts().unseen.iter().map(|one| self.unseen(one));
        let intruders = self.session.facts().intruders.iter().map(|&site| self.intruder(site));
        let stuck = self.session.facts().stuck.iter().map(|&site| self.stuck(site));
        // Assembly counts where it is executed.
        let executed = &self.session.facts().assembly;
        let counts = |note: &&Note| match note.kind {
            build::NoteKind::Assembly => executed.contains(&note.id()),
            build::NoteKind::Opaque => !self.opaque_private,
            _ => true,
        };
        let assumed = self.opaque_private.then(|| NoteRef {
            kind: NoteKind::Assumption,
            message: "assumed: code that is not instrumented touches no memory that threads share".into(),
            file: None,
            line: None,
        });
        let untried = (self.session.facts().waits && !self.spurious_wakeups).then(|| NoteRef {
            kind: NoteKind::Untried,
            message: "spurious wake-ups were not tried (--assume spurious-wakeups)".into(),
            file: None,
            line: None,
        });
        let weak = (self.session.facts().weak && !self.spurious_failures).then(|| NoteRef {
            kind: NoteKind::Untried,
            message: "spurious failures of weak compare-exchanges were not tried (--assume spurious-failures)".into(),
            file: None,
            line: None,
        });
        let unloaded = self.session.facts().unloaded.then(|| NoteRef {
            kind: NoteKind::Untried,
            message: "a library wanted to load another one (`dlopen`), and was told that there is none".into(),
            file: None,
            line: None,
        });
        let handlers = self.session.facts().handlers_set.then(|| NoteRef {
            kind: NoteKind::Untried,
            message: "signal handlers were not run".into(),
            file: None,
            line: None,
        });
        About {
            compiler: Some(self.compiler.clone()),
            notes: self
                .notes
                .iter()
                .filter(counts)
                .map(note)
                .chain(assumed)
                .chain(unseen)
                .chain(intruders)
                .chain(stuck)
                .chain(unloaded)
                .chain(handlers)
                .chain(untried)
                .chain(weak)
                .collect(),
            statistics: Some(StatisticsRef {
                resets: statistics.resets,
                accesses: statistics.steps,
                replayed: statistics.replayed,
                reset_bytes: statistics.reset_bytes as u64,
                resident_bytes: statistics.resident,
                seconds_per_access: seconds / (statistics.steps + statistics.replayed).max(1) as f64,
                restarts: self.session.restarts,
            }),
            symmetric: self.session.facts().is_symmetric(),
            command: match self.session.restarts {
                0 => self.command.clone(),
                // The facts learnt on the way have to be known again for a schedule to mean the same.
                _ => ReplayCommand {
                    flags: format!(" --learn {}s{}", seconds.ceil() + 1.0, self.command.flags),
                    ..self.command.clone()
                },
            },
        }
    }
}

/// `T1 waits for `m``
pub(super) fn waiting(thread: u32, wait: Option<&Wait>) -> String {
    let thread = Words::thread(thread);
    match wait.map(|wait| &wait.what) {
        Some(Waits::End(other)) => format!("{thread} waits for the end of {}", Words::thread(*other)),
        Some(Waits::Woken) => format!("{thread} waits to be woken"),
        Some(Waits::Unparked) => format!("{thread} waits to be unparked"),
        Some(Waits::Lock(name)) => format!("{thread} waits for `{name}`"),
        Some(Waits::Loop(name)) => format!("{thread} loops forever, each time taking and releasing `{name}`"),
        Some(Waits::Value(name)) => format!("{thread} waits for `{name}` to change"),
        None => format!("{thread} waits"),
    }
}

/// `lock (dekker.c:12)`
pub(super) fn at(place: &Place) -> String {
    match place {
        Place { file, function, .. } if file.is_empty() => function.clone(),
        Place { function, file, line, .. } if function.is_empty() => format!("{file}:{line}"),
        Place { function, file, line, .. } => format!("{function} ({file}:{line})"),
    }
}

/// A fault as a sentence about its thread.
fn sentence(thread: u32, form: Form, message: &str) -> String {
    let thread = Words::thread(thread);
    match form {
        Form::Predicate => format!("{thread} {message}"),
        Form::Clause => format!("{thread}: {message}"),
        Form::Sentence => message.to_owned(),
    }
}

fn note(note: &Note) -> NoteRef {
    let kind = match note.kind {
        build::NoteKind::Assembly | build::NoteKind::File => NoteKind::Assembly,
        build::NoteKind::Library => NoteKind::Library,
        build::NoteKind::Opaque => NoteKind::Opaque,
        build::NoteKind::Flag => NoteKind::Flag,
        _ => NoteKind::Warning,
    };
    let (file, line) = note.place.clone().unzip();
    NoteRef { kind, message: note.what.trim_end().to_owned(), file, line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_sentences() {
        assert_eq!(sentence(1, Form::Predicate, "uses a null pointer"), "T1 uses a null pointer");
        assert_eq!(sentence(0, Form::Clause, "assertion `x` fails"), "main: assertion `x` fails");
        assert_eq!(sentence(2, Form::Sentence, "the program ends with status 1"), "the program ends with status 1");
    }
}
