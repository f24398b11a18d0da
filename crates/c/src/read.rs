//! Flows and ranks of Ethernet frames.

use crate::border::pifolab_status::*;
use crate::border::{
    PIFOLAB_BURST, PIFOLAB_FLOWS, PIFOLAB_RANK_MAX, PIFOLAB_TIME_MAX, pifolab_frame, pifolab_packet, pifolab_status,
};
use crate::{Failure, failure, guarded, pifolab_scheduler, tell, used, utf8};
use pifolab_frames::RankSource;
use pifolab_frames::flows::{FlowNumber, FlowTable};
use pifolab_frames::frame::{FlowKey, Kind, parse};
use pifolab_frames::reader::RankReader;
use pifolab_units::{Rank, Span, Time};
use std::ffi::c_char;
use std::slice;

/// A reader of frames. One thread at a time may use it.
pub struct pifolab_reader {
    ranks: RankReader,
    /// The rank of frames that are not IP.
    not_ip: Rank,
    /// The table that numbers flows, if flows are distinguished.
    flows: Option<FlowTable>,
    /// How often a flow was forgotten for another one.
    forgotten: u64,
}

impl pifolab_reader {
    /// In Rust: a reader of ranks, and a table of flows if these are distinguished.
    ///
    /// # Panics
    /// If the table has room for fewer than PIFOLAB_BURST flows: a flow could be forgotten by a later packet of its own burst.
    pub fn of(ranks: RankReader, not_ip: Rank, flows: Option<FlowTable>) -> Self {
        assert!(flows.as_ref().is_none_or(|flows| flows.limit() >= PIFOLAB_BURST), "a burst has more flows");
        Self { ranks, not_ip, flows, forgotten: 0 }
    }

    /// How often a flow was forgotten, for another one or after a long silence.
    pub const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    #[inline]
    fn read(
        &mut self,
        frame: &[u8],
        now: Time,
        scheduler: Option<&mut pifolab_scheduler>,
    ) -> (u64, u32, pifolab_frame) {
        let (rank, key, what) = match parse(frame, self.ranks.reads_labels()) {
            Kind::Ip(headers) => match self.ranks.read(frame, &headers) {
                Some(rank) => (rank, headers.flow, pifolab_frame::PIFOLAB_FRAME_IP),
                None => (self.ranks.missing, headers.flow, pifolab_frame::PIFOLAB_FRAME_UNRANKED),
            },
            Kind::Neighbour => (self.not_ip, FlowKey::default(), pifolab_frame::PIFOLAB_FRAME_NEIGHBOUR),
            Kind::Other => (self.not_ip, FlowKey::default(), pifolab_frame::PIFOLAB_FRAME_OTHER),
        };
        let mut flow = 0;
        if let Some(flows) = &mut self.flows {
            let FlowNumber { number, replaces } = flows.number(&key, now);
            flow = number;
            if replaces {
                self.forgotten += 1;
                if let Some(scheduler) = scheduler {
                    scheduler.marked(|scheduler| scheduler.engine.forget_flow(number));
                }
            }
        }
        (rank.get(), flow, what)
    }
}

/// Makes a reader of Ethernet frames.
///
/// `rank` is the source of ranks: "dscp", "dscp:phb", "dscp:46=0,34=1", "payload:OFFSET:WIDTH", "vlan" or "mpls"; NULL:
/// a rank function computes them. IP packets that carry none get `missing_rank`, frames that are not IP `not_ip_rank`.
///
/// `flows` is the number of flows that are distinguished: 0 (all packets have flow 0), or from PIFOLAB_BURST to
/// PIFOLAB_FLOWS. If all numbers are taken, a new flow gets the number of the flow that was silent longest. A flow that
/// was silent for longer than `timeout_ps` (0: never) counts as new.
///
/// Writes the reader to `made`, to be freed by pifolab_reader_free; writes NULL on failure.
///
/// `rank` is NULL or ends in a zero byte; `made` may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_reader_new(
    rank: *const c_char,
    missing_rank: u64,
    not_ip_rank: u64,
    flows: u32,
    timeout_ps: u64,
    made: *mut *mut pifolab_reader,
) -> pifolab_status {
    // SAFETY: as this function's own promise.
    unsafe { tell(made, std::ptr::null_mut()) };
    guarded(|| {
        // SAFETY: as this function's own promise.
        let text = unsafe { utf8(rank, "rank")? };
        if made.is_null() {
            return Err(failure(PIFOLAB_NULL_POINTER, "made is NULL"));
        }
        let bad = |why: String| failure(PIFOLAB_BAD_PARAMETER, why);
        let source = text.map(source).transpose()?;
        let given = |what: &str, rank: u64| {
            Rank::new(rank).ok_or_else(|| bad(format!("{what} = {rank}: expected at most {PIFOLAB_RANK_MAX}")))
        };
        let (missing, not_ip) = (given("missing_rank", missing_rank)?, given("not_ip_rank", not_ip_rank)?);
        if flows != 0 && !(PIFOLAB_BURST..=PIFOLAB_FLOWS).contains(&flows) {
            return Err(bad(format!("flows = {flows}: expected 0, or from {PIFOLAB_BURST} to {PIFOLAB_FLOWS}")));
        }
        if timeout_ps > PIFOLAB_TIME_MAX {
            return Err(bad(format!("timeout_ps = {timeout_ps}: expected at most {PIFOLAB_TIME_MAX}")));
        }
        let flows = (flows != 0).then(|| FlowTable::new(flows, Span::from_ps(timeout_ps)));
        let reader = pifolab_reader::of(RankReader::new(source, missing), not_ip, flows);
        // SAFETY: as this function's own promise.
        unsafe { made.write(Box::into_raw(Box::new(reader))) };
        Ok(())
    })
}

