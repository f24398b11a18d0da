//! Runs jobs on several threads, while the calling thread reports their progress.

use crate::extras::Extras;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// The interval between reports of progress.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// The time that cancelled jobs may take to end.
const PATIENCE: Duration = Duration::from_millis(500);

/// Runs all `jobs` on up to `workers` threads and returns the result of `work` for each, in their order.
///
/// `tell` is called on this thread, with the number of jobs done, about ten times a second; if it breaks, `cancelled`
/// is set, which `work` must check.
///
/// # Panics
/// If `work` does.
pub(crate) fn work_through<J: Send, R: Send>(
    jobs: Vec<J>,
    workers: usize,
    cancelled: &AtomicBool,
    extras: &dyn Extras,
    work: impl Fn(usize, J) -> Option<R> + Sync,
    tell: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Vec<Option<R>> {
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let jobs: Vec<_> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    let next = AtomicUsize::new(0);
    let (done_one, done_ones) = mpsc::channel();
    let work_some = |done_one: &Sender<()>| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else { return };
            let job = job.lock().expect("no thread panics while it holds the lock").take().expect("each is taken once");
            let result = work(index, job);
            *results[index].lock().expect("no thread panics while it holds the lock") = result;
            // The receiver may be gone if this is the last message.
            let _ = done_one.send(());
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers.clamp(1, jobs.len().max(1)))
            .map(|_| {
                let done_one = done_one.clone();
                let work_some = &work_some;
                scope.spawn(move || extras.on_thread(&mut || work_some(&done_one)))
            })
            .collect();
        drop(done_one);
        let (mut done, mut since) = (0, None);
        loop {
            match done_ones.recv_timeout(TELL_EVERY) {
                Ok(()) => done += 1,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if tell(done).is_break() {
                cancelled.store(true, Ordering::Relaxed);
            }
            if cancelled.load(Ordering::Relaxed) && since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                extras.interrupt();
            }
        }
        for thread in threads {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    results.into_iter().map(|result| result.into_inner().expect("no thread panics while it holds the lock")).collect()
}
