//! The next-generation capture format: a sequence of blocks, each section with its own byte order and interfaces.
//!
//! Read: section headers, interface descriptions (link type, timestamp resolution and offset), enhanced packets and the
//! obsolete packet block. Simple packets have no timestamp, so they are left out. All other blocks are skipped.
//! Reference: IETF draft-ietf-opsawg-pcapng.

use super::dissect::Link;
use super::pcap::{EMPTY, LONGEST_PACKET, check_captured, left_out, length};
use super::record::{Captured, Faults};
use super::window::{Endian, Window};
use crate::input::CUT_GZIP;
use crate::{FileError, Place};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;
/// Header of either packet block inside its body, before the data.
const PACKET_HEADER: usize = 20;
/// Block type and length before the body, length after it.
const FRAME: u32 = 12;
/// The largest number of interfaces in a section. More indicate a damaged file.
const MOST_INTERFACES: usize = 1 << 16;

pub(super) struct Pcapng<'a> {
    window: Window<'a>,
    endian: Endian,
    interfaces: Vec<Interface>,
    number: u64,
    pub(super) faults: Faults,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Link,
    resolution: Resolution,
    offset_ps: i128,
}

/// The content of a packet block.
struct Packet {
    time_ps: i128,
    captured: u32,
    original: u32,
    link: Link,
}

/// The length of a timestamp's unit.
#[derive(Clone, Copy, Debug)]
enum Resolution {
    /// This many picoseconds.
    Multiple(u64),
    /// 10^-(12 + this) seconds.
    Decimal(u32),
    /// 2^-this seconds.
    Binary(u32),
}

/// Whether a file that begins with `start` has this format.
pub(super) fn is_pcapng(start: &[u8]) -> bool {
    start.starts_with(&SECTION.to_le_bytes())
}

impl<'a> Pcapng<'a> {
    pub(super) fn open(window: Window<'a>) -> Self {
        Self { window, endian: Endian { big: false }, interfaces: Vec::new(), number: 0, faults: Faults::default() }
    }

    pub(super) fn fault(&self, problem: &str) -> FileError {
        self.window.error(Place::File, problem)
    }

    /// Returns the next packet and the file's name.
    pub(super) fn next(&mut self) -> Result<(Option<Captured<'_>>, &str), FileError> {
        loop {
            let offset = self.window.offset();
            let start: [u8; 8] = match self.window.take(8) {
                Ok([]) => {
                    if self.window.is_cut() {
                        self.faults.end = Some(self.window.error(Place::Offset(offset), CUT_GZIP));
                        self.faults.is_between = true;
                    }
                    return Ok((None, self.window.file()));
                }
                Ok(bytes) => match bytes.try_into() {
                    Ok(start) => start,
                    Err(_) => return self.end(Place::Offset(offset), offset),
                },
                Err(error) => return Err(self.window.io_error(Place::Offset(offset), &error)),
            };
            let kind = self.endian.u32(&start, 0);
            if kind == SECTION {
                self.section(offset, &start)?;
                continue;
            }
            let length = self.endian.u32(&start, 4);
            let packet = matches!(kind, ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET);
            let place = if packet { Place::Packet(self.number + 1, offset) } else { Place::Offset(offset) };
            self.check_length(&place, length)?;
            if !packet && kind != INTERFACE {
                let skipped = self.window.skip(u64::from(length) - 12);
                if skipped.map_err(|error| self.window.io_error(place.clone(), &error))? < u64::from(length) - 12 {
                    return self.end(place, offset);
                }
                match self.closing_length(&place)? {
                    Some(closing) if closing == length => continue,
                    Some(closing) => return Err(self.lengths_differ(place, length, closing)),
                    None => return self.end(place, offset),
                }
            }
            if length > LONGEST_PACKET {
                return Err(self.window.error(place, format!("a block of {length} bytes: the file is damaged")));
            }
            let body = (length - FRAME) as usize;
            let available = match self.window.take(body + 4) {
                Ok(bytes) => bytes.len(),
                Err(error) => return Err(self.window.io_error(place, &error)),
            };
            if available < body + 4 {
                return self.end(place, offset);
            }
            let closing = self.endian.u32(self.window.taken(4).0, 0);
            if closing != length {
                return Err(self.lengths_differ(place, length, closing));
            }
            match kind {
                INTERFACE => {
                    let interface = self.interface(&place, body)?;
                    self.interfaces.push(interface);
                }
                _ => {
                    self.number += 1;
                    match self.packet(kind, &place, body)? {
                        Ok(packet) => {
                            let (bytes, file) = self.window.taken(body + 4);
                            let Packet { time_ps, captured, original, link } = packet;
                            let data = &bytes[PACKET_HEADER..PACKET_HEADER + captured as usize];
                            let number = self.number;
                            return Ok((Some(Captured { time_ps, data, original, link, number, offset }), file));
                        }
                        Err(problem) => self.faults.skip(self.window.error(place, problem)),
                    }
                }
            }
        }
    }

