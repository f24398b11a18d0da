//! PIFO.

use crate::draw::single_buffer;
use crate::line::{Property, Suite, Vectors, line};
use crate::oracle::Buffer;
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};
use Property::{Evicts, EvictsInHeapOrder, LowestRankFirst, TiesInArrivalOrder};
use pifolab_sched::DropReason;

/// Makes room by pushing out the highest ranks, the latest arrivals first. `None` if the packets of higher rank than
/// the arriving one do not free enough space. The buffer is in order of arrival.
pub(super) fn push_out(buffer: &mut Buffer, offer: &Offer) -> Option<Vec<u64>> {
    let mut left = buffer.clone();
    let mut evicted = Vec::new();
    while !left.fits(offer) {
        let (place, highest) = left.held.iter().enumerate().max_by_key(|(place, held)| (held.rank, *place))?;
        if highest.rank <= offer.rank {
            return None;
        }
        evicted.push(highest.id);
        left.held.remove(place);
    }
    *buffer = left;
    Some(evicted)
}

/// PIFO, with ties in arrival order or in heap order.
pub struct Pifo {
    buffer: Buffer,
    ranks: Option<u64>,
    heap: bool,
    /// Whether each flow's packets leave in order of arrival.
    flows: bool,
}

impl From<Settings> for Pifo {
    fn from(settings: Settings) -> Self {
        Self {
            buffer: Buffer::new(settings.capacity()),
            ranks: settings.maybe("ranks").map(|ranks| ranks as u64),
            heap: settings.get_word("ties", "fifo") == "heap",
            flows: settings.get_flag("starvation_prevention", false),
        }
    }
}

impl Pifo {
    /// The published simulation: a binary heap in an array, which the arriving packet enters before the overflow is
    /// removed.
    fn enqueue_heap(&mut self, offer: Offer) -> Answer {
        let heap = &mut self.buffer.held;
        heap.push(offer);
        let last = heap.len() - 1;
        sift_up(heap, last);
        if self.buffer.used() <= self.buffer.total() {
            return Answer::admitted(0);
        }
        let heap = &mut self.buffer.held;
        let highest = heap.iter().map(|held| held.rank).max().expect("a packet just joined");
        let victim = heap.iter().rposition(|held| held.rank == highest).expect("one has the highest rank");
        let id = heap[victim].id;
        let last = heap.pop().expect("a packet just joined");
        if victim < heap.len() {
            heap[victim] = last;
            sift_down(heap, victim);
            if heap[victim].id == last.id {
                sift_up(heap, victim);
            }
        }
        if id == offer.id {
            Answer::Dropped(DropReason::Full)
        } else {
            Answer::Admitted { queue: 0, evicted: vec![id] }
        }
    }
}

/// Swaps a packet with its parent until the parent is not larger.
fn sift_up(heap: &mut [Offer], mut place: usize) {
    while place > 0 && heap[(place - 1) / 2].rank > heap[place].rank {
        heap.swap(place, (place - 1) / 2);
        place = (place - 1) / 2;
    }
}

/// Swaps a packet with its smaller child (of equal children the left one) until no child is smaller.
fn sift_down(heap: &mut [Offer], mut place: usize) {
    loop {
        let (left, right) = (2 * place + 1, 2 * place + 2);
        if left >= heap.len() {
            return;
        }
        let child = if right < heap.len() && heap[right].rank < heap[left].rank { right } else { left };
        if heap[place].rank <= heap[child].rank {
            return;
        }
        heap.swap(place, child);
        place = child;
    }
}

impl Oracle for Pifo {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        if self.ranks.is_some_and(|ranks| offer.rank >= ranks) {
            return Answer::Dropped(DropReason::RankOutOfRange);
        }
        if self.heap {
            return self.enqueue_heap(offer);
        }
        match push_out(&mut self.buffer, &offer) {
            None => Answer::Dropped(DropReason::Full),
            Some(evicted) => {
                self.buffer.held.push(offer);
                Answer::Admitted { queue: 0, evicted }
            }
        }
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        let held = &mut self.buffer.held;
        if held.is_empty() {
            return Answer::Empty;
        }
        if self.heap {
            let first = held.swap_remove(0);
            sift_down(held, 0);
            return Answer::Sent(first.id);
        }
        let lowest = (0..held.len()).min_by_key(|place| (held[*place].rank, *place)).expect("a packet waits");
        if self.flows {
            // The flow with the lowest rank sends its earliest packet.
            let flow = held[lowest].flow;
            let earliest = held.iter().find(|offer| offer.flow == flow).expect("it has the lowest").id;
            held.retain(|offer| offer.id != earliest);
            return Answer::Sent(earliest);
        }
        Answer::Sent(held.remove(lowest).id)
    }
}

/// Adds PIFO to the suite, with its three orders.
pub(crate) const SUITE: Suite = Suite {
    lines: &[
        line::<Pifo>("pifo", pifo, &[Evicts, LowestRankFirst, TiesInArrivalOrder]),
        line::<Pifo>("pifo", pifo_heap, &[Evicts, EvictsInHeapOrder, LowestRankFirst]),
        line::<Pifo>("pifo", pifo_flows, &[Evicts]),
    ],
    vectors,
};

fn pifo(source: &mut Source<'_>) -> Settings {
    let mut settings = single_buffer(source);
    if source.once_in(3) {
        settings.integer("ranks", source.pick(&[1u64, 8, 64, 100, 70_000]));
    }
    settings
}

fn pifo_heap(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    settings.integer("capacity_packets", source.from_to(1, 20));
    settings.word("ties", "heap");
    settings
}

fn pifo_flows(source: &mut Source<'_>) -> Settings {
    let mut settings = single_buffer(source);
    settings.flag("starvation_prevention", true);
    settings
}

fn vectors(add: &mut Vectors) {
    add.vector("packets_ties", Ranks::Few, &|s| s.integer("capacity_packets", 6));
    add.vector("bytes", Ranks::Hundred, &|s| s.integer("capacity_bytes", 8_000));
    add.vector("any_rank", Ranks::Any, &|s| s.integer("capacity_packets", 6));
    add.vector("rank_space", Ranks::HeavyTailed, &|s| {
        s.integer("capacity_packets", 6);
        s.integer("ranks", 65_536);
    });
    add.vector("heap_ties", Ranks::Few, &|s| {
        s.integer("capacity_packets", 9);
        s.word("ties", "heap");
    });
    add.vector("starvation_prevention", Ranks::Hundred, &|s| {
        s.integer("capacity_packets", 9);
        s.flag("starvation_prevention", true);
    });
}
