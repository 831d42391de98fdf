//! Names of cycles in the literature.
//!
//! Problem: a cycle of memory order has edges of program order and of communication (`rf`, `co`, `fr`). People know the
//! short ones by name. Which one is it?
//!
//! Algorithm:
//! 1. An edge between two operations of one thread counts as program order, whatever it is: a thread that reads its own
//!    store says nothing about others. Neighbouring program-order edges become one; `co;co` becomes `co`, `fr;co`
//!    becomes `fr`, and `rf;fr` becomes `co`.
//! 2. The edges, turned to each starting point, are looked up. Program order between two accesses of one address is `pos`
//!    there, and `po` elsewhere. Initial values are a write of another thread. The names of shapes with several addresses
//!    are not for cycles that stay on one.
//!
//! Guarantees: a name is given only to exactly that shape. Cycles with time have no name.

use crate::data::Shape;
use membar_core::{Event, Proof, Relation, Rule, Trace};

/// An edge of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    /// `po`, `ppo`, `rf`, `co`, `fr` or `time`.
    pub(crate) kind: Relation,
    /// Thread of the earlier event; `None` for an end of memory order.
    pub(crate) from: Option<u32>,
    /// Thread of the later event.
    pub(crate) to: Option<u32>,
    /// The two access one address.
    pub(crate) one_address: bool,
}

const SHAPES: [(&str, &str, &str); 31] = [
    ("pos rf", "CoRW1", "a thread reads what it writes only later"),
    ("pos co rf", "CoRW2", "a load returns a store that is after a later store of its thread"),
    ("pos co", "CoWW", "two stores of a thread to one address change places"),
    ("pos fr", "CoWR", "a load misses a store of its own thread"),
    ("rf pos fr", "CoRR", "two loads of one address go back in time"),
    ("po fr po fr", "SB", "store buffering: two loads overtake the stores before them"),
    ("po rf po fr", "MP", "message passing: the flag is seen, the data is not"),
    ("po rf po rf", "LB", "load buffering: two stores overtake the loads before them"),
    ("po co po co", "2+2W", "two threads write two addresses in opposite orders"),
    ("po co po fr", "R", "a store overwrites another thread's, a load then misses that thread's earlier one"),
    ("po rf po co", "S", "a store that answers a message is older than what came before the message"),
    ("rf po fr rf po fr", "IRIW", "two readers see two independent writes in opposite orders"),
    ("rf po rf po fr", "WRC", "write-to-read causality: what one thread saw and passed on is not seen"),
    ("rf po fr po fr", "RWC", "read-to-write causality"),
    ("po rf po fr po fr", "W+RWC", "message passing into a read-to-write causality"),
    ("po rf po rf po fr", "ISA2", "message passing over three threads"),
    ("po fr po fr po fr", "3.SB", "store buffering with three threads"),
    ("po rf po rf po rf", "3.LB", "load buffering with three threads"),
    ("po co po co po co", "3.2W", "three threads write three addresses cyclically"),
    ("po rf po co po fr", "Z6.0", "a cycle of three threads"),
    ("po co po rf po co", "Z6.1", "a cycle of three threads"),
    ("po rf po rf po co", "Z6.2", "a cycle of three threads"),
    ("po co po rf po fr", "Z6.3", "a cycle of three threads"),
    ("po co po fr po fr", "Z6.4", "a cycle of three threads"),
    ("po co po co po fr", "Z6.5", "a cycle of three threads"),
    ("rf po rf po co", "WWC", "write-to-write causality"),
    ("rf po fr po co", "WRR+2W", "a reader and a writer see two writes in opposite orders"),
    ("rf po co po co", "WRW+2W", "a cycle of writes, one of them seen"),
    ("rf po co po fr", "WRW+WR", "a cycle of three threads"),
    ("rf po fr rf po co", "IRRWIW", "a reader and a writer see two independent writes in opposite orders"),
    ("rf po co rf po co", "IRWIW", "two writers see two independent writes in opposite orders"),
];

/// `po rf co fr ppo time`: the relation of the literature that a step of a proof shows.
pub(crate) fn relation(rule: Rule) -> Relation {
    match rule {
        Rule::LoadOp | Rule::StoreStore | Rule::StoreLoad | Rule::Membar { .. } | Rule::Lock | Rule::Kept { .. } => {
            Relation::Ppo
        }
        Rule::ReadsFrom => Relation::Rf,
        Rule::AfterRead => Relation::Fr,
        Rule::Time => Relation::Time,
        Rule::OwnStore { .. } | Rule::BeforeRead { .. } | Rule::WriteOrder => Relation::Co,
        Rule::Init | Rule::Final | Rule::Assume(_) | Rule::Case(_) => Relation::Co,
    }
}

/// The shape of the cycle that a proof ends with.
pub(crate) fn of_proof(trace: &Trace, proof: &Proof) -> Option<Shape> {
    let lemma = proof.last()?;
    let thread = |event: Event| event.as_op().map(|op| trace.thread(op).0);
    let edges: Vec<Edge> = lemma
        .cycle
        .iter()
        .map(|&step| {
            let step = &lemma.steps[step as usize];
            let addr = |event: Event| event.as_op().map(|op| trace.addr(op));
            let one_address = addr(step.from).is_some() && addr(step.from) == addr(step.to);
            Edge { kind: relation(step.rule), from: thread(step.from), to: thread(step.to), one_address }
        })
        .collect();
    shape(&edges)
}

