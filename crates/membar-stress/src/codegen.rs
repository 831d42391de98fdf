//! Programs as code, one for each thread, and what that code logs.
//!
//! Both engines follow the same plan ([`Steps`]): which instructions are stamped, and where in its thread's log each
//! puts what it read. A log is a private row of words, in program order; an instruction has up to four of them:
//!
//! | word | of |
//! |---|---|
//! | when it began | instructions that are stamped |
//! | what it read | loads and atomics |
//! | what its address is known to hold now | compare-and-swaps: what a later one expects |
//! | when it ended | instructions that are stamped |

pub(crate) mod portable;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) mod x86_64;

use crate::Error;
use crate::memory::{LINE, PAGE};
use membar_simulate::{Instr, Program, Rng, Times};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The engine that runs a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// Machine code made for the program: one instruction of the processor for each of the program's, and one for the log.
    Generated,
    /// An interpreter with the atomics of Rust: on every machine, and a second opinion where there is generated code.
    Portable,
}

impl Default for Engine {
    /// Generated code where there is any.
    fn default() -> Engine {
        if cfg!(all(target_arch = "x86_64", target_os = "linux")) { Engine::Generated } else { Engine::Portable }
    }
}

/// Which operations note when they began and ended. The more do, the less they overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Timestamps {
    /// None.
    #[default]
    Off,
    /// Each of these: 1 is every operation, 10 the first, the eleventh and so on of each thread.
    Every(u32),
}

/// The options that code depends on, besides the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Options {
    pub engine: Engine,
    pub timestamps: Timestamps,
    /// Instructions, on average, after which a thread lets another have its core; 0: never.
    pub yields: u32,
}

/// The value that a compare-and-swap expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expected {
    /// This value.
    Value(u64),
    /// The value in that word of the log, plus this number.
    Logged { word: usize, plus: u64 },
}

/// One instruction of the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PlannedInstr {
    /// Its number in the program.
    pub index: usize,
    pub instr: Instr,
    /// Its first word in the log.
    pub word: usize,
    /// Does it note when it began and ended?
    pub stamped: bool,
    /// Does its thread let another have its core afterwards?
    pub yields: bool,
    /// For a compare-and-swap.
    pub expected: Expected,
}

impl PlannedInstr {
    /// Where the value is that it read.
    pub fn read(&self) -> Option<usize> {
        reads(self.instr).then_some(self.word + usize::from(self.stamped))
    }

    /// Where its end is, if it is stamped.
    pub fn end(&self) -> usize {
        self.word + usize::from(self.stamped) + values(self.instr)
    }

    fn words(&self) -> usize {
        values(self.instr) + 2 * usize::from(self.stamped)
    }
}

fn reads(instr: Instr) -> bool {
    use Instr::*;
    matches!(instr, Load { .. } | Exchange { .. } | Add { .. } | Cas { .. })
}

/// How many values an instruction logs.
fn values(instr: Instr) -> usize {
    usize::from(reads(instr)) + usize::from(matches!(instr, Instr::Cas { .. }))
}

/// The plan of a thread, step by step.
pub(crate) struct Steps<'a> {
    program: &'a Program,
    rest: std::ops::Range<usize>,
    first: usize,
    options: Options,
    operations: u32,
    rng: Rng,
    until_yield: u32,
    /// The first word of each instruction so far; after the last step also the number of all words.
    words: Vec<u32>,
    next_word: usize,
}

impl<'a> Steps<'a> {
    pub fn new(program: &'a Program, thread: usize, options: Options) -> Steps<'a> {
        let rest = program.thread(thread);
        let mut rng = Rng::stream(0x9E1D, thread as u64);
        let until_yield = rng.below(options.yields.saturating_mul(2));
        let words = Vec::with_capacity(rest.len());
        let first = rest.start;
        Steps { program, rest, first, options, operations: 0, rng, until_yield, words, next_word: 0 }
    }

    /// How many words the steps so far have.
    pub fn words(&self) -> usize {
        self.next_word
    }

    fn expected(&self, index: usize, addr: u32) -> Expected {
        let Some(from) = self.program.expects(index) else { return Expected::Value(self.program.initial(addr)) };
        let stamped = self.stamps_at(from);
        let word = self.words[from - self.first] as usize + usize::from(stamped);
        match self.program.instr(from) {
            Instr::Store { value, .. } | Instr::Exchange { value, .. } => Expected::Value(value),
            Instr::Add { by, .. } => Expected::Logged { word, plus: by },
            Instr::Cas { .. } => Expected::Logged { word: word + 1, plus: 0 },
            _ => Expected::Logged { word, plus: 0 },
        }
    }

    /// Was that earlier instruction stamped? Its words tell: nothing else makes two more.
    fn stamps_at(&self, from: usize) -> bool {
        let end = self.words.get(from - self.first + 1).map_or(self.next_word, |&word| word as usize);
        end - self.words[from - self.first] as usize > values(self.program.instr(from))
    }
}

impl Iterator for Steps<'_> {
    type Item = PlannedInstr;

