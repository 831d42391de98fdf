//! The cores that this process may use.
#![allow(unsafe_code)]

use crate::Error;
use std::fmt;

/// A list of cores, by the system's numbers; never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cores(Vec<usize>);

/// The most cores in a list: the size of the system's own set.
const MOST: usize = 1024;

impl Cores {
    /// All that this process may use.
    pub fn allowed() -> Cores {
        let mut cores = system::allowed();
        if cores.is_empty() {
            // The system does not say which; it may say how many.
            cores = (0..std::thread::available_parallelism().map_or(1, |n| n.get())).collect();
        }
        Cores(cores)
    }

    /// The argument of `--cores`: numbers and ranges, such as `0-3,6`. The order counts, and a core may occur twice.
    pub fn parse(text: &str) -> Result<Cores, Error> {
        let wrong = || Error::CoreList(text.to_owned());
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&n| n < MOST).ok_or_else(wrong);
        let mut cores = Vec::new();
        for part in text.split(',') {
            match part.split_once('-') {
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last)?);
                    if last < first {
                        return Err(wrong());
                    }
                    cores.extend(first..=last);
                }
                None => cores.push(number(part)?),
            }
        }
        Cores::new(cores)
    }

    /// These, if this process may use all of them.
    pub fn new(cores: Vec<usize>) -> Result<Cores, Error> {
        if cores.is_empty() || cores.len() > MOST {
            return Err(Error::CoreList(Cores(cores).to_string()));
        }
        let allowed = Cores::allowed();
        match cores.iter().find(|core| !allowed.0.contains(core)) {
            Some(&core) => Err(Error::Core { core, allowed: allowed.to_string() }),
            None => Ok(Cores(cores)),
        }
    }

    /// Their numbers.
    pub fn numbers(&self) -> &[usize] {
        &self.0
    }

    /// How many different ones.
    pub fn count(&self) -> usize {
        let mut cores = self.0.clone();
        cores.sort_unstable();
        cores.dedup();
        cores.len()
    }

    /// The core of a thread: they go round.
    pub(crate) fn of(&self, thread: usize) -> usize {
        self.0[thread % self.0.len()]
    }
}

/// As [`Cores::parse`] reads it.
impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = &self.0[..];
        while let Some(&first) = rest.first() {
            let run = rest.iter().enumerate().take_while(|&(at, &core)| core == first + at).count();
            f.write_str(if rest.len() < self.0.len() { "," } else { "" })?;
            match run {
                1 => write!(f, "{first}")?,
                _ => write!(f, "{first}-{}", first + run - 1)?,
            }
            rest = &rest[run..];
        }
        Ok(())
    }
}

/// Ties the calling thread to a core, where the system can do that.
pub(crate) fn pin(core: usize) -> Result<(), Error> {
    system::pin(core).map_err(|source| Error::Pin { core, source })
}

#[cfg(target_os = "linux")]
mod system {
    use std::io;
    use std::mem::{size_of, zeroed};

    pub fn allowed() -> Vec<usize> {
        // SAFETY: a set of bits for which zero is the empty set, and a call that writes no more than its size.
        let set = unsafe {
            let mut set: libc::cpu_set_t = zeroed();
            if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
                return Vec::new();
            }
            set
        };
        // SAFETY: the number is within the set.
        (0..super::MOST.min(8 * size_of::<libc::cpu_set_t>()))
            .filter(|&core| unsafe { libc::CPU_ISSET(core, &set) })
            .collect()
    }

    pub fn pin(core: usize) -> io::Result<()> {
        // SAFETY: as above; `core` came from a list that has no number past the set's end.
        let failed = unsafe {
            let mut set: libc::cpu_set_t = zeroed();
            libc::CPU_SET(core, &mut set);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) != 0
        };
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub fn allowed() -> Vec<usize> {
        Vec::new()
    }

    pub fn pin(_core: usize) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        let all = Cores::allowed();
        assert_eq!(Cores::parse(&all.to_string()).unwrap(), all);
        let first = all.numbers()[0];
        assert_eq!(Cores::parse(&format!("{first}, {first}")).unwrap().count(), 1);
        assert_eq!(Cores(vec![0, 1, 2, 6, 5]).to_string(), "0-2,6,5");
        for wrong in ["", "x", "1-", "3-1", "0-99999", "1,,2"] {
            assert!(matches!(Cores::parse(wrong), Err(Error::CoreList(_))), "{wrong}");
        }
        let error = Cores::parse("1023").unwrap_err().to_string();
        assert!(error.starts_with("core 1023 is not one of those that this process may use: "), "{error}");
    }

    #[test]
    fn a_thread_can_be_tied() {
        std::thread::spawn(|| pin(Cores::allowed().numbers()[0]).unwrap()).join().unwrap();
    }
}
