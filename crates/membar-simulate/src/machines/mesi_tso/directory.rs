//! The directory: who has which line, and the messages between it and the cores.
//!
//! It serves one request per line at a time: it calls the line back from its owner, or invalidates all copies, waits for
//! the answers and then grants the line. Requests that arrive meanwhile wait in their order.

use super::{Data, Machine, State};
use crate::program::NONE;
use std::collections::VecDeque;

/// From a core to the directory.
#[derive(Clone, Copy)]
pub(super) enum Up {
    /// Asks for a line, to own it or not.
    Get { owned: bool },
    /// Gives a modified line back.
    Put(Data),
    /// Answers an invalidation or a call: the modified data, and whether a copy stays.
    Ack { data: Option<Data>, kept: bool },
}

/// From the directory to a core.
#[derive(Clone, Copy)]
pub(super) enum Down {
    Grant(State, Data),
    Invalidate,
    /// Calls an owned line back; with `all`, no copy may stay.
    Call {
        all: bool,
    },
}

/// The directory's entry for a line.
pub(super) struct Home {
    pub(super) data: Data,
    owner: u32,
    /// The core whose request is being served.
    busy: u32,
    busy_owned: bool,
    /// Answers that it waits for.
    acks: u32,
    waiting: VecDeque<(u32, bool)>,
}

impl Home {
    pub(super) fn new() -> Home {
        Home { data: [0; 8], owner: NONE, busy: NONE, busy_owned: false, acks: 0, waiting: VecDeque::new() }
    }
}

impl Machine<'_> {
    /// Delivers a message of core `c` to the directory.
    pub(super) fn send(&mut self, c: usize) -> bool {
        let Some((line, message)) = self.cores[c].outbox.pop_front() else { return false };
        let home = &mut self.homes[line as usize];
        match message {
            Up::Get { owned } if home.busy != NONE => home.waiting.push_back((c as u32, owned)),
            Up::Get { owned } => self.serve(line, c as u32, owned),
            Up::Put(data) => {
                home.data = data;
                if home.owner == c as u32 {
                    home.owner = NONE;
                }
            }
            Up::Ack { data, kept } => {
                if let Some(data) = data {
                    home.data = data;
                }
                home.acks -= 1;
                if home.owner == c as u32 {
                    home.owner = NONE;
                    if kept {
                        self.sharers[line as usize * self.words + c / 64] |= 1 << (c % 64);
                    }
                }
                if self.homes[line as usize].acks == 0 {
                    self.grant(line);
                }
            }
        }
        true
    }

    fn tell(&mut self, c: u32, line: u32, message: Down) {
        self.cores[c as usize].inbox.push_back((line, message));
        self.sent = true;
    }

    /// Begins to serve a request: calls or invalidates all copies that are in the way.
    fn serve(&mut self, line: u32, c: u32, owned: bool) {
        let home = &mut self.homes[line as usize];
        home.busy = c;
        home.busy_owned = owned;
        // An owner that asks has dropped the line while it was clean.
        if home.owner == c {
            home.owner = NONE;
        }
        let owner = home.owner;
        if owner != NONE {
            home.acks = 1;
            self.tell(owner, line, Down::Call { all: owned });
            return;
        }
        if owned {
            let from = line as usize * self.words;
            for word in 0..self.words {
                let mut bits = self.sharers[from + word];
                self.sharers[from + word] = 0;
                while bits != 0 {
                    let sharer = word as u32 * 64 + bits.trailing_zeros();
                    bits &= bits - 1;
                    if sharer != c {
                        self.homes[line as usize].acks += 1;
                        self.tell(sharer, line, Down::Invalidate);
                    }
                }
            }
        }
        if self.homes[line as usize].acks == 0 {
            self.grant(line);
        }
    }

    /// Grants the line that is being served, and begins with the next request.
    fn grant(&mut self, line: u32) {
        let from = line as usize * self.words;
        let home = &mut self.homes[line as usize];
        let (c, data) = (std::mem::replace(&mut home.busy, NONE), home.data);
        let alone = self.sharers[from..from + self.words].iter().all(|&bits| bits == 0);
        let state = match (home.busy_owned, alone) {
            (true, _) => State::Modified,
            (false, true) => State::Exclusive,
            (false, false) => State::Shared,
        };
        if state.owned() {
            home.owner = c;
        } else {
            self.sharers[from + c as usize / 64] |= 1 << (c % 64);
        }
        let next = home.waiting.pop_front();
        self.tell(c, line, Down::Grant(state, data));
        if let Some((c, owned)) = next {
            self.serve(line, c, owned);
        }
    }
}
