//! Operations by what they access, in the order in which they are likely to execute.

use crate::problem::NONE;

/// Entries of a list that an estimate looks at.
pub(super) const WINDOW: usize = 24;

/// The operations that read or write one value of one address, by how far their thread has come, and where the first is that has not executed.
#[derive(Default)]
pub(super) struct Lists {
    start: Vec<u32>,
    nodes: Vec<u32>,
    head: Vec<u32>,
    /// How many have not executed.
    pub left: Vec<u32>,
    /// Where each node is.
    slot: Vec<u32>,
}

impl Lists {
    pub fn new(keys: usize, of: &[u32], by_time: &[u32]) -> Lists {
        let mut start = vec![0u32; keys + 1];
        for &key in of.iter().filter(|&&key| key != NONE) {
            start[key as usize + 1] += 1;
        }
        let left = start[1..].to_vec();
        for i in 0..keys {
            start[i + 1] += start[i];
        }
        let mut head = start[..keys].to_vec();
        let mut nodes = vec![0u32; start[keys] as usize];
        let mut slot = vec![0u32; of.len()];
        for &node in by_time {
            let key = of[node as usize];
            if key != NONE {
                nodes[head[key as usize] as usize] = node;
                slot[node as usize] = head[key as usize];
                head[key as usize] += 1;
            }
        }
        head.copy_from_slice(&start[..keys]);
        Lists { start, nodes, head, left, slot }
    }

    pub fn undo(&mut self, key: u32, node: u32) {
        self.left[key as usize] += 1;
        let head = &mut self.head[key as usize];
        *head = (*head).min(self.slot[node as usize]);
    }

    /// Those that have not executed, the first ones first.
    pub fn open<'a>(&'a mut self, key: u32, place: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        let k = key as usize;
        let end = self.start[k + 1];
        while self.head[k] < end && place[self.nodes[self.head[k] as usize] as usize] != NONE {
            self.head[k] += 1;
        }
        let from = self.head[k] as usize;
        self.nodes[from..end as usize].iter().copied().filter(|&node| place[node as usize] == NONE)
    }
}

/// Copies the first of them; tells how many.
pub(super) fn fill(into: &mut [u32], from: impl Iterator<Item = u32>) -> usize {
    let mut n = 0;
    for (slot, node) in into.iter_mut().zip(from) {
        *slot = node;
        n += 1;
    }
    n
}
