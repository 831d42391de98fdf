//! Stops work on time.

use crate::Interrupt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Sets a flag at a time, or when the key is pressed, so that work in a round ends.
pub struct Watchdog {
    /// Set when it is time.
    pub stop: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl Watchdog {
    /// Sets the flag then.
    pub fn new(deadline: Option<Instant>, interrupt: &Interrupt) -> Watchdog {
        use std::sync::atomic::Ordering::Relaxed;
        let over = Arc::new(AtomicBool::new(false));
        // Without a deadline the interrupt's own flag will do.
        let Some(deadline) = deadline else { return Watchdog { stop: Arc::clone(&interrupt.0), over } };
        let stop = Arc::new(AtomicBool::new(false));
        let (flag, done, interrupt) = (Arc::clone(&stop), Arc::clone(&over), interrupt.clone());
        std::thread::spawn(move || {
            while !done.load(Relaxed) {
                if interrupt.pressed() || Instant::now() >= deadline {
                    flag.store(true, Relaxed);
                    return;
                }
                std::thread::sleep(Duration::from_millis(5).min(deadline.saturating_duration_since(Instant::now())));
            }
        });
        Watchdog { stop, over }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.over.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
