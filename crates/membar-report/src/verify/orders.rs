//! Stronger memory orders as edits of the source, to be tried.
//!
//! The name of an order (`memory_order_relaxed`, `std::memory_order::relaxed`, `__ATOMIC_RELAXED`; in Rust `Ordering::Relaxed`, or
//! `Relaxed` alone) is looked for in the statement of the access, from its column on. Of a compare-exchange the second one, if it has one, is the order of a failure, which is
//! strengthened as far as it needs.

use super::{EditRef, FenceRef, edits};
use membar_core::Order;
use std::collections::BTreeMap;

/// Lines that a statement may have.
const LINES: usize = 8;

/// Ways to write these orders into the source, each with its edits and as the source spells them: without changing the orders of
/// compare-exchanges that fail, and with. Empty if one is not written there.
pub fn reordered(orders: &[FenceRef], source: &dyn Fn(&str) -> Option<String>) -> Vec<Vec<FenceRef>> {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for order in orders {
        if !texts.contains_key(order.file.as_str()) {
            let Some(text) = source(&order.file) else { return Vec::new() };
            texts.insert(&order.file, text);
        }
    }
    let all = |failures| orders.iter().map(|order| written(order, &texts[order.file.as_str()], failures)).collect();
    let mut proposals: Vec<Vec<FenceRef>> = [false, true].into_iter().filter_map(all).collect();
    proposals.dedup();
    // A line that says nothing about where it writes its orders could be read as one order for two accesses.
    proposals.retain(|orders| !is_torn(orders));
    proposals
}

/// Whether two edits want to replace the same text by something different.
fn is_torn(orders: &[FenceRef]) -> bool {
    let edits = edits(orders);
    edits
        .windows(2)
        .any(|pair| (&pair[0].file, pair[0].line, pair[0].column) == (&pair[1].file, pair[1].line, pair[1].column))
}

/// An order in the text.
struct Token<'a> {
    line: u32,
    /// In bytes, from 0.
    at: usize,
    prefix: &'a str,
    name: &'a str,
}

impl Token<'_> {
    fn order(&self) -> Option<Order> {
        let name = self.name.to_lowercase();
        let name = match &*name {
            "consume" => "acquire",
            "acqrel" => "acq_rel",
            "seqcst" => "seq_cst",
            name => name,
        };
        Order::ALL.into_iter().find(|order| order.name() == name)
    }

    fn spelled(&self, order: Order) -> String {
        if self.name.starts_with(char::is_uppercase) && self.prefix != "__ATOMIC_" {
            let words = order.name().split('_');
            let camel = |word: &str| word[..1].to_uppercase() + &word[1..];
            return format!("{}{}", self.prefix, words.map(camel).collect::<String>());
        }
        let upper = self.prefix == "__ATOMIC_";
        format!("{}{}", self.prefix, if upper { order.name().to_uppercase() } else { order.name().into() })
    }

    fn edit(&self, file: &str, order: Order) -> EditRef {
        let removes = (self.prefix.len() + self.name.len()) as u32;
        EditRef { file: file.into(), line: self.line, column: self.at as u32 + 1, text: self.spelled(order), removes }
    }
}

fn written(order: &FenceRef, text: &str, failures: bool) -> Option<FenceRef> {
    let wanted = Order::ALL.into_iter().find(|known| known.name() == order.fence)?;
    let from = Order::ALL.into_iter().find(|known| Some(known.name()) == order.replaces.as_deref())?;
    let tokens = tokens(text, order.after_line, order.file.ends_with(".rs"));
    let behind = |token: &&Token<'_>| token.line > order.after_line || token.at + 1 >= order.after_column as usize;
    let fits = |token: &&Token<'_>| token.order() == Some(from);
    // The arguments of a template come before the call.
    let first = tokens.iter().filter(behind).find(fits).or_else(|| tokens.iter().rfind(fits))?;
    let mut changes = vec![(first, from, wanted)];
    let at = tokens.iter().position(|token| (token.line, token.at) == (first.line, first.at))?;
    let line = text.lines().nth(order.after_line.checked_sub(1)? as usize).unwrap_or_default();
    let compares = line.contains("compare_exchange") || line.contains("cmpxchg");
    let failure = tokens.get(at + 1).filter(|_| compares);
    if failures
        && let Some(failure) = failure
        && let Some(now) = failure.order()
    {
        changes.push((failure, now, now.join(wanted.reading())));
    }
    // It may be the failure alone.
    changes.retain(|(_, from, to)| from != to);
    let &(token, from, to) = changes.first()?;
    let other = |known: &&Token<'_>| known.line == token.line && known.at != token.at && known.order() == Some(from);
    let paired = failure.filter(|_| token.at == first.at).map(|failure| failure.at);
    let crowded = tokens.iter().filter(other).any(|other| Some(other.at) != paired);
    let edits = changes.iter().map(|(token, _, to)| token.edit(&order.file, *to)).collect();
    Some(FenceRef { fence: token.spelled(to), replaces: Some(token.spelled(from)), edits, crowded, ..order.clone() })
}

/// The orders that are written in the statement that begins in this line or goes on there.
fn tokens(text: &str, line: u32, rust: bool) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let first = line.saturating_sub(1) as usize;
    for (number, line) in text.lines().enumerate().skip(first).take(LINES) {
        let code = line.split("//").next().unwrap_or_default();
        let mut at = 0;
        while at < code.len() {
            let rest = &code[at..];
            let word: usize = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            if word == 0 {
                at += rest.chars().next().map_or(1, char::len_utf8);
                continue;
            }
            tokens.extend(token(code, at, word, number as u32 + 1, rust));
            at += word;
        }
        if code.contains(';') {
            break;
        }
    }
    tokens
}

