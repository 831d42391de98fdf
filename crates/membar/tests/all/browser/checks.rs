//! Properties of every report that has what a check needs.
//!
//! Each check names something that, put at the end of a page, makes it fail: `every_check_can_fail` ensures that it does.

use super::devtools::{Outcome, Tab};
use super::reports::Report;
use serde_json::json;
use std::sync::Mutex;

/// A check.
pub struct Check {
    pub name: &'static str,
    /// The elements that a page must have to be checked, as a selector.
    pub needs: &'static str,
    /// The tab has the page open, 1280 wide and light.
    pub run: fn(&mut Tab, &Report) -> Outcome,
    /// Scripts and markup that make it fail.
    pub sabotage: &'static str,
}

/// All but the accessibility checker.
pub const CHECKS: &[Check] = &[
    Check { name: "views", needs: "body", run: views, sabotage: "<style>#argument { display: none }</style>" },
    Check {
        name: "texts",
        needs: "body",
        run: texts,
        sabotage: "<script nonce=membar>document.querySelector('h1').textContent = ''</script>",
    },
    Check {
        name: "everything opens",
        needs: "body",
        run: everything,
        sabotage: "<script nonce=membar>document.addEventListener('toggle', () => console.log('opened'), true)</script>",
    },
    Check {
        name: "nothing is markup",
        needs: "body",
        run: only_text,
        sabotage: "<script nonce=membar>window.pwned = 1</script>",
    },
    Check {
        name: "the argument by keys",
        needs: "#argument",
        run: argument,
        sabotage: "<script nonce=membar>addEventListener('keydown', (e) => { if (e.key === 'k') e.stopImmediatePropagation(); }, true)</script>",
    },
    Check {
        name: "steps select",
        needs: "#argument",
        run: steps_select,
        sabotage: "<script nonce=membar>document.querySelector('.trail').addEventListener('click', (e) => e.stopImmediatePropagation(), true); document.querySelectorAll('.trail button').forEach((b) => { b.classList.toggle = () => {}; })</script>",
    },
    Check {
        name: "operations select",
        needs: ".op",
        run: operations_select,
        sabotage: "<script nonce=membar>document.querySelectorAll('.op')[1].addEventListener('click', (e) => e.stopImmediatePropagation(), true)</script>",
    },
    Check {
        name: "source selects",
        needs: "#source button",
        run: source_selects,
        sabotage: "<script nonce=membar>document.querySelector('#source').addEventListener('click', (e) => e.stopImmediatePropagation(), true)</script>",
    },
    Check {
        name: "links select",
        needs: "#read",
        run: links_select,
        sabotage: "<script nonce=membar>document.querySelector('#read').addEventListener('click', (e) => e.stopImmediatePropagation(), true)</script>",
    },
    Check {
        name: "the machine by keys",
        needs: "#machine input",
        run: machine,
        sabotage: "<script nonce=membar>document.querySelector('#machine').addEventListener('input', (e) => e.stopImmediatePropagation(), true)</script>",
    },
    Check {
        name: "the step that goes wrong",
        needs: ".trail .wrong",
        run: wrong_step,
        sabotage: "<style>.now.stuck { color: inherit !important }</style>",
    },
    Check {
        name: "time from left to right",
        needs: ".tl",
        run: time,
        sabotage: "<style>.tl-op { left: 0 !important }</style>",
    },
    Check {
        name: "it plays to the end",
        needs: ".tl",
        run: plays,
        sabotage: "<script nonce=membar>window.setInterval = () => 0</script>",
    },
    Check {
        name: "steps have addresses",
        needs: "#machine input",
        run: step_addresses,
        sabotage: "<script nonce=membar>history.replaceState = () => {}</script>",
    },
    Check {
        name: "the fix is a diff",
        needs: "#repair .diff",
        run: fix_is_a_diff,
        sabotage: "<style>.diff .plus { background: none !important }</style>",
    },
    Check {
        name: "arrows can be switched",
        needs: "#threads",
        run: arrows,
        sabotage: "<style>.label { display: none }</style><script nonce=membar>setInterval(() => document.querySelector('svg.arrows').append(document.querySelector('path.arrow') || ''), 1); document.querySelector('.tools').addEventListener('click', (e) => e.stopImmediatePropagation(), true)</script>",
    },
    Check {
        name: "values have short names",
        needs: ".op abbr",
        run: short_values,
        sabotage: "<script nonce=membar>document.querySelectorAll('abbr').forEach((e) => { e.title = ''; })</script>",
    },
    Check {
        name: "labels can be read",
        needs: "svg.arrows .label",
        run: labels,
        sabotage: "<style>svg.arrows.names { z-index: 0 !important } .op { transform: scale(3) }</style>",
    },
    Check {
        name: "the original on demand",
        needs: "[data-view]",
        run: original,
        sabotage: "<script nonce=membar>document.querySelector('.tools').addEventListener('click', (e) => e.stopImmediatePropagation(), true)</script>",
    },
    Check {
        name: "copies",
        needs: "#reproduce",
        run: copies,
        sabotage: "<script nonce=membar>navigator.clipboard.writeText = () => Promise.resolve()</script>",
    },
    Check {
        name: "answers",
        needs: ".results",
        run: answers,
        sabotage: "<script nonce=membar>document.querySelector('.results').addEventListener('click', (e) => e.stopImmediatePropagation(), true)</script>",
    },
    Check {
        name: "tab order",
        needs: "body",
        run: tab_order,
        sabotage: "<script nonce=membar>document.querySelector('#reproduce button').tabIndex = 1</script>",
    },
    Check {
        name: "print",
        needs: "body",
        run: print,
        sabotage: "<script nonce=membar>addEventListener('beforeprint', () => { document.querySelector('details').open = false; })</script>",
    },
    Check {
        name: "themes",
        needs: "body",
        run: themes,
        sabotage: "<style>body { background: white !important }</style>",
    },
    Check { name: "widths", needs: "body", run: widths, sabotage: "<div style='width: 500px'>wide</div>" },
    Check {
        name: "without scripts",
        needs: "body",
        run: without_scripts,
        sabotage: "<style>noscript { display: none }</style>",
    },
];

