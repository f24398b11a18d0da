//! Files that are read again whenever they change.

use crate::{Result, say};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How soon a change of the file is seen.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A file that is looked at again and again.
#[derive(Debug)]
pub struct Watched {
    path: PathBuf,
    seen: Option<(SystemTime, u64)>,
}

impl Watched {
    /// As the file is now.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), seen: stamp(path) }
    }

    /// Whether it is another one than when it was looked at last. A file that is gone has not changed.
    pub fn changed(&mut self) -> bool {
        let now = stamp(&self.path);
        let changed = now.is_some() && now != self.seen;
        self.seen = now.or(self.seen);
        changed
    }
}

/// What tells one version of a file from the next.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}

/// Reads the file again by `read` whenever it changes, and hands what it has to `change`, in a thread that ends with the process or
/// when `change` says false. A file that is wrong is told on standard error, with `unchanged`, which says what stays as it was.
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

/// What a watched file had, for one reader that asks often.
#[derive(Clone, Debug)]
pub struct Changes<T> {
    fresh: Arc<AtomicBool>,
    newest: Arc<Mutex<Option<T>>>,
}

impl<T: Send + 'static> Changes<T> {
    /// As [`watch`], for a reader that asks.
    pub fn new(path: PathBuf, unchanged: &'static str, read: impl Fn(&Path) -> Result<T> + Send + 'static) -> Self {
        let (fresh, newest) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let changes = Self { fresh: Arc::clone(&fresh), newest: Arc::clone(&newest) };
        watch(path, unchanged, read, move |read| {
            *newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
            fresh.store(true, Ordering::Release);
            // This is the only holder once the reader is gone.
            Arc::strong_count(&newest) > 1
        });
        changes
    }

    /// The newest, if there is one that was not taken yet. Costs one load if there is none.
    #[inline]
    pub fn take(&self) -> Option<T> {
        if !self.fresh.load(Ordering::Relaxed) || !self.fresh.swap(false, Ordering::Acquire) {
            return None;
        }
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
