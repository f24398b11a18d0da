//! Errors, by the party that can fix them, which determines the exit status.

use std::fmt;
use std::process::ExitCode;

/// An error with a message for the user.
#[derive(Debug)]
pub enum Error {
    /// The command line or an input file is wrong: exit status 2.
    Usage(String),
    /// Another process holds the requested resource; the message names the process. Exit status 2.
    Held(String),
    /// The request is not possible on this machine; the message contains the reason. Exit status 3.
    Unsupported(String),
    /// The user lacks a right; the message names it. Exit status 3.
    Denied(String),
    /// Any other error: exit status 1.
    Failed(String),
}

/// The result of operations on the outside world.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The exit status of a command that ends with this error.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Failed(_) => 1,
            Self::Usage(_) | Self::Held(_) => 2,
            Self::Unsupported(_) | Self::Denied(_) => 3,
        })
    }

    /// A failure of the outside world: the operation and the cause.
    pub fn failed(tried: impl fmt::Display, cause: impl fmt::Display) -> Self {
        Self::Failed(format!("{tried}: {cause}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(message)
        | Self::Held(message)
        | Self::Unsupported(message)
        | Self::Denied(message)
        | Self::Failed(message)) = self;
        f.write_str(message)
    }
}

impl std::error::Error for Error {}

/// Adds the operation to the message of a failure.
pub trait Trying<T> {
    /// Converts a failure to [`Error::Failed`], with `what` before its message.
    fn trying(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Trying<T> for std::result::Result<T, E> {
    fn trying(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|cause| Error::failed(what(), cause))
    }
}