/// Exactly the views that the report should have can be seen.
fn views(tab: &mut Tab, report: &Report) -> Outcome {
    let seen = tab.eval(
        "all('main section.card').filter(visible).map((card) => card.id)
           .concat(visible(one('#machine input')) ? ['stepper'] : [], visible(one('[data-view=original]')) ? ['original'] : [], visible(one('.results')) ? ['answers'] : [])
           .sort().join(' ')",
    )?;
    let mut wanted: Vec<&str> = report.views.split(' ').collect();
    wanted.sort_unstable();
    if seen != wanted.join(" ") {
        return Err(format!("{seen} instead of {}", wanted.join(" ")));
    }
    tab.nothing("all('main section.card').filter((card) => !visible(document.getElementById(card.getAttribute('aria-labelledby')))).map((card) => card.id)")
}

/// The expected texts can be read, as text.
fn texts(tab: &mut Tab, report: &Report) -> Outcome {
    tab.holds("visible(one('h1')) && one('h1').textContent.trim() !== '' && document.title !== ''")?;
    tab.eval("openAll()")?;
    tab.nothing(&format!("{}.filter((text) => !document.body.innerText.includes(text))", json!(report.says)))
}

/// Every answer, every fold, every switch and every step of the machine: the console, which is looked at after every check, has
/// nothing to say.
fn everything(tab: &mut Tab, _: &Report) -> Outcome {
    let cases = tab.eval("Math.max(1, all('.results .link').length)")?.as_u64().unwrap_or(1);
    for case in 0..cases {
        tab.eval(&format!("all('.results .link').length && all('.results .link')[{case}].click()"))?;
        tab.eval("openAll()")?;
        tab.eval("all('.tools button, .op, .trail button, .controls button').slice(0, 300).forEach((button) => button.click())")?;
        tab.press("Escape")?;
        tab.settle()?;
        tab.holds("visible(one('#verdict')) && all('main section.card').every(visible)")?;
        tab.nothing("all('details.step[open]').filter((step) => !/^Rule /.test(one('.body', step) ? step.querySelector('.body').textContent : '')).length || ''")?;
    }
    Ok(())
}

fn only_text(tab: &mut Tab, _: &Report) -> Outcome {
    tab.eval("openAll()")?;
    tab.settle()?;
    tab.holds("window.pwned === undefined")?;
    tab.nothing("all('img, iframe, object, embed, link:not([rel=icon]), base, form, b[onload], [onerror], [onload], main script').map((e) => e.outerHTML)")?;
    tab.holds("all('script').length === 2")?;
    tab.nothing("all('a').filter((a) => !a.getAttribute('href').startsWith('#')).map((a) => a.href)")
}