/// A place in the frame.
fn source(text: &str) -> Result<RankSource, Failure> {
    match text.parse() {
        Ok(RankSource::Mark | RankSource::Table) => {
            Err(failure(PIFOLAB_BAD_RANK, format!("{text:?}: frames do not carry it: compute the rank yourself")))
        }
        Ok(RankSource::Las | RankSource::Stfq) => Err(failure(
            PIFOLAB_BAD_RANK,
            format!("{text:?} is a rank function: give it to pifolab_new, and NULL to the reader"),
        )),
        Ok(source) => Ok(source),
        Err(why) => Err(failure(PIFOLAB_BAD_RANK, why)),
    }
}

/// Frees a reader. NULL is allowed.
///
/// `reader` comes from pifolab_reader_new and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_reader_free(reader: *mut pifolab_reader) {
    if !reader.is_null() {
        // SAFETY: as this function's own promise.
        drop(unsafe { Box::from_raw(reader) });
    }
}

/// Reads `count` frames (at most PIFOLAB_BURST) that arrive at the time `now_ps`: frame i has `lengths[i]` bytes from
/// `frames[i]` on, the destination address first. Writes rank, flow and size of each to `packets`, and leaves the index
/// as it is. `what`, if not NULL, has room for `count` values: the kind of each frame.
///
/// `scheduler`, if not NULL, is the scheduler that gets these packets: its rank function forgets the flows that the
/// reader forgets.
///
/// Arrays have the room that is stated; `reader` comes from pifolab_reader_new, `scheduler` from pifolab_new, and both are used by one
/// thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pifolab_read(
    reader: *mut pifolab_reader,
    scheduler: *mut pifolab_scheduler,
    frames: *const *const u8,
    lengths: *const u32,
    count: u32,
    now_ps: u64,
    packets: *mut pifolab_packet,
    what: *mut pifolab_frame,
) -> pifolab_status {
    guarded(|| {
        let null = |what: &str| failure(PIFOLAB_NULL_POINTER, format!("{what} is NULL"));
        // SAFETY: as this function's own promise.
        let reader = unsafe { reader.as_mut() }.ok_or_else(|| null("reader"))?;
        // SAFETY: as this function's own promise.
        let mut scheduler = if scheduler.is_null() { None } else { Some(unsafe { used(scheduler)? }) };
        if count > PIFOLAB_BURST {
            return Err(failure(PIFOLAB_TOO_MANY, format!("{count} frames: expected at most {PIFOLAB_BURST}")));
        }
        if now_ps > PIFOLAB_TIME_MAX {
            return Err(failure(PIFOLAB_BAD_TIME, format!("the time {now_ps} ps is above {PIFOLAB_TIME_MAX} ps")));
        }
        if count == 0 {
            return Ok(());
        }
        for (array, name) in
            [(frames.is_null(), "frames"), (lengths.is_null(), "lengths"), (packets.is_null(), "packets")]
        {
            if array {
                return Err(null(name));
            }
        }
        let now = Time::from_ps(now_ps);
        // SAFETY: as this function's own promise.
        let (frames, lengths, packets) = unsafe {
            let count = count as usize;
            (
                slice::from_raw_parts(frames, count),
                slice::from_raw_parts(lengths, count),
                slice::from_raw_parts_mut(packets, count),
            )
        };
        if let Some(at) = frames.iter().position(|frame| frame.is_null()) {
            return Err(null(&format!("frames[{at}]")));
        }
        for (at, packet) in packets.iter_mut().enumerate() {
            // SAFETY: as this function's own promise.
            let frame = unsafe { slice::from_raw_parts(frames[at], lengths[at] as usize) };
            let (rank, flow, found) = reader.read(frame, now, scheduler.as_deref_mut());
            (packet.rank, packet.flow, packet.size) = (rank, flow, lengths[at]);
            if !what.is_null() {
                // SAFETY: as this function's own promise.
                unsafe { what.add(at).write(found) };
            }
        }
        Ok(())
    })
}
