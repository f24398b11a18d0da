//! First in, first out, with tail drop.

use crate::draw::single_buffer;
use crate::line::{FIFO, Suite, Vectors, line};
use crate::oracle::{Buffer, serve_first, store};
use crate::{Answer, Offer, Oracle, Ranks, Settings};

/// First in, first out, with tail drop.
pub struct Fifo([Buffer; 1]);

impl From<Settings> for Fifo {
    fn from(settings: Settings) -> Self {
        Self([Buffer::new(settings.capacity())])
    }
}

impl Oracle for Fifo {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        store(&mut self.0, 0, offer)
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        serve_first(&mut self.0)
    }
}

/// Adds FIFO to the suite.
pub(crate) const SUITE: Suite = Suite { lines: &[line::<Fifo>("fifo", single_buffer, FIFO)], vectors };

fn vectors(add: &mut Vectors) {
    add.vector("packets", Ranks::Few, &|s| s.integer("capacity_packets", 5));
    add.vector("bytes", Ranks::Few, &|s| s.integer("capacity_bytes", 5_000));
}
