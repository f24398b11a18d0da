//! Replays language-neutral scheduler vectors: the same files test that the library, the Linux and the P4 data planes
//! decide alike for every packet.
//!
//! `conformance/README.md` describes the format. A file that cannot be parsed is an [`Error`] that names the place and
//! the expected form. A scheduler with other answers is no error but an [`Outcome`] with mismatches.

mod fault;
mod names;
mod outcome;
mod trees;
mod vector;

use crate::{BoxedScheduler, Form, SchedulerEntry, find_scheduler};
use fault::Fault;
pub use names::Build;
pub use outcome::{Error, Mismatch, Outcome};
use pifolab_sched::params::{Args, Value};
use pifolab_sched::{Capacity, Dequeued, Enqueued, InspectExt, Packet, Scheduler};
use pifolab_units::{Rank, Time};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use vector::Vector;
pub use vector::{Answer, Op};

/// The largest size of a vector, a hundred times that of the largest one shipped.
const LONGEST_VECTOR: u64 = 64 << 20;

/// Replays the vector in `path`.
pub fn replay_file(path: &Path, form: Form) -> Result<Outcome, Error> {
    let file = path.display().to_string();
    let mut text = Vec::new();
    match File::open(path).and_then(|opened| opened.take(LONGEST_VECTOR + 1).read_to_end(&mut text)) {
        Ok(length) if length as u64 > LONGEST_VECTOR => {
            let message = "has over 64 MiB: expected a vector of at most 64 MiB".to_owned();
            Err(Error { file, place: None, message })
        }
        Ok(_) => replay(&file, &text, form),
        Err(error) => Err(Error { file, place: None, message: format!("cannot be read: {error}") }),
    }
}

/// Replays the vector `text` through the library's scheduler in this form; messages call it `file`.
pub fn replay(file: &str, text: &[u8], form: Form) -> Result<Outcome, Error> {
    replay_own(file, text, form, &|_, _| None)
}

/// Returns the user's own scheduler for a replay, from a name and parameters: `None` if the name is unknown, `Err` with
/// the fault of the parameters.
pub type Own<'a> = dyn Fn(&str, &[(String, Value)]) -> Option<Result<BoxedScheduler, String>> + 'a;

/// As [`replay`]; vectors may also be those of schedulers that `own` makes.
pub fn replay_own(file: &str, text: &[u8], form: Form, own: &Own<'_>) -> Result<Outcome, Error> {
    if trees::is_policy(text) {
        return trees::replay(file, text).map_err(|fault| fault.in_file(file));
    }
    replay_made(file, text, &|vector| {
        if !names::is_known(&vector.scheduler)
            && let Some(made) = own(&vector.scheduler, &names::values(vector)?)
        {
            return Ok((vector.scheduler.clone(), made.map_err(|problem| Fault::new("config", problem))?));
        }
        named(vector, &|entry, args| Ok((entry.read)(args)?.scheduler(form)))
    })
}

/// A scheduler with its name.
type Named = (String, BoxedScheduler);

/// The scheduler of the library that a vector names.
fn named(vector: &Vector, build: &Build<'_>) -> Result<Named, Fault> {
    names::build(&vector.scheduler, &vector.config, build).map(|(name, made)| (name.to_owned(), made))
}

/// As [`replay`], through the scheduler that `build` makes instead of the library's, such as a data plane under test.
/// If there is a mismatch, `build` is called twice.
pub fn replay_through(file: &str, text: &[u8], build: &Build<'_>) -> Result<Outcome, Error> {
    if trees::is_policy(text) {
        let message = "is a policy of a tree, which the library alone replays; expected a vector of a scheduler";
        return Err(Fault::new("policy", message).in_file(file));
    }
    replay_made(file, text, &|vector| named(vector, build))
}

/// Replays a vector through what `make` makes of it.
fn replay_made(file: &str, text: &[u8], make: &dyn Fn(&Vector) -> Result<Named, Fault>) -> Result<Outcome, Error> {
    let run = || {
        let vector = Vector::parse(text)?;
        let (name, scheduler) = make(&vector)?;
        let mut outcome = Replay::new(scheduler).run(file, &name, &vector)?;
        if let Some(first) = &mut outcome.first {
            // A second replay up to the mismatch records the state there, so that the first need not record every
            // state.
            let mut replay = Replay::new(make(&vector)?.1);
            for (op, _) in &vector.steps[..first.operation] {
                replay.step(op);
            }
            first.before = replay.state();
            replay.step(&vector.steps[first.operation].0);
            first.after = replay.state();
        }
        Ok(outcome)
    };
    run().map_err(|fault: Fault| fault.in_file(file))
}

/// A parsed vector of a scheduler.
pub struct Calls {
    /// The scheduler.
    pub entry: &'static SchedulerEntry,
    /// Its parameters by their names in the library; they build the scheduler.
    pub args: Args,
    /// Each call with its answer.
    pub steps: Vec<(Op, Answer)>,
}

