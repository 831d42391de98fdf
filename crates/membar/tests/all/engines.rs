//! Plans on engines that people use: a real Slurm of several nodes on this machine, and GNU parallel. Workers, and a node, are killed.

use crate::common::{BAD, FINE, SB};
use crate::many::{Dice, Place, stores, timeless, within, words};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn is_installed(program: &str) -> bool {
    let find = format!("PATH=$PATH:/usr/sbin:/sbin command -v {program}");
    Command::new("sh").args(["-c", &find]).stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The three kinds of plan, each large enough to be killed in.
fn plans(place: &Place) -> Vec<(&'static str, String)> {
    place.write("stores.litmus", stores(3, 4).as_bytes());
    let traces: String = (0..3000)
        .map(|i| {
            if i % 50 == 7 {
                SB
            } else if i % 997 == 9 {
                BAD
            } else {
                FINE
            }
        })
        .collect();
    place.write("many.trace", traces.as_bytes());
    vec![
        ("campaign", "simulate --machine mesi-tso --bug no-replay --tests 300 --operations 300 --keep-going".into()),
        ("traces", "check --model sc --model tso many.trace".into()),
        ("search", "verify --strategy dpor stores.litmus".into()),
    ]
}

/// Processes that work on this plan.
fn workers(plan: &Path) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_worker = |number: &u32| {
        let line = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|&byte| byte == 0).collect();
        let directory = std::fs::read_link(format!("/proc/{number}/cwd")).unwrap_or_default();
        words.first().is_some_and(|word| word.ends_with(b"membar"))
            && words.get(1).is_some_and(|word| *word == b"work")
            && words.iter().any(|word| directory.join(OsStr::from_bytes(word)) == plan)
    };
    numbers.filter(is_worker).collect()
}

fn kill_one(plan: &Path, dice: &mut Dice) -> bool {
    let workers = workers(plan);
    if workers.is_empty() {
        return false;
    }
    let one = workers[dice.below(workers.len() as u64) as usize];
    Command::new("kill").args(["-9", &one.to_string()]).stderr(Stdio::null()).status().unwrap().success()
}

/// A Slurm that ends with the test.
struct Slurm {
    script: PathBuf,
    directory: PathBuf,
}

impl Slurm {
    fn start(directory: PathBuf) -> Slurm {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/many/slurm-here.sh");
        let slurm = Slurm { script, directory };
        slurm.script(&["start"], &["3"]);
        slurm
    }

    fn script(&self, before: &[&str], after: &[&str]) {
        let mut command = Command::new(&self.script);
        let status = command.args(before).arg(&self.directory).args(after).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{before:?} {after:?}");
    }

    fn run(&self, directory: &Path, program: &str, line: &str) -> String {
        let mut command = Command::new(program);
        command.args(words(line)).current_dir(directory).env("SLURM_CONF", self.directory.join("slurm.conf"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = Command::new(&self.script).arg("stop").arg(&self.directory).status();
    }
}

#[test]
#[ignore = "needs slurmctld, slurmd and sbatch (Debian: slurmctld slurmd slurm-client)"]
fn plans_survive_a_real_slurm() {
    assert!(["slurmctld", "slurmd", "sbatch"].iter().all(|name| is_installed(name)), "Slurm is not installed");
    let place = Place::new();
    let slurm = Slurm::start(place.many.join("slurm"));
    let mut dice = Dice(5);
    let mut killed = 0;
    for (plan, line) in plans(&place) {
        let submit = format!("plan {plan} --shards 24 --explore 100ms --submit slurm --tasks 6 --task-time 5m {line}");
        let said = slurm.run(&place.many, env!("CARGO_BIN_EXE_membar"), &submit);
        assert!(said.contains("Submitted: array"), "{said}");
        let path = place.many.join(plan);
        let (begun, mut ended) = (Instant::now(), None);
        while !path.join("merged.code").exists() {
            assert!(
                begun.elapsed() < Duration::from_secs(240),
                "{plan}: {}",
                slurm.run(&place.many, "squeue", "--all")
            );
            std::thread::sleep(Duration::from_millis(20 + dice.below(100)));
            if killed % 4 != 3 || ended.is_some() {
                killed += usize::from(kill_one(&path, &mut dice));
            } else {
                // A whole node, which comes back later.
                let node = format!("node{}", 1 + dice.below(3));
                slurm.script(&["kill"], &[&node]);
                ended = Some((node, Instant::now()));
                killed += 1;
            }
            if ended.as_ref().is_some_and(|(_, at)| at.elapsed() > Duration::from_secs(1)) {
                let (node, _) = ended.take().unwrap();
                slurm.script(&["revive"], &[&node]);
            }
        }
        if let Some((node, _)) = ended {
            slurm.script(&["revive"], &[&node]);
        }
        let one = within(&place.one, &line);
        // The last job may have been killed in the middle; merging again is always possible.
        let finished = place.run(&format!("work {plan} --quiet"));
        assert_eq!(finished.code, 0, "{plan}: {}", finished.err);
        let merged = place.run(&format!("merge {plan}"));
        assert_eq!((merged.code, timeless(&merged.out)), (one.code, timeless(&one.out)), "{plan}: {}", merged.err);
    }
    assert!(killed > 0, "nothing was killed");
}

#[test]
#[ignore = "needs GNU parallel"]
fn plans_survive_gnu_parallel() {
    assert!(is_installed("parallel"), "GNU parallel is not installed");
    let place = Place::new();
    let mut dice = Dice(11);
    let mut killed = 0;
    for (plan, line) in plans(&place) {
        place.plan(&format!("plan {plan} --shards 24 --explore 100ms {line}"));
        let membar = env!("CARGO_BIN_EXE_membar");
        let mut parallel = Command::new("parallel")
            .args(["--will-cite", "-j3", "--retries", "20", membar, "work", "--quiet", plan, "{}/6", ":::"])
            .args(["1", "2", "3", "4", "5", "6"])
            .current_dir(&place.many)
            .spawn()
            .unwrap();
        let mut left = 12;
        let code = loop {
            if let Some(status) = parallel.try_wait().unwrap() {
                break status;
            }
            std::thread::sleep(Duration::from_millis(10 + dice.below(40)));
            if left > 0 && kill_one(&place.many.join(plan), &mut dice) {
                (left, killed) = (left - 1, killed + 1);
            }
        };
        assert!(code.success(), "{plan}");
        assert_eq!(place.run(&format!("work {plan} --quiet")).code, 0);
        let (one, merged) = (within(&place.one, &line), place.run(&format!("merge {plan}")));
        assert_eq!((merged.code, timeless(&merged.out)), (one.code, timeless(&one.out)), "{plan}: {}", merged.err);
    }
    assert!(killed > 0, "nothing was killed");
}
