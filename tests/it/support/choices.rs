//! Makes the same choices in every run: [`Choices`].

/// Represents numbers that look random, from a seed (xorshift64*).
pub struct Choices(pub u64);

impl Choices {
    /// A number below this one.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let word = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(word).unwrap_or_default() % end.max(1)
    }

    /// One of these.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}