/// The shape of a cycle, named or not. `None` if it is not a cycle of the four relations.
pub(crate) fn shape(cycle: &[Edge]) -> Option<Shape> {
    if cycle.is_empty() || cycle.iter().any(|edge| edge.kind == Relation::Time) {
        return None;
    }
    let mut edges: Vec<(Relation, bool)> = cycle
        .iter()
        .map(|edge| {
            let inside = edge.from.is_some() && edge.from == edge.to;
            match edge.kind {
                // Without communication a coherence shape would look like a step in a thread.
                kind @ (Relation::Co | Relation::Fr | Relation::Rf) if !inside || cycle.len() < 3 => (kind, false),
                _ => (Relation::Po, edge.one_address),
            }
        })
        .collect();
    while let Some(at) = (0..edges.len()).find(|&at| edges.len() > 1 && joined(&edges, at).is_some()) {
        let next = (at + 1) % edges.len();
        if let Some(edge) = joined(&edges, at) {
            edges[at] = edge;
            edges.remove(next);
        }
    }
    let spelled = |one_address: bool| -> Vec<&'static str> {
        edges
            .iter()
            .map(|&(kind, same)| if kind == Relation::Po && same && one_address { "pos" } else { kind.name() })
            .collect()
    };
    let known = |words: &[&str]| {
        SHAPES.iter().find(|(edges, _, _)| {
            let edges: Vec<&str> = edges.split(' ').collect();
            edges.len() == words.len()
                && (0..words.len()).any(|start| (0..words.len()).all(|i| edges[i] == words[(start + i) % words.len()]))
        })
    };
    let plain = spelled(false);
    let one_address = cycle.iter().all(|edge| edge.one_address);
    let found = known(&spelled(true)).or_else(|| known(&plain).filter(|_| !one_address));
    let (name, about, edges) = match found {
        Some(&(edges, name, about)) => (name, about, edges.replace("pos", "po")),
        None if one_address => ("coherence", "everything is about one address", plain.join(" ")),
        None => ("", "", plain.join(" ")),
    };
    Some(Shape { name: name.into(), about: about.into(), edges })
}

/// The edge that this one and the next make together, if they make one.
fn joined(edges: &[(Relation, bool)], at: usize) -> Option<(Relation, bool)> {
    use Relation::{Co, Fr, Po, Rf};
    let (first, second) = (edges[at], edges[(at + 1) % edges.len()]);
    match (first.0, second.0) {
        (Po, Po) => Some((Po, first.1 && second.1)),
        (Co, Co) | (Rf, Fr) => Some((Co, false)),
        (Fr, Co) => Some((Fr, false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edges as `kind:from-to`, `=` for one address.
    fn name(text: &str) -> String {
        let edge = |word: &str| {
            let kind = *Relation::ALL.iter().find(|kind| word.starts_with(kind.name())).unwrap();
            let threads: Vec<u32> = word.chars().filter_map(|c| c.to_digit(10)).collect();
            Edge { kind, from: Some(threads[0]), to: Some(threads[1]), one_address: word.ends_with('=') }
        };
        let edges: Vec<Edge> = text.split(' ').map(edge).collect();
        shape(&edges).map_or_else(|| "none".into(), |shape| format!("{} {}", shape.name, shape.edges))
    }

    #[test]
    fn common_shapes_have_their_names() {
        assert_eq!(name("ppo00 fr01 ppo11 fr10"), "SB po fr po fr");
        assert_eq!(name("fr10 ppo00 rf01 ppo11"), "MP po rf po fr");
        assert_eq!(name("ppo00 ppo00 rf01 ppo11 fr10"), "MP po rf po fr", "program order is transitive");
        assert_eq!(name("rf01 po11 fr12 rf23 po33 fr30"), "IRIW rf po fr rf po fr");
        assert_eq!(name("rf01= po11= fr10="), "CoRR rf po fr");
        assert_eq!(name("rf01 po11 fr10"), " rf po fr", "two addresses");
        assert_eq!(name("po00= rf00="), "CoRW1 po rf");
        assert_eq!(name("po00 co01 co12 po22 co20"), "2+2W po co po co");
        assert_eq!(name("po00= rf01= po11= fr10="), "coherence po rf po fr", "not message passing: one address");
        assert_eq!(name("po00 rf01 po11 time10"), "none");
    }

    #[test]
    fn no_two_names_for_one_shape() {
        for (i, (edges, name, _)) in SHAPES.iter().enumerate() {
            let words: Vec<&str> = edges.split(' ').collect();
            for (other, twin, _) in &SHAPES[i + 1..] {
                let others: Vec<&str> = other.split(' ').collect();
                let turned = |start: usize| (0..words.len()).all(|i| words[(start + i) % words.len()] == others[i]);
                assert!(words.len() != others.len() || !(0..words.len()).any(turned), "{name} and {twin}");
            }
        }
    }
}
