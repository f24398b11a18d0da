//! Compares a compiled policy with the policy's tree.

use super::{Charge, Compiled, Node, Policy, Tree};
use pifolab_sched::{Dequeued, Packet, Scheduler};
use pifolab_units::{Ratio, Time};

impl Compiled {
    /// Runs `operations` pushes and pops, the same in every run, on this and on the tree of `policy`. The two must have
    /// the same policy, `ps_per_byte` and `ticks_per_ps`. Returns the number of packets that both popped.
    ///
    /// # Errors
    /// The number, counted from 0, of the first operation with different results.
    ///
    /// # Panics
    /// If `policy` is not the policy that was compiled, or has fewer leaves.
    pub fn compare(
        mut self,
        policy: &Policy,
        ps_per_byte: Ratio,
        ticks_per_ps: u32,
        operations: u64,
    ) -> Result<u64, u64> {
        let tree = Node::of_policy(policy, ps_per_byte, ticks_per_ps).charge(Charge::Arrival).build();
        let mut tree: Tree = tree.expect("a policy that was parsed is a tree");
        let leaves = policy.classes().len() as u64;
        let (mut state, mut now, mut popped) = (5u64, 0, 0);
        for id in 0..operations {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let draw = state >> 33;
            now += draw % 3;
            let time = Time::from_ps(now);
            // Phases of arrivals and of departures, so that leaves fill and become empty.
            let pushes = if (id / (operations / 40).max(1)).is_multiple_of(2) { 60 } else { 40 };
            if (draw >> 8) % 100 < pushes {
                let leaf = (draw >> 16) % leaves;
                let packet = || Packet { id, flow: leaf as u32, size: 1 + draw as u32 % 5, ..Packet::default() };
                assert!(tree.enqueue(packet(), time).is_admitted(), "leaves are without bound");
                self.push(leaf as usize, packet(), time);
                continue;
            }
            let expected = match tree.dequeue(time) {
                Dequeued::Packet { packet, .. } => Some(packet.id),
                _ => None,
            };
            if self.pop(time).map(|packet| packet.id) != expected {
                return Err(id);
            }
            popped += u64::from(expected.is_some());
        }
        Ok(popped)
    }
}
