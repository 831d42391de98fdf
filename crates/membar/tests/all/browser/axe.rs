//! The accessibility checker, axe-core: npm fetches the version of `axe/package-lock.json` and checks its hash.

use super::KEPT;
use super::checks::Check;
use super::devtools::{Outcome, Tab};
use super::reports::Report;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The check, if there is a checker.
pub fn check() -> Outcome<Check> {
    let file = file()?;
    std::fs::metadata(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(Check { name: "accessibility", needs: "body", run: accessible, sabotage: "<img src='data:,'><button></button>" })
}

/// What npm is given.
const WANTED: [(&str, &str); 2] =
    [("package.json", include_str!("axe/package.json")), ("package-lock.json", include_str!("axe/package-lock.json"))];

/// Where it is kept once it is there, under its version.
fn file() -> Outcome<PathBuf> {
    let wanted: serde_json::Value = serde_json::from_str(WANTED[0].1).map_err(|error| error.to_string())?;
    let version = wanted["devDependencies"]["axe-core"].as_str().ok_or("package.json has no axe-core")?;
    let kept = Path::new(KEPT).join(format!("axe-core-{version}"));
    let script = kept.join("node_modules/axe-core/axe.min.js");
    if script.exists() {
        return Ok(script);
    }
    let fresh = tempfile::tempdir_in(KEPT).map_err(|error| error.to_string())?;
    for (name, text) in WANTED {
        std::fs::write(fresh.path().join(name), text).map_err(|error| format!("{name}: {error}"))?;
    }
    let ran = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=30000"])
        .current_dir(fresh.path())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("npm: {error} (`apt-get install npm`)"))?;
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    // A wrong hash is no reason to skip anything.
    assert!(!said.contains("EINTEGRITY"), "{said}");
    if !ran.status.success() {
        return Err(format!("npm cannot fetch axe-core: {}", said.lines().last().unwrap_or_default()));
    }
    // Complete, or not there at all.
    std::fs::rename(fresh.keep(), &kept).map_err(|error| format!("{}: {error}", kept.display()))?;
    Ok(script)
}

/// It finds nothing serious, folded out, in both themes, on a large screen and on a phone.
fn accessible(tab: &mut Tab, _: &Report) -> Outcome {
    let script = file().and_then(|file| std::fs::read_to_string(file).map_err(|error| error.to_string()))?;
    tab.eval("openAll()")?;
    tab.script(&script)?;
    for (width, theme) in [(1600, "light"), (400, "dark")] {
        tab.look(width, theme)?;
        tab.nothing(
            "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
               .filter(({ impact }) => impact === 'serious' || impact === 'critical')
               .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + node.failureSummary).join(' | ')))",
        )?;
    }
    Ok(())
}