/// j, k, arrows, Enter and Esc.
fn argument(tab: &mut Tab, _: &Report) -> Outcome {
    let here = |at: &str| {
        format!(
            "focused() === steps().at({at}) && picks(about(steps().at({at}))) && steps().at({at}).classList.contains('picked')"
        )
    };
    tab.press("j")?;
    tab.until(&here("0"))?;
    tab.press("Enter")?;
    tab.until("steps()[0].open && visible(steps()[0].querySelector('.rule')) && /^Rule /.test(steps()[0].querySelector('.rule').textContent)")?;
    tab.press("j")?;
    tab.until(&here("1 % steps().length"))?;
    tab.press("k")?;
    tab.until(&here("0"))?;
    tab.press("k")?;
    tab.until(&here("-1"))?;
    tab.press("ArrowDown")?;
    tab.until(&here("0"))?;
    tab.press("ArrowDown")?;
    tab.until(&here("1 % steps().length"))?;
    tab.press("ArrowUp")?;
    tab.until(&here("0"))?;
    tab.press("Enter")?;
    tab.until("!steps()[0].open")?;
    tab.press("Escape")?;
    tab.until("picked().length === 0 && !one('.step.picked, .step.near, .src .picked, .trail .near')")
}

/// Choosing a step chooses its operations in the columns, the source and the stepper.
fn steps_select(tab: &mut Tab, _: &Report) -> Outcome {
    let steps = tab.eval("steps().length")?.as_u64().unwrap_or(0);
    for at in 0..steps.min(8) {
        tab.click(&format!("steps()[{at}].querySelector('summary .pair')"))?;
        tab.until(&format!("linked(about(steps()[{at}])) && steps()[{at}].classList.contains('picked')"))?;
        tab.holds(&format!("about(steps()[{at}]).length > 0"))?;
    }
    Ok(())
}

/// Choosing an operation chooses it everywhere, and the steps that are about it; choosing it again chooses nothing.
fn operations_select(tab: &mut Tab, _: &Report) -> Outcome {
    let ops = tab.eval("all('.op').length")?.as_u64().unwrap_or(0);
    for at in 0..ops.min(6) {
        let op = format!("all('.op')[{at}]");
        tab.click(&op)?;
        tab.until(&format!("linked([node({op})]) && {op}.getAttribute('aria-pressed') === 'true'"))?;
        tab.holds(&format!(
            "steps().every((step) => step.classList.contains('near') === about(step).includes(node({op})))"
        ))?;
        tab.click(&op)?;
        tab.until("linked([])")?;
    }
    tab.click("one('.op')")?;
    tab.press("Escape")?;
    tab.until("linked([])")
}

fn source_selects(tab: &mut Tab, _: &Report) -> Outcome {
    let marked = tab.eval("all('.src .link').length")?.as_u64().unwrap_or(0);
    if marked == 0 {
        return Err("no line can be chosen".into());
    }
    for at in 0..marked.min(8) {
        tab.click(&format!("all('.src .link')[{at}]"))?;
        tab.until(&format!("all('.src .link')[{at}].closest('tr').classList.contains('picked') && linked(shown().graph.nodes.map((n, i) => [n, i]).filter(([n]) => n.place && n.place[1] === Number(all('.src .link')[{at}].textContent)).map(([, i]) => i))"))?;
    }
    Ok(())
}

/// The links of the impossible read and of what would fix it.
fn links_select(tab: &mut Tab, _: &Report) -> Outcome {
    tab.click("one('#read .link')")?;
    tab.until("linked([shown().read.node])")?;
    let links = tab.eval("all('#fix .link, #repair .link').length")?.as_u64().unwrap_or(0);
    for at in 0..links {
        tab.click(&format!("all('#fix .link, #repair .link')[{at}]"))?;
        tab.until(&format!("linked(shown().fixes.list.filter((fix) => fix.nodes.length)[{at}].nodes)"))?;
    }
    Ok(())
}

