//! Opens files, plain or gzip (detected by their first bytes, not by their names), and reads their lines.

use crate::{FileError, Place};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

/// The longest accepted line; the limit prevents a binary file from filling the memory.
const LONGEST_LINE: u64 = 64 * 1024;
/// Bytes of an empty gzip file: header, an empty block, checksum and length.
const SHORTEST_GZIP: usize = 20;
/// The number of first bytes that suffices to detect any format.
const LONGEST_START: u64 = 64;
/// The problem of a truncated gzip file.
pub(crate) const CUT_GZIP: &str = "the gzip data end early: the file is cut off";
/// The size of the buffers for input and for decompressed data.
const BUFFER: usize = 256 * 1024;

/// A file's decompressed content, and the file's name for errors.
pub(crate) struct Input<'a> {
    pub(crate) file: String,
    /// Whether the file is gzip.
    pub(crate) zipped: bool,
    pub(crate) content: Box<dyn BufRead + Send + 'a>,
}

/// Opens the file at `path`.
pub(crate) fn open(path: &Path) -> Result<Input<'static>, FileError> {
    let name = path.display().to_string();
    from_reader(open_file(path)?, &name)
}

/// A file that is read once, from its beginning. It is an error if a regular file becomes shorter meanwhile.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    /// The length of a regular file when it was opened, in bytes; nothing for a pipe.
    length: Option<u64>,
    read: u64,
}

impl OpenFile {
    /// Whether this is a regular file, which ends.
    #[must_use]
    pub fn is_regular(&self) -> bool {
        self.length.is_some()
    }
}

impl Read for OpenFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read += read as u64;
        match self.length {
            Some(length) if read == 0 && !buffer.is_empty() && self.read < length => Err(io::Error::other(format!(
                "the file became shorter while it was read: {} of {length} bytes",
                self.read
            ))),
            _ => Ok(read),
        }
    }
}

/// Opens the file at `path`, which a user may choose freely. Neither this function nor reads of the file wait for a
/// writer: named pipes, terminals and devices are errors. Only a pipe of the shell, as in `<(zcat FILE)`, may wait.
///
/// # Errors
/// If the file cannot be opened.
pub fn open_file(path: &Path) -> Result<OpenFile, FileError> {
    let fault = |problem: String| FileError::new(&path.display().to_string(), Place::File, problem);
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
        if !path.metadata().is_ok_and(|about| about.file_type().is_fifo()) {
            options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        } else if path.canonicalize().is_ok_and(|real| real.exists()) {
            // A pipe of the shell is a link to a path that does not exist.
            return Err(fault(
                "is a named pipe: expected a file, or a pipe of the shell as in <(zcat FILE)".to_owned(),
            ));
        }
    }
    let file = options.open(path).map_err(|error| fault(format!("cannot be opened: {error}")))?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|about| about.len());
    Ok(OpenFile { file, length, read: 0 })
}

/// The content of `reader`, decompressed if it begins with the magic number of gzip.
pub(crate) fn from_reader<'a>(reader: impl Read + Send + 'a, file: &str) -> Result<Input<'a>, FileError> {
    let mut reader = BufReader::with_capacity(BUFFER, reader);
    let zipped = match reader.fill_buf() {
        // The decoder does not accept such a short remainder as gzip.
        Ok(start) if start.len() < SHORTEST_GZIP && (start == [0x1f] || start.starts_with(&[0x1f, 0x8b])) => {
            return Err(unreadable(file, Place::File, &io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(start) => start.starts_with(&[0x1f, 0x8b]),
        Err(error) => return Err(unreadable(file, Place::File, &error)),
    };
    let content: Box<dyn BufRead + Send + 'a> = if zipped {
        let mut decoder = MultiGzDecoder::new(reader);
        // The first bytes determine the format, but a decoder may first return a single byte.
        let mut start = Vec::new();
        let read = decoder.by_ref().take(LONGEST_START).read_to_end(&mut start);
        read.map_err(|error| unreadable(file, Place::File, &error))?;
        Box::new(BufReader::with_capacity(BUFFER, Cursor::new(start).chain(decoder)))
    } else {
        Box::new(reader)
    };
    Ok(Input { file: file.to_owned(), zipped, content })
}

/// Converts an I/O error of a read to a message; the common case is a truncated gzip file.
pub(crate) fn unreadable(file: &str, place: Place, error: &io::Error) -> FileError {
    let problem = match error.kind() {
        io::ErrorKind::WouldBlock => "cannot be read: has nothing, and does not end: expected a file".to_owned(),
        io::ErrorKind::UnexpectedEof => CUT_GZIP.to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    FileError::new(file, place, problem)
}

/// The lines of a text file.
pub(crate) struct Lines<'a> {
    input: Input<'a>,
    buffer: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(input: Input<'a>) -> Self {
        Self { input, buffer: Vec::new(), number: 0 }
    }

    /// Returns the next line without its end and surrounding blanks; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<&str>, FileError> {
        self.buffer.clear();
        self.number += 1;
        let read = (&mut self.input.content).take(LONGEST_LINE).read_until(b'\n', &mut self.buffer);
        match read {
            Ok(0) => Ok(None),
            Ok(length) if length as u64 == LONGEST_LINE => {
                Err(self.error("a line of over 65536 bytes: expected a text file"))
            }
            Ok(_) => match std::str::from_utf8(&self.buffer) {
                // Spreadsheets write a byte order mark first.
                Ok(line) => Ok(Some(if self.number == 1 { line.trim_start_matches('\u{feff}') } else { line }.trim())),
                Err(_) => Err(self.error("not UTF-8 text")),
            },
            Err(error) => Err(unreadable(&self.input.file, Place::Line(self.number), &error)),
        }
    }

    /// The number of the line last returned, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// An error in the line last returned.
    pub(crate) fn error(&self, problem: impl Into<String>) -> FileError {
        FileError::new(&self.input.file, Place::Line(self.number), problem)
    }

    /// An error in a column of the line last returned.
    pub(crate) fn column_error(&self, column: &str, problem: impl Into<String>) -> FileError {
        FileError::new(&self.input.file, Place::Column(self.number, column.to_owned()), problem)
    }

    /// An error of the whole file.
    pub(crate) fn file_error(&self, problem: impl Into<String>) -> FileError {
        FileError::new(&self.input.file, Place::File, problem)
    }
}