/// Reads the vector `text`, for callers that make the calls themselves; messages call it `file`.
pub fn read(file: &str, text: &[u8]) -> Result<Calls, Error> {
    let given = RefCell::new(None);
    let keep: &Build<'_> = &|entry, args| {
        given.replace(Some((entry, args.clone())));
        entry.build(args)
    };
    let run = || {
        if trees::is_policy(text) {
            return Err(Fault::new("policy", "is a policy of a tree; expected a vector of a scheduler"));
        }
        let vector = Vector::parse(text)?;
        names::build(&vector.scheduler, &vector.config, keep)?;
        Ok(vector.steps)
    };
    let steps = run().map_err(|fault: Fault| fault.in_file(file))?;
    let (entry, args) = given.into_inner().expect("it was built");
    Ok(Calls { entry, args, steps })
}

struct Replay {
    scheduler: BoxedScheduler,
    held: HashSet<u64>,
    now: Time,
}

impl Replay {
    fn new(scheduler: BoxedScheduler) -> Self {
        Self { scheduler, held: HashSet::new(), now: Time::ZERO }
    }

    fn run(mut self, file: &str, name: &str, vector: &Vector) -> Result<Outcome, Fault> {
        let mut outcome = Outcome {
            file: file.to_owned(),
            scheduler: name.to_owned(),
            operations: vector.steps.len(),
            mismatches: 0,
            first: None,
        };
        let needs_flow = find_scheduler(name).is_ok_and(|entry| entry.traits.reads_flows);
        let needs_bytes = matches!(self.scheduler.capacity(), Capacity::Bytes(_));
        for (index, (op, expected)) in vector.steps.iter().enumerate() {
            let fault = |message: String| Fault::new(format!("ops[{index}]"), message);
            if let Op::Enqueue { id, sized, .. } = op {
                if self.held.contains(id) {
                    return Err(fault(format!("{op}: packet {id} is still held; expected another id")));
                }
                if !sized && (needs_flow || needs_bytes) {
                    let why = if needs_flow { name } else { "a capacity in bytes" };
                    return Err(fault(format!("{op}: {why} needs [\"enq\", id, rank, flow, bytes]")));
                }
            }
            if let Some(now) = op.now().filter(|now| *now < self.now) {
                let message =
                    format!("the time {} ns follows {} ns; expected times in order", now.as_ns(), self.now.as_ns());
                return Err(fault(format!("{op}: {message}")));
            }
            let got = self.step(op);
            if !expected.is(&got) {
                outcome.mismatches += 1;
                outcome.first.get_or_insert_with(|| Mismatch {
                    file: file.to_owned(),
                    operation: index,
                    op: op.to_string(),
                    expected: expected.to_string(),
                    got: got.to_string(),
                    before: String::new(),
                    after: String::new(),
                });
            }
        }
        Ok(outcome)
    }

    fn step(&mut self, op: &Op) -> Answer {
        self.now = op.now().unwrap_or(self.now);
        match *op {
            Op::Enqueue { id, rank, flow, bytes, eligible, .. } => {
                let packet = Packet { id, flow, size: bytes, rank, arrival: self.now };
                let (queue, evicted) = match self.scheduler.enqueue_eligible(packet, eligible, self.now) {
                    Enqueued::Admitted { queue, .. } => (queue, Vec::new()),
                    Enqueued::Evicted { queue, victims, .. } => {
                        (queue, victims.iter().map(|packet| packet.id).collect())
                    }
                    Enqueued::Dropped { reason, .. } => return Answer::Dropped(reason),
                };
                self.held.insert(id);
                for victim in &evicted {
                    self.held.remove(victim);
                }
                Answer::Admitted { queue, evicted }
            }
            Op::Dequeue { .. } => match self.scheduler.dequeue(self.now) {
                Dequeued::Packet { packet, .. } => {
                    self.held.remove(&packet.id);
                    Answer::Sent(Some(packet.id))
                }
                Dequeued::Dropped { packet, reason } => {
                    self.held.remove(&packet.id);
                    Answer::GivenUp(packet.id, reason)
                }
                Dequeued::NotBefore(time) => Answer::NotBefore(time),
                Dequeued::Empty => Answer::Sent(None),
            },
        }
    }

    fn state(&self) -> String {
        let scheduler = &self.scheduler;
        let queues = 0..scheduler.queues();
        let lengths: Vec<usize> = queues.clone().map(|queue| scheduler.queue_len(queue)).collect();
        let bounds: Vec<i64> = queues.filter_map(|queue| scheduler.queue_bound(queue)).collect();
        let mut window: Vec<Rank> = Vec::new();
        scheduler.visit_window(&mut |rank| window.push(rank));
        let mut text = format!("{} packets, {} B, queue lengths {lengths:?}", scheduler.len(), scheduler.backlog().0);
        let mut add = |what: &str, values: &dyn fmt::Debug| {
            write!(text, ", {what} {values:?}").expect("writing to a String succeeds")
        };
        if !bounds.is_empty() {
            add("bounds", &bounds);
        }
        if !window.is_empty() {
            add("window", &window.iter().map(|rank| rank.get()).collect::<Vec<_>>());
        }
        text
    }
}

#[cfg(test)]
mod tests;
