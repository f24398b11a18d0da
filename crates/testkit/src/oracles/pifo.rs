//! FIFO, PIFO and PIEO.

use crate::oracle::{Buffer, serve_first, store};
use crate::{Answer, Offer, Oracle, Settings};
use pifolab_sched::DropReason;

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

/// Makes room by pushing out the highest ranks, latest first, if they are higher than the arriving packet's and that is
/// enough; `None` if not. The buffer is in arrival order.
fn push_out(buffer: &mut Buffer, offer: &Offer) -> Option<Vec<u64>> {
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
    /// Each flow in the order of arrival.
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
    /// The published simulation: a binary heap in an array, the arriving packet first joining it.
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

/// Swaps a packet with its parent until that is not larger.
fn sift_up(heap: &mut [Offer], mut place: usize) {
    while place > 0 && heap[(place - 1) / 2].rank > heap[place].rank {
        heap.swap(place, (place - 1) / 2);
        place = (place - 1) / 2;
    }
}

/// Swaps a packet with its smaller child, the left of two equal ones, until neither is smaller.
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
            // By flow: the lowest rank of each, and its packets as they came.
            let flow = held[lowest].flow;
            let earliest = held.iter().find(|offer| offer.flow == flow).expect("it has the lowest").id;
            held.retain(|offer| offer.id != earliest);
            return Answer::Sent(earliest);
        }
        Answer::Sent(held.remove(lowest).id)
    }
}

/// PIEO.
pub struct Pieo(Buffer);

impl From<Settings> for Pieo {
    fn from(settings: Settings) -> Self {
        Self(Buffer::new(settings.capacity()))
    }
}

impl Oracle for Pieo {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        match push_out(&mut self.0, &offer) {
            None => Answer::Dropped(DropReason::Full),
            Some(evicted) => {
                self.0.held.push(offer);
                Answer::Admitted { queue: 0, evicted }
            }
        }
    }

    fn dequeue(&mut self, now_ns: u64) -> Answer {
        let held = &mut self.0.held;
        let eligible = (0..held.len()).filter(|place| held[*place].eligible_ns <= now_ns);
        match eligible.min_by_key(|place| (held[*place].rank, *place)) {
            Some(place) => Answer::Sent(held.remove(place).id),
            None => held.iter().map(|held| held.eligible_ns).min().map_or(Answer::Empty, Answer::NotBefore),
        }
    }
}