/// Forward and back by the slider's keys, by the buttons' and by a click into the list: the same state each time, and the
/// operation of the step is selected.
fn machine(tab: &mut Tab, _: &Report) -> Outcome {
    let at =
        |n: u64| format!("one('#machine .now').textContent.startsWith({n} + ' of ' + shown().machine.steps.length)");
    let steps = tab.eval("shown().machine.steps.length")?.as_u64().unwrap_or(0);
    let walked = steps.min(12);
    tab.eval("one('#machine details').open = true")?;
    tab.eval("one('#machine input').focus()")?;
    tab.press("Home")?;
    tab.until(&at(0))?;
    let mut states = vec![tab.eval("one('#machine .boxes').innerText")?];
    for n in 1..=walked {
        tab.press("ArrowRight")?;
        tab.until(&at(n))?;
        if n < steps {
            tab.holds(&format!("linked([shown().machine.steps[{n} - 1].node])"))?;
        }
        tab.holds(&format!("all('.trail button')[{n} - 1].getAttribute('aria-current') === 'step'"))?;
        states.push(tab.eval("one('#machine .boxes').innerText")?);
    }
    for n in (0..walked).rev() {
        tab.eval("one('[aria-label=\"Step back\"]').focus()")?;
        tab.press(if n % 2 == 0 { "Enter" } else { " " })?;
        tab.until(&at(n))?;
        if tab.eval("one('#machine .boxes').innerText")? != states[n as usize] {
            return Err(format!("step {n} is not the same on the way back"));
        }
    }
    // A button that can do no more keeps the focus: who steps by keys is not thrown out.
    tab.holds("document.activeElement === one('[aria-label=\"Step back\"]')")?;
    tab.press("ArrowRight")?;
    tab.until(&at(1))?;
    tab.press("ArrowLeft")?;
    tab.until(&at(0))?;
    tab.click("all('.trail button')[0]")?;
    tab.until(&format!("{} && linked([shown().machine.steps[0].node])", at(1)))?;
    tab.eval("one('#machine input').focus()")?;
    tab.press("End")?;
    tab.until(&at(steps))?;
    tab.holds("shown().machine.stuck.every(({ why }) => one('#machine .now').textContent.includes(short(why)))")
}

/// The stepper opens where the execution stops being an interleaving, and says in red what happens there.
fn wrong_step(tab: &mut Tab, _: &Report) -> Outcome {
    tab.holds("one('#machine .now').textContent.startsWith(shown().machine.wrong.step + 1 + ' of ')")?;
    tab.holds("one('#machine .now').textContent.includes(shown().machine.wrong.words.replaceAll('`', ''))")?;
    tab.holds("one('.trail [aria-current]').classList.contains('wrong')")?;
    for part in ["#machine .now", ".trail .wrong"] {
        tab.holds(&format!("colour(one('{part}'), 'color') === colour(one('.op.wrong .flag'), 'color')"))?;
    }
    Ok(())
}

/// Every operation is drawn once, operations of a thread in order and apart; what goes wrong is red, above it the bar of the store; choosing
/// an operation goes to its step.
fn time(tab: &mut Tab, _: &Report) -> Outcome {
    tab.holds("all('.tl-op').length === shown().timeline.marks.length")?;
    let boxes = "all('.tl-op').map((e, i) => ({ lane: shown().graph.nodes[shown().timeline.marks[i].node].thread, box: e.getBoundingClientRect() }))";
    tab.nothing(&format!(
        "{boxes}.filter(({{ lane, box }}, i, list) => list.slice(0, i).some((other) => other.lane === lane && other.box.right > box.left))"
    ))?;
    tab.nothing("all('.tl-op').filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent)")?;
    tab.holds("all('.tl-op.bad').length === shown().timeline.marks.filter((mark) => mark.says).length")?;
    tab.holds("all('.tl-op.bad').every((e) => colour(e, 'color') === colour(one('.op.wrong .flag'), 'color'))")?;
    tab.holds("all('.tl-cross').length === shown().timeline.marks.flatMap((mark) => mark.misses || []).length")?;
    tab.click("one('.tl-op')")?;
    tab.until("one('#machine .now').textContent.startsWith(shown().timeline.marks[0].step + 1 + ' of ')")?;
    tab.until("one('.tl-op').getAttribute('aria-current') === 'step' && one('.tl-op').classList.contains('picked')")
}

