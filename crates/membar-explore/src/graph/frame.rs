//! Frames: where the search has alternatives, and which of them are left.
//!
//! A frame's alternatives begin at the graph that has `depth` events. They are taken in order; what a frame offers
//! depends on that graph alone, so the numbers of the alternatives taken lead back to it.

use super::graph::{Event, Graph};
use super::search::Graphs;
use crate::{Counts, Observer, Program};

/// A part of the search: the graph that these alternatives lead to, and all alternatives there from this one on.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct GraphTask {
    pub(super) path: Vec<u32>,
    pub(super) next: u32,
}

/// The result of a task.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct GraphOutcome<T> {
    /// Counts of the runs made.
    pub counts: Counts,
    /// What was seen.
    pub part: T,
    /// What is left of it, to be done from the last one on.
    pub rest: Vec<GraphTask>,
}

/// A read's way to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    From(u32),
    /// From a write that another read-modify-write has read, this read being revisited.
    Instead(u32, u32),
    Wait,
}

/// Something with alternatives, at a graph of `depth` events.
pub(super) struct Frame {
    pub(super) depth: usize,
    /// How many have been taken.
    pub(super) taken: u32,
    pub(super) kind: Kind,
}

impl Frame {
    /// Whether an alternative may be left.
    pub(super) fn may_have_more(&self) -> bool {
        let taken = self.taken as usize;
        match &self.kind {
            Kind::Read { ways, .. } => taken < ways.len(),
            Kind::Choice { outcomes, .. } => self.taken < *outcomes,
            Kind::Write(writing) => match &writing.revisits {
                Some(revisits) => taken < writing.places.len() + revisits.len(),
                None => true,
            },
            Kind::Revisit { places, .. } => taken < places.len(),
        }
    }
}

pub(super) enum Kind {
    Read {
        thread: usize,
        ways: Vec<Way>,
    },
    Choice {
        thread: usize,
        outcomes: u32,
    },
    Write(Box<Writing>),
    /// A write revisits a read: the graph before that, and what it does in the new one.
    Revisit {
        saved: Box<Graph>,
        read: Box<Event>,
        by: Box<By>,
        places: Vec<usize>,
    },
}

/// The write that revisits.
#[derive(Clone, Copy)]
pub(super) enum By {
    Write(Event),
    /// That of a read-modify-write which is to be made, from this read on.
    Update(Event),
}

/// A write that is to be added.
pub(super) struct Writing {
    pub(super) event: Event,
    /// Where.
    pub(super) places: Vec<usize>,
    /// The reads to revisit, once they are known.
    pub(super) revisits: Option<Vec<u32>>,
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
    /// The tasks that are left from this frame on, the deepest last.
    pub(super) fn rest(&self, floor: usize) -> Vec<GraphTask> {
        let path: Vec<u32> = self.frames.iter().map(|frame| frame.taken.saturating_sub(1)).collect();
        let task = |at: usize| GraphTask { path: path[..at].to_vec(), next: self.frames[at].taken };
        (floor..self.frames.len()).filter(|&at| self.frames[at].may_have_more()).map(task).collect()
    }

    pub(super) fn recycle(&mut self, frame: Frame) {
        if let Kind::Revisit { saved, .. } = frame.kind {
            self.spare.push(saved);
        }
    }

    /// All alternatives of the last frame have been taken.
    pub(super) fn close(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        self.cut_to(frame.depth);
        if let Kind::Revisit { mut saved, .. } = frame.kind {
            std::mem::swap(&mut self.graph, &mut saved);
            self.spare.push(saved);
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
        let (depth, taken) = (frame.depth, frame.taken as usize);
        frame.taken += 1;
        match &frame.kind {
            Kind::Read { thread, ways } => {
                let (thread, way) = (*thread, *ways.get(taken)?);
                self.cut_to(depth);
                Some(self.take_read(thread, way))
            }
            &Kind::Choice { thread, outcomes } => {
                if taken as u32 >= outcomes {
                    return None;
                }
                self.cut_to(depth);
                self.take_choice(thread, taken as u32);
                Some(Came::On)
            }
            Kind::Write(writing) => {
                if let Some(&at) = writing.places.get(taken) {
                    let event = writing.event;
                    self.cut_to(depth);
                    self.take_write(event, at);
                    return Some(Came::On);
                }
                let revisit = taken - writing.places.len();
                if writing.revisits.is_none() {
                    let event = writing.event;
                    self.cut_to(depth);
                    let revisits = self.revisits(&event);
                    let Some(Frame { kind: Kind::Write(writing), .. }) = self.frames.last_mut() else { return None };
                    writing.revisits = Some(revisits);
                }
                let Some(Frame { kind: Kind::Write(writing), .. }) = self.frames.last() else { return None };
                let read = *writing.revisits.as_ref()?.get(revisit)?;
                let event = writing.event;
                self.cut_to(depth);
                self.revisit(By::Write(event), read);
                Some(Came::Revisits)
            }
            Kind::Revisit { read, by, places, .. } => {
                let (&at, read, by) = (places.get(taken)?, **read, **by);
                self.cut_to(depth);
                Some(self.take_revisit(read, by, at))
            }
        }
    }
}
