//! Channels of few steps: part of our copy of the standard library (`std/src/sync/mpmc/quiet.rs`).
//!
//! Problem: the library's channels count slots, spin, and keep lists of waiting threads. To send and receive one message has
//! thousands of executions that no program can tell apart.
//!
//! Algorithm: messages are in a list of nodes, the last of which is empty. A sender, under the lock, fills it and adds a new one. The receiver waits
//! until its node is not empty, which is one step. The end of the last sender is a message too. A bounded channel has a semaphore that counts
//! free places. In a channel without places a sender waits until its message is taken, and the receiver says, under the lock, that it waits.
//!
//! Invariants: a node is filled under the lock. `head` is the receiver's; all else but states and `places` is accessed under the lock.
//!
//! Guarantees: messages arrive in the order in which senders got the lock; any order that the library's channels allow is one of those.
//! Memory of nodes is not given back.
//!
//! Deviations: only one receiver, as stable Rust has it. A wait with a time limit looks once: time may be up at any moment.

use super::error::*;
use crate::boxed::Box;
use crate::cell::{Cell, UnsafeCell};
use crate::mem::MaybeUninit;
use crate::panicking::MembarQuiet;
use crate::ptr;
use crate::sync::atomic::{Atomic, AtomicU32, Ordering};
use crate::sys::sync::Mutex;
use crate::time::Instant;

unsafe extern "C-unwind" {
    fn __membar_await(word: *const Atomic<u32>, other_than: u32) -> u32;
    fn __membar_take(word: *const Atomic<u32>);
    fn __membar_try_take(word: *const Atomic<u32>) -> bool;
    fn __membar_give(word: *const Atomic<u32>, count: u32);
}

const EMPTY: u32 = 0;
const FULL: u32 = 1;
/// There is no sender any more.
const END: u32 = 2;
/// The sender of a channel without places waits for this,
const TAKEN: u32 = 3;
/// or for this: the receiver has gone, and the message is still there.
const BACK: u32 = 4;

/// More places than there are messages: the receiver has gone.
const PLENTY: u32 = 1 << 30;