/// To the end by a key, and to what fails there.
fn plays(tab: &mut Tab, _: &Report) -> Outcome {
    tab.eval("one('#machine input').focus()")?;
    tab.press("End")?;
    tab.press("ArrowLeft")?;
    tab.until("one('#machine .now').textContent.startsWith(shown().machine.steps.length - 1 + ' of ')")?;
    tab.eval("document.activeElement.blur()")?;
    tab.press("p")?;
    tab.until("one('#machine .now').textContent.startsWith(shown().machine.steps.length + ' of ')")?;
    tab.holds("!shown().machine.fails || one('#machine .now').textContent.includes(shown().machine.fails.replaceAll('`', ''))")
}

/// Keys turn the steps wherever the focus is; the address names the step, and leads back to it.
fn step_addresses(tab: &mut Tab, _: &Report) -> Outcome {
    let at = |n: u64| format!("one('#machine .now').textContent.startsWith({n} + ' of ')");
    let hash = |n: u64| format!("location.hash.endsWith('-step-{n}')");
    tab.eval("one('#machine input').focus()")?;
    tab.press("Home")?;
    tab.until(&at(0))?;
    tab.eval("document.activeElement.blur()")?;
    tab.press("ArrowRight")?;
    tab.until(&format!("{} && {}", at(1), hash(1)))?;
    tab.press("ArrowLeft")?;
    tab.until(&format!("{} && {}", at(0), hash(0)))?;
    tab.press("ArrowRight")?;
    tab.until(&hash(1))?;
    tab.reload()?;
    tab.until(&at(1))?;
    tab.script("location.hash = location.hash.replace(/-step-1$/, '-step-0')")?;
    tab.until(&at(0))
}

/// Lines that are added can be told from those that stay, and all of it can be copied.
fn fix_is_a_diff(tab: &mut Tab, _: &Report) -> Outcome {
    tab.holds("visible(one('#repair')) && !!one('#repair').closest('#verdict')")?;
    tab.holds("all('.diff .plus').length > 0 && all('.diff .plus').every((line) => line.textContent.startsWith('+'))")?;
    tab.holds("all('.diff .plus').every((line) => colour(line, 'backgroundColor') !== colour(one('.diff'), 'backgroundColor') && colour(line, 'backgroundColor') !== 'rgba(0, 0, 0, 0)')")?;
    tab.holds("one('.diff').textContent === shown().fixes.diff")
}

/// The value itself is a hint, and nothing else shows it.
fn short_values(tab: &mut Tab, _: &Report) -> Outcome {
    tab.holds("all('.op abbr').every((e) => /^T\\d+#\\d+$/.test(e.textContent) && /^\\d{7,}$/.test(e.title))")?;
    tab.nothing("Object.keys(shown().values).filter((value) => one('#threads').innerText.includes(value))")
}

/// No box covers a label.
fn labels(tab: &mut Tab, _: &Report) -> Outcome {
    let covered = "(label) => { const r = label.getBoundingClientRect(); label.style.pointerEvents = 'all'; label.closest('svg').style.pointerEvents = 'all'; \
                   const hit = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2); return hit && hit.closest('.op'); }";
    tab.eval("one('#threads').scrollIntoView({ block: 'start', behavior: 'instant' })")?;
    tab.nothing(&format!(
        "all('svg.arrows .label').filter((label) => {{ const r = label.getBoundingClientRect(); return r.top > 0 && r.bottom < innerHeight && r.left > 0 && r.right < innerWidth; }}).filter({covered}).map((label) => label.textContent)"
    ))
}

/// Each relation's button hides and shows its arrows, and that of the cycle the cycle.
fn arrows(tab: &mut Tab, _: &Report) -> Outcome {
    let kinds = ["po", "ppo", "rf", "co", "fr", "time"];
    if tab.eval("shown().graph.arrows.some((arrow) => arrow.cycle)")? == true {
        tab.holds("all('path.arrow.cycle').length > 0 && all('path.halo').length > 0")?;
        tab.click("all('.tools .btn').find((button) => button.textContent === 'cycle')")?;
        tab.until("all('path.arrow.cycle, path.halo').length === 0")?;
    }
    for kind in kinds {
        let button = format!("one('.tools .btn.k-{kind}')");
        if tab.eval(&format!("!{button}"))? == true {
            tab.holds(&format!("'{kind}' !== 'po' && !shown().graph.arrows.some((arrow) => arrow.kind === '{kind}')"))?;
            continue;
        }
        // Only what connects two operations of these columns can be drawn.
        let possible = format!(
            "'{kind}' === 'po' ? all('.col').some((column) => all('.op', column).length > 1) : shown().graph.arrows.some((arrow) => arrow.kind === '{kind}' && !arrow.cycle && (arrow.from < 0 || op(arrow.from)) && (arrow.to < 0 || op(arrow.to)))"
        );
        for _ in 0..2 {
            tab.click(&button)?;
            tab.until(&format!(
                "({button}.getAttribute('aria-pressed') === 'true' && ({possible})) === (arrows('{kind}').length > 0)"
            ))?;
        }
        if tab.eval(&format!("{button}.getAttribute('aria-pressed')"))? == "true" {
            tab.click(&button)?;
        }
        tab.until(&format!("arrows('{kind}').length === 0"))?;
    }
    tab.until("arrows().length === 0 && all('svg.arrows .label').length === 0")
}

