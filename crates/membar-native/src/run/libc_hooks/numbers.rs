//! Functions of the mathematical library that store a second result where their caller says: that is a step.
//!
//! Those on `long double` are uninstrumented code, and watched (`run/opaque/thunks.rs`).

use super::*;
use std::ffi::c_float;

/// `real(arguments..., &mut second)`, and the second result is stored here.
macro_rules! second_result {
    ($($name:ident: $real:ident($($argument:ident: $kind:ty),*; $second:ty) -> $result:ty,)*) => {
        $(
            pub extern "C-unwind" fn $name($($argument: $kind,)* out: *mut $second) -> $result {
                unsafe extern "C" {
                    fn $real($($argument: $kind,)* out: *mut $second) -> $result;
                }
                let mut second = <$second>::default();
                // SAFETY: numbers, and a variable of ours.
                let first = unsafe { $real($($argument,)* &mut second) };
                store(out, second);
                first
            }
        )*
    };
}

second_result! {
    split: modf(x: c_double; c_double) -> c_double,
    split_float: modff(x: c_float; c_float) -> c_float,
    exponent: frexp(x: c_double; c_int) -> c_double,
    exponent_float: frexpf(x: c_float; c_int) -> c_float,
    remainder: remquo(x: c_double, y: c_double; c_int) -> c_double,
    remainder_float: remquof(x: c_float, y: c_float; c_int) -> c_float,
    log_gamma: lgamma_r(x: c_double; c_int) -> c_double,
    log_gamma_float: lgammaf_r(x: c_float; c_int) -> c_float,
}

fn store<T>(out: *mut T, value: T) {
    plain(out as usize, size_of::<T>(), true);
    // SAFETY: the program's own variable.
    unsafe { *out = value };
}

pub extern "C-unwind" fn sine_and_cosine(x: c_double, sine: *mut c_double, cosine: *mut c_double) {
    store(sine, x.sin());
    store(cosine, x.cos());
}

pub extern "C-unwind" fn sine_and_cosine_float(x: c_float, sine: *mut c_float, cosine: *mut c_float) {
    store(sine, x.sin());
    store(cosine, x.cos());
}
