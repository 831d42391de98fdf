//! Litmus tests of RISC-V and Arm on such machines: written as C with inline assembly, compiled, and run in a process of their own.
//!
//! The instructions of a thread become one `asm` statement, with the test's registers as its operands, so the compiler chooses
//! which of the processor's registers they are. Each of many instances has its own variables; all threads meet before each
//! instance, and outcomes are counted after a batch. Pointers are moved by a constant, so that outcomes show the test's names.
//!
//! Elsewhere a cross compiler and an emulator can be named in `MEMBAR_LITMUS_CC` and `MEMBAR_LITMUS_RUN`, with their arguments:
//! `riscv64-linux-gnu-gcc` and `qemu-riscv64`, for example. An emulator on x86 shows few outcomes that are not sequentially
//! consistent.

use super::{Amount, Counts, Histogram, Settings};
use crate::Error;
use membar_litmus::{Arch, LitmusTest, Spot};
use std::fmt::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Instances of a batch.
const INSTANCES: usize = 256;

/// Compiles and runs a test.
pub(super) fn run(test: &LitmusTest, settings: &Settings) -> Result<Histogram, Error> {
    let (name, native) = match test.arch {
        Arch::RiscV => ("riscv64", cfg!(target_arch = "riscv64")),
        _ => ("aarch64", cfg!(target_arch = "aarch64")),
    };
    let named = |variable: &str| {
        let words = std::env::var(variable).unwrap_or_default();
        words.split_whitespace().map(str::to_owned).collect::<Vec<String>>()
    };
    let (mut compiler, mut runner) = (named("MEMBAR_LITMUS_CC"), named("MEMBAR_LITMUS_RUN"));
    if native && compiler.is_empty() {
        (compiler, runner) = (vec!["cc".to_owned()], Vec::new());
    }
    if compiler.is_empty() {
        return Err(Error::OtherMachine { arch: test.arch, name });
    }
    let directory = tempfile::tempdir().map_err(Error::Compile)?;
    let (source, program) = (directory.path().join("test.c"), directory.path().join("test"));
    std::fs::write(&source, text(test)?).map_err(Error::Compile)?;
    let march = if test.arch == Arch::RiscV { "-march=rv64gc" } else { "-march=armv8.4-a" };
    let built = Command::new(&compiler[0])
        .args(&compiler[1..])
        .args(["-O1", "-static", "-pthread", march, "-o"])
        .args([&program, &source])
        .stdin(Stdio::null())
        .output()
        .map_err(Error::Compile)?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        let first = said.lines().find(|line| line.contains("rror")).unwrap_or("it says nothing").trim().to_owned();
        return Err(Error::Refused(first));
    }
    let (outcomes, time) = match settings.amount {
        Amount::Outcomes(outcomes) => (outcomes, Duration::MAX),
        Amount::Time(time) => (u64::MAX, time),
    };
    let batches = outcomes.div_ceil(INSTANCES as u64);
    runner.push(program.to_string_lossy().into_owned());
    let began = Instant::now();
    let mut child = Command::new(&runner[0])
        .args(&runner[1..])
        .args([batches.to_string(), time.as_millis().min(u64::MAX.into()).to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(Error::Compile)?;
    // The outcomes are a few lines: they fit into the pipe.
    let limit = settings.limit.saturating_add(if time == Duration::MAX { Duration::from_secs(600) } else { time });
    loop {
        if child.try_wait().map_err(Error::Compile)?.is_some() {
            break;
        }
        let interrupted = settings.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
        if interrupted || began.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Error::Stuck(limit));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().map_err(Error::Compile)?;
    if !output.status.success() {
        return Err(Error::Refused(format!("the test ended with {}", output.status)));
    }
    let mut counts = Counts::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<u64>);
        let Some(Ok(count)) = numbers.next() else { continue };
        let values: Result<Vec<u64>, _> = numbers.collect();
        if let Ok(values) = values
            && values.len() == test.locations.len()
        {
            let wrapped = values.iter().zip(&test.locations).map(|(&value, location)| location.ty.wrap(value));
            *counts.entry(wrapped.collect()).or_default() += count;
        }
    }
    Ok(Histogram::new(test, counts, began.elapsed().as_secs_f64()))
}

