//! Plans: what many machines give is what one gives, whatever happens to workers on the way.

mod campaigns;
mod searches;
mod traces;
mod workers;

use crate::common::{Files, Ran, command, run_in};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// A directory with plans, and another one in which single machines work.
pub(crate) struct Place {
    files: Files,
    pub many: PathBuf,
    pub one: PathBuf,
}

impl Place {
    pub fn new() -> Place {
        let files = Files::new(&[]);
        let (many, one) = (files.path("many"), files.path("one"));
        for directory in [&many, &one] {
            std::fs::create_dir(directory).unwrap();
        }
        Place { files, many, one }
    }

    /// A file for both.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        for directory in [&self.many, &self.one] {
            std::fs::write(directory.join(name), bytes).unwrap();
        }
    }

    pub fn run(&self, line: &str) -> Ran {
        within(&self.many, line)
    }

    pub fn plan(&self, line: &str) {
        let ran = self.run(line);
        assert_eq!(ran.code, 0, "{line}: {}{}", ran.out, ran.err);
    }

    /// Merges the plan and compares with the command, in each of the formats.
    fn same(&self, plan: &str, line: &str, formats: &[&str]) {
        for format in formats {
            let one = within(&self.one, &format!("{line} --format {format} --html one.html"));
            let many =
                self.run(&format!("merge {plan} --format {format} --html {}", self.many.join("many.html").display()));
            assert_eq!(many.code, one.code, "{plan}, {format}: {}", many.err);
            assert_eq!(timeless(&many.out), timeless(&one.out), "{plan}, {format}");
            let page = |file: PathBuf| {
                let text = std::fs::read_to_string(file).unwrap();
                let data =
                    text.split_once("id=\"data\" nonce=\"membar\">").unwrap().1.split_once("</script>").unwrap().0;
                timeless(&data.replace(" --html one.html", "").replace(&format!(" --format {format}"), ""))
            };
            assert!(page(self.many.join("many.html")) == page(self.one.join("one.html")), "{plan}: pages differ");
        }
    }
}

pub(crate) fn within(directory: &Path, line: &str) -> Ran {
    run_in(directory, &words(line))
}

pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split(' ').filter(|word| !word.is_empty()).collect()
}

/// A line without words such as `operations in 0.3 s`, `(dpor, 0.01 s, 12345/s);`.
fn without_times(line: &str) -> String {
    let is_unit = |word: &str| ["s", "ms", "µs"].contains(&word.trim_end_matches([',', ')', ']', ';', '.']));
    let is_rate = |word: &str| word.trim_end_matches([',', ')', ']', ';', '.']).ends_with("/s");
    let words: Vec<&str> = line.split(' ').collect();
    let is_time =
        |i: usize| is_unit(words[i]) || is_rate(words[i]) || words.get(i + 1).is_some_and(|unit| is_unit(unit));
    let kept = words.iter().enumerate().filter(|(i, _)| !is_time(*i)).map(|(_, word)| *word);
    kept.collect::<Vec<_>>().join(" ")
}

/// Without times: numbers of seconds, and what is computed from them.
pub(crate) fn timeless(text: &str) -> String {
    // `made` and `line` have the command, with other files.
    const TIMES: [&str; 9] = [
        "seconds",
        "run_seconds",
        "check_seconds",
        "operations_per_second",
        "speed",
        "rates",
        "made",
        "statistics",
        "commandLine",
    ];
    fn without(value: &mut Value) {
        match value {
            Value::Object(entries) => {
                TIMES.iter().for_each(|name| drop(entries.remove(*name)));
                let is_time = |value: &Value| {
                    let text = value.as_str().unwrap_or_default();
                    text.ends_with(" per second")
                        || text.contains(" s to run")
                        || text.ends_with(" s")
                        || text.ends_with(" ms")
                };
                entries.retain(|_, value| !is_time(value));
                entries.values_mut().for_each(without);
            }
            Value::Array(entries) => entries.iter_mut().for_each(without),
            Value::String(text) => *text = without_times(text),
            _ => {}
        }
    }
    if let Ok(mut value) = serde_json::from_str::<Value>(text) {
        without(&mut value);
        return value.to_string();
    }
    let speed = |line: &&str| !line.trim_start().starts_with("Speed ");
    let mut lines = Vec::new();
    for line in text.lines().filter(speed) {
        let mut line = line.to_owned();
        for name in
            ["\"seconds\":", "\"run_seconds\":", "\"check_seconds\":", "\"operations_per_second\":", "\"speed\":{"]
        {
            while let Some(at) = line.find(name) {
                let end = line[at..].find(['}', ',']).map_or(line.len(), |end| at + end);
                let end = if name.ends_with('{') { line[at..].find('}').map_or(end, |end| at + end) } else { end };
                line.replace_range(at..end, "");
            }
        }
        lines.push(without_times(&line));
    }
    lines.join("\n")
}

/// Text without times, and without the lines that they broke.
fn flowing(text: &str) -> String {
    let digits = |word: &&str| !word.trim_matches(['(', ')', ',', ';', '.']).ends_with("/s");
    timeless(&text.split_whitespace().filter(digits).collect::<Vec<_>>().join(" ")).replace(['(', ')', ',', ';'], "")
}

const BROKEN: &str = "simulate --machine mesi-tso --bug no-replay --operations 600";

/// Store buffering behind stores whose orders make many classes.
const PADDED: &[u8] = b"X86 padded
{ x=0; y=0; z=0; }
 P0 | P1 | P2 ;
 MOV [z],$1 | MOV [z],$11 | MOV [z],$21 ;
 MOV [z],$2 | MOV [z],$12 | MOV [z],$22 ;
 MOV [z],$3 | MOV [z],$13 | MOV [z],$23 ;
 MOV [x],$1 | MOV [y],$1 |  ;
 MOV EAX,[y] | MOV EAX,[x] |  ;
exists (0:EAX=0 /\\ 1:EAX=0)
";

/// A litmus test of threads that all store to one address: as many classes as there are orders.
pub(crate) fn stores(threads: usize, stores: usize) -> String {
    let row = |of: &dyn Fn(usize) -> String| (0..threads).map(of).collect::<Vec<_>>().join(" | ") + " ;\n";
    let mut text = String::from("X86 stores\n{ x=0; }\n ") + &row(&|thread| format!("P{thread}"));
    for i in 0..stores {
        text += &row(&|thread| format!("MOV [x],${}", thread * stores + i + 1));
    }
    text + "exists (x=1)\n"
}

fn start(place: &Place, line: &str) -> Child {
    let mut command = command();
    command.args(words(line)).current_dir(&place.many).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Random numbers, the same every time.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}
