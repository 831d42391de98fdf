//! A small seedable generator: the same seed gives the same numbers on every machine and in every version.

/// SplitMix64: a counter with a strong output function. Any seed is a good one.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator of this seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// An independent generator for part `stream` of a job.
    pub fn stream(seed: u64, stream: u64) -> Rng {
        let mut rng = Rng(seed ^ stream.wrapping_mul(0xA24B_AED4_963E_E407));
        Rng(rng.next())
    }

    /// The next 64 bits.
    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n` (0 where `n` is 0). The bias is below `n / 2^32`.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * n as u64) >> 32) as u32
    }

    /// A number from `low` to `high`, both included.
    #[inline]
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// True in `parts` of `whole` cases.
    #[inline]
    pub fn chance(&mut self, parts: u32, whole: u32) -> bool {
        self.below(whole) < parts
    }

    /// One of the items, unless there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len() as u32) as usize)
    }

    /// Puts the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_never_change() {
        let mut rng = Rng::new(1);
        assert_eq!([rng.next(), rng.next()], [0x910A_2DEC_8902_5CC1, 0xBEEB_8DA1_658E_EC67]);
        assert_eq!(rng.below(0), 0);
        assert!((0..1000).all(|_| rng.between(3, 5) / 3 == 1));
    }
}
