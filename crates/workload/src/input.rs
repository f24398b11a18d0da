//! Opening files, plain or gzip (told apart by their first bytes, not by their names), and reading them by lines.

use crate::{FileError, Place};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

/// Longer lines are refused; the limit keeps a binary file from filling the memory.
const LONGEST_LINE: u64 = 64 * 1024;
/// Bytes of a gzip file without content: header, an empty block, checksum and length.
const SHORTEST_GZIP: usize = 20;
/// Bytes by which any format is known.
const LONGEST_START: u64 = 64;
/// Room for input and for decompressed data.
const BUFFER: usize = 256 * 1024;

/// A file's content, decompressed, and the name for its errors.
pub(crate) struct Input<'a> {
    pub(crate) file: String,
    /// Whether it was gzip.
    pub(crate) zipped: bool,
    pub(crate) content: Box<dyn BufRead + Send + 'a>,
}

/// Opens the file at `path`.
pub(crate) fn open(path: &Path) -> Result<Input<'static>, FileError> {
    let name = path.display().to_string();
    match File::open(path) {
        Ok(file) => from_reader(file, &name),
        Err(error) => Err(FileError::new(&name, Place::File, format!("cannot be opened: {error}"))),
    }
}

/// The content of `reader`, decompressed if it starts as gzip does.
pub(crate) fn from_reader<'a>(reader: impl Read + Send + 'a, file: &str) -> Result<Input<'a>, FileError> {
    let mut reader = BufReader::with_capacity(BUFFER, reader);
    let zipped = match reader.fill_buf() {
        // The decoder takes so short a rest for no gzip at all.
        Ok(start) if start.len() < SHORTEST_GZIP && (start == [0x1f] || start.starts_with(&[0x1f, 0x8b])) => {
            return Err(unreadable(file, Place::File, &io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(start) => start.starts_with(&[0x1f, 0x8b]),
        Err(error) => return Err(unreadable(file, Place::File, &error)),
    };
    let content: Box<dyn BufRead + Send + 'a> = if zipped {
        let mut decoder = MultiGzDecoder::new(reader);
        // Formats are told apart by how they begin, and a decoder may hand out a single byte at first.
        let mut start = Vec::new();
        let read = decoder.by_ref().take(LONGEST_START).read_to_end(&mut start);
        read.map_err(|error| unreadable(file, Place::File, &error))?;
        Box::new(BufReader::with_capacity(BUFFER, Cursor::new(start).chain(decoder)))
    } else {
        Box::new(reader)
    };
    Ok(Input { file: file.to_owned(), zipped, content })
}

/// What an I/O error while reading means to the user; a gzip file that ends early is the common one.
pub(crate) fn unreadable(file: &str, place: Place, error: &io::Error) -> FileError {
    let problem = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the gzip data end early: the file is cut off".to_owned(),
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

    /// The next line without its end and surrounding blanks; `None` at the end of the file.
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
                // Spreadsheets put a byte order mark in front.
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

/// A text from a file as it may be quoted in an error: short, on one line.
pub(crate) fn quoted(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    if short.len() < text.len() { format!("{short:?}...") } else { format!("{short:?}") }
}

/// Reads a decimal number such as `12`, `0.25` or `.5` exactly, as (digits, number of digits after the point).
pub(crate) fn decimal(text: &str) -> Option<(u128, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
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
    Some((digits, u32::try_from(fraction.len()).ok()?))
}

/// Reads a decimal number of units of 10^`power` ps; `None` unless it is a whole number of picoseconds.
pub(crate) fn picoseconds(text: &str, power: u32) -> Option<u128> {
    let (digits, places) = decimal(text)?;
    if places <= power {
        return digits.checked_mul(10u128.pow(power - places));
    }
    let scale = 10u128.checked_pow(places - power)?;
    digits.is_multiple_of(scale).then(|| digits / scale)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        for text in ["", ".", "-1", "+1", "1e3", "nan", "1.2.3", "0x1", "1_000"] {
            assert_eq!(decimal(text), None, "{text}");
        }
        assert_eq!(decimal(&"9".repeat(40)), None);
    }

    #[test]
    fn times_are_exact_to_the_picosecond() {
        assert_eq!(picoseconds("1.5", 3), Some(1_500));
        assert_eq!(picoseconds("0.0010", 3), Some(1));
        assert_eq!(picoseconds("0.0001", 3), None);
        assert_eq!(picoseconds("1700000000.000000000001", 12), Some(1_700_000_000_000_000_000_001));
    }

    #[test]
    fn quotes_are_short() {
        assert_eq!(quoted("a\n"), "\"a\\n\"");
        assert_eq!(quoted(&"x".repeat(50)), format!("\"{}\"...", "x".repeat(40)));
    }
}
