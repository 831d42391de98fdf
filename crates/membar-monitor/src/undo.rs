//! The undo log that takes events back; costs one branch where it is off.

/// Rows that were overwritten, as a stack of words: the row, its length, its index and the table it belongs to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pub on: bool,
    words: Vec<u32>,
}

impl Rows {
    #[inline]
    pub fn save(&mut self, table: u32, index: usize, row: &[u32]) {
        if self.on {
            self.words.extend_from_slice(row);
            self.words.extend([row.len() as u32, index as u32, table]);
        }
    }

    pub fn mark(&self) -> usize {
        self.words.len()
    }

    /// Hands back what was saved since the mark, last first.
    pub fn rewind(&mut self, mark: usize, mut restore: impl FnMut(u32, usize, &[u32])) {
        while self.words.len() > mark {
            let [.., length, index, table] = self.words[..] else { break };
            let end = self.words.len() - 3;
            let start = end - length as usize;
            restore(table, index as usize, &self.words[start..end]);
            self.words.truncate(start);
        }
    }
}

/// A row goes back into its table. Rows may have become longer since: those entries were zero.
pub(crate) fn put_back(table: &mut [u32], stride: usize, index: usize, row: &[u32]) {
    let into = &mut table[index * stride..][..stride];
    let (same, later) = into.split_at_mut(row.len().min(stride));
    same.copy_from_slice(&row[..same.len()]);
    later.fill(0);
}

/// Single values that were overwritten.
#[derive(Clone, Debug)]
pub(crate) struct Values<T> {
    pub on: bool,
    saved: Vec<(u32, T)>,
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Values { on: false, saved: Vec::new() }
    }
}

impl<T: Copy> Values<T> {
    #[inline]
    pub fn save(&mut self, index: u32, value: T) {
        if self.on {
            self.saved.push((index, value));
        }
    }

    pub fn mark(&self) -> usize {
        self.saved.len()
    }

    pub fn rewind(&mut self, mark: usize, mut restore: impl FnMut(u32, T)) {
        while self.saved.len() > mark {
            if let Some((index, value)) = self.saved.pop() {
                restore(index, value);
            }
        }
    }
}

/// Values by index that can be set back.
#[derive(Clone, Debug)]
pub(crate) struct Undoable<T> {
    values: Vec<T>,
    old: Values<T>,
}

impl<T> Default for Undoable<T> {
    fn default() -> Self {
        Undoable { values: Vec::new(), old: Values::default() }
    }
}

impl<T: Copy + Default> Undoable<T> {
    pub fn record(&mut self, on: bool) {
        self.old.on = on;
    }

    /// There are this many; new ones are the default.
    pub fn fit(&mut self, length: usize) {
        self.values.resize(length, T::default());
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    #[inline]
    pub fn get(&self, index: u32) -> T {
        self.values[index as usize]
    }

    #[inline]
    pub fn set(&mut self, index: u32, value: T) {
        let old = std::mem::replace(&mut self.values[index as usize], value);
        self.old.save(index, old);
    }

    pub fn mark(&self) -> usize {
        self.old.mark()
    }

    pub fn rewind(&mut self, mark: usize) {
        self.old.rewind(mark, |index, value| self.values[index as usize] = value);
    }
}

impl Undoable<u32> {
    /// Makes it at least this large.
    #[inline]
    pub fn raise(&mut self, index: u32, value: u32) {
        if self.get(index) < value {
            self.set(index, value);
        }
    }
}