/// The C program. Its arguments are how many batches to run, and how many milliseconds.
fn text(test: &LitmusTest) -> Result<String, Error> {
    let program = test.relaxed.as_ref().ok_or(Error::NoThreads)?;
    let cells = &test.code.cells;
    let first = cells.first().map_or(0, |cell| cell.pointer);
    let span = cells.iter().map(|cell| cell.pointer - first + 64).max().unwrap_or(64).next_multiple_of(128);
    let threads = test.code.threads.len();
    // A value as the machine has it: addresses are moved.
    let moved = |value: u64| match value.wrapping_sub(first) < span && !cells.is_empty() {
        true => format!("(uint64_t)(base + {}u)", value - first),
        false => format!("{value}u"),
    };
    let mut c = format!(
        "#include <pthread.h>\n#include <sched.h>\n#include <stdatomic.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n\
         enum {{ INSTANCES = {INSTANCES}, SPAN = {span}, THREADS = {threads}, SHOWN = {} }};\n\
         static _Alignas(128) unsigned char memory[INSTANCES][SPAN];\n\
         static uint64_t results[INSTANCES][THREADS][32];\n",
        test.locations.len().max(1)
    );
    for (thread, code) in test.code.threads.iter().enumerate() {
        let _ = writeln!(c, "static void thread_{thread}(unsigned char *base, uint64_t *out) {{");
        let mut used = vec![false; 32];
        let mut lines = Vec::new();
        for (labels, line) in program.source(thread) {
            for label in labels {
                lines.push(if numeric(label) { format!("{label}:") } else { format!("L{label}%=:") });
            }
            if !line.is_empty() {
                lines.extend(assembly(test.arch, line, &program.labels(thread), &mut used));
            }
        }
        for location in &test.locations {
            if let Spot::Reg { thread: of, reg } = location.spot
                && of as usize == thread
                && let Some(used) = used.get_mut(usize::from(reg))
            {
                *used = true;
            }
        }
        let registers: Vec<usize> = (0..32).filter(|&reg| used[reg]).collect();
        // CASP wants pairs with neighbouring numbers: then registers are those of the test, but for the ones that have a use.
        let pairs = program.source(thread).any(|(_, line)| line.to_ascii_uppercase().starts_with("CASP"));
        for &reg in &registers {
            let (keep, place) = match pairs && reg < 29 && reg != 18 {
                true => ("register ", format!(" __asm__(\"x{reg}\")")),
                false => ("", String::new()),
            };
            let _ = writeln!(c, "  {keep}uint64_t r{reg}{place} = {};", moved(code.regs[reg]));
        }
        c.push_str("  __asm__ volatile(\n");
        for line in &lines {
            let _ = writeln!(c, "    \"{line}\\n\"");
        }
        c.push_str("    \"\"");
        let operands: Vec<String> = registers.iter().map(|reg| format!("[r{reg}] \"+&r\"(r{reg})")).collect();
        let _ = writeln!(c, "\n    : {} : : \"memory\", \"cc\");", operands.join(", "));
        for &reg in &registers {
            let _ = writeln!(c, "  out[{reg}] = r{reg};");
        }
        c.push_str("}\n");
    }
    let bodies: Vec<String> = (0..threads).map(|thread| format!("thread_{thread}")).collect();
    let _ = writeln!(c, "static void (*const bodies[])(unsigned char *, uint64_t *) = {{ {} }};", bodies.join(", "));
    c.push_str("static void reset(unsigned char *base) {\n  for (int i = 0; i < SPAN; i++) base[i] = 0;\n");
    for cell in cells {
        let (bits, offset) = (cell.ty.bits, cell.pointer - first);
        let _ = writeln!(c, "  *(uint{bits}_t *)(base + {offset}u) = (uint{bits}_t){};", moved(cell.init));
    }
    c.push_str("}\nstatic void look(int i, uint64_t *state) {\n  unsigned char *base = memory[i];\n");
    for (at, location) in test.locations.iter().enumerate() {
        let value = match location.spot {
            Spot::Reg { thread, reg } => format!("results[i][{thread}][{reg}]"),
            Spot::Cell(cell) => {
                let cell = &cells[cell as usize];
                format!("*(uint{}_t *)(base + {}u)", cell.ty.bits, cell.pointer - first)
            }
        };
        let _ = writeln!(
            c,
            "  state[{at}] = {value};\n  if (state[{at}] - (uint64_t)base < SPAN) state[{at}] = state[{at}] - (uint64_t)base + {first}u;"
        );
    }
    c.push_str("}\n");
    c.push_str(DRIVER);
    Ok(c)
}

/// The rest of the program: threads that meet before each instance, and the table of outcomes.
const DRIVER: &str = r#"
static atomic_long arrived, finished;
static atomic_long round_no;
static atomic_int over;

/* Threads may outnumber cores. */
static inline void pause_at(int *spins) { if (++*spins % 64 == 0) sched_yield(); }

