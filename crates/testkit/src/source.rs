//! Draws choices from bytes.

/// A source of choices that consumes bytes. After the last byte, every choice is the first option, so fewer bytes yield
/// a simpler case.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    bytes: &'a [u8],
}

impl<'a> Source<'a> {
    /// Creates a source from these bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether all bytes are consumed.
    pub const fn is_spent(&self) -> bool {
        self.bytes.is_empty()
    }

    fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                *first
            }
            None => 0,
        }
    }

    /// Draws an integer of this number of bytes.
    pub fn bits(&mut self, bytes: u32) -> u64 {
        (0..bytes).fold(0, |value, _| value << 8 | u64::from(self.byte()))
    }

    /// Draws an integer from 0 to `end` - 1.
    ///
    /// # Panics
    /// If `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        assert!(end > 0, "nothing lies below 0");
        match end {
            1 => 0,
            2..=0x100 => self.bits(1) % end,
            0x101..=0x1_0000 => self.bits(2) % end,
            _ => self.bits(8) % end,
        }
    }

    /// Draws an integer from `low` to `high`, inclusive.
    pub fn from_to(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Draws one of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Draws true with probability 1 / `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == times - 1
    }
}
