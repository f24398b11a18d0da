//! The file of `--parameters`: `name = value` a line, read again whenever it changes.

use super::choice::SchedulerOptions;
use crate::whole::read_whole;
use crate::{Error, Result};
use std::path::Path;

/// The one name in it that is not a parameter of the scheduler.
const RATE: &str = "rate_mbps";

/// What such a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterFile {
    parameters: Vec<(String, String)>,
    /// The link's rate.
    pub rate_mbps: Option<f64>,
}

impl ParameterFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or a line is wrong; the message names the line.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_whole(path)?;
        Self::parse(&text).map_err(|error| Error::Usage(format!("{}: {error}", path.display())))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut file = Self::default();
        let mut seen = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let wrong = |reason: String| format!("line {}: {reason}", index + 1);
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let pair = line.split_once('=').map(|(name, value)| (name.trim().replace('-', "_"), value.trim()));
            let (name, value) = pair.ok_or_else(|| wrong(format!("{line:?}: expected name = value")))?;
            if seen.contains(&name) {
                return Err(wrong(format!("{name}: duplicate of an earlier line")));
            }
            seen.push(name.clone());
            if name == RATE {
                let rate = value.parse().map_err(|_| wrong(format!("{RATE} = {value}: expected a number of Mb/s")))?;
                file.rate_mbps = Some(rate);
            } else {
                file.parameters.push((name, value.to_owned()));
            }
        }
        Ok(file)
    }

    /// The parameters of a command line, with those of the file before them.
    pub fn over(&self, options: &SchedulerOptions) -> SchedulerOptions {
        let mut options = options.clone();
        for (name, value) in &self.parameters {
            options.set(name, value);
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_before_the_command_line_and_may_name_the_rate() {
        let file = ParameterFile::parse("# ours\n k = 0.2 # of it\n\nqueue-capacity-packets=3,4\nrate_mbps = 12.5\n");
        let file = file.expect("a file");
        assert_eq!(file.rate_mbps, Some(12.5));
        let mut options = SchedulerOptions::default();
        options.set("k", "0.1");
        options.set("window", "20");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [pair("window", "20"), pair("k", "0.2"), pair("queue_capacity_packets", "3,4")];
        assert_eq!(file.over(&options).written(), expected);
    }

    #[test]
    fn a_wrong_line_is_refused_with_its_number() {
        for (text, words) in [
            ("k\n", ["line 1", "name = value"]),
            ("k = 1\n\nk = 2\n", ["line 3", "duplicate"]),
            ("rate_mbps = fast\n", ["line 1", "a number of Mb/s"]),
        ] {
            let error = ParameterFile::parse(text).expect_err("wrong");
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    }
}
