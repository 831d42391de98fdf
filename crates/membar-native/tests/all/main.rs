//! The tests of `membar-native`, in one program: it links once.

mod build;
