//! Frames: where the search has alternatives, and which of them are left.
//!
//! A frame's alternatives begin at the graph that has `depth` events. They are taken in order; what a frame offers
//! depends on that graph alone, so the numbers of the alternatives taken lead back to it. The alternatives of all frames
//! are in one list; those of the last frame are at its end.

use super::graph::{Event, Ran};
use super::revisit::Revisited;
use super::search::Graphs;
use crate::{Observer, Program};

/// A part of the search: the graph that these alternatives lead to, and all alternatives there from this one on.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct GraphTask {
    pub(crate) path: Vec<u32>,
    pub(crate) next: u32,
}

/// The result of a task.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct GraphOutcome<T> {
    /// Counts of the runs made.
    pub counts: crate::Counts,
    /// What was seen.
    pub part: T,
    /// What is left of it, to be done from the last one on.
    pub rest: Vec<GraphTask>,
}

/// An alternative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// A read reads from this write.
    From(u32),
    /// From a write that another read-modify-write has read, this read being revisited.
    Instead(u32, u32),
    /// An access that blocks waits.
    Wait,
    /// A choice has this outcome.
    Choose(u32),
    /// A write stands at this place of co.
    At(u32),
    /// A write revisits this read.
    Revisit(u32),
}

/// Something with alternatives, at a graph of `depth` events.
pub(super) struct Frame {
    pub(super) depth: usize,
    /// How many have been taken.
    pub(super) taken: u32,
    /// Where they are in the list.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: Kind,
}

impl Frame {
    /// Whether an alternative may be left.
    pub(super) fn may_have_more(&self) -> bool {
        matches!(self.kind, Kind::Write { revisits: false, .. }) || (self.taken as usize) < self.to - self.from
    }
}

pub(super) enum Kind {
    /// The next event of a thread, a read or a choice.
    Next { thread: usize },
    /// A write that is to be added, and whether the reads that it revisits are known.
    Write { event: Event, ran: Ran, revisits: bool },
    /// A write revisits a read.
    Revisit(Box<Revisited>),
}

/// The write that revisits.
#[derive(Clone, Copy)]
pub(super) enum By {
    Write(Event, Ran),
    /// That of a read-modify-write which is to be made, from this read on.
    Update(Event),
}

/// How far an alternative has led.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// To a graph that can be extended.
    On,
    /// To one that is of no use.
    Nowhere,
    /// To a frame of its own, for a write that revisits a read.
    Revisits,
}

impl<P: Program, O: Observer> Graphs<P, O> {
    /// Opens a frame with the alternatives that have been listed from here on.
    pub(super) fn offer(&mut self, from: usize, kind: Kind) {
        self.frames.push(Frame { depth: self.graph.len(), taken: 0, from, to: self.ways.len(), kind });
    }

    /// The tasks that are left from this frame on, the deepest last.
    pub(super) fn rest(&self, floor: usize) -> Vec<GraphTask> {
        let path: Vec<u32> = self.frames.iter().map(|frame| frame.taken.saturating_sub(1)).collect();
        let task = |at: usize| GraphTask { path: path[..at].to_vec(), next: self.frames[at].taken };
        (floor..self.frames.len()).filter(|&at| self.frames[at].may_have_more()).map(task).collect()
    }

    /// Forgets the graph and all frames.
    pub(super) fn forget(&mut self) {
        while let Some(frame) = self.frames.pop() {
            if let Kind::Revisit(revisited) = frame.kind {
                self.spare.push(revisited);
            }
        }
        self.ways.clear();
        self.graph.clear();
    }

    /// All alternatives of the last frame have been taken.
    pub(super) fn close(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        self.ways.truncate(frame.from);
        self.cut_to(frame.depth);
        if let Kind::Revisit(revisited) = frame.kind {
            self.restore(revisited);
        }
    }

    pub(super) fn cut_to(&mut self, depth: usize) {
        while self.graph.len() > depth {
            self.graph.pop();
        }
    }

    /// Takes the next alternative of the last frame, if there is one.
    pub(super) fn take(&mut self) -> Option<Came> {
        let frame = self.frames.last_mut()?;
        let at = frame.from + frame.taken as usize;
        frame.taken += 1;
        let depth = frame.depth;
        self.cut_to(depth);
        let frame = self.frames.last_mut()?;
        if at >= frame.to {
            let Kind::Write { event, revisits: revisits @ false, .. } = &mut frame.kind else { return None };
            *revisits = true;
            let event = *event;
            self.list_revisits(&event, |read, _| Some(Way::Revisit(read)));
            self.frames.last_mut()?.to = self.ways.len();
        }
        let frame = self.frames.last()?;
        if at >= frame.to {
            return None;
        }
        Some(match (self.ways[at], &frame.kind) {
            (Way::At(at), &Kind::Write { event, ran, .. }) => {
                self.take_write(event, ran, at as usize);
                Came::On
            }
            (Way::Revisit(read), &Kind::Write { event, ran, .. }) => {
                self.revisit(By::Write(event, ran), read);
                Came::Revisits
            }
            (Way::At(at), Kind::Revisit(revisited)) => {
                let (read, by) = (revisited.read, revisited.by);
                self.take_revisit(read, by, at as usize)
            }
            (way, &Kind::Next { thread }) => self.take_next(thread, way),
            _ => Came::Nowhere,
        })
    }
}
