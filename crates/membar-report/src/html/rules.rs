//! Rules and axioms, in the words of the page.

use super::page::Axiom;
use membar_core::{Axiom as Name, Condition, Rule};

pub(super) use crate::shape::relation;

/// The statement of a rule.
pub(super) fn says(rule: Rule) -> &'static str {
    match rule {
        Rule::LoadOp => "A load stays before a later operation of its thread, where the model says so.",
        Rule::StoreStore => "A store stays before a later store of its thread, where the model says so.",
        Rule::StoreLoad => "A store stays before a later load of its thread, where the model says so.",
        Rule::Membar { .. } => "A barrier keeps earlier operations before later ones, as its mask says.",
        Rule::ReadsFrom => "A read comes after the write whose value it returned.",
        Rule::OwnStore { .. } => {
            "A read that returned another thread's write, although its own thread had written the address before: that other \
             write came later than the own one."
        }
        Rule::BeforeRead { .. } => "A write that comes before a read comes before the write that the read returned.",
        Rule::AfterRead => "A read comes before every write that comes after the one that it returned.",
        Rule::WriteOrder => "The trace records the order in which the writes of an address took effect.",
        Rule::Init => "Initial values come before everything.",
        Rule::Final => "Final values come after everything.",
        Rule::Lock => "The model keeps the order of an acquire or a release and other operations of its thread.",
        Rule::Kept { by, .. } => condition(by),
        Rule::Time => "An operation that had ended before another began comes before it.",
        Rule::Assume(_) => "The case assumes this.",
        Rule::Case(_) => "An earlier case showed that the opposite order is impossible.",
    }
}

/// The statement of a condition: RVWMO's rules of preserved program order.
fn condition(by: Condition) -> &'static str {
    match by {
        Condition::AnotherStore => {
            "Two loads of one address that returned different writes, with no store of the thread to it between them, stay in \
             order."
        }
        Condition::FromAtomic => "A load that returned its own thread's atomic stays behind it.",
        Condition::EarlierAcquires => "An acquire stays before everything later in its thread.",
        Condition::LaterReleases => "A release stays behind everything earlier in its thread.",
        Condition::ReleaseAcquire => "A release stays before a later acquire of its thread.",
        Condition::Address => "An access stays behind the operation that its address came from.",
        Condition::Data => "A store stays behind the operation that its value came from.",
        Condition::Control => "A store stays behind the operation that decided whether it is executed.",
        Condition::ThroughStore => {
            "A load that returned its own thread's store stays behind what the store's address or value came from."
        }
        Condition::PastAddress => "A store stays behind what the address of an operation before it came from.",
        Condition::PastIsb => {
            "An access stays behind what a branch or an address before an ISB came from, if the ISB stands before the access."
        }
        Condition::AcquireFromPair => {
            "An acquire that returned its own thread's store conditional stays behind the load reserved."
        }
    }
}

/// The axiom of a rule.
pub(super) fn axiom(rule: Rule) -> Axiom {
    let name = rule.axiom();
    let says = match name {
        Name::LoadOp => "Loads stay before later operations of their thread.",
        Name::StoreStore => "Stores of a thread take effect in program order.",
        Name::StoreLoad => "A load does not overtake an earlier store of its thread.",
        Name::Membar => "A barrier keeps operations on its two sides in order.",
        Name::Value => "A read returns the latest write to its address.",
        Name::WriteOrder => "Writes take effect in the recorded order.",
        Name::LockOrder => "Operations around an acquire or a release keep their order.",
        Name::ProgramOrder => "Marks, dependencies and what was read keep operations of a thread in order.",
        Name::Time => "An operation that ended before another began comes first.",
        Name::Order => "Of two operations one comes first: memory order is total.",
    };
    Axiom { name, says }
}
