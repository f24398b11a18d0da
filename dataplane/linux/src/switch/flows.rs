//! Numbers flows from 0 on, as schedulers and rank functions want them; a table of fixed size, made in advance.

use super::frame::FlowKey;

/// Gives each flow a number. When the table is full, further flows share the numbers of those that are in it, as flows
/// share registers in a switch.
#[derive(Debug)]
pub struct FlowTable {
    slots: Vec<Option<(FlowKey, u32)>>,
    known: u32,
    limit: u32,
}

impl FlowTable {
    /// A table for `limit` flows.
    ///
    /// # Panics
    /// If `limit` is 0 or above 2^30.
    pub fn new(limit: u32) -> Self {
        assert!((1..=1 << 30).contains(&limit), "a flow table holds from 1 to 2^30 flows");
        Self { slots: vec![None; (limit as usize * 2).next_power_of_two()], known: 0, limit }
    }

    /// The number of the flow `key`: the same for each of its packets.
    pub fn number(&mut self, key: &FlowKey) -> u32 {
        let hash = mix(key);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match &self.slots[at] {
                Some((found, number)) if found == key => return *number,
                Some(_) => at = (at + 1) & mask,
                None if self.known == self.limit => return (hash >> 32) as u32 % self.limit,
                None => {
                    let number = self.known;
                    self.slots[at] = Some((*key, number));
                    self.known += 1;
                    return number;
                }
            }
        }
    }

    /// How many flows have a number of their own.
    pub const fn known(&self) -> u32 {
        self.known
    }
}

/// A 64-bit mix of the key (multiply and fold with odd constants: the fractional bits of the golden ratio and of the
/// square root of 2). It need not resist an adversary, only spread ports and addresses.
fn mix(key: &FlowKey) -> u64 {
    let words = [
        key.source as u64,
        (key.source >> 64) as u64,
        key.destination as u64,
        (key.destination >> 64) as u64,
        u64::from(key.ports) << 8 | u64::from(key.protocol),
    ];
    words.iter().fold(0x9e37_79b9_7f4a_7c15, |state, word| {
        let product = u128::from(state ^ word) * 0x6a09_e667_f3bc_c909;
        (product as u64) ^ (product >> 64) as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(port: u32) -> FlowKey {
        FlowKey { source: 1, destination: 2, ports: port, protocol: 17 }
    }

    #[test]
    fn flows_are_numbered_in_the_order_in_which_they_appear() {
        let mut table = FlowTable::new(100);
        for port in 0..100 {
            assert_eq!(table.number(&key(port)), port);
        }
        for port in (0..100).rev() {
            assert_eq!(table.number(&key(port)), port);
        }
    }

    #[test]
    fn a_full_table_shares_numbers_and_stays_stable() {
        let mut table = FlowTable::new(8);
        let first: Vec<_> = (0..1000).map(|port| table.number(&key(port))).collect();
        assert!(first.iter().all(|number| *number < 8));
        let again: Vec<_> = (0..1000).map(|port| table.number(&key(port))).collect();
        assert_eq!(first, again);
        assert_eq!(table.known(), 8);
    }
}
