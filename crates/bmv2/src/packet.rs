//! Packets: reading and writing fields of any width in their bytes.

use crate::code::{Values, keep_low};
use crate::layout::{Field, Slot};

/// Bytes after those of a packet, since reads at its end take whole words.
const PADDING: usize = 16;

/// A packet in the switch: its bytes and its values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packet {
    /// Its bytes, followed by [`PADDING`].
    bytes: Vec<u8>,
    length: usize,
    /// The number of parsed bytes.
    pub parsed: usize,
    pub values: Values,
    /// The caller's tag; copies have the tag of their original.
    pub tag: u64,
    /// The packet length that the program reads, in bytes.
    pub stated_length: u32,
    pub ingress_port: u32,
    pub arrival_ns: u64,
    pub instance_type: u32,
    /// Its queue, and the time and depth at which it was enqueued.
    pub queue: u32,
    pub enqueued_ns: u64,
    pub depth_then: u32,
    pub cut_to: usize,
}

impl Packet {
    pub fn new(values: Values) -> Self {
        Self { values, ..Self::default() }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub fn set_bytes(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(bytes.len() + PADDING, 0);
        self.length = bytes.len();
        self.parsed = 0;
    }

    pub fn left(&self) -> usize {
        self.length - self.parsed
    }

    /// Reads `bits` bits, at most 126, from bit `offset` after the parsed part. The packet must have them.
    pub fn read(&self, offset: usize, bits: u32) -> i128 {
        let first = self.parsed + offset / 8;
        let skipped = (offset % 8) as u32;
        if skipped + bits <= 64 {
            let word = u64::from_be_bytes(self.bytes[first..first + 8].try_into().expect("eight bytes"));
            return i128::from(word << skipped >> (64 - bits));
        }
        if skipped + bits <= 128 {
            let word = u128::from_be_bytes(self.bytes[first..first + 16].try_into().expect("sixteen bytes"));
            return (word << skipped >> (128 - bits)) as i128;
        }
        self.read(offset, 64) << (bits - 64) | self.read(offset + 64, bits - 64)
    }

    /// Reads bits as [`read`](Self::read), of any number, to a place of that width.
    pub fn read_to(&mut self, to: Slot, mut offset: usize, bits: u32) {
        match to {
            Slot::Narrow(slot) => self.values.set(slot, self.read(offset, bits)),
            Slot::Wide { at, limbs } => {
                for index in (0..limbs).rev() {
                    let width = (bits - index * 64).min(64);
                    self.values.wide[(at + index) as usize] = self.read(offset, width) as u64;
                    offset += width as usize;
                }
            }
            Slot::Var(_) => unreachable!("a field of variable length has no value"),
        }
    }

    /// Reads a header's fields; `varying` is the number of bits of the field of variable length. The packet must have
    /// them.
    pub fn extract(&mut self, fields: &[Field], varying: u32) {
        let mut offset = 0;
        let from = &self.bytes[self.parsed..];
        let narrow = &mut self.values.narrow[..];
        // Most headers have only short fields: eight bytes hold one, wherever in a byte it begins.
        let short = fields.iter().take_while(|field| field.bits <= 57 && !field.signed);
        let mut read = 0;
        for field in short {
            let Slot::Narrow(slot) = field.slot else { break };
            let word = u64::from_be_bytes(*from[offset / 8..].first_chunk().expect("eight bytes"));
            narrow[slot as usize][0] = word << (offset % 8) >> (64 - field.bits);
            offset += field.bits as usize;
            read += 1;
        }
        for field in &fields[read..] {
            match field.slot {
                Slot::Narrow(slot) => {
                    let value = self.read(offset, field.bits);
                    let value = if field.signed { crate::code::sign(value, field.bits as u8) } else { value };
                    self.values.set(slot, value);
                    offset += field.bits as usize;
                }
                Slot::Wide { .. } => {
                    self.read_to(field.slot, offset, field.bits);
                    offset += field.bits as usize;
                }
                Slot::Var(var) => {
                    let first = self.parsed + offset / 8;
                    let content = &self.bytes[first..first + varying as usize / 8];
                    let kept = &mut self.values.vars[var as usize];
                    kept.clear();
                    kept.extend_from_slice(content);
                    offset += varying as usize;
                }
            }
        }
        self.parsed += offset / 8;
    }
}

/// A buffer of bytes for fields of any width.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    bytes: Vec<u8>,
    /// Bits that follow the bytes, in the lowest places, and their number: less than 64.
    word: u64,
    waiting: u32,
    /// Scratch space for a key.
    pub words: Vec<u64>,
}

impl Bits {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.waiting = 0;
    }

    /// Appends the lowest `bits` bits, from 1 to 64.
    pub fn push(&mut self, value: u64, bits: u32) {
        let value = keep_low(value, bits as u8);
        let room = 64 - self.waiting;
        if bits < room {
            self.word = self.word << bits | value;
            self.waiting += bits;
            return;
        }
        self.waiting = bits - room;
        let full = if room == 64 { value } else { self.word << room | value >> self.waiting };
        self.bytes.extend_from_slice(&full.to_be_bytes());
        self.word = value;
    }

    pub fn push_bytes(&mut self, bytes: &[u8]) {
        if self.waiting.is_multiple_of(8) {
            self.finish();
            self.bytes.extend_from_slice(bytes);
        } else {
            bytes.iter().for_each(|&byte| self.push(byte.into(), 8));
        }
    }

    pub fn push_field(&mut self, field: &Field, values: &Values) {
        match field.slot {
            Slot::Narrow(slot) if field.bits <= 64 => self.push(values.low(slot), field.bits),
            Slot::Narrow(slot) => {
                let [low, high] = values.narrow[slot as usize];
                self.push(high, field.bits - 64);
                self.push(low, 64);
            }
            Slot::Wide { at, limbs } => {
                self.push_limbs(&values.wide[at as usize..(at + limbs) as usize], field.bits);
            }
            Slot::Var(var) => self.push_bytes(&values.vars[var as usize]),
        }
    }

    /// Appends a value of `bits` bits: limbs, lowest first.
    pub fn push_limbs(&mut self, limbs: &[u64], bits: u32) {
        for (index, &limb) in limbs.iter().enumerate().rev() {
            self.push(limb, (bits - index as u32 * 64).min(64));
        }
    }

    /// Completes the last byte with zeros, and returns all bytes.
    pub fn finish(&mut self) -> &mut Vec<u8> {
        if self.waiting > 0 {
            let aligned = self.word << (64 - self.waiting);
            self.bytes.extend_from_slice(&aligned.to_be_bytes()[..self.waiting.div_ceil(8) as usize]);
            self.waiting = 0;
        }
        &mut self.bytes
    }

    /// The bytes so far, after [`finish`](Self::finish).
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_of_any_width_follow_one_another(fields in prop::collection::vec((any::<u64>(), 1..=64u32), 0..40)) {
            let mut bits = Bits::default();
            let mut expected = String::new();
            for (value, width) in fields {
                bits.push(value, width);
                expected.extend((0..width).rev().map(|bit| if value >> bit & 1 == 1 { '1' } else { '0' }));
            }
            expected.extend(std::iter::repeat_n('0', expected.len().next_multiple_of(8) - expected.len()));
            let written: String = bits.finish().iter().map(|byte| format!("{byte:08b}")).collect();
            prop_assert_eq!(written, expected);
        }
    }
}
