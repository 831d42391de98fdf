//! The documentation is true: the commands of the book under `book/` are run, all links lead somewhere, all chapters are listed, and
//! docs/architecture.md shows every crate with what it uses.
//!
//! Each chapter runs in an empty directory. A block ```` ```LANGUAGE file=NAME ```` is written to that file. In a block
//! ```` ```console ```` the lines after `$ ` are given to a shell, one after the other, and what follows each is what it
//! prints, standard output before standard error:
//!
//! - `…` alone on a line stands for any number of lines;
//! - a number with a decimal point (`0.02`, `1.3M`) is not compared; with `numbers=any` behind `console`, no number and no number of
//!   blanks is;
//! - exit codes are 0, or N with `exit=N` behind `console`; `$ echo $?` is what the reader sees of them;
//! - a block with `norun` is not run.
//!
//! `MEMBAR_BOOK=update cargo test -p membar --test all book::` writes what the commands print into the chapters, where it differs.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Chapters of the guide without commands that are run: Rust needs a component that is not always there. The reference needs none.
const WITHOUT_COMMANDS: [&str; 4] = ["how-it-works.md", "limits.md", "introduction.md", "rust.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn book() -> PathBuf {
    root().join("book")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The chapters that the summary lists.
fn chapters() -> Vec<String> {
    let summary = read(&book().join("src/SUMMARY.md"));
    links(&summary).into_iter().map(|(_, target)| target).collect()
}

/// A fenced block: its first line in the file, what is behind the fence, its lines.
struct Block {
    line: usize,
    info: String,
    lines: Vec<String>,
}

impl Block {
    fn is(&self, language: &str) -> bool {
        self.info.split(' ').next() == Some(language)
    }

    fn has(&self, word: &str) -> bool {
        self.info.split(' ').any(|other| other == word)
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.info.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => open = Some(Block { line: number, info: info.into(), lines: Vec::new() }),
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => block.lines.push(line.into()),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// A line without what may differ.
fn masked(line: &str, any: bool) -> String {
    let mut out = String::new();
    let mut rest = line.trim_end();
    while let Some(c) = rest.chars().next() {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(rest);
        let fraction = rest[whole..].strip_prefix('.').map_or(0, digits);
        if whole > 0 && (fraction > 0 || any) {
            rest = &rest[whole + if fraction > 0 { fraction + 1 } else { 0 }..];
            rest = rest.strip_prefix(['K', 'M', 'G']).unwrap_or(rest);
            out.push('#');
        } else if whole > 0 {
            out.push_str(&rest[..whole]);
            rest = &rest[whole..];
        } else {
            if !(any && c == ' ' && out.ends_with(' ')) {
                out.push(c);
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Is this what was expected, `…` being any lines?
fn fits(expected: &[String], real: &[String], any: bool) -> bool {
    match expected.split_first() {
        None => real.is_empty(),
        Some((first, rest)) if first.trim() == "…" => (0..=real.len()).any(|skip| fits(rest, &real[skip..], any)),
        Some((first, rest)) => {
            real.first().is_some_and(|line| masked(line, any) == masked(first, any)) && fits(rest, &real[1..], any)
        }
    }
}

/// Runs a line of a shell: exit code and lines of output.
fn shell(line: &str, directory: &Path) -> (i32, Vec<String>) {
    let binary = Path::new(env!("CARGO_BIN_EXE_membar"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", binary.parent().expect("a directory").display());
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(directory)
        .env("PATH", path)
        .env("LC_ALL", "C.UTF-8")
        .env_remove("MAKEFLAGS")
        .stdin(Stdio::null())
        .output()
        .expect("there is a shell");
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8")).concat();
    (output.status.code().expect("an exit code"), text.lines().map(|line| line.trim_end().to_owned()).collect())
}

/// The results of a chapter.
#[derive(Default)]
struct Ran {
    /// Commands that were run, and blocks that were not.
    commands: usize,
    skipped: usize,
    problems: Vec<String>,
    /// The chapter with what its commands really print.
    updated: String,
}

fn run(chapter: &str) -> Ran {
    let text = read(&book().join("src").join(chapter));
    let lines: Vec<&str> = text.lines().collect();
    let directory = tempfile::tempdir().expect("a directory");
    let mut ran = Ran::default();
    // Lines of the chapter that have been copied, or replaced.
    let mut done = 0;
    for block in blocks(&text) {
        if let Some(name) = block.value("file") {
            std::fs::write(directory.path().join(name), block.lines.join("\n") + "\n").expect("a file");
        }
        if block.is("console") && block.has("norun") {
            ran.skipped += 1;
        } else if block.is("console") {
            ran.copy(&lines[done..=block.line]);
            ran.block(chapter, &block, directory.path());
            done = block.line + 1 + block.lines.len();
        }
    }
    ran.copy(&lines[done..]);
    ran
}

impl Ran {
    fn copy<T: AsRef<str>>(&mut self, lines: &[T]) {
        for line in lines {
            self.updated.push_str(line.as_ref());
            self.updated.push('\n');
        }
    }

    /// Runs the commands of a block.
    fn block(&mut self, chapter: &str, block: &Block, directory: &Path) {
        let (any, wanted) = (block.value("numbers") == Some("any"), block.value("exit").unwrap_or("0"));
        let is_command = |line: &String| line.starts_with("$ ");
        assert!(block.lines.first().is_some_and(is_command), "{chapter}:{}: no command", block.line + 1);
        let (mut at, mut code) = (0, 0);
        while at < block.lines.len() {
            let end = block.lines[at + 1..].iter().position(is_command).map_or(block.lines.len(), |k| at + 1 + k);
            let (command, expected) = (&block.lines[at][2..], &block.lines[at + 1..end]);
            let place = format!("{chapter}:{}: $ {command}", block.line + 2 + at);
            let real = if command == "echo $?" {
                vec![code.to_string()]
            } else {
                let (exit, real) = shell(command, directory);
                code = exit;
                self.commands += 1;
                let allowed = if command.contains("membar") { wanted } else { "0" };
                if exit.to_string() != allowed {
                    self.problems.push(format!("{place}\nexit code {exit}, not {allowed}"));
                }
                real
            };
            let as_expected = fits(expected, &real, any);
            if !as_expected {
                self.problems.push(format!("{place}\n{}", real.join("\n")));
            }
            self.copy(&block.lines[at..=at]);
            self.copy(if as_expected { expected } else { &real });
            at = end;
        }
    }
}

#[test]
fn the_commands_do_what_the_book_says() {
    let update = std::env::var("MEMBAR_BOOK").is_ok_and(|value| value == "update");
    let (mut commands, mut skipped, mut problems) = (0, 0, Vec::new());
    for chapter in chapters() {
        let ran = run(&chapter);
        let needs_none = chapter.starts_with("reference/") || WITHOUT_COMMANDS.contains(&chapter.as_str());
        assert!(ran.commands > 0 || needs_none, "{chapter} runs no command");
        (commands, skipped) = (commands + ran.commands, skipped + ran.skipped);
        if update && !ran.problems.is_empty() {
            std::fs::write(book().join("src").join(&chapter), &ran.updated).expect("the chapter can be written");
        }
        problems.extend(ran.problems);
    }
    assert!(problems.is_empty(), "{} differ:\n\n{}", problems.len(), problems.join("\n\n"));
    assert!(commands > 40 && skipped * 10 < commands, "{commands} commands run, {skipped} blocks not run");
}

/// The links of a page: where they stand and what they lead to. Code is no link.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut code = false;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            code = !code;
        }
        // Every other part is between backticks.
        for part in line.split('`').step_by(2).filter(|_| !code) {
            for target in part.split("](").skip(1) {
                found.push((number + 1, target.split(')').next().unwrap_or_default().to_owned()));
            }
        }
        // A link whose text is code ends in another part.
        for target in line.split("`](").skip(1).filter(|_| !code) {
            found.push((number + 1, target.split(')').next().unwrap_or_default().to_owned()));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The heading as a link names it.
fn anchor(heading: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || c == ' ' || c == '-' || c == '_';
    heading.trim().to_lowercase().chars().filter(|&c| keep(c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Every Markdown file of the repository.
fn pages() -> Vec<PathBuf> {
    fn walk(directory: &Path, into: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
                walk(&path, into);
            } else if name.ends_with(".md") {
                into.push(path);
            }
        }
    }
    let mut pages = Vec::new();
    walk(&root(), &mut pages);
    pages
}

#[test]
fn links_lead_somewhere() {
    let (mut seen, mut headings_seen) = (0, 0);
    for path in pages() {
        let name = path.strip_prefix(root()).expect("below the root").display().to_string();
        for (line, link) in links(&read(&path)) {
            let (file, heading) =
                link.split_once('#').map_or((link.as_str(), None), |(file, heading)| (file, Some(heading)));
            if file.contains("://") {
                assert!(!name.starts_with("book"), "{name}:{line}: {link} needs a network");
                continue;
            }
            let target = if file.is_empty() { path.clone() } else { path.parent().expect("a directory").join(file) };
            assert!(target.exists(), "{name}:{line}: {link} leads nowhere");
            if let Some(heading) = heading {
                let page = read(&target);
                let mut headings = page.lines().filter_map(|line| line.strip_prefix('#'));
                assert!(
                    headings.any(|line| anchor(line.trim_start_matches('#')) == heading),
                    "{name}:{line}: {link} names no heading"
                );
                headings_seen += 1;
            }
            seen += 1;
        }
    }
    assert!(seen > 100 && headings_seen > 10, "{seen} links, {headings_seen} to headings");
}

/// The crates that this manifest depends on, without `membar-`; not those of its tests.
fn uses(manifest: &str) -> BTreeSet<String> {
    let mut counts = false;
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            counts = line.ends_with("dependencies]") && line != "[dev-dependencies]";
        } else if let Some(rest) = line.strip_prefix("membar-").filter(|_| counts) {
            found.insert(rest.split(['.', ' ']).next().expect("a name").to_owned());
        }
    }
    found
}

#[test]
fn the_architecture_shows_every_crate() {
    let page = read(&root().join("docs/architecture.md"));
    let picture = blocks(&page).remove(0).lines.join("\n");
    let mut rows = std::collections::BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("| `membar")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let used = cells[2].split(", ").filter(|name| !name.is_empty()).map(str::to_owned);
        rows.insert(cells[1].trim_matches('`').to_owned(), used.collect::<BTreeSet<_>>());
    }
    let mut crates = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("crates") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let real = uses(&read(&path.join("Cargo.toml")));
        let row = rows.get(&name).unwrap_or_else(|| panic!("no row for {name}"));
        if name == "membar" {
            assert_eq!(*row, BTreeSet::from(["all but testkit".to_owned()]));
            let all = rows.keys().filter_map(|name| name.strip_prefix("membar-")).filter(|&name| name != "testkit");
            assert_eq!(all.map(str::to_owned).collect::<BTreeSet<_>>(), real);
        } else {
            assert_eq!(*row, real, "what {name} uses");
        }
        let short = name.strip_prefix("membar-").unwrap_or(&name);
        assert!(
            picture.split(|c: char| !c.is_alphanumeric()).any(|word| word == short),
            "{short} is not in the picture"
        );
        crates.insert(name);
    }
    assert_eq!(rows.into_keys().collect::<BTreeSet<_>>(), crates);
}

#[test]
fn every_chapter_is_in_the_summary() {
    let listed: BTreeSet<String> = chapters().into_iter().chain(["SUMMARY.md".into()]).collect();
    let source = book().join("src");
    let there: BTreeSet<String> = pages()
        .iter()
        .filter_map(|path| path.strip_prefix(&source).ok())
        .map(|path| path.display().to_string())
        .collect();
    assert_eq!(there, listed);
    assert!(listed.len() >= 18);
    for chapter in chapters() {
        assert!(read(&book().join("src").join(&chapter)).starts_with("# "), "{chapter} has no title");
    }
}

#[test]
fn differences_are_noticed() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let real = lines("safe under tso  a.c\n  Seen: all 3 classes (dpor, 0.02 s)\nend");
    assert!(fits(&lines("safe under tso  a.c\n  Seen: all 3 classes (dpor, 0.17 s)\nend"), &real, false));
    assert!(fits(&lines("safe under tso  a.c\n…"), &real, false));
    assert!(fits(&lines("…\nend"), &real, false));
    assert!(!fits(&lines("…\n  Seen: all 4 classes (dpor, 0.02 s)\nend"), &real, false));
    assert!(fits(&lines("…\n  Seen: all   4 classes (dpor, 0.02 s)\nend"), &real, true));
    assert!(!fits(&lines("safe under tso  a.c\n  Seen: all 3 classes (dpor, 0.02 s)"), &real, false));
    assert!(!fits(&lines("…\nmore"), &real, false));
    assert_eq!(masked("2.7M operations, 17 tests", false), "# operations, 17 tests");
    assert_eq!(masked("16K  operations,  17 tests", true), "# operations, # tests");
    assert_eq!(anchor(" What is *not* seen? `--html`"), "what-is-not-seen---html");
}
