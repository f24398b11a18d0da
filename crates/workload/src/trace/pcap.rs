//! The classic capture format: a file header, then packets with a 16-byte header each.
//!
//! Both byte orders, timestamps in microseconds or nanoseconds. Reference: IETF draft-ietf-opsawg-pcap.

use super::dissect::Link;
use super::record::Captured;
use super::window::{Endian, Window};
use crate::{FileError, Place};

const HEADER: usize = 24;
const PACKET_HEADER: usize = 16;
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// No link layer has longer packets; a longer one means a damaged file.
pub(super) const LONGEST_PACKET: u32 = 16 * 1024 * 1024;
/// What was being written when a capture was stopped is left out; more than the largest snap length of the usual
/// programs cannot be one packet, it means that a length is wrong.
pub(super) const LONGEST_LEFT_OUT: usize = 262_144;

pub(super) struct Pcap<'a> {
    window: Window<'a>,
    endian: Endian,
    link: Link,
    /// Fractions of a second: how many there are, and how many picoseconds each has.
    per_second: u32,
    ps: u32,
    number: u64,
    /// What is wrong with a last packet that is not whole.
    pub(super) left_out: Option<FileError>,
}

/// Whether a file that begins with `start` is in this format.
pub(super) fn is_pcap(start: &[u8]) -> bool {
    byte_order(start).is_some()
}

fn byte_order(start: &[u8]) -> Option<(Endian, u32)> {
    let four = start.get(..4)?;
    [Endian { big: false }, Endian { big: true }]
        .into_iter()
        .map(|endian| (endian, endian.u32(four, 0)))
        .find(|(_, magic)| [MICROSECONDS, NANOSECONDS].contains(magic))
}

impl<'a> Pcap<'a> {
    /// Reads the file header of `window`, which begins with a magic number of this format.
    pub(super) fn open(mut window: Window<'a>) -> Result<Self, FileError> {
        let header = match window.take(HEADER) {
            Ok(header) => header.to_owned(),
            Err(error) => return Err(window.io_error(Place::Offset(0), &error)),
        };
        if header.len() < HEADER {
            let problem = format!("the file is cut off in its header: {} of {HEADER} bytes", header.len());
            return Err(window.error(Place::Offset(0), problem));
        }
        let (endian, magic) = byte_order(&header).expect("the caller has looked at the magic number");
        let version = endian.u16(&header, 4);
        if version != 2 {
            let problem = format!("pcap version {version}.{}: expected 2", endian.u16(&header, 6));
            return Err(window.error(Place::Offset(4), problem));
        }
        // The upper half holds the length of the frame check sequence, which this reader has no use for.
        let link_type = endian.u32(&header, 20) as u16;
        let Some(link) = Link::from_type(link_type) else {
            return Err(window.error(Place::Offset(20), Link::unsupported(link_type)));
        };
        let (per_second, ps) = if magic == NANOSECONDS { (1_000_000_000, 1_000) } else { (1_000_000, 1_000_000) };
        Ok(Self { window, endian, link, per_second, ps, number: 0, left_out: None })
    }

    /// What the file is.
    pub(super) const fn name(&self) -> &'static str {
        if self.ps == 1_000 { "pcap, times in nanoseconds" } else { "pcap, times in microseconds" }
    }

    pub(super) fn fault(&self, problem: &str) -> FileError {
        self.window.error(Place::File, problem)
    }

    /// The next packet and the file's name.
    #[inline]
    pub(super) fn next(&mut self) -> Result<(Option<Captured<'_>>, &str), FileError> {
        let offset = self.window.offset();
        let number = self.number + 1;
        let place = Place::Packet(number, offset);
        let header: [u8; PACKET_HEADER] = match self.window.take(PACKET_HEADER) {
            Ok([]) => return Ok((None, self.window.file())),
            Ok(bytes) => match bytes.try_into() {
                Ok(header) => header,
                Err(_) => {
                    let there = bytes.len();
                    let problem =
                        format!("the file is cut off in the packet's header: {there} of {PACKET_HEADER} bytes");
                    return self.end(place, problem, there);
                }
            },
            Err(error) => return Err(self.window.io_error(place, &error)),
        };
        self.number = number;
        let field = |at| self.endian.u32(&header, at);
        let (seconds, fraction, captured, original) = (field(0), field(4), field(8), field(12));
        if fraction >= self.per_second {
            let problem = format!("the fraction of a second is {fraction}: expected below {}", self.per_second);
            return Err(self.window.error(place, problem));
        }
        check_lengths(&self.window, &place, captured, original)?;
        let time_ps = i128::from(seconds) * 1_000_000_000_000 + i128::from(u64::from(fraction) * u64::from(self.ps));
        // Taken in two steps, because the slice borrows the window that an error would have to name.
        let available = match self.window.take(captured as usize) {
            Ok(data) => data.len(),
            Err(error) => return Err(self.window.io_error(place, &error)),
        };
        if available < captured as usize {
            let problem = format!("the file is cut off in the packet: {available} of {captured} bytes");
            return self.end(place, problem, available);
        }
        let (data, file) = self.window.taken(available);
        Ok((Some(Captured { time_ps, data, original, link: self.link, number, offset }), file))
    }

    #[cold]
    fn end(&mut self, place: Place, problem: String, there: usize) -> Result<(Option<Captured<'_>>, &str), FileError> {
        self.left_out = Some(left_out(self.window.error(place, problem), there)?);
        Ok((None, self.window.file()))
    }
}

/// The end of a file in a packet of which `there` bytes are there: the packet is left out, unless it must be more.
pub(super) fn left_out(error: FileError, there: usize) -> Result<FileError, FileError> {
    if there > LONGEST_LEFT_OUT { Err(error) } else { Ok(error) }
}

/// A packet holds at least a byte, is captured at most whole, and is no longer than anything that exists.
pub(super) fn check_lengths(window: &Window<'_>, place: &Place, captured: u32, original: u32) -> Result<(), FileError> {
    let problem = if captured > LONGEST_PACKET {
        format!("{captured} bytes captured, more than 16 MiB: the file is damaged")
    } else if captured > original {
        format!("{captured} bytes captured of {original}: the file is damaged")
    } else if original == 0 {
        "a packet of 0 bytes: expected at least 1".to_owned()
    } else {
        return Ok(());
    };
    Err(window.error(place.clone(), problem))
}