    fn next(&mut self) -> Option<PlannedInstr> {
        let index = self.rest.next()?;
        let instr = self.program.instr(index);
        let operation = !matches!(instr, Instr::Delay { .. });
        let stamped = match self.options.timestamps {
            Timestamps::Every(n) => operation && self.operations.is_multiple_of(n.max(1)),
            Timestamps::Off => false,
        };
        self.operations += u32::from(operation);
        let expected = match instr {
            Instr::Cas { addr, .. } => self.expected(index, addr),
            _ => Expected::Value(0),
        };
        let mut yields = false;
        if self.options.yields > 0 {
            yields = self.until_yield == 0;
            self.until_yield = match yields {
                true => self.rng.below(self.options.yields.saturating_mul(2)),
                false => self.until_yield - 1,
            };
        }
        let step = PlannedInstr { index, instr, word: self.next_word, stamped, yields, expected };
        self.words.push(self.next_word as u32);
        self.next_word += step.words();
        Some(step)
    }
}

/// Where the addresses and locks of a program are, in bytes from the beginning of the memory that is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    stride: usize,
    locks: usize,
    pub bytes: usize,
}

impl Layout {
    fn new(program: &Program) -> Result<Layout, Error> {
        let span = match program.addresses() {
            0 => 0,
            n => program.offset(n - 1) + 8,
        };
        let bytes = (span <= 1 << 32).then(|| usize::try_from(span).ok()?.checked_next_multiple_of(PAGE)).flatten();
        let locks = bytes.ok_or(Error::Span(span))?;
        Ok(Layout { stride: program.offset(1) as usize, locks, bytes: locks + program.locks() as usize * LINE })
    }

    /// The word of an address.
    pub fn cell(&self, addr: u32) -> usize {
        addr as usize * self.stride / 8
    }

    /// The word of a lock; each has its own line.
    pub fn lock(&self, lock: u32) -> usize {
        (self.locks + lock as usize * LINE) / 8
    }
}

/// A program as code: made once, run as often as one likes.
#[derive(Debug)]
pub struct Compiled {
    program: Program,
    pub(crate) threads: Vec<Thread>,
    pub(crate) layout: Layout,
    pub(crate) options: Options,
}

/// One thread's code.
#[derive(Debug)]
pub(crate) struct Thread {
    code: Code,
    /// How many words its log has.
    pub words: usize,
}

#[derive(Debug)]
enum Code {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Machine(x86_64::Machine),
    Portable(portable::Listing),
}

impl Compiled {
    /// Makes code of a program.
    pub(crate) fn new(program: &Program, options: Options) -> Result<Compiled, Error> {
        if options.engine == Engine::Portable && options.timestamps != Timestamps::Off {
            return Err(Error::NoTimestamps);
        }
        let layout = Layout::new(program)?;
        let threads = (0..program.threads()).map(|thread| {
            let mut steps = Steps::new(program, thread, options);
            let code = match options.engine {
                #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
                Engine::Generated => Code::Machine(x86_64::Machine::new(thread, &mut steps, &layout)?),
                #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
                Engine::Generated => return Err(Error::NoGenerator),
                Engine::Portable => Code::Portable(portable::Listing::new(&mut steps)),
            };
            match u32::try_from(steps.words()) {
                Ok(_) => Ok(Thread { code, words: steps.words() }),
                Err(_) => Err(Error::Long { thread }),
            }
        });
        let threads = threads.collect::<Result<_, _>>()?;
        Ok(Compiled { program: program.clone(), threads, layout, options })
    }

    /// The program that it is the code of.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Bytes of code of all threads.
    pub fn bytes(&self) -> usize {
        let bytes = |thread: &Thread| match &thread.code {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Code::Machine(machine) => machine.bytes().len(),
            Code::Portable(listing) => listing.bytes(),
        };
        self.threads.iter().map(bytes).sum()
    }
}

