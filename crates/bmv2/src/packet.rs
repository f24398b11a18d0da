//! Packets: reading and writing fields of any width in their bytes.

use crate::code::Values;
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

    /// Reads a header's fields; `varying` is the number of bits of the field of variable length. The packet must have
    /// them.
    pub fn extract(&mut self, fields: &[Field], varying: u32) {
        let mut offset = 0;
        for field in fields {
            match field.slot {
                Slot::Narrow(slot) => {
                    let value = self.read(offset, field.bits);
                    let value = if field.signed { crate::code::sign(value, field.bits as u8) } else { value };
                    self.values.set(slot, value);
                    offset += field.bits as usize;
                }
                Slot::Wide { at, limbs } => {
                    let mut left = field.bits;
                    let top = field.bits - (limbs - 1) * 64;
                    for index in (0..limbs).rev() {
                        let width = if left == field.bits { top } else { 64 };
                        self.values.wide[(at + index) as usize] = self.read(offset, width) as u64;
                        offset += width as usize;
                        left -= width;
                    }
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
    pub bytes: Vec<u8>,
    /// The free bits of the last byte.
    free: u32,
    /// Scratch space for a key.
    pub words: Vec<u64>,
}

impl Bits {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.free = 0;
    }

    /// Appends the lowest `bits` bits, at most 126.
    pub fn push(&mut self, value: i128, bits: u32) {
        let mut left = bits;
        while left > 0 {
            if self.free == 0 {
                if left >= 64 {
                    self.bytes.extend_from_slice(&((value >> (left - 64)) as u64).to_be_bytes());
                    left -= 64;
                    continue;
                }
                self.bytes.push(0);
                self.free = 8;
            }
            let taken = left.min(self.free);
            let part = (value >> (left - taken)) as u8 & (0xFF >> (8 - taken));
            *self.bytes.last_mut().expect("a byte with free bits") |= part << (self.free - taken);
            self.free -= taken;
            left -= taken;
        }
    }

    pub fn push_bytes(&mut self, bytes: &[u8]) {
        if self.free == 0 {
            self.bytes.extend_from_slice(bytes);
        } else {
            bytes.iter().for_each(|&byte| self.push(i128::from(byte), 8));
        }
    }

    pub fn push_field(&mut self, field: &Field, values: &Values) {
        match field.slot {
            Slot::Narrow(slot) => self.push(values.get(slot), field.bits),
            Slot::Wide { at, limbs } => {
                for index in (0..limbs).rev() {
                    let width = if index + 1 == limbs { field.bits - (limbs - 1) * 64 } else { 64 };
                    self.push(i128::from(values.wide[(at + index) as usize]), width);
                }
            }
            Slot::Var(var) => self.push_bytes(&values.vars[var as usize]),
        }
    }
}
