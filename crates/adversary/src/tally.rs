//! The cost of a trace, summed during its run.

use crate::step::{Probe, Step};
use crate::trace::Trace;
use pifolab_sched::{Dequeued, Enqueued, Item};

/// Prices as tables over ranks.
#[derive(Debug)]
pub struct Tariff {
    pub(crate) lowest: u64,
    pub(crate) symbols: usize,
    pub(crate) drop: Vec<i64>,
    /// `overtake[later * symbols + first]`; empty if all are 0.
    pub(crate) overtake: Vec<i64>,
}

impl Tariff {
    #[inline]
    fn symbol(&self, rank: u64) -> usize {
        (rank - self.lowest) as usize
    }
}

/// The cost of a trace so far for one scheduler.
#[derive(Debug, Default)]
pub struct Tally {
    /// For each rank, the current price of the departure of a packet of this rank.
    due: Vec<i64>,
    pub(crate) sum: i64,
    pub(crate) sent: u64,
    pub(crate) dropped: u64,
    arrived: usize,
}

impl Tally {
    pub(crate) fn take_over(&mut self, other: &Self) {
        self.due.clone_from(&other.due);
        (self.sum, self.sent, self.dropped, self.arrived) = (other.sum, other.sent, other.dropped, other.arrived);
    }

    pub(crate) fn reset(&mut self, tariff: &Tariff) {
        self.due.clear();
        self.due.resize(if tariff.overtake.is_empty() { 0 } else { tariff.symbols }, 0);
        (self.sum, self.sent, self.dropped, self.arrived) = (0, 0, 0, 0);
    }

    /// Runs the arrival of a packet, and then `departures` departures.
    #[inline(always)]
    pub(crate) fn arrive<M: Step + ?Sized>(&mut self, machine: &mut M, rank: u64, departures: u32, tariff: &Tariff) {
        let own = tariff.symbol(rank);
        match machine.enqueue(Probe::new(self.arrived, rank)) {
            Enqueued::Admitted { .. } => self.hold(own, tariff),
            Enqueued::Evicted { victims, .. } => {
                self.hold(own, tariff);
                for victim in victims.iter() {
                    self.lose(tariff.symbol(victim.rank().get()), tariff);
                }
            }
            Enqueued::Dropped { .. } => {
                self.dropped += 1;
                self.sum += tariff.drop[own];
            }
        }
        self.arrived += 1;
        for _ in 0..departures {
            if !self.depart(machine, tariff) {
                break;
            }
        }
    }

    #[inline(always)]
    fn hold(&mut self, symbol: usize, tariff: &Tariff) {
        if !tariff.overtake.is_empty() {
            let column = &tariff.overtake[symbol * tariff.symbols..][..tariff.symbols];
            self.due.iter_mut().zip(column).for_each(|(due, price)| *due += price);
        }
    }

    #[inline(always)]
    fn release(&mut self, symbol: usize, tariff: &Tariff) {
        if !tariff.overtake.is_empty() {
            let column = &tariff.overtake[symbol * tariff.symbols..][..tariff.symbols];
            self.due.iter_mut().zip(column).for_each(|(due, price)| *due -= price);
            self.sum += self.due[symbol];
        }
    }

    fn lose(&mut self, symbol: usize, tariff: &Tariff) {
        self.dropped += 1;
        let sum = self.sum;
        self.release(symbol, tariff);
        self.sum = sum + tariff.drop[symbol];
    }

    /// Removes one packet; `false` if the scheduler is empty. Adds its price with every waiting packet.
    #[inline(always)]
    fn depart<M: Step + ?Sized>(&mut self, machine: &mut M, tariff: &Tariff) -> bool {
        loop {
            match machine.dequeue() {
                Dequeued::Packet { packet, .. } => {
                    self.sent += 1;
                    self.release(tariff.symbol(packet.rank().get()), tariff);
                    return true;
                }
                Dequeued::Dropped { packet, .. } => self.lose(tariff.symbol(packet.rank().get()), tariff),
                Dequeued::NotBefore(_) | Dequeued::Empty => return false,
            }
        }
    }

    #[inline(always)]
    pub(crate) fn drain<M: Step + ?Sized>(&mut self, machine: &mut M, tariff: &Tariff) {
        while self.depart(machine, tariff) {}
    }

    /// Runs all arrivals of a trace, and then all departures.
    #[inline(always)]
    pub(crate) fn play<M: Step + ?Sized>(&mut self, machine: &mut M, trace: &Trace, tariff: &Tariff) {
        self.reset(tariff);
        if trace.departures.is_empty() {
            for rank in &trace.ranks {
                self.arrive(machine, *rank, 0, tariff);
            }
        } else {
            for (index, rank) in trace.ranks.iter().enumerate() {
                self.arrive(machine, *rank, trace.departures_after(index), tariff);
            }
        }
        self.drain(machine, tariff);
    }
}
