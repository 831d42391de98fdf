//! How many bytes an x86-64 instruction accesses in memory.
//!
//! A page fault says where an access begins and whether it writes; how long it is only the instruction knows. Sizes are
//! exact for what compilers use to move and change data, and otherwise the largest that the instruction's kind can have: more is
//! said to be touched, never less. String instructions are run one round at a time.

/// Bytes that the instruction accesses at an address, at most.
pub fn size(code: &[u8]) -> usize {
    let (mut wide, mut half, mut repeat, mut scalar) = (false, false, false, false);
    let mut at = 0;
    let byte = |at: usize| code.get(at).copied().unwrap_or(0);
    loop {
        match byte(at) {
            0x66 => half = true,
            0xf2 => scalar = true,
            0xf3 => repeat = true,
            0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x67 | 0xf0 => {}
            _ => break,
        }
        at += 1;
    }
    if byte(at) & 0xf0 == 0x40 {
        wide = byte(at) & 8 != 0;
        at += 1;
    }
    let word = match (wide, half) {
        (true, _) => 8,
        (_, true) => 2,
        _ => 4,
    };
    match byte(at) {
        0xc5 => 16 << (byte(at + 1) >> 2 & 1),
        0xc4 => 16 << (byte(at + 2) >> 2 & 1),
        0x62 => 64,
        0x0f => match byte(at + 1) {
            // Single numbers of floating point.
            0x10 | 0x11 | 0x2a | 0x2c | 0x2d | 0x51..=0x5f | 0xc2 if repeat => 4,
            0x10 | 0x11 | 0x51..=0x5f | 0xc2 if scalar => 8,
            0x12 | 0x13 | 0x16 | 0x17 | 0xd6 | 0x2e | 0x2f => 8,
            0x7e if repeat => 8,
            0x6e | 0x7e => word.max(4),
            0x90..=0x9f | 0xb0 | 0xb6 | 0xbe | 0xc0 => 1,
            0xb7 | 0xbf => 2,
            0x40..=0x4f | 0xa3..=0xa5 | 0xab..=0xad | 0xaf | 0xb1 | 0xba..=0xbd | 0xb3 | 0xc1 | 0xc3 => word,
            // cmpxchg8b, cmpxchg16b, xsave and the like.
            0xc7 if wide => 16,
            0xc7 => 8,
            0xae => 64,
            _ => 16,
        },
        // Arithmetic: the lowest bit says whether it is about a byte.
        op @ (0x00..=0x3f
        | 0x80..=0x8b
        | 0xa4..=0xa7
        | 0xaa..=0xaf
        | 0xc0
        | 0xc1
        | 0xc6
        | 0xc7
        | 0xd0..=0xd3
        | 0xf6
        | 0xf7
        | 0xfe) => {
            if op & 1 == 0 && op != 0x8c {
                1
            } else {
                word
            }
        }
        0x63 => 4,
        0x69 | 0x6b => word,
        // Through memory, and onto the stack.
        0x50..=0x5f | 0x68 | 0x6a | 0x8f | 0xc2 | 0xc3 | 0xc9 | 0xe8 | 0xff => 8,
        // x87
        0xd8..=0xdf => 10,
        _ => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_those_of_the_instruction_set() {
        for (code, bytes) in [
            (&[0x89, 0x07][..], 4),                // mov %eax, (%rdi)
            (&[0x48, 0x89, 0x07], 8),              // mov %rax, (%rdi)
            (&[0x66, 0x89, 0x07], 2),              // mov %ax, (%rdi)
            (&[0x88, 0x07], 1),                    // mov %al, (%rdi)
            (&[0x0f, 0xb6, 0x07], 1),              // movzbl (%rdi), %eax
            (&[0xf0, 0x48, 0x0f, 0xc1, 0x07], 8),  // lock xadd %rax, (%rdi)
            (&[0xf0, 0x0f, 0xb1, 0x0f], 4),        // lock cmpxchg %ecx, (%rdi)
            (&[0x87, 0x07], 4),                    // xchg %eax, (%rdi)
            (&[0x86, 0x07], 1),                    // xchg %al, (%rdi)
            (&[0xf0, 0x48, 0x0f, 0xc7, 0x0f], 16), // lock cmpxchg16b (%rdi)
            (&[0x83, 0x07, 0x01], 4),              // addl $1, (%rdi)
            (&[0xc6, 0x07, 0x00], 1),              // movb $0, (%rdi)
            (&[0xc7, 0x07, 0, 0, 0, 0], 4),        // movl $0, (%rdi)
            (&[0xf3, 0xa4], 1),                    // rep movsb
            (&[0xf3, 0x48, 0xa5], 8),              // rep movsq
            (&[0x0f, 0x11, 0x07], 16),             // movups %xmm0, (%rdi)
            (&[0xf2, 0x0f, 0x11, 0x07], 8),        // movsd %xmm0, (%rdi)
            (&[0xf3, 0x0f, 0x11, 0x07], 4),        // movss %xmm0, (%rdi)
            (&[0xc5, 0xfe, 0x7f, 0x07], 32),       // vmovdqu %ymm0, (%rdi)
            (&[0xc5, 0xfa, 0x7f, 0x07], 16),       // vmovdqu %xmm0, (%rdi)
            (&[0xff, 0x17], 8),                    // call *(%rdi)
            (&[0x50], 8),                          // push %rax
        ] {
            assert_eq!(size(code), bytes, "{code:02x?}");
        }
    }
}
