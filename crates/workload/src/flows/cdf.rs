//! Reads a cumulative distribution of flow sizes. Each line has a size and the share of flows up to this size.
//!
//! Columns are separated by a comma or blanks, the size first. Shares are fractions if the last share is 1, and percent
//! if it is 100. Sizes are bytes or, if the caller selects it, 1460-byte packets. Empty lines and lines that begin with
//! `#` are skipped. The first other line may be a header of words or, as in Homa's files, a single number (the mean).
//! Nothing is repaired: a decreasing size or share is an error with its line. [`CdfFile`] describes the file read.

use super::{FlowSizes, Interpolation, MAX_FLOW_BYTES};
use crate::FileError;
use crate::input::{Lines, decimal, from_reader, quoted, whole};
use std::io::Read;

pifolab_params::choices! {
    /// The unit of the sizes in a file.
    pub enum SizeUnit {
        Bytes = "bytes": "bytes",
        Packets1460 = "packets": "packets of 1460 bytes",
    }
}

impl SizeUnit {
    const fn bytes(self) -> u64 {
        match self {
            Self::Bytes => 1,
            Self::Packets1460 => 1460,
        }
    }
}

/// A flow-size file and its properties.
#[derive(Clone, Debug, PartialEq)]
pub struct CdfFile {
    /// The distribution.
    pub sizes: FlowSizes,
    /// The number of points.
    pub rows: usize,
    /// Whether the shares are in percent.
    pub percent: bool,
    /// The first line, if it is not a point.
    pub header: Option<String>,
}

impl CdfFile {
    /// Reads the distribution in `content` (gzip allowed); errors name it `file`.
    ///
    /// # Errors
    /// If it cannot be read, a line is not a size and a share, sizes or shares decrease, or the last share is neither 1
    /// nor 100. The error contains file and line.
    pub fn from_reader(
        content: impl Read + Send,
        file: &str,
        unit: SizeUnit,
        interpolation: Interpolation,
    ) -> Result<Self, FileError> {
        read(Lines::new(from_reader(content, file)?), unit, interpolation)
    }
}

fn read(mut lines: Lines<'_>, unit: SizeUnit, interpolation: Interpolation) -> Result<CdfFile, FileError> {
    let mut points: Vec<(u64, f64)> = Vec::new();
    let mut header = None;
    let mut first = true;
    while let Some(line) = lines.next()? {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let first = std::mem::take(&mut first);
        let fields: Vec<&str> =
            line.split(|c: char| c == ',' || c.is_whitespace()).filter(|field| !field.is_empty()).collect();
        let numbers = fields.iter().filter(|field| number(field).is_some()).count();
        if first && (numbers == 0 || (fields.len() == 1 && numbers == 1)) {
            header = Some(line.to_owned());
            continue;
        }
        let &[size_text, share_text] = fields.as_slice() else {
            let problem = format!("{}: expected a size and a share", quoted(line));
            return Err(lines.error(problem));
        };
        let Some(size) =
            whole(size_text).and_then(|size| size.checked_mul(unit.bytes())).filter(|&size| size <= MAX_FLOW_BYTES)
        else {
            let problem = format!("{}: expected a whole size, up to 2^63 - 1 bytes", quoted(size_text));
            return Err(lines.error(problem));
        };
        let Some(share) = number(share_text).filter(|&share| share <= 100.0) else {
            let problem = format!("{}: expected a share from 0 to 1, or to 100 percent", quoted(share_text));
            return Err(lines.error(problem));
        };
        if let Some(&(size_before, share_before)) = points.last() {
            if size < size_before {
                let problem = format!("the size falls from {size_before} to {size} bytes: sizes must ascend");
                return Err(lines.error(problem));
            }
            if share < share_before {
                return Err(lines.error(format!("the share falls from {share_before} to {share}: shares must ascend")));
            }
        }
        points.push((size, share));
    }
    let Some(&(_, last)) = points.last() else {
        return Err(lines.file_error("has no points: expected lines with a size and a share"));
    };
    if last != 1.0 && last != 100.0 {
        return Err(lines.file_error(format!("the last share is {last}: expected 1, or 100 percent")));
    }
    let percent = last == 100.0;
    if percent {
        points.iter_mut().for_each(|point| point.1 /= 100.0);
    }
    let sizes = FlowSizes::cdf(&points, interpolation).map_err(|error| lines.file_error(error.to_string()))?;
    Ok(CdfFile { sizes, rows: points.len(), percent, header })
}

/// The double nearest to a decimal number.
fn number(text: &str) -> Option<f64> {
    decimal(text)?;
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, unit: SizeUnit) -> Result<CdfFile, FileError> {
        CdfFile::from_reader(text.as_bytes(), "x.cdf", unit, Interpolation::Linear)
    }

    #[test]
    fn percent_and_fractions_bytes_and_packets_read_the_same() {
        let plain = parse("1460 0\n2920 0.5\n14600 1\n", SizeUnit::Bytes).unwrap();
        let homa = parse("5.1\n1 0\n2 50\n10 100\n", SizeUnit::Packets1460).unwrap();
        assert_eq!(plain.sizes, homa.sizes);
        assert_eq!((plain.percent, plain.header, plain.rows), (false, None, 3));
        assert_eq!((homa.percent, homa.header.as_deref(), homa.rows), (true, Some("5.1"), 3));
    }

    #[test]
    fn headers_comments_commas_and_whole_decimals_are_understood() {
        let file = parse("# from a paper\nsize_bytes,share\n100.0, 2.5e-01\n\n2e+02,1.0\n", SizeUnit::Bytes).unwrap();
        assert_eq!(file.header.as_deref(), Some("size_bytes,share"));
        assert_eq!(file.sizes.quantile(0.2), 100);
    }

    #[test]
    fn each_fault_names_its_line() {
        let message = |text: &str| parse(text, SizeUnit::Bytes).unwrap_err().to_string();
        assert_eq!(message("1 0\n2 50\n1 100\n"), "x.cdf:3: the size falls from 2 to 1 bytes: sizes must ascend");
        assert_eq!(message("1 0\n2 60\n3 50\n4 100\n"), "x.cdf:3: the share falls from 60 to 50: shares must ascend");
        assert_eq!(message("1 0\n2 1 0.5\n"), "x.cdf:2: \"2 1 0.5\": expected a size and a share");
        assert_eq!(message("1 0\nx 1\n"), "x.cdf:2: \"x\": expected a whole size, up to 2^63 - 1 bytes");
        assert_eq!(message("1 0\n2.5 1\n"), "x.cdf:2: \"2.5\": expected a whole size, up to 2^63 - 1 bytes");
        assert_eq!(message("1 0\n2 101\n"), "x.cdf:2: \"101\": expected a share from 0 to 1, or to 100 percent");
        assert_eq!(message("1 0\n2 0.9\n"), "x.cdf: the last share is 0.9: expected 1, or 100 percent");
        assert_eq!(message("# nothing\n"), "x.cdf: has no points: expected lines with a size and a share");
        let packets = parse("9223372036854775807 1\n", SizeUnit::Packets1460).unwrap_err().to_string();
        assert!(packets.starts_with("x.cdf:1: \"9223372036854775807\": expected a whole size"));
    }
}
