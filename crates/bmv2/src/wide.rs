//! Signed integers of any fixed number of 64-bit limbs, for values beyond 128 bits. Their places are fixed when a
//! program is loaded, so that packets cause no allocation.

use std::cmp::Ordering;

/// The place of an operand: limbs from `at`, lowest first. Above them a signed one continues with its sign, another
/// with zeros.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wide {
    pub at: u32,
    pub limbs: u32,
    pub signed: bool,
}

impl Wide {
    fn limb(self, all: &[u64], index: u32) -> u64 {
        if index < self.limbs { all[(self.at + index) as usize] } else { self.extension(all) }
    }

    fn extension(self, all: &[u64]) -> u64 {
        if self.is_negative(all) { u64::MAX } else { 0 }
    }

    pub fn is_negative(self, all: &[u64]) -> bool {
        self.signed && all[(self.at + self.limbs - 1) as usize] >> 63 == 1
    }

    pub fn low(self, all: &[u64]) -> i128 {
        (u128::from(self.limb(all, 1)) << 64 | u128::from(self.limb(all, 0))) as i128
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
}

/// `limbs` limbs of the result of two operands go to `at`, which neither of them overlaps.
pub(crate) fn combine(all: &mut [u64], operation: Arithmetic, at: u32, limbs: u32, a: Wide, b: Wide) {
    match operation {
        Arithmetic::Add | Arithmetic::Sub => {
            let flip = if operation == Arithmetic::Sub { u64::MAX } else { 0 };
            let mut carry = operation == Arithmetic::Sub;
            for index in 0..limbs {
                let (sum, over) = a.limb(all, index).overflowing_add(b.limb(all, index) ^ flip);
                let (sum, over_too) = sum.overflowing_add(u64::from(carry));
                all[(at + index) as usize] = sum;
                carry = over | over_too;
            }
        }
        Arithmetic::Mul => {
            all[at as usize..(at + limbs) as usize].fill(0);
            for index in 0..limbs {
                let factor = u128::from(a.limb(all, index));
                let mut carry = 0;
                for other in 0..limbs - index {
                    let place = (at + index + other) as usize;
                    let sum = factor * u128::from(b.limb(all, other)) + u128::from(all[place]) + carry;
                    all[place] = sum as u64;
                    carry = sum >> 64;
                }
            }
        }
        Arithmetic::And => (0..limbs).for_each(|i| all[(at + i) as usize] = a.limb(all, i) & b.limb(all, i)),
        Arithmetic::Or => (0..limbs).for_each(|i| all[(at + i) as usize] = a.limb(all, i) | b.limb(all, i)),
        Arithmetic::Xor => (0..limbs).for_each(|i| all[(at + i) as usize] = a.limb(all, i) ^ b.limb(all, i)),
    }
}

pub(crate) fn copy(all: &mut [u64], at: u32, limbs: u32, a: Wide) {
    for index in 0..limbs {
        all[(at + index) as usize] = a.limb(all, index);
    }
}

pub(crate) fn invert(all: &mut [u64], at: u32, limbs: u32, a: Wide) {
    for index in 0..limbs {
        all[(at + index) as usize] = !a.limb(all, index);
    }
}

pub(crate) fn shift_left(all: &mut [u64], at: u32, limbs: u32, a: Wide, by: u64) {
    let (whole, bits) = (by / 64, (by % 64) as u32);
    for index in 0..limbs {
        let limb = |index: u64| a.limb(all, u32::try_from(index).expect("an index of a limb"));
        let place = u64::from(index);
        let mut shifted = if place >= whole { limb(place - whole) << bits } else { 0 };
        if bits > 0 && place > whole {
            shifted |= limb(place - whole - 1) >> (64 - bits);
        }
        all[(at + index) as usize] = shifted;
    }
}

pub(crate) fn shift_right(all: &mut [u64], at: u32, limbs: u32, a: Wide, by: u64) {
    let (whole, bits) = (by / 64, (by % 64) as u32);
    for index in 0..limbs {
        let limb = |index: u64| a.limb(all, u32::try_from(index).unwrap_or(u32::MAX));
        let place = u64::from(index).saturating_add(whole);
        let mut shifted = limb(place) >> bits;
        if bits > 0 {
            shifted |= limb(place.saturating_add(1)) << (64 - bits);
        }
        all[(at + index) as usize] = shifted;
    }
}

/// Clears every bit from number `bits` on.
pub(crate) fn truncate(all: &mut [u64], at: u32, limbs: u32, bits: u32) {
    for index in 0..limbs {
        let kept = bits.saturating_sub(index * 64).min(64);
        if kept < 64 {
            all[(at + index) as usize] &= (1 << kept) - 1;
        }
    }
}

pub(crate) fn compare(all: &[u64], a: Wide, b: Wide) -> Ordering {
    match (a.is_negative(all), b.is_negative(all)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => (0..a.limbs.max(b.limbs))
            .rev()
            .map(|i| a.limb(all, i).cmp(&b.limb(all, i)))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal),
    }
}

/// Whether the value, which is not negative, has more than `bits` bits.
pub(crate) fn exceeds(all: &[u64], a: Wide, bits: u32) -> bool {
    (0..a.limbs).any(|index| {
        let kept = bits.saturating_sub(index * 64).min(64);
        kept < 64 && a.limb(all, index) >> kept != 0
    })
}