fn original(tab: &mut Tab, _: &Report) -> Outcome {
    let drawn = "all('.op').map(node)";
    let columns = |view: &str| format!("same({drawn}, shown().graph.{view}.flat().filter((n) => n >= 0))");
    tab.holds(&columns("reduced"))?;
    tab.click("one('[data-view=original]')")?;
    tab.until(&columns("original"))?;
    tab.holds("one('[data-view=original]').getAttribute('aria-pressed') === 'true' && shown().graph.original.flat().filter((n) => n >= 0).length >= shown().graph.reduced.flat().length")?;
    tab.click("one('[data-view=reduced]')")?;
    tab.until(&columns("reduced"))
}

/// All tabs share one clipboard.
static CLIPBOARD: Mutex<()> = Mutex::new(());

/// Every copy button copies what stands beside it.
fn copies(tab: &mut Tab, _: &Report) -> Outcome {
    let _mine = CLIPBOARD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    tab.eval("openAll()")?;
    let buttons = tab.eval("all('.cmd .btn').length")?.as_u64().unwrap_or(0);
    if buttons == 0 {
        return Err("nothing can be copied".into());
    }
    for at in 0..buttons {
        let button = format!("all('.cmd .btn')[{at}]");
        tab.eval("navigator.clipboard.writeText('')")?;
        tab.click(&button)?;
        tab.until(&format!("{button}.textContent === 'Copied'"))?;
        tab.holds(&format!("navigator.clipboard.readText().then((text) => text !== '' && text === {button}.parentNode.querySelector('pre').textContent)"))?;
    }
    Ok(())
}

/// The table of answers opens each of them, and the address of the page says which one is open.
fn answers(tab: &mut Tab, _: &Report) -> Outcome {
    let links = tab.eval("all('.results .link').length")?.as_u64().unwrap_or(0);
    for at in (0..links).rev() {
        let row = format!("all('.results .link')[{at}].closest('tr')");
        tab.click(&format!("all('.results .link')[{at}]"))?;
        tab.until(&format!("{row}.getAttribute('aria-current') === 'true' && all('.results [aria-current]').length === 1 && location.hash === '#case-' + (Number({row}.dataset.case) + 1)"))?;
        tab.holds("one('#verdict .badge').textContent.includes(shown().verdict) && one('#verdict h1').textContent === shown().headline[0]")?;
    }
    Ok(())
}

/// The tab key goes through everything that can be chosen, in the order of the document, and one sees where it is.
fn tab_order(tab: &mut Tab, _: &Report) -> Outcome {
    let stops = tab.eval("(window.stops = stops()).length")?.as_u64().unwrap_or(0);
    for at in 0..stops.min(80) {
        tab.press("Tab")?;
        tab.nothing(&format!(
            "document.activeElement !== window.stops[{at}] ? document.activeElement.outerHTML.slice(0, 300) + ' instead of ' + window.stops[{at}].outerHTML.slice(0, 300)
             : !visible(document.activeElement) || colour(document.activeElement, 'outlineStyle') === 'none' ? 'cannot be seen: ' + document.activeElement.outerHTML.slice(0, 300) : ''"
        ))?;
    }
    Ok(())
}

