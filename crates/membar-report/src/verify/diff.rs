//! Edits of sources as a unified diff, for `patch -p0`.

use super::EditRef;
use super::repair::edited;
use std::collections::BTreeMap;

/// Lines around a change.
const CONTEXT: usize = 3;

/// The edits as a diff. `None` if there are none or a file cannot be read.
pub fn diff(edits: &[EditRef], source: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut files: BTreeMap<&str, BTreeMap<usize, Vec<EditRef>>> = BTreeMap::new();
    for edit in edits {
        let lines = files.entry(&edit.file).or_default();
        lines.entry((edit.line as usize).max(1) - 1).or_default().push(EditRef { line: 1, ..edit.clone() });
    }
    let mut out = String::new();
    for (file, changes) in &files {
        out += &format!("--- {file}\n+++ {file}\n");
        hunks(file, &source(file)?, changes, &mut out);
    }
    (!out.is_empty()).then_some(out)
}

/// The changes of one file, each at its line, counted from 0; the edits of a line count it as line 1.
fn hunks(file: &str, text: &str, changes: &BTreeMap<usize, Vec<EditRef>>, out: &mut String) {
    let lines: Vec<&str> = text.lines().collect();
    let places: Vec<usize> = changes.keys().copied().collect();
    let mut added = 0;
    for places in places.chunk_by(|a, b| b - a <= 2 * CONTEXT) {
        let from = places[0].saturating_sub(CONTEXT);
        let to = places[places.len() - 1] + CONTEXT;
        let mut body: Vec<String> = Vec::new();
        for at in from..to.max(places[places.len() - 1] + 1) {
            let line = lines.get(at);
            let old = line.map_or_else(String::new, |line| format!("{line}\n"));
            let new = changes.get(&at).map_or_else(|| old.clone(), |edits| edited(file, &old, edits));
            let mut new: Vec<&str> = new.lines().collect();
            // A line that stays is what its change ends with.
            let stays = line.filter(|line| new.last() == Some(line) && new.pop().is_some());
            body.extend(line.filter(|_| stays.is_none()).map(|line| format!("-{line}")));
            body.extend(new.iter().map(|line| format!("+{line}")));
            body.extend(stays.map(|line| format!(" {line}")));
        }
        let count = |sign: char| body.iter().filter(|line| !line.starts_with(sign)).count();
        let (old, new) = (count('+'), count('-'));
        *out += &format!("@@ -{},{old} +{},{new} @@\n{}\n", from + 1, from + 1 + added, body.join("\n"));
        added += new - old;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(line: u32, column: u32, text: &str) -> EditRef {
        EditRef { file: "t.c".into(), line, column, text: text.into(), removes: 0 }
    }

    #[test]
    fn lines_that_are_added_and_one_that_changes() {
        let text = "#include <x.h>\nint x;\nint y;\n\nint f(void)\n{\n    x = 1;\n    return y; \n}\n\nint g(void) { y = 1; return x; }\n";
        let edits = [edit(1, 1, "#include <stdatomic.h>\n"), edit(8, 1, "    fence();\n"), edit(11, 21, " fence();")];
        let expected = "\
--- t.c
+++ t.c
@@ -1,3 +1,4 @@
+#include <stdatomic.h>
 #include <x.h>
 int x;
 int y;
@@ -5,7 +6,8 @@
 int f(void)
 {
     x = 1;
+    fence();
     return y; 
 }
 
-int g(void) { y = 1; return x; }
+int g(void) { y = 1; fence(); return x; }
";
        assert_eq!(diff(&edits, &|_| Some(text.to_owned())).as_deref(), Some(expected));
    }

    #[test]
    fn without_edits_or_source_there_is_no_diff() {
        assert_eq!(diff(&[], &|_| Some(String::new())), None);
        assert_eq!(diff(&[edit(1, 1, "x\n")], &|_| None), None);
    }
}
