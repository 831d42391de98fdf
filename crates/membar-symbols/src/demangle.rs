//! C++ and Rust names of the ELF symbol table, for objects without debug information.
//!
//! With debug information this is never asked.

/// The name without argument types: `_ZN2ns4lockEv` is `ns::lock`.
pub fn short(symbol: &str) -> String {
    let symbol = symbol.split('@').next().unwrap_or(symbol);
    rust(symbol).or_else(|| demangled(symbol)).unwrap_or_else(|| plain(symbol))
}

/// A name of Rust: `std::thread::sleep`, without the hash.
fn rust(symbol: &str) -> Option<String> {
    // Both manglings end in a hash that C++ has no use for.
    let legacy = symbol.starts_with("_ZN") && symbol.len() > 20 && symbol[..symbol.len() - 1].contains("17h");
    // LLVM numbers the parts that it makes of a static.
    let symbol = symbol.split('.').next().unwrap_or(symbol);
    let name = rustc_demangle::try_demangle(symbol).ok().filter(|_| legacy || symbol.starts_with("_R"))?;
    Some(format!("{name:#}"))
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
    // The text after a dot tells copies apart.
    let symbol = cpp_demangle::Symbol::new(symbol.split('.').next()?).ok()?;
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type().hide_expression_literal_types();
    let name = symbol.demangle_with_options(&options).ok()?;
    Some(without_parameters(&name.replace("(anonymous namespace)::", "")))
}

/// A static of a function without the function's parameters: `f(int)::calls` is `f::calls`.
fn without_parameters(name: &str) -> String {
    let Some(end) = name.find(")::") else { return name.to_owned() };
    let mut depth = 0;
    let begin = name[..=end].char_indices().rev().find(|(_, c)| {
        depth += match c {
            ')' => 1,
            '(' => -1,
            _ => 0,
        };
        depth == 0
    });
    match begin {
        Some((begin, _)) if !name[..begin].ends_with("operator") => {
            name[..begin].to_owned() + &without_parameters(&name[end + 1..])
        }
        _ => name[..end + 3].to_owned() + &without_parameters(&name[end + 3..]),
    }
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
            ("_ZZ3fooPFviEE5calls", "foo::calls"),
            ("_ZSt4cout", "std::cout"),
            ("_ZN1QIlE4pushEl", "Q<long>::push"),
            ("_ZN1QIlE4pushEl.constprop.0", "Q<long>::push"),
            ("_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size"),
            ("memcpy@GLIBC_2.2.5", "memcpy"),
            ("calls.0", "calls"),
            ("count.calls", "count::calls"),
            ("worker.constprop.0", "worker"),
            (".L5", ".L5"),
            ("_ZN99999999999999999999999a", "_ZN99999999999999999999999a"),
            ("_ZN4é", "_ZN4é"),
            ("_ZN3std6thread5sleep17h0123456789abcdefE", "std::thread::sleep"),
            ("_ZN2sb5VALUE17h0123456789abcdefE.0", "sb::VALUE"),
            ("_RNvNtCs1234_3std6thread5sleep", "std::thread::sleep"),
            ("_Z", "_Z"),
        ] {
            assert_eq!(short(symbol), name);
        }
    }
}
