//! Whether threads that seem to be alike take each other's place without a difference: a test, before anything rests on it.
//!
//! # Problem
//!
//! [`crate::symmetry`] notices whatever tells twins apart, except for a thread that makes something of an address of its own and
//! shows it to nobody: it may go to the left because its stack is where it is.
//!
//! # Algorithm
//!
//! Run an execution at random in which neither twin has begun before both exist. Run it again with the two in each other's
//! place. Access by access, the same must happen: at the same address, or the same place of the other's own memory, with the same values, which
//! may also point there; and the twins must have written the same memory that nobody else uses. If not, they are told apart.
//!
//! Others who join one of them, or touch its control block otherwise, are left out: that twins are joined in a row is
//! seen to elsewhere.
//!
//! # Guarantees
//!
//! None beyond those of `symmetry`: this is a test. A thread that looks at its own address early, or always, is caught.
//!
//! # Complexity
//!
//! [`TRIES`] executions of at most [`LONG`] steps, twice.

use crate::{Next, Program, Standing, Step};
use membar_core::{Performed, Rng};

const TRIES: u64 = 32;
const LONG: usize = 400;

/// Runs executions and their mirror images, from the beginning of the program, where it is in the end as well.
pub(crate) fn compare_twins(program: &mut impl Program) {
    for seed in 0..TRIES {
        let mut rng = Rng::new(seed);
        let prefix = create(program, &mut rng);
        let pairs: Vec<(usize, usize)> =
            twins(program).filter(|&(i, j)| can_run(program, i) && can_run(program, j)).collect();
        if !pairs.is_empty() {
            let pair = pairs[rng.below(pairs.len() as u32) as usize];
            let (path, made) = run(program, pair, &mut rng);
            let stands: Vec<Stand> = (0..program.threads()).map(|thread| stand(program, thread)).collect();
            path.iter().for_each(|_| program.undo());
            if !is_same(program, pair, &path, &made, &stands) {
                program.tell_apart(pair.1);
            }
        }
        (0..prefix).for_each(|_| program.undo());
    }
}

fn twins(program: &impl Program) -> impl Iterator<Item = (usize, usize)> + '_ {
    (0..program.threads()).filter_map(|thread| Some((program.twin(thread)?, thread)))
}

fn can_run(program: &impl Program, thread: usize) -> bool {
    match program.standing(thread) {
        Standing::Runs | Standing::Chooses => true,
        Standing::Waits => !program.is_blocked(thread),
        Standing::Long | Standing::Stopped => false,
    }
}

/// What a thread is about to do, roughly, and what it has done that is no step.
type Stand = (u8, Vec<u64>);

fn stand(program: &impl Program, thread: usize) -> Stand {
    let next = match program.next(thread) {
        Next::Access(_) => 0,
        Next::Done => 1,
        Next::Fault => 2,
        Next::Long => 3,
    };
    (next, program.private_writes(thread))
}

/// The next step of one of these threads, a choice before anything else.
fn draw(program: &impl Program, threads: &[usize], rng: &mut Rng) -> Option<Step> {
    let chooses = |thread: &&usize| program.standing(**thread) == Standing::Chooses;
    let thread = match threads.iter().find(chooses) {
        Some(&thread) => thread,
        None if threads.is_empty() => return None,
        None => threads[rng.below(threads.len() as u32) as usize],
    };
    let Next::Access(access) = program.next(thread) else { return None };
    Some(match access.outcomes() {
        Some(outcomes) => Step::choice(thread, rng.below(outcomes.clamp(1, 1000) as u32)),
        None => Step::of(thread),
    })
}

/// Runs until nobody can but twins that have not begun. How many steps.
fn create(program: &mut impl Program, rng: &mut Rng) -> usize {
    let mut steps = 0;
    let mut begun = vec![false; program.threads()];
    while steps < LONG {
        let alike: Vec<usize> = twins(program).flat_map(|(i, j)| [i, j]).collect();
        let able = |thread: &usize| can_run(program, *thread) && (begun[*thread] || !alike.contains(thread));
        let threads: Vec<usize> = (0..begun.len()).filter(able).collect();
        // The first thread goes on as long as it can, so that those that it creates have not begun.
        let threads = if threads.first() == Some(&0) { &threads[..1] } else { &threads[..] };
        let Some(step) = draw(program, threads, rng) else { break };
        begun[step.thread()] = true;
        program.repeat(step);
        steps += 1;
    }
    steps
}

/// Whether the thread is about to touch what is there for one of these to be started or waited for.
fn touches(program: &impl Program, thread: usize, twins: [usize; 2]) -> bool {
    match program.next(thread) {
        Next::Access(access) => twins.into_iter().any(|twin| program.is_control(twin, access.addr)),
        _ => true,
    }
}

/// Runs at random.
fn run(program: &mut impl Program, (i, j): (usize, usize), rng: &mut Rng) -> (Vec<Step>, Vec<Performed>) {
    let (mut path, mut made) = (Vec::new(), Vec::new());
    while path.len() < LONG {
        let twin = |thread: usize| thread == i || thread == j;
        let able = |thread: &usize| can_run(program, *thread) && (twin(*thread) || !touches(program, *thread, [i, j]));
        let threads: Vec<usize> = (0..program.threads()).filter(able).collect();
        let Some(step) = draw(program, &threads, rng) else { break };
        made.push(program.repeat(step));
        path.push(step);
    }
    (path, made)
}

/// Whether the same happens with the twins in each other's place. The program is where it was before the path.
fn is_same(
    program: &mut impl Program,
    (i, j): (usize, usize),
    path: &[Step],
    made: &[Performed],
    stands: &[Stand],
) -> bool {
    let swapped = |thread: usize| match thread {
        _ if thread == i => j,
        _ if thread == j => i,
        other => other,
    };
    let mut steps = 0;
    let mut same = true;
    for (step, before) in path.iter().zip(made) {
        let thread = swapped(step.thread());
        let step = step.outcome().map_or(Step::of(thread), |outcome| Step::choice(thread, outcome));
        same = can_run(program, thread) && program.fits(step);
        if !same {
            break;
        }
        let now = program.repeat(step);
        steps += 1;
        let place = |a: u32, b: u32| match (program.own_place(i, a), program.own_place(j, a)) {
            (Some(place), _) => program.own_place(j, b) == Some(place),
            (_, Some(place)) => program.own_place(i, b) == Some(place),
            _ => a == b,
        };
        let value = |a: u64, b: u64| match (program.own_value(i, a), program.own_value(j, a)) {
            _ if a == b => true,
            (Some(place), _) => program.own_value(j, b) == Some(place),
            (_, Some(place)) => program.own_value(i, b) == Some(place),
            _ => false,
        };
        same = place(before.access.addr, now.access.addr)
            && program.common_site(before.access.site) == program.common_site(now.access.site)
            && (before.access.kind, before.writes) == (now.access.kind, now.writes)
            && value(before.old, now.old)
            && value(before.new, now.new);
        if !same {
            break;
        }
    }
    same = same && (0..stands.len()).all(|thread| stands[thread] == stand(program, swapped(thread)));
    (0..steps).for_each(|_| program.undo());
    same
}
