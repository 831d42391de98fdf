//! Words as GNU as encodes them.

use super::*;

fn instr(word: u32) -> Instr {
    decode(word, false)
}

#[test]
fn accesses_of_the_base_set() {
    let lw = instr(0xffc5_2583); // lw a1, -4(a0)
    assert_eq!((lw.kind, lw.base, lw.offset, lw.target), (Kind::Load(4), Some(10), -4, Some(11)));
    let sd = instr(0xfeb5_3c23); // sd a1, -8(a0)
    assert_eq!((sd.kind, sd.base, sd.offset, sd.sources[0]), (Kind::Store(8), Some(10), -8, Some(11)));
    let fld = instr(0x0085_3507); // fld fa0, 8(a0)
    assert_eq!((fld.kind, fld.target), (Kind::Load(8), Some(FLOAT + 10)));
    assert_eq!(instr(0x0005_0003).target, None, "x0 is no target");
}

#[test]
fn atomics_with_their_order() {
    let both = Order { acquire: true, release: true };
    let swap = instr(0x0eb5_262f); // amoswap.w.aqrl a2, a1, (a0)
    assert_eq!((swap.kind, swap.target, swap.sources[0]), (Kind::Amo(Amo::Swap, 4, both), Some(12), Some(11)));
    let lr = instr(0x1405_35af); // lr.d.aq a1, (a0)
    assert_eq!(lr.kind, Kind::Lr(8, Order { acquire: true, release: false }));
    let sc = instr(0x1ab5_362f); // sc.d.rl a2, a1, (a0)
    assert_eq!((sc.kind, sc.target), (Kind::Sc(8, Order { acquire: false, release: true }), Some(12)));
}

#[test]
fn barriers() {
    assert_eq!(instr(0x0ff0_000f).kind, Kind::Fence(15, 15));
    assert_eq!(instr(0x0230_000f).kind, Kind::Fence(2, 3)); // fence r,rw
    assert_eq!(instr(0x8330_000f).kind, Kind::FenceTso);
    assert_eq!(instr(0x0000_100f).kind, Kind::FenceI);
    assert_eq!(instr(0x0100_000f).kind, Kind::Fence(1, 0)); // pause
}

#[test]
fn compressed_accesses() {
    let lw = instr(0x414c); // c.lw a1, 4(a0)
    assert_eq!((lw.kind, lw.base, lw.offset, lw.target), (Kind::Load(4), Some(10), 4, Some(11)));
    let sd = instr(0xe50c); // c.sd a1, 8(a0)
    assert_eq!((sd.kind, sd.base, sd.offset, sd.sources[0]), (Kind::Store(8), Some(10), 8, Some(11)));
    let load = instr(0x6562); // c.ldsp a0, 24(sp)
    assert_eq!((load.kind, load.base, load.offset, load.target), (Kind::Load(8), Some(2), 24, Some(10)));
    let store = instr(0xec06); // c.sdsp ra, 24(sp)
    assert_eq!((store.kind, store.offset, store.sources[0]), (Kind::Store(8), 24, Some(1)));
    assert_eq!(instr(0x8082).kind, Kind::Branch); // ret
    let mv = instr(0x852e); // c.mv a0, a1
    assert_eq!((mv.kind, mv.sources[0], mv.target), (Kind::Compute, Some(11), Some(10)));
    let add = instr(0x952e); // c.add a0, a1
    assert_eq!((add.sources[0], add.sources[1]), (Some(10), Some(11)));
}

#[test]
fn amos_compute_what_they_store() {
    assert_eq!(Amo::Min.apply(1, 0xffff_ffff, 4), 0xffff_ffff);
    assert_eq!(Amo::MinUnsigned.apply(1, 0xffff_ffff, 4), 1);
    assert_eq!(Amo::Max.apply(1, u64::MAX, 8), 1);
    assert_eq!(Amo::Add.apply(0xffff_ffff, 1, 4), 0);
    for (amo, old) in [(Amo::Add, 7), (Amo::Xor, 0x1234)] {
        assert_eq!(amo.undo(amo.apply(old, 99, 4), 99, 4), Some(old));
    }
}
