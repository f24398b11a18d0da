//! Files that are read again whenever they change.

use crate::{Result, say};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The interval between checks of a file.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A file that is checked repeatedly.
#[derive(Debug)]
pub struct Watched {
    path: PathBuf,
    seen: Option<(SystemTime, u64)>,
}

impl Watched {
    /// Creates the state of the current file.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), seen: stamp(path) }
    }

    /// Whether the file differs from the last check. A file that no longer exists counts as unchanged.
    pub fn changed(&mut self) -> bool {
        let now = stamp(&self.path);
        let changed = now.is_some() && now != self.seen;
        self.seen = now.or(self.seen);
        changed
    }
}

/// The properties that distinguish versions of a file.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}

/// Reads the file again with `read` whenever it changes, and passes the result to `change`, in a thread that ends with
/// the process or when `change` returns false. Prints the error of an invalid file, followed by `unchanged`, which
/// names the data that remain.
pub fn watch<T>(
    path: PathBuf,
    unchanged: &'static str,
    read: impl Fn(&Path) -> Result<T> + Send + 'static,
    mut change: impl FnMut(T) -> bool + Send + 'static,
) {
    let mut watched = Watched::new(&path);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(LOOK_EVERY);
            if !watched.changed() {
                continue;
            }
            match read(&path) {
                Ok(read) => {
                    if !change(read) {
                        return;
                    }
                }
                Err(error) => say(&format!("{error}; {unchanged}")),
            }
        }
    });
}

/// The contents of a watched file, for one reader that polls often.
#[derive(Clone, Debug)]
pub struct Changes<T> {
    fresh: Arc<AtomicBool>,
    newest: Arc<Mutex<Option<T>>>,
}

impl<T: Send + 'static> Changes<T> {
    /// Like [`watch`], for a reader that polls.
    pub fn new(path: PathBuf, unchanged: &'static str, read: impl Fn(&Path) -> Result<T> + Send + 'static) -> Self {
        let (fresh, newest) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let changes = Self { fresh: Arc::clone(&fresh), newest: Arc::clone(&newest) };
        watch(path, unchanged, read, move |read| {
            *newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
            fresh.store(true, Ordering::Release);
            // This thread is the only holder after the reader is dropped.
            Arc::strong_count(&newest) > 1
        });
        changes
    }

    /// Returns the newest contents not yet taken, if any. Without any, the cost is one load.
    #[inline]
    pub fn take(&self) -> Option<T> {
        if !self.fresh.load(Ordering::Relaxed) || !self.fresh.swap(false, Ordering::Acquire) {
            return None;
        }
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