struct Node<T> {
    state: Atomic<u32>,
    next: Cell<*mut Node<T>>,
    message: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Node<T> {
    fn new() -> *mut Node<T> {
        Box::into_raw(Box::new(Node {
            state: AtomicU32::new(EMPTY),
            next: Cell::new(ptr::null_mut()),
            message: UnsafeCell::new(MaybeUninit::uninit()),
        }))
    }

    unsafe fn read(&self) -> T {
        unsafe { self.message.get().read().assume_init() }
    }
}

pub(crate) struct Channel<T> {
    capacity: usize,
    places: Atomic<u32>,
    lock: Mutex,
    head: Cell<*mut Node<T>>,
    tail: Cell<*mut Node<T>>,
    closed: Cell<bool>,
    waiting: Cell<bool>,
}

impl<T> Channel<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        let first = Node::new();
        Channel {
            capacity,
            places: AtomicU32::new(capacity.min((PLENTY - 1) as usize) as u32),
            lock: Mutex::new(),
            head: Cell::new(first),
            tail: Cell::new(first),
            closed: Cell::new(false),
            waiting: Cell::new(false),
        }
    }

    fn is_bounded(&self) -> bool {
        self.capacity != 0 && self.capacity != usize::MAX
    }

    fn head(&self) -> &Node<T> {
        let _quiet = MembarQuiet::new();
        unsafe { &*self.head.get() }
    }

    fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        self.lock.lock();
        let result = f();
        unsafe { self.lock.unlock() };
        result
    }

    /// Fills the last node; `only_if_awaited` unless there is nobody who waits for it.
    fn put(&self, msg: T, only_if_awaited: bool) -> Result<&Node<T>, TrySendError<T>> {
        let fill = || {
            let _quiet = MembarQuiet::new();
            if self.closed.get() {
                return Err(TrySendError::Disconnected(msg));
            }
            if only_if_awaited && !self.waiting.get() {
                return Err(TrySendError::Full(msg));
            }
            self.waiting.set(false);
            let node = unsafe { &*self.tail.get() };
            unsafe { node.message.get().write(MaybeUninit::new(msg)) };
            node.next.set(Node::new());
            self.tail.set(node.next.get());
            Ok(node)
        };
        self.locked(|| {
            let filled = fill();
            if let Ok(node) = filled {
                node.state.store(FULL, Ordering::Release);
            }
            filled
        })
    }

    /// Waits for the receiver, where there are no places.
    fn hand_over(&self, node: &Node<T>) -> Result<(), T> {
        if self.capacity == 0 && unsafe { __membar_await(&node.state, FULL) } == BACK {
            let _quiet = MembarQuiet::new();
            return Err(unsafe { node.read() });
        }
        Ok(())
    }

    pub(crate) fn try_send(&self, msg: T) -> Result<(), TrySendError<T>> {
        if self.is_bounded() && !unsafe { __membar_try_take(&self.places) } {
            return Err(TrySendError::Full(msg));
        }
        let node = self.put(msg, self.capacity == 0)?;
        self.hand_over(node).map_err(TrySendError::Disconnected)
    }

    pub(crate) fn send(&self, msg: T, deadline: Option<Instant>) -> Result<(), SendTimeoutError<T>> {
        if let Some(deadline) = deadline {
            return self.try_send(msg).map_err(|error| match error {
                TrySendError::Full(msg) => {
                    crate::thread::sleep_until(deadline);
                    SendTimeoutError::Timeout(msg)
                }
                TrySendError::Disconnected(msg) => SendTimeoutError::Disconnected(msg),
            });
        }
        if self.is_bounded() {
            unsafe { __membar_take(&self.places) };
        }
        match self.put(msg, false) {
            Ok(node) => self.hand_over(node).map_err(SendTimeoutError::Disconnected),
            Err(TrySendError::Full(msg) | TrySendError::Disconnected(msg)) => Err(SendTimeoutError::Disconnected(msg)),
        }
    }

    /// The message of the first node, which is full.
    fn take(&self) -> T {
        let quiet = MembarQuiet::new();
        let node = unsafe { &*self.head.get() };
        let message = unsafe { node.read() };
        self.head.set(node.next.get());
        drop(quiet);
        if self.capacity == 0 {
            node.state.store(TAKEN, Ordering::Release);
        } else if self.is_bounded() {
            unsafe { __membar_give(&self.places, 1) };
        }
        message
    }

    pub(crate) fn try_recv(&self) -> Result<T, TryRecvError> {
        match self.head().state.load(Ordering::Acquire) {
            FULL => Ok(self.take()),
            END => Err(TryRecvError::Disconnected),
            _ => Err(TryRecvError::Empty),
        }
    }

    /// What is in the first node; if that is nothing, the receiver is said to wait, or not to wait any more.
    fn look(&self, waits: bool) -> u32 {
        let node = self.head();
        self.locked(|| {
            let _quiet = MembarQuiet::new();
            let state = node.state.load(Ordering::Acquire);
            self.waiting.set(waits && state == EMPTY);
            state
        })
    }

    pub(crate) fn recv(&self, deadline: Option<Instant>) -> Result<T, RecvTimeoutError> {
        let node = self.head();
        let now = match self.capacity {
            0 => self.look(true),
            _ => EMPTY,
        };
        let state = match deadline {
            _ if now != EMPTY => node.state.load(Ordering::Acquire),
            None => unsafe { __membar_await(&node.state, EMPTY) },
            Some(_) if self.capacity == 0 => self.look(false),
            Some(_) => node.state.load(Ordering::Acquire),
        };
        match state {
            FULL => Ok(self.take()),
            END => Err(RecvTimeoutError::Disconnected),
            _ => {
                deadline.map(crate::thread::sleep_until);
                Err(RecvTimeoutError::Timeout)
            }
        }
    }

    pub(crate) fn disconnect_senders(&self) {
        self.locked(|| {
            let quiet = MembarQuiet::new();
            let node = unsafe { &*self.tail.get() };
            drop(quiet);
            node.state.store(END, Ordering::Release);
        });
    }

    /// The receiver drops what it has not received.
    pub(crate) fn disconnect_receivers(&self) {
        self.locked(|| {
            let _quiet = MembarQuiet::new();
            self.closed.set(true);
        });
        if self.is_bounded() {
            unsafe { __membar_give(&self.places, PLENTY) };
        }
        while self.state_of_first() == FULL {
            if self.capacity == 0 {
                let quiet = MembarQuiet::new();
                let node = unsafe { &*self.head.get() };
                self.head.set(node.next.get());
                drop(quiet);
                node.state.store(BACK, Ordering::Release);
            } else {
                drop(self.take());
            }
        }
    }

    /// Only after it has been closed: nobody fills it any more.
    fn state_of_first(&self) -> u32 {
        let _quiet = MembarQuiet::new();
        unsafe { &*self.head.get() }.state.load(Ordering::Acquire)
    }
}
