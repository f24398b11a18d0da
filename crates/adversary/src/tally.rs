//! What a trace costs, added up while it runs.

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

/// What a trace has cost one scheduler so far.
#[derive(Debug, Default)]
pub struct Tally {
    /// For each rank: what it costs at once if a packet of this rank leaves, given what waits.
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

    /// Lets a packet arrive, and then so many leave.
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

    /// Lets one packet leave; `false` if none is left. It costs its price with every packet that still waits.
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

    /// Lets a whole trace arrive, and then all leave.
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
