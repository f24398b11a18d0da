//! Checksums and hashes over fields.

use crate::code::Values;
use crate::layout::{Field, Header};
use crate::packet::Bits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// The Internet checksum (RFC 1071).
    Csum16,
    Xor16,
    Crc16,
    CrcCcitt,
    Crc32,
    /// The input itself: its lowest bits.
    Identity,
}

impl Algorithm {
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "csum16" => Self::Csum16,
            "xor16" => Self::Xor16,
            // A control plane can set other polynomials on BMv2. The commands of `entries` cannot.
            "crc16" | "crc16_custom" => Self::Crc16,
            "crcCCITT" => Self::CrcCcitt,
            "crc32" | "crc32_custom" => Self::Crc32,
            "identity" => Self::Identity,
            _ => return None,
        })
    }

    pub fn of(self, bytes: &[u8]) -> u64 {
        let words = || bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)));
        match self {
            Self::Csum16 => {
                let mut sum: u64 = words().sum();
                while sum >> 16 != 0 {
                    sum = (sum & 0xFFFF) + (sum >> 16);
                }
                !sum & 0xFFFF
            }
            Self::Xor16 => words().fold(0, |sum, word| sum ^ word),
            Self::Crc16 => reflected(bytes, 0xA001, 0),
            Self::CrcCcitt => bytes.iter().fold(0xFFFF, |sum, &byte| {
                (0..8).fold(sum ^ u64::from(byte) << 8, |sum, _| {
                    if sum & 0x8000 == 0 { sum << 1 } else { (sum << 1 ^ 0x1021) & 0xFFFF }
                })
            }),
            Self::Crc32 => reflected(bytes, 0xEDB8_8320, 0xFFFF_FFFF) ^ 0xFFFF_FFFF,
            Self::Identity => bytes.iter().rev().take(8).rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
        }
    }
}

/// A cyclic redundancy check, lowest bit first.
fn reflected(bytes: &[u8], polynomial: u64, start: u64) -> u64 {
    bytes.iter().fold(start, |sum, &byte| {
        (0..8).fold(sum ^ u64::from(byte), |sum, _| sum >> 1 ^ if sum & 1 == 1 { polynomial } else { 0 })
    })
}

#[derive(Clone, Debug)]
pub(crate) enum Input {
    Field(Field),
    Constant(Vec<u64>, u32),
    Header(u32),
    Payload,
}

#[derive(Clone, Debug)]
pub(crate) struct Calculation {
    pub algorithm: Algorithm,
    pub inputs: Vec<Input>,
}

impl Calculation {
    /// The value over a packet's fields; `payload` is the part that was not parsed, and `bits` is scratch space.
    pub fn of(&self, headers: &[Header], values: &Values, payload: &[u8], bits: &mut Bits) -> u64 {
        bits.clear();
        for input in &self.inputs {
            match input {
                Input::Field(field) => bits.push_field(field, values),
                Input::Constant(limbs, width) => bits.push_limbs(limbs, *width),
                Input::Header(header) => {
                    let header = &headers[*header as usize];
                    if values.get(header.valid) != 0 {
                        header.fields.iter().for_each(|field| bits.push_field(field, values));
                    }
                }
                Input::Payload => bits.push_bytes(payload),
            }
        }
        self.algorithm.of(bits.finish())
    }
}
