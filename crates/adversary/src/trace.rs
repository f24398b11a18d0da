//! A trace: ranks in the order of arrival, and the number of departures after each arrival.

/// Packets that arrive one by one. The packets held after the last arrival are drained.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Trace {
    /// The rank of each packet.
    pub ranks: Vec<u64>,
    /// The number of departures allowed after each arrival; empty if none is allowed before all have arrived.
    pub departures: Vec<u32>,
}

impl Trace {
    /// A trace whose packets all arrive before the first departure.
    pub fn batch(ranks: Vec<u64>) -> Self {
        Self { ranks, departures: Vec::new() }
    }

    /// The number of departures allowed after the arrival of packet `index`.
    pub fn departures_after(&self, index: usize) -> u32 {
        self.departures.get(index).copied().unwrap_or(0)
    }

    /// The trace without the packet `index`, whose departures move to the packet before.
    pub fn without(&self, index: usize) -> Self {
        let mut trace = self.clone();
        trace.ranks.remove(index);
        if !trace.departures.is_empty() {
            let departures = trace.departures.remove(index);
            if index > 0 {
                trace.departures[index - 1] += departures;
            }
        }
        trace
    }
}