    /// Reads a section header: sets the byte order, and clears the interfaces of the previous section.
    fn section(&mut self, offset: u64, start: &[u8; 8]) -> Result<(), FileError> {
        let place = Place::Offset(offset);
        let magic = match self.window.take(4) {
            Ok(magic) if magic.len() == 4 => Ok([magic[0], magic[1], magic[2], magic[3]]),
            Ok(_) => Err(None),
            Err(error) => Err(Some(error)),
        };
        let magic = match magic {
            Ok(magic) => magic,
            Err(Some(error)) => return Err(self.window.io_error(place, &error)),
            Err(None) => return Err(self.ends_in_block(place, offset)),
        };
        let Some(endian) = [Endian { big: false }, Endian { big: true }]
            .into_iter()
            .find(|endian| endian.u32(&magic, 0) == BYTE_ORDER_MAGIC)
        else {
            let problem =
                format!("the section's byte-order magic is {:08x}: expected 1a2b3c4d", u32::from_be_bytes(magic));
            return Err(self.window.error(place, problem));
        };
        self.endian = endian;
        let length = endian.u32(start, 4);
        self.check_length(&place, length)?;
        if length < 28 {
            return Err(self.window.error(place, format!("a section header of {length} bytes: expected at least 28")));
        }
        let version = match self.window.take(4) {
            Ok(version) if version.len() == 4 => Ok((endian.u16(version, 0), endian.u16(version, 2))),
            Ok(_) => Err(None),
            Err(error) => Err(Some(error)),
        };
        match version {
            Ok((1, _)) => {}
            Ok((major, minor)) => {
                return Err(self.window.error(place, format!("pcapng version {major}.{minor}: expected 1")));
            }
            Err(Some(error)) => return Err(self.window.io_error(place, &error)),
            Err(None) => return Err(self.ends_in_block(place, offset)),
        }
        let rest = u64::from(length) - 20;
        if self.window.skip(rest).map_err(|error| self.window.io_error(place.clone(), &error))? < rest {
            return Err(self.ends_in_block(place, offset));
        }
        self.interfaces.clear();
        match self.closing_length(&place)? {
            Some(closing) if closing == length => Ok(()),
            Some(closing) => Err(self.lengths_differ(place, length, closing)),
            None => Err(self.ends_in_block(place, offset)),
        }
    }

    /// Parses the interface description in the block body of `body` bytes that was read last.
    fn interface(&self, place: &Place, body: usize) -> Result<Interface, FileError> {
        let (bytes, _) = self.window.taken(body + 4);
        let fault = |problem: String| Err(self.window.error(place.clone(), problem));
        if body < 8 {
            return fault(format!("an interface description of {body} bytes: expected at least 8"));
        }
        if self.interfaces.len() == MOST_INTERFACES {
            return fault("over 65536 interfaces in one section: the file is damaged".to_owned());
        }
        let link_type = self.endian.u16(bytes, 0);
        let mut interface =
            Interface { link: Link::from_type(link_type), resolution: Resolution::Multiple(1_000_000), offset_ps: 0 };
        let mut options = &bytes[8..body];
        while options.len() >= 4 {
            let (code, length) = (self.endian.u16(options, 0), usize::from(self.endian.u16(options, 2)));
            if code == 0 {
                break;
            }
            let padded = 4 + length.next_multiple_of(4);
            let Some(value) = options.get(4..padded) else {
                return fault(format!("option {code} of {length} bytes does not fit in its block"));
            };
            match (code, length) {
                (OPTION_TIME_RESOLUTION, 1) => interface.resolution = Resolution::from_byte(value[0]),
                (OPTION_TIME_OFFSET, 8) => {
                    let (first, second) = (self.endian.u32(value, 0), self.endian.u32(value, 4));
                    let (high, low) = if self.endian.big { (first, second) } else { (second, first) };
                    let seconds = (u64::from(high) << 32 | u64::from(low)) as i64;
                    interface.offset_ps = i128::from(seconds) * 1_000_000_000_000;
                }
                (OPTION_TIME_RESOLUTION | OPTION_TIME_OFFSET, _) => {
                    return fault(format!(
                        "option {code} has {length} bytes: expected {}",
                        if code == 9 { 1 } else { 8 }
                    ));
                }
                _ => {}
            }
            options = &options[padded..];
        }
        Ok(interface)
    }