/// The order that this word of a line is, or ends.
fn token(code: &str, at: usize, word: usize, line: u32, rust: bool) -> Option<Token<'_>> {
    let text = &code[at..at + word];
    if rust {
        const SCOPE: &str = "Ordering::";
        let prefix = if code[..at].ends_with(SCOPE) { SCOPE } else { "" };
        let named = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"].contains(&text);
        return named.then_some(Token { line, at: at - prefix.len(), prefix, name: text });
    }
    for prefix in ["memory_order_", "__ATOMIC_", "mo_"] {
        if let Some(name) = text.strip_prefix(prefix) {
            let token = Token { line, at, prefix, name };
            return token.order().is_some().then_some(token);
        }
    }
    let scoped = code[..at].ends_with("memory_order::");
    let token = Token { line, at, prefix: "", name: text };
    (scoped && token.order().is_some()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::edited;

    fn order(line: u32, column: u32, from: &str, to: &str) -> FenceRef {
        FenceRef {
            file: "t.c".into(),
            function: None,
            thread_name: "T1".into(),
            fence: to.into(),
            replaces: Some(from.into()),
            order: String::new(),
            edits: Vec::new(),
            after_line: line,
            after_column: column,
            before_line: line,
            before_column: column,
            tried_before: false,
            crowded: false,
        }
    }

    fn rewritten(text: &str, order: FenceRef) -> Option<String> {
        let proposals = reordered(&[order], &|_| Some(text.to_owned()));
        Some(edited("t.c", text, &proposals.last()?[0].edits))
    }

    #[test]
    fn orders_are_replaced_where_they_are_written() {
        let text = "a\n  r = atomic_load_explicit(&x, memory_order_relaxed);\n";
        let acquire = "a\n  r = atomic_load_explicit(&x, memory_order_acquire);\n";
        assert_eq!(rewritten(text, order(2, 7, "relaxed", "acquire")).as_deref(), Some(acquire));
        let text = "x.store(1, std::memory_order::relaxed);";
        assert_eq!(
            rewritten(text, order(1, 1, "relaxed", "release")).as_deref(),
            Some("x.store(1, std::memory_order::release);")
        );
        let text = "__atomic_store_n(&x, 1,\n    __ATOMIC_RELAXED);";
        assert_eq!(
            rewritten(text, order(1, 1, "relaxed", "seq_cst")).as_deref(),
            Some("__atomic_store_n(&x, 1,\n    __ATOMIC_SEQ_CST);")
        );
    }

    #[test]
    fn the_right_one_of_a_line_is_replaced() {
        let text = "r = a.load(memory_order_relaxed) + b.load(memory_order_relaxed);";
        let second = "r = a.load(memory_order_relaxed) + b.load(memory_order_acquire);";
        assert_eq!(rewritten(text, order(1, 36, "relaxed", "acquire")).as_deref(), Some(second));
    }

    #[test]
    fn an_order_that_is_in_its_line_twice_has_a_column() {
        let place = |text: &str, column| {
            let proposals = reordered(&[order(1, column, "relaxed", "acquire")], &|_| Some(text.to_owned()));
            proposals[0][0].place()
        };
        let two = "r = a.load(memory_order_relaxed) + b.load(memory_order_relaxed);";
        assert_eq!(place(two, 36), "at column 43 of line 1");
        assert_eq!(place(two, 5), "at column 12 of line 1");
        assert_eq!(place("r = a.load(memory_order_relaxed) + b.load(memory_order_acquire);", 5), "in line 1");
        // A compare-exchange names two.
        let one = "x.compare_exchange_strong(e, 1, memory_order_relaxed, memory_order_relaxed);";
        assert_eq!(place(one, 1), "in line 1");
    }

    #[test]
    fn one_order_is_not_replaced_twice() {
        let text = "put<memory_order_relaxed>(x, get<memory_order_relaxed>(y));";
        let both = [order(1, 4, "relaxed", "release"), order(1, 5, "relaxed", "acquire")];
        assert!(reordered(&both, &|_| Some(text.to_owned())).is_empty());
        assert_eq!(reordered(&both[..1], &|_| Some(text.to_owned())).len(), 1);
        // Of a template, the one before the call.
        let second = "put<memory_order_relaxed>(x, get<memory_order_acquire>(y));";
        assert_eq!(rewritten(text, order(1, 55, "relaxed", "acquire")).as_deref(), Some(second));
    }

    #[test]
    fn a_failure_is_strengthened_as_far_as_it_needs() {
        let text = "x.compare_exchange_strong(e, 1, memory_order_relaxed, memory_order_relaxed);";
        let acquire = "x.compare_exchange_strong(e, 1, memory_order_acq_rel, memory_order_acquire);";
        assert_eq!(rewritten(text, order(1, 1, "relaxed", "acq_rel")).as_deref(), Some(acquire));
        let alone = "x.compare_exchange_strong(e, 1, memory_order_acquire, memory_order_relaxed);";
        let both = "x.compare_exchange_strong(e, 1, memory_order_acquire, memory_order_acquire);";
        assert_eq!(rewritten(alone, order(1, 1, "acquire", "acquire")).as_deref(), Some(both));
        let release = "x.compare_exchange_strong(e, 1, memory_order_release, memory_order_relaxed);";
        assert_eq!(rewritten(text, order(1, 1, "relaxed", "release")).as_deref(), Some(release));
    }

    #[test]
    fn what_is_not_written_cannot_be_replaced() {
        assert_eq!(rewritten("x = load_relaxed(y);", order(1, 1, "relaxed", "acquire")), None);
        assert_eq!(rewritten("// memory_order_relaxed\n", order(1, 1, "relaxed", "acquire")), None);
        assert_eq!(rewritten("", order(7, 1, "relaxed", "acquire")), None);
    }
}
