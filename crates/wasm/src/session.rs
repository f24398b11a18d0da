//! Schedulers side by side on one trace, step by step.

use crate::lane::{Choice, Lane, Last};
use crate::trace::{Service, Trace};
use pifolab_registry::conformance::Answer;
use pifolab_sched::InspectExt;
use pifolab_units::Time;
use std::rc::Rc;

/// Lanes at some step of a trace.
pub struct Session {
    /// The trace.
    pub trace: Rc<Trace>,
    /// One for each scheduler.
    pub lanes: Vec<Lane>,
    /// Steps done.
    pub position: u64,
    /// The time of the last step.
    pub now: Time,
    /// Answers that differ from those that the trace expects, where it expects any.
    pub mismatches: usize,
    /// Calls made, or packets offered.
    next: usize,
}

/// What the next step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This packet is offered to every scheduler.
    Offer(usize, Time),
    /// Every scheduler is asked for a packet.
    Ask(Time),
    /// Links fall free at this time.
    Serve(Time),
    /// There is none.
    End,
}

impl Session {
    /// Before the first step.
    pub fn new(trace: Rc<Trace>, choices: impl IntoIterator<Item = Choice>) -> Self {
        let lanes = choices.into_iter().map(Lane::new).collect();
        Self { trace, lanes, position: 0, now: Time::ZERO, mismatches: 0, next: 0 }
    }

    /// The same from the beginning.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::new(Rc::clone(&self.trace), self.lanes.iter().map(|lane| lane.choice.clone()))
    }

    /// What the next step is: one packet that is offered, or one instant at which packets leave. Where both fall together
    /// packets leave first, as in `pifolab run`.
    pub fn next_step(&self) -> Step {
        match &self.trace.service {
            Service::Calls(calls) => match calls.get(self.next) {
                Some((Some(index), now)) => Step::Offer(*index, *now),
                Some((None, now)) => Step::Ask(*now),
                // A vector ends where it ends; of other traces all packets leave.
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

    /// Where every scheduler that holds packets has just said that none may leave yet: the first time when one may.
    fn all_wait_until(&self) -> Option<Time> {
        let waits = self.lanes.iter().filter(|lane| !lane.scheduler.is_empty()).map(|lane| match lane.last {
            Last::Asked(Answer::NotBefore(time)) => Some(time),
            _ => None,
        });
        waits.collect::<Option<Vec<Time>>>()?.into_iter().min()
    }

    /// Does the next step; false if there is none.
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

    /// Does at most `steps` steps; false if the end was reached before.
    pub fn forward(&mut self, steps: u64) -> bool {
        (0..steps).all(|_| self.step())
    }

    /// Packets offered so far.
    pub fn offered(&self) -> usize {
        self.lanes.first().map_or(0, |lane| lane.fates.len())
    }
}