/// Quotes a text of a file for an error message: short, on one line.
pub(crate) fn quoted(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    if short.len() < text.len() { format!("{short:?}...") } else { format!("{short:?}") }
}

/// Reads a decimal number such as `12`, `0.25`, `.5` or `1e-05` exactly, as (digits, number of digits after the point).
pub(crate) fn decimal(text: &str) -> Option<(u128, u32)> {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut digits = 0u128;
    for byte in whole.bytes().chain(fraction.bytes()) {
        if !byte.is_ascii_digit() {
            return None;
        }
        digits = digits.checked_mul(10)?.checked_add(u128::from(byte - b'0'))?;
    }
    let places = i64::try_from(fraction.len()).ok()? - i64::from(exponent);
    match u32::try_from(places) {
        Ok(places) => Some((digits, places)),
        Err(_) if digits == 0 => Some((0, 0)),
        Err(_) => Some((digits.checked_mul(10u128.checked_pow(u32::try_from(-places).ok()?)?)?, 0)),
    }
}

/// Reads a whole number, also written as `12.0` or `1e+06`.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let (digits, places) = decimal(text)?;
    if digits == 0 {
        return Some(0);
    }
    let scale = 10u128.checked_pow(places)?;
    if digits.is_multiple_of(scale) { u64::try_from(digits / scale).ok() } else { None }
}

/// Reads a decimal number in units of 10^`power` ps, rounded to the nearest picosecond. Also returns whether the number
/// is a whole number of picoseconds.
pub(crate) fn picoseconds(text: &str, power: u32) -> Option<(u128, bool)> {
    let (digits, places) = decimal(text)?;
    if places <= power {
        return Some((digits.checked_mul(10u128.pow(power - places))?, true));
    }
    // Digits below the 39th decimal of a number with at most 39 digits are below half a picosecond.
    let Some(scale) = 10u128.checked_pow(places - power) else { return Some((0, digits == 0)) };
    let (ps, rest) = (digits / scale, digits % scale);
    Some((ps + u128::from(rest >= scale - rest), rest == 0))
}

