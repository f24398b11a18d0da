//! Schedulers side by side on one trace, step by step.

use crate::lane::{Choice, Lane, Last};
use crate::trace::{Service, Trace};
use pifolab_registry::conformance::Answer;
use pifolab_sched::InspectExt;
use pifolab_units::Time;
use std::rc::Rc;

/// Lanes at one step of a trace.
pub struct Session {
    /// The trace.
    pub trace: Rc<Trace>,
    /// One lane per scheduler.
    pub lanes: Vec<Lane>,
    /// The number of steps run.
    pub position: u64,
    /// The time of the last step.
    pub now: Time,
    /// The number of answers that differ from the trace's expected ones.
    pub mismatches: usize,
    /// The number of calls run, or of packets offered.
    next: usize,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Offers this packet to every scheduler at this time.
    Offer(usize, Time),
    /// Requests a packet from every scheduler at this time.
    Ask(Time),
    /// Serves the links that become free at this time.
    Serve(Time),
    /// The trace has ended.
    End,
}

impl Session {
    /// Creates a session before its first step.
    pub fn new(trace: Rc<Trace>, choices: impl IntoIterator<Item = Choice>) -> Self {
        let lanes = choices.into_iter().map(Lane::new).collect();
        Self { trace, lanes, position: 0, now: Time::ZERO, mismatches: 0, next: 0 }
    }

    /// Returns the session at its beginning.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::new(Rc::clone(&self.trace), self.lanes.iter().map(|lane| lane.choice.clone()))
    }

    /// The next step: one offered packet, or one instant at which packets leave. At equal times packets leave first, as
    /// in `pifolab run`.
    pub fn next_step(&self) -> Step {
        match &self.trace.service {
            Service::Calls(calls) => match calls.get(self.next) {
                Some((Some(index), now)) => Step::Offer(*index, *now),
                Some((None, now)) => Step::Ask(*now),
                // A vector ends with its last call; other traces end when all packets have left.
                None if self.trace.expected.is_empty() && self.lanes.iter().any(|lane| !lane.scheduler.is_empty()) => {
                    Step::Ask(self.now.max(self.all_wait_until().unwrap_or(Time::ZERO)))
                }
                None => Step::End,
            },
            Service::Link(_) => {
                let served = self.lanes.iter().filter_map(Lane::next_event).min();
                let offered = self.trace.packets.get(self.next).map(|packet| packet.time);
                match (served, offered) {
                    (Some(served), offered) if offered.is_none_or(|offered| served <= offered) => Step::Serve(served),
                    (_, Some(offered)) => Step::Offer(self.next, offered),
                    (_, None) => Step::End,
                }
            }
        }
    }

    /// The earliest time at which a packet may leave, if every non-empty scheduler has just answered that none may
    /// leave yet.
    fn all_wait_until(&self) -> Option<Time> {
        let waits = self.lanes.iter().filter(|lane| !lane.scheduler.is_empty()).map(|lane| match lane.last {
            Last::Asked(Answer::NotBefore(time)) => Some(time),
            _ => None,
        });
        waits.collect::<Option<Vec<Time>>>()?.into_iter().min()
    }

    /// Runs the next step; returns false at the end.
    pub fn step(&mut self) -> bool {
        let step = self.next_step();
        let trace = Rc::clone(&self.trace);
        let expected = trace.expected.get(self.next);
        match step {
            Step::End => return false,
            Step::Offer(index, now) => {
                self.now = now;
                for lane in &mut self.lanes {
                    let last = lane.offer(index, &trace.packets, now);
                    if expected.is_some_and(|expected| !matches!(last, Last::Offered(_, got) if got == expected)) {
                        self.mismatches += 1;
                    }
                    if let (Service::Link(rate), None) = (&trace.service, lane.busy_until) {
                        let last = lane.last.clone();
                        lane.serve(*rate, &trace.packets, now);
                        lane.last = last;
                    }
                }
                self.next += 1;
            }
            Step::Ask(now) => {
                self.now = now;
                for lane in &mut self.lanes {
                    let last = lane.ask(now);
                    if expected.is_some_and(|expected| !matches!(last, Last::Asked(got) if got == expected)) {
                        self.mismatches += 1;
                    }
                }
                self.next += 1;
            }
            Step::Serve(now) => {
                self.now = now;
                let Service::Link(rate) = trace.service else { unreachable!("only links fall free") };
                for lane in &mut self.lanes {
                    if lane.next_event() == Some(now) {
                        lane.serve(rate, &trace.packets, now);
                    } else {
                        lane.last = Last::Nothing;
                    }
                }
            }
        }
        self.position += 1;
        true
    }

    /// Runs up to `steps` steps; returns false if the trace ended before.
    pub fn forward(&mut self, steps: u64) -> bool {
        (0..steps).all(|_| self.step())
    }

    /// The number of packets offered so far.
    pub fn offered(&self) -> usize {
        self.lanes.first().map_or(0, |lane| lane.fates.len())
    }
}
