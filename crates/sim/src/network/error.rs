//! The error of a configuration that cannot be run.

use std::fmt;

/// A configuration that cannot be run: its place, the key, the value, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The part of the configuration, or the flow.
    pub owner: String,
    /// The key.
    pub key: String,
    /// The value that was given.
    pub value: String,
    /// What was expected: `expected ...`.
    pub expected: String,
}

impl ConfigError {
    /// Makes the error of `value`, where `right` was expected.
    pub(super) fn new(owner: &str, key: &str, value: impl fmt::Display, right: &str) -> Self {
        let expected = format!("expected {right}");
        Self { owner: owner.to_owned(), key: key.to_owned(), value: value.to_string(), expected }
    }
}

impl From<pifolab_transport::ParamError> for ConfigError {
    fn from(error: pifolab_transport::ParamError) -> Self {
        let value = error.value.unwrap_or_default();
        Self { owner: "transport".to_owned(), key: error.key, value, expected: error.expected }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} = {}: {}", self.owner, self.key, self.value, self.expected)
    }
}

impl std::error::Error for ConfigError {}
