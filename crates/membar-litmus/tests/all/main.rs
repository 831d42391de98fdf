//! The tests of `membar-litmus`, in one program: it links once.

mod corpus;
mod cycles;
mod dialects;
mod errors;
mod instructions;
mod oracle;
mod random;
mod relaxed;
mod shared;
mod way;

/// A published collection of tests.
fn published(name: &str) -> std::path::PathBuf {
    let all = std::env::var_os("MEMBAR_PUBLISHED").expect("MEMBAR_PUBLISHED names the published collections");
    std::path::Path::new(&all).join(name)
}
