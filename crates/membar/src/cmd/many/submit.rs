//! Scripts for engines that run workers.

use super::store::Store;
use super::usage;
use crate::cli::{Engine, PlanArgs};
use membar::Failure;
use membar::report::quoted_path;
use std::io::Write;
use std::process::Command;

/// Tasks of an array if nothing is said: what Slurm allows unless its administrator says otherwise.
const TASKS: u32 = 1000;
/// A worker has this long to give back what it has not done, before it is killed.
const GRACE: u64 = 60;

/// Writes the script and hands it over.
pub fn submit(engine: Engine, args: &PlanArgs, store: &Store, out: &mut impl Write) -> Result<(), Failure> {
    let Engine::Slurm = engine;
    let path = std::path::absolute(&store.path).unwrap_or_else(|_| store.path.clone());
    let membar = std::env::current_exe().map_err(|error| usage(format!("error: this executable: {error}")))?;
    let texts = [path.to_string_lossy(), membar.to_string_lossy()];
    let mut texts = texts.iter().map(|text| &**text).chain(args.engine_option.iter().map(String::as_str));
    if let Some(text) = texts.find(|text| text.contains(|c: char| c.is_control())) {
        let help = "move the plan to another path, then submit `membar work` yourself; or leave the option out";
        return Err(usage(format!("error: a script cannot contain `{}`\n = help: {help}", membar::report::safe(text))));
    }
    let script = slurm(args, store.manifest.shards, &path.to_string_lossy(), &membar.to_string_lossy());
    let failed = |error: std::io::Error| usage(format!("error: cannot write the script: {error}"));
    let (work, merge) = (path.join("work.sbatch"), path.join("merge.sbatch"));
    std::fs::write(&work, script.work).map_err(failed)?;
    std::fs::write(&merge, script.merge).map_err(failed)?;
    if args.script_only {
        let (work, merge) = (quoted_path(&work.to_string_lossy()), quoted_path(&merge.to_string_lossy()));
        writeln!(out, "Submit: sbatch --dependency=afterany:$(sbatch --parsable {work}) {merge}")?;
        return Ok(());
    }
    let array = sbatch(&[work.as_os_str()])?;
    let after = format!("--dependency=afterany:{array}");
    let last = sbatch(&[after.as_ref(), merge.as_os_str()])?;
    let result = quoted_path(&path.join("merged.txt").to_string_lossy());
    writeln!(out, "Submitted: array {array}, and job {last} after it, which writes {result}")?;
    Ok(())
}

/// Submits a job; its number.
fn sbatch(words: &[&std::ffi::OsStr]) -> Result<String, Failure> {
    let help = "the scripts are in the plan; --script-only only writes them";
    let output = Command::new("sbatch")
        .arg("--parsable")
        .args(words)
        .output()
        .map_err(|error| usage(format!("error: sbatch cannot be run: {error}\n = help: {help}")))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(usage(format!("error: sbatch refused the job: {}\n = help: {help}", why.trim())));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.trim().split(';').next().unwrap_or_default().to_owned())
}

struct Script {
    work: String,
    merge: String,
}

/// An array whose tasks share the shards, and a job after it. A task that leaves something asks to be run again; what tasks that are
/// gone left is done by the last job.
fn slurm(args: &PlanArgs, shards: u32, plan: &str, membar: &str) -> Script {
    let tasks = args.tasks.unwrap_or(shards.min(TASKS)).min(shards).max(1);
    // In names of logs, `%` begins what Slurm fills in.
    let (logs, plan, membar) = (quoted_path(&plan.replace('%', "%%")), quoted_path(plan), quoted_path(membar));
    let mut options: String = args.engine_option.iter().map(|option| format!("#SBATCH {option}\n")).collect();
    if let Some(time) = args.task_time.0 {
        let minutes = time.as_secs().div_ceil(60).max(1);
        options += &format!("#SBATCH --time={minutes}\n");
    }
    let work = format!(
        "#!/bin/sh\n#SBATCH --job-name=membar\n#SBATCH --array=1-{tasks}\n#SBATCH --requeue\n#SBATCH --open-mode=append\n\
         #SBATCH --signal=B:TERM@{GRACE}\n#SBATCH --output={logs}/slurm-%a.log\n{options}\
         # Slurm signals the shell: it passes the signal on, and waits for the worker to keep what it has.\n\
         {membar} work --quiet {plan} \"$SLURM_ARRAY_TASK_ID/{tasks}\" &\nworker=$!\n\
         trap 'kill -TERM $worker' TERM\nwait $worker\ncode=$?\nwhile [ $code -gt 128 ] && kill -0 $worker 2>/dev/null; do\n  wait $worker\n  code=$?\ndone\n\
         # 3: something is left that is worth another try.\n\
         if [ $code -eq 3 ] && [ \"${{SLURM_RESTART_COUNT:-0}}\" -lt 10 ]; then\n  \
         scontrol requeue \"${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID\" && exit 0\nfi\nexit $code\n"
    );
    let merge = format!(
        "#!/bin/sh\n#SBATCH --job-name=membar-merge\n#SBATCH --requeue\n#SBATCH --output={logs}/slurm-merge.log\n{options}\
         # What tasks that were lost have left.\n{membar} work --quiet {plan}\n\
         {membar} merge {plan} > {plan}/merged.new\ncode=$?\nmv {plan}/merged.new {plan}/merged.txt\necho $code > {plan}/merged.code\n\
         [ $code -eq 1 ] && code=0 # something was found, which is no failure of the job\nexit $code\n"
    );
    Script { work, merge }
}
