//! What cannot be run.

use std::fmt;

/// Something that cannot be run: where, which key, what was written, what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The part of the configuration, or the flow.
    pub owner: String,
    /// The key.
    pub key: String,
    /// What was written.
    pub value: String,
    /// What would be right.
    pub expected: String,
}

impl ConfigError {
    pub(super) fn new(owner: &str, key: &str, value: impl fmt::Display, expected: &str) -> Self {
        Self { owner: owner.to_owned(), key: key.to_owned(), value: value.to_string(), expected: expected.to_owned() }
    }
}

impl From<pifolab_transport::ParamError> for ConfigError {
    fn from(error: pifolab_transport::ParamError) -> Self {
        let value = error.value.unwrap_or_default();
        Self::new(
            "transport",
            &error.key,
            value,
            error.expected.trim_start_matches("expected ").trim_start_matches("an integer "),
        )
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} = {}: must be {}", self.owner, self.key, self.value, self.expected)
    }
}

impl std::error::Error for ConfigError {}