/// The compression formats: first bytes, name, and the command that decompresses.
const PACKED: [(&[u8], &str, &str); 4] = [
    (b"BZh", "bzip2", "bzcat"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz", "xzcat"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstdcat"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];

/// The reason why a file that begins with `start` is not text; `None` if it may be text.
pub(crate) fn no_text(start: &[u8]) -> Option<String> {
    let packed = PACKED.into_iter().find(|(magic, ..)| start.starts_with(magic));
    if let Some((_, kind, command)) = packed {
        return Some(format!("is packed by {kind} (<({command} FILE) unpacks it)"));
    }
    let start = &start[..start.len().min(LONGEST_START as usize)];
    let text = start.starts_with("\u{feff}".as_bytes())
        || start.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace()) && start[0].is_ascii();
    (!text).then(|| {
        let bytes: Vec<String> = start.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("begins with the bytes {}", bytes.join(" "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn zipped(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn lines(content: &[u8]) -> Result<Vec<String>, FileError> {
        let mut lines = Lines::new(from_reader(content, "f")?);
        let mut all = Vec::new();
        while let Some(line) = lines.next()? {
            all.push(line.to_owned());
        }
        Ok(all)
    }

    #[test]
    fn plain_and_zipped_text_read_the_same() {
        let text = "\u{feff}a,b\r\n\n last ".as_bytes();
        assert_eq!(lines(text).unwrap(), ["a,b", "", "last"]);
        assert_eq!(lines(&zipped(text)).unwrap(), ["a,b", "", "last"]);
        assert_eq!(lines(b"").unwrap(), [""; 0]);
    }

    #[test]
    fn a_file_that_becomes_shorter_while_it_is_read_is_an_error() {
        let path = std::env::temp_dir().join(format!("pifolab-shorter-{}", std::process::id()));
        let rows = 2 * BUFFER as u64 / 8;
        // At the end of a row and in the middle, in what was read ahead and behind it.
        for left in [0, 8, 1001, 8 * rows - 8, 8 * rows - 3, 8 * rows] {
            let text = b"1234567\n".repeat(rows as usize);
            std::fs::write(&path, &text).unwrap();
            let mut lines = Lines::new(open(&path).unwrap());
            assert_eq!(lines.next().unwrap(), Some("1234567"));
            File::options().write(true).open(&path).unwrap().set_len(left).unwrap();
            let rest = std::iter::from_fn(|| lines.next().map(|line| line.map(str::to_owned)).transpose());
            match rest.collect::<Result<Vec<_>, _>>() {
                Ok(read) => assert_eq!((left, read.len() as u64), (8 * rows, rows - 1)),
                Err(error) => {
                    let read = left.max(BUFFER as u64);
                    let problem = format!("the file became shorter while it was read: {read} of {} bytes", 8 * rows);
                    assert!(left < 8 * rows && error.to_string().ends_with(&problem), "{left}: {error}");
                }
            }
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_line() {
        let message = |content: &[u8]| lines(content).unwrap_err().to_string();
        assert_eq!(message(b"good\n\xff\xfe"), "f:2: not UTF-8 text");
        assert_eq!(message(&[b'x'; 70_000]), "f:1: a line of over 65536 bytes: expected a text file");
        let mut cut = zipped(&b"line\n".repeat(1000));
        cut.truncate(cut.len() - 12);
        assert!(message(&cut).ends_with("the gzip data end early: the file is cut off"), "{}", message(&cut));
        assert!(
            open(Path::new("/nonexistent/x")).err().unwrap().to_string().contains("/nonexistent/x: cannot be opened")
        );
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal("0.25"), Some((25, 2)));
        assert_eq!(decimal(".5"), Some((5, 1)));
        assert_eq!(decimal("12"), Some((12, 0)));
        assert_eq!(decimal("3."), Some((3, 0)));
        for text in ["", ".", "-1", "+1", "e3", "1e", "1e1.5", "nan", "inf", "NA", "1.2.3", "0x1", "1_000", "1e99"] {
            assert_eq!(decimal(text), None, "{text}");
        }
        assert_eq!(decimal(&"9".repeat(40)), None);
    }

    #[test]
    fn times_are_exact_to_the_picosecond() {
        assert_eq!(picoseconds("1.5", 3), Some((1_500, true)));
        assert_eq!(picoseconds("0.0010", 3), Some((1, true)));
        assert_eq!(picoseconds("0.0004", 3), Some((0, false)));
        assert_eq!(picoseconds("0.0005", 3), Some((1, false)));
        assert_eq!(picoseconds("1e-400", 12), Some((0, false)));
        assert_eq!(picoseconds("0.30000000000000004", 12), Some((300_000_000_000, false)));
        assert_eq!(picoseconds("1700000000.000000000001", 12), Some((1_700_000_000_000_000_000_001, true)));
    }

    proptest! {
        /// Rust, like Python, prints a double as the shortest decimal number that parses to the same double.
        #[test]
        fn numbers_in_scientific_notation_are_those_without_it(
            digits in 0u64..u64::MAX, places in 0u32..15, exponent in -15i32..15,
        ) {
            let plain = |digits: u128, places: u32| {
                let text = format!("{digits:0>width$}", width = places as usize + 1);
                let (whole, fraction) = text.split_at(text.len() - places as usize);
                if places == 0 { text.clone() } else { format!("{whole}.{fraction}") }
            };
            let shifted = places as i32 - exponent;
            let (all, left) = if shifted < 0 {
                (u128::from(digits) * 10u128.pow(-shifted as u32), 0)
            } else {
                (u128::from(digits), shifted as u32)
            };
            for text in [format!("{}e{exponent}", plain(digits.into(), places)), format!("{}E{exponent:+}", plain(digits.into(), places))] {
                prop_assert_eq!(picoseconds(&text, 12), picoseconds(&plain(all, left), 12));
                prop_assert_eq!(whole(&text), whole(&plain(all, left)));
            }
            prop_assert_eq!(whole(&format!("{digits}.000")), Some(digits));
            prop_assert_eq!(picoseconds(&format!("{:e}", digits as f64), 0).map(|ps| ps.0 as f64), Some(digits as f64));
        }
    }

    #[test]
    fn quotes_are_short() {
        assert_eq!(quoted("a\n"), "\"a\\n\"");
        assert_eq!(quoted(&"x".repeat(50)), format!("\"{}\"...", "x".repeat(40)));
    }
}
