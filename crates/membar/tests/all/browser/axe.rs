//! The accessibility checker, axe-core. `.ci/run` fetches the version of `axe/package-lock.json`; nothing is downloaded here.

use super::checks::Check;
use super::devtools::{Outcome, Tab};
use super::reports::Report;

/// The check.
pub const CHECK: Check =
    Check { name: "accessibility", needs: "body", run: accessible, sabotage: "<img src='data:,'><button></button>" };

/// It finds nothing serious, folded out, in both themes, on a large screen and on a phone.
fn accessible(tab: &mut Tab, _: &Report) -> Outcome {
    let file = std::env::var_os("MEMBAR_AXE").expect("MEMBAR_AXE names axe.min.js; see CONTRIBUTING.md");
    let script = std::fs::read_to_string(file).expect("the script of MEMBAR_AXE");
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