static void *work(void *which) {
  long me = (long)which;
  for (long round = 1; ; round++) {
    int spins = 0;
    while (atomic_load(&round_no) < round && !atomic_load(&over)) pause_at(&spins);
    if (atomic_load(&over)) return 0;
    for (long i = 0; i < INSTANCES; i++) {
      long all = ((round - 1) * INSTANCES + i + 1) * THREADS;
      atomic_fetch_add(&arrived, 1);
      while (atomic_load(&arrived) < all) pause_at(&spins);
      bodies[me](memory[i], results[i][me]);
    }
    atomic_fetch_add(&finished, 1);
  }
}

struct row { uint64_t state[SHOWN]; uint64_t count; };
static struct row table[4096];
static int rows;

int main(int argc, char **argv) {
  uint64_t batches = argc > 1 ? strtoull(argv[1], 0, 10) : 1, limit = argc > 2 ? strtoull(argv[2], 0, 10) : 0;
  struct timespec begun, now;
  pthread_t ids[THREADS];
  clock_gettime(CLOCK_MONOTONIC, &begun);
  for (long t = 0; t < THREADS; t++)
    if (pthread_create(&ids[t], 0, work, (void *)t)) return 3;
  for (uint64_t batch = 0; batch < batches; batch++) {
    for (int i = 0; i < INSTANCES; i++) reset(memory[i]);
    atomic_store(&round_no, (long)batch + 1);
    int spins = 0;
    while (atomic_load(&finished) < (long)(batch + 1) * THREADS) pause_at(&spins);
    for (int i = 0; i < INSTANCES; i++) {
      uint64_t state[SHOWN] = { 0 };
      int at = 0;
      look(i, state);
      for (; at < rows; at++) {
        int same = 1;
        for (int k = 0; k < SHOWN; k++) same &= table[at].state[k] == state[k];
        if (same) break;
      }
      if (at == rows && rows < 4096) {
        for (int k = 0; k < SHOWN; k++) table[rows].state[k] = state[k];
        rows++;
      }
      if (at < 4096) table[at].count++;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((uint64_t)((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000) >= limit) break;
  }
  atomic_store(&over, 1);
  for (int at = 0; at < rows; at++) {
    printf("%llu", (unsigned long long)table[at].count);
    for (int k = 0; k < SHOWN; k++) printf(" %llu", (unsigned long long)table[at].state[k]);
    printf("\n");
  }
  return 0;
}
"#;

/// Is it a label that `1b` and `1f` mean? The assembler knows these itself.
fn numeric(label: &str) -> bool {
    label.bytes().all(|byte| byte.is_ascii_digit())
}

/// An instruction of the test as the assembler wants it, with operands for registers.
fn assembly(arch: Arch, line: &str, labels: &[&str], used: &mut [bool]) -> Vec<String> {
    let mut out = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let len = if word(first) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(len);
        let is_mnemonic = out.is_empty();
        match membar_litmus::register_number(arch, token).filter(|_| !is_mnemonic) {
            _ if labels.contains(&token) && !numeric(token) => {
                let _ = write!(out, "L{token}%=");
            }
            // The zero register keeps its name.
            Some((_, None)) => out.push_str(token),
            Some((reg, Some(bits))) => {
                if let Some(used) = used.get_mut(usize::from(reg)) {
                    *used = true;
                }
                let letter = match (arch, bits) {
                    (Arch::RiscV, _) => "",
                    (_, 32) => "w",
                    _ => "x",
                };
                let _ = write!(out, "%{letter}[r{reg}]");
            }
            None => out.push_str(token),
        }
        rest = after;
    }
    let out = out.replace('\n', " ");
    if arch != Arch::RiscV {
        return vec![out];
    }
    // `.aq` and `.rl` of loads and stores become fences; of atomics they are written together.
    let (mnemonic, operands) = out.split_once(' ').unwrap_or((&out, ""));
    let atomic = ["amo", "lr.", "sc."].iter().any(|prefix| mnemonic.starts_with(prefix));
    if atomic {
        return vec![format!("{} {operands}", mnemonic.replace(".aq.rl", ".aqrl").replace(".rl.aq", ".aqrl"))];
    }
    let (acquire, release) = (mnemonic.contains(".aq"), mnemonic.contains(".rl"));
    let plain = mnemonic.replace(".aq", "").replace(".rl", "");
    let mut lines = Vec::new();
    if release {
        lines.push("fence rw,rw".to_owned());
    }
    lines.push(format!("{plain} {operands}"));
    if acquire {
        lines.push("fence rw,rw".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_labels_are_left_to_the_assembler() {
        let mut used = [false; 32];
        let mut one = |line: &str| assembly(Arch::RiscV, line, &["1", "L"], &mut used).join("; ");
        assert_eq!(one("beqz x5,1b"), "beqz %[r5],1b");
        assert_eq!(one("li x5,1"), "li %[r5],1");
        assert_eq!(one("bnez x6,L"), "bnez %[r6],LL%=");
    }
}