/// On paper everything is open, without buttons and dark on white; afterwards it is as before.
fn print(tab: &mut Tab, _: &Report) -> Outcome {
    tab.eval("window.before = all('details[open]').length")?;
    tab.eval("addEventListener('beforeprint', () => { window.folded = all('#case details:not([open])').length; })")?;
    let paper = tab.call("Page.printToPDF", json!({ "printBackground": true }))?;
    if !paper["data"].as_str().is_some_and(|data| data.starts_with("JVBERi0") && data.len() > 4_000) {
        return Err("nothing was printed".into());
    }
    tab.until("window.folded === 0 && all('details[open]').length === window.before")?;
    tab.media("print", "dark")?;
    tab.eval("dispatchEvent(new Event('beforeprint'))")?;
    tab.settle()?;
    tab.nothing("all('#case details:not([open])').map((view) => view.textContent.slice(0, 80))")?;
    tab.nothing("all('#case .body, #case pre, #case .trail, #case td, #case .op, section.card').filter((e) => !e.closest('.hidden') && e.textContent.trim() && !visible(e)).map((e) => e.outerHTML.slice(0, 120))")?;
    tab.nothing("all('.btn, .skip').filter(visible).map((e) => e.outerHTML.slice(0, 120))")?;
    tab.holds("colour(document.body, 'backgroundColor') === 'rgb(255, 255, 255)' && colour(document.body, 'color') === 'rgb(0, 0, 0)'")?;
    tab.eval("dispatchEvent(new Event('afterprint'))")?;
    tab.holds("all('details[open]').length === window.before")?;
    tab.media("", "light")
}

/// As the system is, or as the button says.
fn themes(tab: &mut Tab, _: &Report) -> Outcome {
    let dark = "colour(document.body, 'backgroundColor').match(/\\d+/g).every((part) => part < 60)";
    let light = "colour(document.body, 'backgroundColor').match(/\\d+/g).every((part) => part > 200)";
    let button = "one('header .btn')";
    tab.holds(&format!("{light} && {button}.textContent === 'Theme: auto'"))?;
    tab.look(1280, "dark")?;
    tab.until(dark)?;
    tab.click(button)?;
    tab.until(&format!("{light} && {button}.textContent === 'Theme: light'"))?;
    tab.look(1280, "light")?;
    tab.click(button)?;
    tab.until(&format!("{dark} && {button}.textContent === 'Theme: dark'"))?;
    tab.click(button)?;
    tab.until(&format!("{light} && {button}.textContent === 'Theme: auto'"))
}

/// Nothing sticks out of the page, on a phone or on a large screen, folded or open; what scrolls by itself can be scrolled by keys.
fn widths(tab: &mut Tab, _: &Report) -> Outcome {
    tab.eval("openAll()")?;
    for width in [320, 400, 1280, 1600] {
        tab.look(width, "light")?;
        tab.until(&format!("innerWidth === {width}"))?;
        tab.nothing("document.documentElement.scrollWidth > innerWidth ? all('body *').filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 120)).slice(0, 5).concat('the page is ' + document.documentElement.scrollWidth + ' wide instead of ' + innerWidth) : ''")?;
        tab.nothing("all('.card').filter((card) => card.getBoundingClientRect().left < 0 || card.getBoundingClientRect().right > innerWidth).map((card) => card.id)")?;
        tab.nothing("all('main *').filter((e) => visible(e) && e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(colour(e, 'overflowX')) && e.tabIndex < 0).map((e) => e.outerHTML.slice(0, 160))")?;
        // Text that does not fit where it stands.
        tab.nothing("all('.op, .op *, .cell, .btn, .badge, td, th, dd, .pair, .why, h1, h2, h3, .ends span, .now').filter((e) => visible(e) && !e.closest('.hidden') && colour(e, 'overflowX') === 'visible' && colour(e, 'display') !== 'inline' && e.scrollWidth > e.clientWidth + 2).map((e) => e.outerHTML.slice(0, 160))")?;
    }
    Ok(())
}

/// A reader without scripts sees the verdicts.
fn without_scripts(tab: &mut Tab, _: &Report) -> Outcome {
    let said = tab.eval("data().cases[0].headline[0]")?;
    let url = tab.eval("location.href")?;
    tab.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }))?;
    let found = tab.load(url.as_str().unwrap_or_default()).and_then(|()| {
        tab.holds(&format!("visible(one('noscript main')) && one('noscript main').innerText.includes({said}) && one('#page').childElementCount === 0"))
    });
    tab.call("Emulation.setScriptExecutionDisabled", json!({ "value": false }))?;
    tab.open(url.as_str().unwrap_or_default())?;
    found
}
