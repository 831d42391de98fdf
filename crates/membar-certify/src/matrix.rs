//! Relations between the events of a small graph, as matrices of bits.
//!
//! Complexity: O(n²) bits for n events; composition and closure take O(n³ / 64).

/// A relation between events, a bit for each pair.
#[derive(Clone)]
pub(crate) struct Matrix {
    size: usize,
    words: usize,
    bits: Vec<u64>,
}

impl Matrix {
    pub(crate) fn new(size: usize) -> Matrix {
        let words = size.div_ceil(64);
        Matrix { size, words, bits: vec![0; size * words] }
    }

    pub(crate) fn identity(size: usize) -> Matrix {
        let mut all = Matrix::new(size);
        (0..size).for_each(|i| all.set(i, i));
        all
    }

    pub(crate) fn set(&mut self, from: usize, to: usize) {
        self.bits[from * self.words + to / 64] |= 1 << (to % 64);
    }

    pub(crate) fn has(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 != 0
    }

    pub(crate) fn row(&self, from: usize) -> &[u64] {
        &self.bits[from * self.words..][..self.words]
    }

    pub(crate) fn join_row(&mut self, into: usize, row: &[u64]) {
        self.bits[into * self.words..][..self.words].iter_mut().zip(row).for_each(|(into, from)| *into |= from);
    }

    pub(crate) fn join(&mut self, other: &Matrix) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(into, from)| *into |= from);
    }

    /// Only the pairs of which this is true.
    pub(crate) fn only(&self, wanted: impl Fn(usize, usize) -> bool) -> Matrix {
        let mut some = Matrix::new(self.size);
        for from in 0..self.size {
            self.each(from, |to| {
                if wanted(from, to) {
                    some.set(from, to);
                }
            });
        }
        some
    }

    pub(crate) fn each(&self, from: usize, mut work: impl FnMut(usize)) {
        for (word, &bits) in self.row(from).iter().enumerate() {
            let mut left = bits;
            while left != 0 {
                work(64 * word + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }

    /// This one, and then the other.
    pub(crate) fn then(&self, next: &Matrix) -> Matrix {
        let mut both = Matrix::new(self.size);
        for from in 0..self.size {
            self.each(from, |to| both.join_row(from, next.row(to)));
        }
        both
    }

    /// Its transitive closure.
    pub(crate) fn closed(mut self) -> Matrix {
        for via in 0..self.size {
            let row = self.row(via).to_vec();
            for from in 0..self.size {
                if self.has(from, via) {
                    self.join_row(from, &row);
                }
            }
        }
        self
    }

    /// It or nothing.
    pub(crate) fn or_same(&self) -> Matrix {
        let mut all = Matrix::identity(self.size);
        all.join(self);
        all
    }

    pub(crate) fn is_irreflexive(&self) -> bool {
        (0..self.size).all(|i| !self.has(i, i))
    }
}
