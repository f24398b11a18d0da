//! Captures with a file header and a header per packet: pcap, its variant with longer headers, and snoop.
//!
//! pcap in both byte orders, timestamps in microseconds or nanoseconds. References: IETF draft-ietf-opsawg-pcap; RFC 1761.

use super::dissect::Link;
use super::record::{Captured, Faults};
use super::window::{Endian, Window};
use crate::input::CUT_GZIP;
use crate::{FileError, Place};

const LONGEST_HEADER: usize = 24;
/// Bytes of the header of a pcap file.
const FILE_HEADER: usize = 24;
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// The variant of 1999 with 8 further bytes before each packet.
const LONG_HEADERS: u32 = 0xa1b2_cd34;
const SNOOP: &[u8; 8] = b"snoop\0\0\0";
/// No link layer has longer packets. A longer packet indicates a damaged file.
pub(super) const LONGEST_PACKET: u32 = 16 * 1024 * 1024;
/// An incomplete packet at the end of a stopped capture is left out. More bytes than the largest common snap length
/// cannot be one packet, but indicate a wrong length.
pub(super) const LONGEST_LEFT_OUT: usize = 262_144;

pub(super) struct Pcap<'a> {
    window: Window<'a>,
    endian: Endian,
    link: Link,
    layout: Layout,
    number: u64,
    /// The number of joined files read so far, the first included.
    files: u64,
    /// Whether those have times in microseconds and in nanoseconds.
    is_mixed: bool,
    pub(super) faults: Faults,
}

/// The layout of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Microseconds,
    Nanoseconds,
    LongHeaders,
    Snoop,
}

impl Layout {
    /// Bytes of the header before each packet.
    const fn header(self) -> usize {
        if matches!(self, Self::Microseconds | Self::Nanoseconds) { 16 } else { LONGEST_HEADER }
    }

    /// The number of fractions in a second, and the picoseconds of one fraction.
    const fn fractions(self) -> (u32, u32) {
        if matches!(self, Self::Nanoseconds) { (1_000_000_000, 1_000) } else { (1_000_000, 1_000_000) }
    }
}

/// Whether a file that begins with `start` has one of these formats.
pub(super) fn is_pcap(start: &[u8]) -> bool {
    layout(start).is_some()
}

/// Whether a header in the place of a packet's is that of a further file: a magic number, version 2.4 and time zone 0.
fn is_file_header(header: &[u8; LONGEST_HEADER]) -> bool {
    layout(header).is_some_and(|(endian, layout)| {
        layout != Layout::Snoop && (endian.u16(header, 4), endian.u16(header, 6)) == (2, 4) && header[8..16] == [0; 8]
    })
}

fn layout(start: &[u8]) -> Option<(Endian, Layout)> {
    if start.starts_with(SNOOP) {
        return Some((Endian { big: true }, Layout::Snoop));
    }
    let four = start.get(..4)?;
    [Endian { big: false }, Endian { big: true }].into_iter().find_map(|endian| match endian.u32(four, 0) {
        MICROSECONDS => Some((endian, Layout::Microseconds)),
        NANOSECONDS => Some((endian, Layout::Nanoseconds)),
        LONG_HEADERS => Some((endian, Layout::LongHeaders)),
        _ => None,
    })
}

impl<'a> Pcap<'a> {
    /// Reads the file header of `window`, which begins with `start`, a magic number of one of these formats.
    pub(super) fn open(mut window: Window<'a>, start: &[u8; 8]) -> Result<Self, FileError> {
        let (endian, layout) = layout(start).expect("the caller has looked at the magic number");
        let length = if layout == Layout::Snoop { 16 } else { FILE_HEADER };
        let header = match window.take(length) {
            Ok(header) => header.to_owned(),
            Err(error) => return Err(window.io_error(Place::Offset(0), &error)),
        };
        if header.len() < length {
            let problem = format!("the file is cut off in its header: {} of {length} bytes", header.len());
            return Err(window.error(Place::Offset(0), problem));
        }
        let mut pcap = Self {
            window,
            endian,
            link: Link::Ethernet,
            layout,
            number: 0,
            files: 1,
            is_mixed: false,
            faults: Faults::default(),
        };
        if layout == Layout::Snoop {
            let (version, link) = (endian.u32(&header, 8), endian.u32(&header, 12));
            if version != 2 {
                return Err(pcap.window.error(Place::Offset(8), format!("snoop version {version}: expected 2")));
            }
            // 0 is IEEE 802.3, 4 is Ethernet; both are read alike.
            if !matches!(link, 0 | 4) {
                let problem = format!("snoop datalink type {link}: expected 802.3 (0) or Ethernet (4)");
                return Err(pcap.window.error(Place::Offset(12), problem));
            }
        } else {
            pcap.begin_file(0, &header)?;
        }
        Ok(pcap)
    }

    /// Applies the pcap file header at byte `offset`.
    fn begin_file(&mut self, offset: u64, header: &[u8]) -> Result<(), FileError> {
        let before = self.layout;
        (self.endian, self.layout) = layout(header).expect("the caller has looked at the magic number");
        self.is_mixed |= before.fractions() != self.layout.fractions();
        let version = self.endian.u16(header, 4);
        if version != 2 {
            let problem = format!("pcap version {version}.{}: expected 2", self.endian.u16(header, 6));
            return Err(self.window.error(Place::Offset(offset + 4), problem));
        }
        // The upper half holds the length of the frame check sequence, which this reader does not use.
        self.link = Link::from_type(self.endian.u32(header, 20) as u16);
        match self.link.unsupported() {
            Some(problem) => Err(self.window.error(Place::Offset(offset + 20), problem)),
            None => Ok(()),
        }
    }

