//! What can go wrong, by who can fix it; this decides the exit status.

use std::fmt;
use std::process::ExitCode;

/// A failure with its message for the user.
#[derive(Debug)]
pub enum Error {
    /// The command line or an input file is wrong: exit status 2.
    Usage(String),
    /// Another process has what was asked for, and the message says which: exit status 2.
    Held(String),
    /// What was asked for cannot be done here, and the message says why: exit status 3.
    Unsupported(String),
    /// This user lacks the right to do it, and the message says which: exit status 3.
    Denied(String),
    /// Anything else: exit status 1.
    Failed(String),
}

/// The result of everything here that touches the outside world.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The exit status of a command that ends with this.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Failed(_) => 1,
            Self::Usage(_) | Self::Held(_) => 2,
            Self::Unsupported(_) | Self::Denied(_) => 3,
        })
    }

    /// A failure of the outside world: what was tried, and what came of it.
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

/// Says what was tried when something fails.
pub trait Trying<T> {
    /// Turns a failure into [`Error::Failed`], with `what` before its own message.
    ///
    /// # Errors
    /// If `self` is one.
    fn trying(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Trying<T> for std::result::Result<T, E> {
    fn trying(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|cause| Error::failed(what(), cause))
    }
}
