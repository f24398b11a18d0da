//! Reads a histogram: one value and its weight per line, separated by a comma or blanks.
//!
//! Values are integers from 0 to 2^63 - 1. Weights are decimal numbers, read exactly, with any sum. Empty lines and
//! lines that begin with `#` are skipped. The first other line may be a header: `rank,weight`, `value,weight` or
//! `size_bytes,weight`.

use crate::input::{Lines, decimal, from_reader, quoted};
use crate::{Distribution, FileError};
use std::collections::BTreeMap;
use std::io::Read;

/// The words that may begin a header line.
const HEADERS: [&str; 3] = ["rank", "value", "size_bytes"];

impl Distribution {
    /// Reads the histogram in `content` (gzip allowed); errors name it `file`.
    ///
    /// ```
    /// use pifolab_workload::Distribution;
    /// let ranks = Distribution::histogram_from(&b"rank,weight\n0,0.25\n7,0.75\n"[..], "ranks.csv").unwrap();
    /// assert_eq!(ranks.weights().unwrap(), [(0, 25), (7, 75)]);
    /// ```
    ///
    /// # Errors
    /// If it cannot be read, a line is not a value and a weight, a value occurs twice, or the weights are not a valid
    /// distribution (see [`Distribution::histogram`]). The error contains file and line.
    pub fn histogram_from(content: impl Read + Send, file: &str) -> Result<Self, FileError> {
        read(Lines::new(from_reader(content, file)?))
    }
}

fn read(mut lines: Lines<'_>) -> Result<Distribution, FileError> {
    // Value -> (digits of the weight, places after the point, line).
    let mut rows: BTreeMap<u64, (u128, u32, u64)> = BTreeMap::new();
    let mut header_allowed = true;
    while let Some(line) = lines.next()? {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut fields = line.split(|c: char| c == ',' || c.is_whitespace()).filter(|field| !field.is_empty());
        let (Some(value), Some(weight), None) = (fields.next(), fields.next(), fields.next()) else {
            let problem = format!("{}: expected a value and a weight", quoted(line));
            return Err(lines.error(problem));
        };
        if std::mem::take(&mut header_allowed) && HEADERS.contains(&value) && weight == "weight" {
            continue;
        }
        let Some(number) = value.parse().ok().filter(|&number: &u64| number <= i64::MAX as u64) else {
            let problem = format!("{}: expected an integer from 0 to 2^63 - 1 as value", quoted(value));
            return Err(lines.error(problem));
        };
        let Some((digits, places)) = decimal(weight) else {
            let problem = format!("{}: expected a decimal number, 0 or above, as weight", quoted(weight));
            return Err(lines.error(problem));
        };
        if let Some((_, _, earlier)) = rows.insert(number, (digits, places, lines.number())) {
            return Err(lines.error(format!("duplicate value {number}; the first is on line {earlier}")));
        }
    }
    let places = rows.values().map(|row| row.1).max().unwrap_or(0);
    let mut weights = Vec::with_capacity(rows.len());
    for (&value, &(digits, own_places, line)) in &rows {
        let scaled = 10u128.checked_pow(places - own_places).and_then(|scale| digits.checked_mul(scale));
        let Some(weight) = scaled.and_then(|scaled| u64::try_from(scaled).ok()) else {
            let problem = format!("the weight on line {line} needs more than 64 bits next to the others");
            return Err(lines.file_error(problem));
        };
        weights.push((value, weight));
    }
    Distribution::histogram(&weights).map_err(|error| lines.file_error(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        Distribution::histogram_from(text.as_bytes(), "h.csv").unwrap_err().to_string()
    }

    #[test]
    fn weights_are_taken_as_written() {
        let text = "# measured\nrank,weight\n\n5 0.1\n2,\t3\n9,.25\n";
        let weights = Distribution::histogram_from(text.as_bytes(), "h").unwrap().weights().unwrap();
        assert_eq!(weights, [(2, 300), (5, 10), (9, 25)]);
    }

    #[test]
    fn each_fault_names_its_line() {
        assert_eq!(message("1,1\nten,1\n"), "h.csv:2: \"ten\": expected an integer from 0 to 2^63 - 1 as value");
        assert_eq!(message("1,-1\n"), "h.csv:1: \"-1\": expected a decimal number, 0 or above, as weight");
        assert_eq!(message("1,1,1\n"), "h.csv:1: \"1,1,1\": expected a value and a weight");
        assert_eq!(message("1\n"), "h.csv:1: \"1\": expected a value and a weight");
        assert_eq!(message("1,1\n2,1\n1,2\n"), "h.csv:3: duplicate value 1; the first is on line 1");
        assert_eq!(message("1,1\nrank,weight\n"), "h.csv:2: \"rank\": expected an integer from 0 to 2^63 - 1 as value");
        assert_eq!(message(""), "h.csv: weights = 0 values: expected 1 to 2^20 values");
        assert_eq!(message("4,0\n"), "h.csv: weights = a sum of 0: expected at least one weight above 0");
        assert_eq!(
            message("4,1\n5,0.00000000000000000000001\n"),
            "h.csv: the weight on line 1 needs more than 64 bits next to the others"
        );
    }
}
