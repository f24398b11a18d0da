//! The sliding window of AIFO and PACKS, and its quantile test: `bpf/window.h`.

use crate::Result;
use crate::ebpf::intf::{EMPTY_SLOT, MAX_WINDOW, Shared, shared};
use crate::ebpf::maps::Maps;
use crate::ebpf::program::STATE;
use crate::ebpf::reader::{Memory, Reader};
use pifolab_sched::schedulers::{Headroom, Quantile, Update, WindowOptions};
use pifolab_units::Ratio;

/// The frozen parameters of the window.
pub const WINDOW: &str = ".rodata.window";

shared! {
    /// `struct window_parameters`.
    Frozen {
        /// The weight of one counted rank in the quantile test.
        weight: u64,
        /// The denominator of k.
        scale: u64,
        /// The number added to every rank in the window.
        shift: i64,
        /// The number of slots.
        slots: u32,
        /// Whether equal ranks count.
        lower_or_equal: u32,
        /// Whether the rank enters the window after the quantile is computed.
        update_after: u32,
        /// Unused.
        spare: u32,
    }

    /// `struct window_registers`.
    Window {
        /// The ranks, as a ring.
        ranks: [u64; MAX_WINDOW],
        /// The slot of the next rank.
        next: u32,
        /// The number of ranks held.
        held: u32,
        /// The number of packets until the next sampled one.
        unsampled: u32,
        /// Unused.
        spare: u32,
        /// The highest rank so far.
        highest: u64,
    }
}

impl Window {
    /// A window of `slots` slots with the newest of `ranks`, oldest first. Other fields are those of `old`.
    pub fn holding(ranks: &[u64], slots: usize, old: &Self) -> Self {
        let newest = &ranks[ranks.len().saturating_sub(slots)..];
        let mut state = Self { ranks: [EMPTY_SLOT; MAX_WINDOW], ..*old };
        state.ranks[..newest.len()].copy_from_slice(newest);
        state.held = newest.len() as u32;
        state.next = if newest.len() == slots { 0 } else { newest.len() as u32 };
        state
    }

    /// The ranks of a window of `slots` slots, oldest first.
    pub fn in_order(&self, slots: usize) -> Vec<u64> {
        let (held, next) = (self.held as usize, self.next as usize);
        let start = if held < slots { 0 } else { next };
        (0..held).map(|place| self.ranks[(start + place) % slots]).collect()
    }
}

/// The memory of the window, and of the quantile test with `k` over `total` units in `parts` parts. Also returns the number
/// of slots.
pub(super) fn read(
    reader: &Reader,
    window: &WindowOptions<'_>,
    k: Ratio,
    total: u64,
    parts: u64,
) -> Result<(Memory, u64)> {
    let slots = u64::from(window.size);
    if slots > MAX_WINDOW as u64 {
        return Err(reader.unsupported(format!("a window of {slots} ranks: expected at most {MAX_WINDOW}")));
    }
    // The largest product in the test: |W| * B * n * the denominator of k.
    let largest = u128::from(slots) * u128::from(total) * u128::from(parts) * u128::from(k.denominator());
    if largest > u128::from(u64::MAX) {
        return Err(reader.unsupported(format!(
            "arithmetic beyond 64 bits: window {slots} x capacity {total} x {parts} x denominator {} of k is too large",
            k.denominator()
        )));
    }
    let headroom = Headroom::new(k, total);
    let parameters = Frozen {
        // At most the largest product.
        weight: headroom.sheltered() as u64 * parts,
        scale: headroom.scale(),
        shift: window.shift,
        slots: slots as u32,
        lower_or_equal: (window.quantile == Quantile::LowerOrEqual).into(),
        update_after: (window.update == Update::After).into(),
        spare: 0,
    };
    let start: Vec<u64> = window.start.iter().map(|rank| rank.get()).collect();
    let mut state = Window::holding(&start, slots as usize, &Window::zeroed());
    state.highest = start.iter().max().copied().unwrap_or(0);
    Ok((Memory::default().section(WINDOW, &parameters).section(STATE, &state), slots))
}

/// The contents of the window, in a window of another size. Packets that arrive before the new program is attached are
/// missing.
pub(super) fn carry(old: &dyn Maps, new: &Memory) -> Result<Option<Vec<u8>>> {
    let state: Window = old.get(STATE)?;
    let ranks = state.in_order(old.get::<Frozen>(WINDOW)?.slots as usize);
    let slots = new.get::<Frozen>(WINDOW)?.slots as usize;
    Ok(Some(Window::holding(&ranks, slots, &state).bytes().to_vec()))
}