    /// The file's format, with the number of files read so far if it is several, one after another.
    pub(super) fn name(&self) -> String {
        let name = match self.layout {
            _ if self.is_mixed => "pcap, times in micro- and nanoseconds",
            Layout::Microseconds => "pcap, times in microseconds",
            Layout::Nanoseconds => "pcap, times in nanoseconds",
            Layout::LongHeaders => "pcap with long headers, times in microseconds",
            Layout::Snoop => "snoop",
        };
        if self.files == 1 { name.to_owned() } else { format!("{name}, {} files in a row", self.files) }
    }

    pub(super) fn fault(&self, problem: &str) -> FileError {
        self.window.error(Place::File, problem)
    }

    /// Returns the next packet and the file's name.
    #[inline]
    pub(super) fn next(&mut self) -> Result<(Option<Captured<'_>>, &str), FileError> {
        loop {
            let offset = self.window.offset();
            let number = self.number + 1;
            let place = Place::Packet(number, offset);
            let (needed, mut header) = (self.layout.header(), [0; LONGEST_HEADER]);
            match self.window.take(needed) {
                Ok([]) => {
                    if self.window.is_cut() {
                        self.faults.end = Some(self.window.error(place, CUT_GZIP));
                        self.faults.is_between = true;
                    }
                    return Ok((None, self.window.file()));
                }
                Ok(bytes) if bytes.len() == needed => header[..needed].copy_from_slice(bytes),
                Ok(bytes) => {
                    let there = bytes.len();
                    let problem = format!("the file is cut off in the packet's header: {there} of {needed} bytes");
                    return self.end(place, problem, there);
                }
                Err(error) => return Err(self.window.io_error(place, &error)),
            }
            if is_file_header(&header) {
                // Files that `cat` joined: no packet of 0 bytes has the time that this header would be.
                match self.window.take(FILE_HEADER - needed) {
                    Ok(rest) => header[needed..needed + rest.len()].copy_from_slice(rest),
                    Err(error) => return Err(self.window.io_error(Place::Offset(offset), &error)),
                }
                let there = (self.window.offset() - offset) as usize;
                if there < FILE_HEADER {
                    let problem =
                        format!("the file is cut off in a further file's header: {there} of {FILE_HEADER} bytes");
                    return self.end(Place::Offset(offset), problem, there);
                }
                self.begin_file(offset, &header)?;
                self.files += 1;
                continue;
            }
            self.number = number;
            let field = |at| self.endian.u32(&header, at);
            let (seconds, fraction, captured, original, record) = match self.layout {
                // A snoop record contains its total length with padding.
                Layout::Snoop => (field(16), field(20), field(4), field(0), field(8)),
                _ => (field(0), field(4), field(8), field(12), 0),
            };
            let (per_second, ps) = self.layout.fractions();
            check_captured(&self.window, &place, captured)?;
            let filling = if self.layout == Layout::Snoop {
                let filling = record.checked_sub(captured).and_then(|rest| rest.checked_sub(LONGEST_HEADER as u32));
                match filling.filter(|filling| *filling <= LONGEST_PACKET) {
                    Some(filling) => filling as usize,
                    None => {
                        let problem =
                            format!("a record of {record} bytes with {captured} captured: the file is damaged");
                        return Err(self.window.error(place, problem));
                    }
                }
            } else {
                0
            };
            // Two steps, because the slice borrows the window, whose name an error needs.
            let wanted = captured as usize + filling;
            let available = match self.window.take(wanted) {
                Ok(data) => data.len(),
                Err(error) => return Err(self.window.io_error(place, &error)),
            };
            if available < captured as usize {
                let problem = format!("the file is cut off in the packet: {available} of {captured} bytes");
                return self.end(place, problem, available);
            }
            if captured.max(original) == 0 {
                self.faults.skip(self.window.error(place, EMPTY));
                continue;
            }
            self.faults.odd += u64::from(fraction >= per_second || captured > original);
            let time_ps = i128::from(seconds) * 1_000_000_000_000 + i128::from(u64::from(fraction) * u64::from(ps));
            let link = self.link;
            let (data, file) = self.window.taken(available);
            let data = &data[..captured as usize];
            return Ok((
                Some(Captured { time_ps, data, original: length(captured, original), link, number, offset }),
                file,
            ));
        }
    }

    #[cold]
    fn end(&mut self, place: Place, problem: String, there: usize) -> Result<(Option<Captured<'_>>, &str), FileError> {
        self.faults.end = Some(left_out(self.window.error(place, problem), there)?);
        Ok((None, self.window.file()))
    }
}

/// Handles the end of a file after `there` bytes of a packet: the packet is left out, unless it is too long for one
/// packet.
pub(super) fn left_out(error: FileError, there: usize) -> Result<FileError, FileError> {
    if there > LONGEST_LEFT_OUT { Err(error) } else { Ok(error) }
}

/// The fault of a packet without bytes, which cannot be sent.
pub(super) const EMPTY: &str = "a packet of 0 bytes: expected at least 1";

/// Checks that a packet is not longer than any link layer allows.
pub(super) fn check_captured(window: &Window<'_>, place: &Place, captured: u32) -> Result<(), FileError> {
    if captured <= LONGEST_PACKET {
        return Ok(());
    }
    let problem = format!("{captured} bytes captured, more than 16 MiB: the file is damaged");
    Err(window.error(place.clone(), problem))
}

/// The length of a packet with `captured` captured bytes: the length in the file, unless it is 0.
pub(super) const fn length(captured: u32, original: u32) -> u32 {
    if original == 0 { captured } else { original }
}
