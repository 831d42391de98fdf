
#ifndef MEMBAR_BARE
// Hosted: runs all threads argv[1] times and prints a trace of each run.
    .section .rodata
membar_check: .string "check\n"
    .bss
    .balign 8
membar_ids: .zero 8 * THREADS
membar_arrived: .zero 8
    .text
membar_start:
    stp x29, x30, [sp, #-16]!
    adrp x1, membar_arrived
    add x1, x1, :lo12:membar_arrived
    mov x2, #1
    ldaddal x2, x3, [x1]
1:  ldar x2, [x1]
    cmp x2, #THREADS
    b.lo 1b
    dmb sy
    adrp x1, membar_threads
    add x1, x1, :lo12:membar_threads
    ldr x1, [x1, x0, lsl #3]
    blr x1
    mov x0, #0
    ldp x29, x30, [sp], #16
    ret

    .globl main
main:
    stp x29, x30, [sp, #-32]!
    stp x19, x20, [sp, #16]
    mov x19, #1
    cmp w0, #2
    b.lt 2f
    ldr x0, [x1, #8]
    bl atoi
    sxtw x19, w0
2:  cmp x19, #0
    b.le 9f
    adrp x0, membar_memory
    add x0, x0, :lo12:membar_memory
    mov w1, #0
    ldr x2, =BYTES
    bl memset
    adrp x0, membar_arrived
    add x0, x0, :lo12:membar_arrived
    str xzr, [x0]
    dmb sy
    mov x20, #0
3:  adrp x0, membar_ids
    add x0, x0, :lo12:membar_ids
    add x0, x0, x20, lsl #3
    mov x1, #0
    adrp x2, membar_start
    add x2, x2, :lo12:membar_start
    mov x3, x20
    bl pthread_create
    add x20, x20, #1
    cmp x20, #THREADS
    b.lo 3b
    mov x20, #0
4:  adrp x0, membar_ids
    add x0, x0, :lo12:membar_ids
    ldr x0, [x0, x20, lsl #3]
    mov x1, #0
    bl pthread_join
    add x20, x20, #1
    cmp x20, #THREADS
    b.lo 4b
    adrp x20, membar_table
    add x20, x20, :lo12:membar_table
5:  ldr x0, [x20]
    cbz x0, 7f
    ldp x3, x4, [x20, #8]
    ldr x5, [x20, #24]
    adrp x1, membar_log
    add x1, x1, :lo12:membar_log
    ldr x1, [x1, x3, lsl #3]
    add x2, x1, x4
    cbz x5, 6f
    cbz x1, 6f
    mov x0, x5
6:  bl printf
    add x20, x20, #32
    b 5b
7:  adrp x0, membar_check
    add x0, x0, :lo12:membar_check
    bl printf
    sub x19, x19, #1
    b 2b
9:  mov w0, #0
    ldp x19, x20, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
    .ltorg
#endif
    .section .note.GNU-stack,"",%progbits
