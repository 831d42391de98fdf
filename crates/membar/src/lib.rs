//! The membar command and its library.
