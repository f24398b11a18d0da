//! The facts about the next packet, and the rank functions that depend on them alone.

use crate::Hints;

/// The facts about the packet that is ranked next.
///
/// One slot is enough for any ids, because hints come directly before their packet.
#[derive(Clone, Debug, Default)]
pub(super) struct Hinted {
    pending: Option<(u64, Hints)>,
}

impl Hinted {
    pub(super) fn put(&mut self, id: u64, hints: &Hints) {
        self.pending = Some((id, *hints));
    }

    /// The facts about packet `id`; the defaults if none were given.
    pub(super) fn take(&mut self, id: u64) -> Hints {
        match self.pending.take() {
            Some((hinted, hints)) if hinted == id => hints,
            _ => Hints::default(),
        }
    }
}

/// A rank function without state and parameters: the rank is computed from facts that travel beside the packet, and
/// from the time. A packet without facts has the defaults.
macro_rules! hinted_rank {
    ($(#[$doc:meta])* $name:ident, needs: $needs:expr, rank: |$hints:ident, $now:ident| $rank:expr, $info:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub struct $name {
            hinted: $crate::ranks::hinted::Hinted,
        }

        impl $name {
            /// A function without pending facts.
            pub fn new() -> Self {
                Self::default()
            }
        }

        impl $crate::RankFn for $name {
            #[inline]
            fn rank(&mut self, packet: &$crate::Packet, $now: ::pifolab_units::Time) -> ::pifolab_units::Rank {
                let $hints = self.hinted.take(packet.id);
                $rank
            }

            #[inline]
            fn hint(&mut self, id: u64, hints: &$crate::Hints) {
                self.hinted.put(id, hints);
            }

            fn needs(&self) -> $crate::Facts {
                $needs
            }
        }

        impl $crate::params::FromArgs for $name {
            const INFO: $crate::params::Info = $info;

            fn from_args(_args: &mut $crate::params::Args) -> Result<Self, $crate::params::ParamError> {
                Ok(Self::new())
            }
        }
    };
}
pub(super) use hinted_rank;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::{FlowSize, RemainingSize, Unacknowledged};
    use crate::{Packet, RankFn};
    use pifolab_units::{Bytes, Rank, Time};

    #[test]
    fn a_size_that_the_sender_tells_is_the_rank_once_and_zero_without_it() {
        let hints = Hints {
            flow_size: Bytes(30_000),
            remaining: Bytes(20_000),
            unacknowledged: Bytes(u64::MAX),
            ..Hints::default()
        };
        let packet = Packet { id: 3, flow: 0, size: 1500, rank: Rank::from(9), arrival: Time::ZERO };
        let functions: [(&mut dyn RankFn, Rank); 3] = [
            (&mut FlowSize::new(), Rank::from(30_000)),
            (&mut RemainingSize::new(), Rank::from(20_000)),
            (&mut Unacknowledged::new(), Rank::MAX),
        ];
        for (function, rank) in functions {
            assert!(function.reads().has_hints());
            function.hint(3, &hints);
            assert_eq!(function.rank(&packet, Time::ZERO), rank);
            assert_eq!(function.rank(&packet, Time::ZERO), Rank::ZERO);
        }
    }

    #[test]
    fn hints_belong_to_the_next_packet_only() {
        let mut hinted = Hinted::default();
        let hints = Hints { remaining: Bytes(5), ..Hints::default() };
        hinted.put(u64::MAX, &hints);
        assert_eq!(hinted.take(u64::MAX), hints);
        assert_eq!(hinted.take(u64::MAX), Hints::default());
        hinted.put(1, &hints);
        assert_eq!(hinted.take(2), Hints::default());
    }
}
