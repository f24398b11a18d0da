//! Events in the order in which they were scheduled: lists of chunks, so that a long list is read line by line.

/// No chunk; no name.
pub(super) const NONE: u32 = u32::MAX;

/// An event and its time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry<E> {
    pub(super) time: u64,
    pub(super) event: E,
}

/// An event in a list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Listed<E> {
    pub(super) entry: Entry<E>,
    /// The name by which it can be cancelled, or `NONE`.
    pub(super) name: u32,
}

/// Some events of a list. Two cache lines, if an event is one word.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Chunk<E> {
    /// The next chunk; of the last one of a list, the first.
    next: u32,
    len: u32,
    events: [Listed<E>; 5],
}

impl<E> Chunk<E> {
    pub(super) fn events(&self) -> &[Listed<E>] {
        &self.events[..self.len as usize]
    }
}

/// The chunks of all lists, those of the free list among them. A list is known by its last chunk; `NONE` is an empty one.
#[derive(Debug)]
pub(super) struct Lists<E> {
    chunks: Vec<Chunk<E>>,
    free: u32,
    /// Events in all lists.
    pub(super) held: usize,
}

impl<E> Default for Lists<E> {
    fn default() -> Self {
        Self { chunks: Vec::new(), free: NONE, held: 0 }
    }
}

impl<E: Copy> Lists<E> {
    /// Adds an event at the end of a list.
    pub(super) fn push(&mut self, last: &mut u32, event: Listed<E>) {
        self.held += 1;
        let room = self.chunks.get_mut(*last as usize).filter(|chunk| (chunk.len as usize) < chunk.events.len());
        let Some(chunk) = room else { return self.begin_chunk(last, event) };
        chunk.events[chunk.len as usize] = event;
        chunk.len += 1;
    }

    /// Adds a chunk with this event at the end of a list.
    fn begin_chunk(&mut self, last: &mut u32, event: Listed<E>) {
        let mut chunk = Chunk { next: NONE, len: 1, events: [event; 5] };
        let number = match self.chunks.get(self.free as usize) {
            Some(free) => std::mem::replace(&mut self.free, free.next),
            None => {
                self.chunks.push(chunk);
                self.chunks.len() as u32 - 1
            }
        };
        chunk.next = match self.chunks.get_mut(*last as usize) {
            Some(before) => std::mem::replace(&mut before.next, number),
            None => number,
        };
        self.chunks[number as usize] = chunk;
        *last = number;
    }

    /// Takes the first chunk out of a list.
    pub(super) fn take_chunk(&mut self, last: &mut u32) -> Option<Chunk<E>> {
        let first = self.chunks.get(*last as usize)?.next;
        let chunk = self.chunks[first as usize];
        if first == *last {
            *last = NONE;
        } else {
            self.chunks[*last as usize].next = chunk.next;
        }
        self.chunks[first as usize].next = self.free;
        self.free = first;
        self.held -= chunk.len as usize;
        Some(chunk)
    }

    /// When the earliest event of a list is due.
    pub(super) fn first_time(&self, last: u32) -> Option<u64> {
        let mut next = Some(self.chunks.get(last as usize)?.next);
        let chunks = std::iter::from_fn(|| {
            let number = next?;
            let chunk = &self.chunks[number as usize];
            next = (number != last).then_some(chunk.next);
            Some(chunk)
        });
        chunks.flat_map(Chunk::events).map(|listed| listed.entry.time).min()
    }
}

/// The names of events that can be cancelled.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Of each name how often it was given and ended; the lowest bit tells that this use was cancelled.
    generations: Vec<u32>,
    free: Vec<u32>,
    /// Names that are cancelled, and whose events are still somewhere.
    pub(super) cancelled: usize,
}

impl Names {
    /// A name for an event, and its generation.
    pub(super) fn give(&mut self) -> (u32, u32) {
        let name = self.free.pop().unwrap_or_else(|| {
            self.generations.push(0);
            self.generations.len() as u32 - 1
        });
        (name, self.generations[name as usize])
    }

    /// Cancels the event of this name, if it still is.
    pub(super) fn cancel(&mut self, name: u32, generation: u32) -> bool {
        let Some(current) = self.generations.get_mut(name as usize).filter(|current| **current == generation) else {
            return false;
        };
        *current |= 1;
        self.cancelled += 1;
        true
    }

    /// Ends the use of a name; returns whether its event was cancelled. What has none was not.
    pub(super) fn end(&mut self, name: u32) -> bool {
        let Some(generation) = self.generations.get_mut(name as usize) else { return false };
        let cancelled = *generation & 1 != 0;
        *generation = (*generation | 1).wrapping_add(1);
        self.free.push(name);
        self.cancelled -= usize::from(cancelled);
        cancelled
    }
}