    /// Parses the packet in the block body of `body` bytes that was read last, or returns the reason why it is left
    /// out.
    fn packet(&mut self, kind: u32, place: &Place, body: usize) -> Result<Result<Packet, String>, FileError> {
        if kind == SIMPLE_PACKET {
            return Ok(Err("a simple packet block: it has no timestamp to replay".to_owned()));
        }
        if body < PACKET_HEADER {
            return Ok(Err(format!("a packet block of {body} bytes: expected at least {PACKET_HEADER}")));
        }
        let (bytes, _) = self.window.taken(body + 4);
        let field = |at| self.endian.u32(bytes, at);
        // The obsolete block has a 16-bit interface, followed by a drop count.
        let index = if kind == ENHANCED_PACKET { field(0) } else { u32::from(self.endian.u16(bytes, 0)) };
        let ticks = u64::from(field(4)) << 32 | u64::from(field(8));
        let (captured, original) = (field(12), field(16));
        check_captured(&self.window, place, captured)?;
        if captured as usize > body - PACKET_HEADER {
            return Ok(Err(format!("{captured} bytes captured do not fit in the block's {}", body - PACKET_HEADER)));
        }
        if captured.max(original) == 0 {
            return Ok(Err(EMPTY.to_owned()));
        }
        let Some(&Interface { link, resolution, offset_ps }) = self.interfaces.get(index as usize) else {
            return Ok(Err(format!("interface {index}: only {} are described", self.interfaces.len())));
        };
        self.faults.odd += u64::from(captured > original);
        let time_ps = resolution.picoseconds(ticks) + offset_ps;
        Ok(Ok(Packet { time_ps, captured, original: length(captured, original), link }))
    }

    fn check_length(&self, place: &Place, length: u32) -> Result<(), FileError> {
        if length < FRAME || !length.is_multiple_of(4) {
            let problem = format!("a block of {length} bytes: expected a multiple of 4, at least {FRAME}");
            return Err(self.window.error(place.clone(), problem));
        }
        Ok(())
    }

    /// Reads the length at the end of a block, a copy of the length at its start; `None` if the file ends before it.
    fn closing_length(&mut self, place: &Place) -> Result<Option<u32>, FileError> {
        match self.window.take(4) {
            Ok(bytes) if bytes.len() == 4 => Ok(Some(self.endian.u32(bytes, 0))),
            Ok(_) => Ok(None),
            Err(error) => Err(self.window.io_error(place.clone(), &error)),
        }
    }

    fn lengths_differ(&self, place: Place, length: u32, closing: u32) -> FileError {
        self.window.error(place, format!("the block begins with the length {length} and ends with {closing}"))
    }

    fn ends_in_block(&self, place: Place, offset: u64) -> FileError {
        let there = self.window.offset() - offset;
        self.window.error(place, format!("the file is cut off in the block, after {there} bytes"))
    }

    /// Handles the end of the file within a block.
    #[cold]
    fn end(&mut self, place: Place, offset: u64) -> Result<(Option<Captured<'_>>, &str), FileError> {
        let there = (self.window.offset() - offset) as usize;
        self.faults.end = Some(left_out(self.ends_in_block(place, offset), there)?);
        Ok((None, self.window.file()))
    }
}

impl Resolution {
    /// Decodes the format's byte: a negative power of ten, or of two if the top bit is set.
    fn from_byte(byte: u8) -> Self {
        let power = u32::from(byte & 0x7f);
        match (byte & 0x80 != 0, power) {
            (true, _) => Self::Binary(power),
            (false, 0..=12) => Self::Multiple(10u64.pow(12 - power)),
            (false, _) => Self::Decimal(power - 12),
        }
    }

    /// Converts ticks, rounded down to the picosecond.
    #[inline]
    fn picoseconds(self, ticks: u64) -> i128 {
        match self {
            Self::Multiple(ps) => i128::from(ticks) * i128::from(ps),
            // 10^38 is the largest power of ten in 128 bits. Beyond 10^19 the quotient of a 64-bit number is 0.
            Self::Decimal(power) => 10i128.checked_pow(power).map_or(0, |unit| i128::from(ticks) / unit),
            Self::Binary(power) => (i128::from(ticks) * 1_000_000_000_000) >> power,
        }
    }
}
