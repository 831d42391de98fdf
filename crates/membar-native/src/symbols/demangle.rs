//! C++ names of the ELF symbol table, for objects without debug information.
//!
//! Only what a plain program has: namespaces, classes, constructors. Anything else (templates, operators) is shown as
//! it is; with debug information this is never asked.

/// The name without argument types: `_ZN2ns4lockEv` is `ns::lock`.
pub(super) fn short(symbol: &str) -> String {
    let symbol = symbol.split('@').next().unwrap_or(symbol);
    demangled(symbol).unwrap_or_else(|| plain(symbol))
}

/// Parts that compilers add to a name to tell its copies apart.
const COPIES: [&str; 6] = ["constprop", "isra", "part", "cold", "lto_priv", "llvm"];

/// A name of C: `calls.0` (gcc) is a static of some function, and so is `count.calls` (clang).
fn plain(symbol: &str) -> String {
    let mut parts = symbol.split('.');
    let mut name = parts.next().unwrap_or_default().to_owned();
    if name.is_empty() {
        return symbol.to_owned();
    }
    for part in parts {
        if !COPIES.contains(&part) && !part.bytes().all(|byte| byte.is_ascii_digit()) {
            name = format!("{name}::{part}");
        }
    }
    name
}

fn demangled(symbol: &str) -> Option<String> {
    let mut rest = symbol.strip_prefix("_Z")?;
    let mut parts: Vec<String> = Vec::new();
    // A static of a function: `_ZZ4mainE5calls` or `_ZZN1S1fEvE5calls`.
    let inner = rest.strip_prefix('Z');
    rest = inner.unwrap_or(rest);
    rest = encoded(rest, &mut parts)?;
    if inner.is_some() {
        // The function's argument types end with the E that a source name follows.
        let end = rest.match_indices('E').find(|(at, _)| rest[at + 1..].starts_with(|c: char| c.is_ascii_digit()))?.0;
        let (part, _) = source_name(&rest[end + 1..])?;
        parts.push(part.to_owned());
    }
    (!parts.is_empty()).then(|| parts.join("::"))
}

/// `<len><name>` or `N … E`. Gives what follows it.
fn encoded<'a>(symbol: &'a str, parts: &mut Vec<String>) -> Option<&'a str> {
    let nested = symbol.strip_prefix('N');
    let mut rest = nested.unwrap_or(symbol);
    if nested.is_some() {
        rest = rest.trim_start_matches(['K', 'V', 'r', 'R', 'O']);
    }
    loop {
        if let Some(after) = rest.strip_prefix("St") {
            parts.push("std".to_owned());
            rest = after;
            if nested.is_none() {
                let (part, after) = source_name(rest.trim_start_matches('L'))?;
                parts.push(part.to_owned());
                return Some(after);
            }
        } else if let Some(after) = rest.strip_prefix('E') {
            return nested.map(|_| after);
        } else if rest.starts_with(['C', 'D']) && rest.len() > 1 {
            let class = parts.last()?.clone();
            parts.push(if rest.starts_with('C') { class } else { format!("~{class}") });
            rest = rest.get(2..)?;
        } else {
            let (part, after) = source_name(rest.trim_start_matches('L'))?;
            if part != "_GLOBAL__N_1" {
                parts.push(part.to_owned());
            }
            rest = after;
            if nested.is_none() {
                // Template arguments would make this another name.
                return (!rest.starts_with('I')).then_some(rest);
            }
        }
    }
}

fn source_name(symbol: &str) -> Option<(&str, &str)> {
    let digits = symbol.find(|c: char| !c.is_ascii_digit()).unwrap_or(symbol.len());
    let length: usize = symbol[..digits].parse().ok().filter(|length| *length > 0)?;
    let rest = &symbol[digits..];
    Some((rest.get(..length)?, rest.get(length..)?))
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn plain_names() {
        for (symbol, name) in [
            ("main", "main"),
            ("_Z4lockv", "lock"),
            ("_ZN2ns4lockEi", "ns::lock"),
            ("_ZNK2ns1S3getEv", "ns::S::get"),
            ("_ZN1SC2Ev", "S::S"),
            ("_ZN1SD1Ev", "S::~S"),
            ("_ZN12_GLOBAL__N_14anonE", "anon"),
            ("_ZL7counter", "counter"),
            ("_ZZ4mainE5calls", "main::calls"),
            ("_ZZN1S1fEvE5calls", "S::f::calls"),
            ("_ZSt4cout", "std::cout"),
            ("_ZN1QIlE4pushEl", "_ZN1QIlE4pushEl"),
            ("memcpy@GLIBC_2.2.5", "memcpy"),
            ("calls.0", "calls"),
            ("count.calls", "count::calls"),
            ("worker.constprop.0", "worker"),
            (".L5", ".L5"),
            ("_ZN99999999999999999999999a", "_ZN99999999999999999999999a"),
            ("_ZN4é", "_ZN4é"),
            ("_Z", "_Z"),
        ] {
            assert_eq!(short(symbol), name);
        }
    }
}
