//! A trace: ranks in the order of arrival, and how many packets leave after each arrival.

/// Packets that arrive one by one. What is held when the last one has arrived is drained.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Trace {
    /// The rank of each packet.
    pub ranks: Vec<u64>,
    /// How many packets may leave after each arrival; empty if none leaves before all have arrived.
    pub departures: Vec<u32>,
}

impl Trace {
    /// A trace whose packets all arrive before the first one leaves.
    pub fn batch(ranks: Vec<u64>) -> Self {
        Self { ranks, departures: Vec::new() }
    }

    /// How many packets may leave after the packet `index` arrived.
    pub fn departures_after(&self, index: usize) -> u32 {
        self.departures.get(index).copied().unwrap_or(0)
    }

    /// The same trace without the packet `index`; its departures go to the packet before it.
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
