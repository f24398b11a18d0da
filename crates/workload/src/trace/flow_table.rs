//! Dense flow numbers in order of appearance.

use super::dissect::Tuple;
use std::collections::HashMap;
use std::net::IpAddr;

/// The two directions of a capture of which most flows have a reverse flow. A port of a switch sends one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BothWays {
    /// The number of flows whose reverse flow is in the trace, too.
    pub flows: usize,
    /// The host that receives most bytes; of equal ones the highest address.
    pub host: IpAddr,
}

/// The names of flows and their numbers. Numbers follow the file, never the order of the map.
#[derive(Default)]
pub(super) struct FlowTable {
    tuples: HashMap<Tuple, u32>,
    labels: HashMap<String, u32>,
    others: [Option<u32>; 2],
    count: u32,
    /// The last packet's flow, because consecutive packets often have the same flow.
    last: Option<(Tuple, u32)>,
}

/// The kinds of packets without a known flow. All packets of a kind form one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nameless {
    NotIp,
    Cut,
}

impl FlowTable {
    /// The number of a 5-tuple; `None` if all numbers are used.
    #[inline]
    pub(super) fn number_of_tuple(&mut self, tuple: &Tuple) -> Option<u32> {
        if let Some((last, number)) = &self.last
            && last == tuple
        {
            return Some(*number);
        }
        let number = match self.tuples.get(tuple) {
            Some(&number) => number,
            None => {
                let number = new_number(&mut self.count)?;
                self.tuples.insert(*tuple, number);
                number
            }
        };
        self.last = Some((*tuple, number));
        Some(number)
    }

    /// The flow number of the packets of one kind without a known flow.
    pub(super) fn number_of_other(&mut self, kind: Nameless) -> Option<u32> {
        let number = &mut self.others[kind as usize];
        if number.is_none() {
            *number = Some(new_number(&mut self.count)?);
        }
        *number
    }

    /// The flow number of a name in a CSV file.
    pub(super) fn number_of_label(&mut self, label: &str) -> Option<u32> {
        if let Some(&number) = self.labels.get(label) {
            return Some(number);
        }
        let number = new_number(&mut self.count)?;
        self.labels.insert(label.to_owned(), number);
        Some(number)
    }

    /// The names of some flows.
    pub(super) fn names_of(&self, wanted: &[u32]) -> Vec<String> {
        let mut names = vec![String::new(); wanted.len()];
        let mut found = |number: u32, name: &dyn Fn() -> String| {
            if let Some(place) = wanted.iter().position(|wanted| *wanted == number) {
                names[place] = name();
            }
        };
        self.tuples.iter().for_each(|(tuple, &number)| found(number, &|| tuple.to_string()));
        self.labels.iter().for_each(|(label, &number)| found(number, &|| label.clone()));
        self.nameless().for_each(|(number, name)| found(number, &|| name.to_owned()));
        names
    }

    /// All names, in the order of their numbers.
    pub(super) fn names(&self) -> Vec<String> {
        let tuples = self.tuples.iter().map(|(tuple, &number)| (number, tuple.to_string()));
        let labels = self.labels.iter().map(|(label, &number)| (number, label.clone()));
        let other = self.nameless().map(|(number, name)| (number, name.to_owned()));
        let mut names: Vec<_> = tuples.chain(labels).chain(other).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name).collect()
    }

    /// [`TraceReader::both_ways`](super::TraceReader::both_ways).
    pub(super) fn both_ways(&self, bytes: &[u64]) -> Option<BothWays> {
        let known = |reversed: &Tuple| self.tuples.contains_key(reversed);
        let flows = self.tuples.keys().filter(|&tuple| tuple.reversed() != *tuple && known(&tuple.reversed())).count();
        if 2 * flows <= self.count as usize {
            return None;
        }
        let mut received: HashMap<IpAddr, u64> = HashMap::new();
        for (tuple, number) in &self.tuples {
            *received.entry(tuple.destination()).or_default() += bytes[*number as usize];
        }
        let (host, _) = received.into_iter().max_by_key(|&(host, bytes)| (bytes, host))?;
        Some(BothWays { flows, host })
    }

    fn nameless(&self) -> impl Iterator<Item = (u32, &'static str)> {
        let names = ["not IP", "cut before its addresses"];
        self.others.into_iter().zip(names).filter_map(|(number, name)| Some((number?, name)))
    }
}

fn new_number(count: &mut u32) -> Option<u32> {
    let number = *count;
    *count = count.checked_add(1)?;
    Some(number)
}