impl Thread {
    /// Runs the code on the calling thread; false if `stop` made it give up waiting for a lock.
    ///
    /// # Panics
    /// If memory or log is smaller than the code needs.
    pub fn run(&self, layout: &Layout, memory: &[AtomicU64], log: &[AtomicU64], stop: &AtomicBool) -> bool {
        assert!(memory.len() * 8 >= layout.bytes && log.len() >= self.words);
        match &self.code {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Code::Machine(machine) => machine.run(layout, memory, log, stop),
            Code::Portable(listing) => listing.run(layout, memory, log, stop),
        }
    }
}

/// Takes a thread's log apart: the values that instructions read, and when they were pending.
///
/// Instructions that are not stamped began no earlier than the last stamped one before them, or than the thread (`period`),
/// and ended no later than the next one. `ahead` is taken from all times.
pub(crate) fn collect(
    steps: Steps<'_>,
    log: &[AtomicU64],
    reads: &mut [u64],
    times: Option<&mut Times>,
    period: (u64, u64),
    ahead: i64,
) {
    let value = |word: usize| log[word].load(Ordering::Relaxed);
    let Some(times) = times else {
        for step in steps {
            if let Some(word) = step.read() {
                reads[step.index] = value(word);
            }
        }
        return;
    };
    let common = |time: u64| time.wrapping_sub(ahead as u64);
    let (mut begin, mut waiting) = (common(period.0), None);
    let mut after = 0;
    for step in steps {
        if let Some(word) = step.read() {
            reads[step.index] = value(word);
        }
        if step.stamped {
            begin = common(value(step.word));
            let end = common(value(step.end()));
            times.end[waiting.unwrap_or(step.index)..=step.index].fill(end);
            waiting = None;
        } else {
            waiting = waiting.or(Some(step.index));
        }
        times.begin[step.index] = begin;
        after = step.index + 1;
    }
    if let Some(waiting) = waiting {
        times.end[waiting..after].fill(common(period.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use membar_simulate::ProgramBuilder;

    fn program() -> Program {
        use Instr::*;
        let mut b = ProgramBuilder::new(2, 0);
        b.initial(1, 9);
        b.thread().push(Load { addr: 0 }).push(Delay { cycles: 3 }).push(Cas { addr: 0, value: 1 });
        b.push(Cas { addr: 0, value: 2 }).push(Store { addr: 1, value: 3 }).push(Cas { addr: 1, value: 4 });
        b.push(Add { addr: 0, by: 5 }).push(Cas { addr: 0, value: 1000 });
        b.thread().push(Cas { addr: 1, value: 7 });
        b.finish().unwrap()
    }

    #[test]
    fn a_plan_knows_where_values_are() {
        let program = program();
        for every in [0, 1, 2, 3] {
            let timestamps = if every == 0 { Timestamps::Off } else { Timestamps::Every(every) };
            let options = Options { timestamps, ..Options::default() };
            let steps: Vec<PlannedInstr> = Steps::new(&program, 0, options).collect();
            assert!(steps.windows(2).all(|pair| pair[0].word + pair[0].words() == pair[1].word));
            let read = |i: usize| steps[i].read().unwrap();
            assert_eq!(steps[2].expected, Expected::Logged { word: read(0), plus: 0 });
            assert_eq!(steps[3].expected, Expected::Logged { word: read(2) + 1, plus: 0 });
            assert_eq!(steps[5].expected, Expected::Value(3));
            assert_eq!(steps[7].expected, Expected::Logged { word: read(6), plus: 5 });
            assert_eq!(Steps::new(&program, 1, options).next().unwrap().expected, Expected::Value(9));
            assert_eq!(steps.iter().filter(|step| step.stamped).count(), [0, 7, 4, 3][every as usize]);
        }
    }

    #[test]
    fn unstamped_instructions_get_their_neighbours_times() {
        let program = program();
        let options = Options { timestamps: Timestamps::Every(3), ..Options::default() };
        let steps = || Steps::new(&program, 0, options);
        let log: Vec<AtomicU64> = (0..100).map(|_| AtomicU64::new(0)).collect();
        for (n, step) in steps().filter(|step| step.stamped).enumerate() {
            log[step.word].store(1000 + 100 * n as u64, Ordering::Relaxed);
            log[step.end()].store(1050 + 100 * n as u64, Ordering::Relaxed);
        }
        let mut times = Times { begin: vec![0; 9], end: vec![0; 9] };
        collect(steps(), &log, &mut [0; 9], Some(&mut times), (900, 2000), 10);
        assert_eq!(times.begin, [990, 990, 990, 990, 1090, 1090, 1090, 1190, 0]);
        assert_eq!(times.end, [1040, 1140, 1140, 1140, 1140, 1240, 1240, 1240, 0]);
    }
}
