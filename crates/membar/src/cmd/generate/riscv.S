
#ifndef MEMBAR_BARE
# Hosted: runs all threads argv[1] times and prints a trace of each run.
    .section .rodata
membar_check: .string "check\n"
    .bss
    .balign 8
membar_ids: .zero 8 * THREADS
membar_arrived: .zero 8
    .text
membar_start:
    addi sp, sp, -16
    sd ra, 8(sp)
    sd s0, 0(sp)
    mv s0, a0
    lla t0, membar_arrived
    li t1, 1
    amoadd.d.aqrl zero, t1, (t0)
1:  ld t1, 0(t0)
    li t2, THREADS
    bltu t1, t2, 1b
    fence rw, rw
    lla t0, membar_threads
    slli t1, s0, 3
    add t0, t0, t1
    ld t0, 0(t0)
    jalr t0
    li a0, 0
    ld s0, 0(sp)
    ld ra, 8(sp)
    addi sp, sp, 16
    ret

    .globl main
main:
    addi sp, sp, -48
    sd ra, 40(sp)
    sd s0, 32(sp)
    sd s1, 24(sp)
    sd s2, 16(sp)
    li s0, 1
    li t0, 2
    blt a0, t0, 2f
    ld a0, 8(a1)
    call atoi
    mv s0, a0
2:  blez s0, 9f
    lla a0, membar_memory
    li a1, 0
    li a2, BYTES
    call memset
    lla t0, membar_arrived
    sd zero, 0(t0)
    fence rw, rw
    li s1, 0
3:  lla a0, membar_ids
    slli t0, s1, 3
    add a0, a0, t0
    li a1, 0
    lla a2, membar_start
    mv a3, s1
    call pthread_create
    addi s1, s1, 1
    li t0, THREADS
    bltu s1, t0, 3b
    li s1, 0
4:  lla t0, membar_ids
    slli t1, s1, 3
    add t0, t0, t1
    ld a0, 0(t0)
    li a1, 0
    call pthread_join
    addi s1, s1, 1
    li t0, THREADS
    bltu s1, t0, 4b
    lla s1, membar_table
5:  ld a0, 0(s1)
    beqz a0, 7f
    ld t0, 8(s1)
    ld t1, 16(s1)
    ld t2, 24(s1)
    lla a1, membar_log
    slli t0, t0, 3
    add a1, a1, t0
    ld a1, 0(a1)
    add a2, a1, t1
    beqz t2, 6f
    beqz a1, 6f
    mv a0, t2
6:  call printf
    addi s1, s1, 32
    j 5b
7:  lla a0, membar_check
    call printf
    addi s0, s0, -1
    j 2b
9:  li a0, 0
    ld s2, 16(sp)
    ld s1, 24(sp)
    ld s0, 32(sp)
    ld ra, 40(sp)
    addi sp, sp, 48
    ret
#endif
    .section .note.GNU-stack,"",@progbits
