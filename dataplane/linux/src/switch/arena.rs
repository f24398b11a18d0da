//! Frames at rest: equal slots in one block of memory, made in advance.

/// A VLAN tag that the kernel took out of a frame on reception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanTag {
    /// Tag protocol identifier (0x8100 or 0x88a8).
    pub protocol: u16,
    /// Tag control information: priority and VLAN number.
    pub control: u16,
}

/// Names a frame in an [`Arena`].
pub type Slot = u32;

/// Holds frames in slots of equal size.
#[derive(Debug)]
pub struct Arena {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
    free: Vec<Slot>,
    slot_size: usize,
}

impl Arena {
    /// Room for `slots` frames of up to `slot_size` bytes.
    pub fn new(slots: usize, slot_size: usize) -> Self {
        let count = Slot::try_from(slots).expect("an arena has less than 2^32 slots");
        Self { bytes: vec![0; slots * slot_size], lengths: vec![0; slots], free: (0..count).rev().collect(), slot_size }
    }

    /// Makes room for `slots` frames, if there is less.
    pub fn grow_to(&mut self, slots: usize) {
        let before = self.lengths.len();
        if slots <= before {
            return;
        }
        let count = Slot::try_from(slots).expect("an arena has less than 2^32 slots");
        self.bytes.resize(slots * self.slot_size, 0);
        self.lengths.resize(slots, 0);
        self.free.extend((before as Slot..count).rev());
    }

    /// Stores a frame, with its VLAN tag back in place; `None` if no slot is free or the frame is too long for one.
    #[inline]
    pub fn store(&mut self, frame: &[u8], vlan: Option<VlanTag>) -> Option<Slot> {
        let length = frame.len() + if vlan.is_some() { 4 } else { 0 };
        if length > self.slot_size || frame.len() < 12 {
            return None;
        }
        let slot = self.free.pop()?;
        let start = slot as usize * self.slot_size;
        let place = &mut self.bytes[start..start + length];
        match vlan {
            None => place.copy_from_slice(frame),
            Some(tag) => {
                place[..12].copy_from_slice(&frame[..12]);
                place[12..14].copy_from_slice(&tag.protocol.to_be_bytes());
                place[14..16].copy_from_slice(&tag.control.to_be_bytes());
                place[16..].copy_from_slice(&frame[12..]);
            }
        }
        self.lengths[slot as usize] = length as u32;
        Some(slot)
    }

    /// The frame in `slot`. It stays readable until the slot is used again.
    #[inline]
    pub fn frame(&self, slot: Slot) -> &[u8] {
        let start = slot as usize * self.slot_size;
        &self.bytes[start..start + self.lengths[slot as usize] as usize]
    }

    /// The frame in `slot`, to be changed.
    #[inline]
    pub fn frame_mut(&mut self, slot: Slot) -> &mut [u8] {
        let start = slot as usize * self.slot_size;
        &mut self.bytes[start..start + self.lengths[slot as usize] as usize]
    }

    /// Gives a slot back.
    #[inline]
    pub fn release(&mut self, slot: Slot) {
        debug_assert!(self.free.len() < self.lengths.len(), "slot {slot} was not taken");
        self.free.push(slot);
    }

    /// Frames held.
    pub fn held(&self) -> usize {
        self.lengths.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_as_it_was_with_its_tag_in_place() {
        let mut arena = Arena::new(2, 64);
        let frame: Vec<u8> = (0..40).collect();
        let plain = arena.store(&frame, None).expect("a free slot");
        let tag = VlanTag { protocol: 0x8100, control: 7 };
        let tagged = arena.store(&frame, Some(tag)).expect("a free slot");
        assert_eq!(arena.frame(plain), frame);
        assert_eq!(arena.frame(tagged)[..16], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0x81, 0, 0, 7]);
        assert_eq!(arena.frame(tagged)[16..], frame[12..]);
        assert_eq!(arena.store(&frame, None), None);
        arena.release(plain);
        assert_eq!(arena.held(), 1);
        assert!(arena.store(&frame, None).is_some());
    }

    #[test]
    fn frames_that_do_not_fit_are_refused() {
        let mut arena = Arena::new(2, 64);
        assert_eq!(arena.store(&[0; 65], None), None);
        assert_eq!(arena.store(&[0; 62], Some(VlanTag { protocol: 0x8100, control: 0 })), None);
        assert_eq!(arena.held(), 0);
    }
}
