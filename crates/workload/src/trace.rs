//! Trace replay: packets of a capture (pcap, pcapng, snoop) or of a CSV file, as arrivals at one link.
//!
//! Files are plain or gzip and are read as a stream. The first bytes determine the format. A packet has its original
//! length at the capture's link layer (an Ethernet frame without its check sequence), also if the capture truncated it.
//! Times start at 0 with the first packet and are divided by an exact speed-up factor.
//!
//! A flow is the 5-tuple of addresses, protocol and ports. Ports are 0 for protocols without ports and for later
//! fragments. Flows have dense numbers in order of appearance in the file. All packets that are not IP or have an
//! invalid IP header form one more flow; so do all packets without captured addresses. The flow of a readable tunnel is
//! that of the inner packet. [`TraceCounts`] counts the packets without a complete flow, by reason.
//!
//! A packet that cannot be replayed is left out, and so is an incomplete last packet ([`TraceReader::left_out`]). A
//! trace without packets is an error, and so is a trace without any readable packet.
//!
//! A CSV file may contain the earliest departure time of each packet ([`TraceReader::eligible`]).
//!
//! Captures of several queues or interfaces can be slightly out of order. A packet earlier than its predecessor is an
//! error with the packet's number, unless [`OutOfOrder::Sort`] is selected. Then the reader loads the whole trace and
//! sorts it by time; equal times keep the order of the file.

mod csv;
mod dissect;
mod flow_table;
mod pcap;
mod pcapng;
mod record;
mod window;

#[cfg(test)]
mod capture_builder;
#[cfg(test)]
mod encapsulation_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tunnel_tests;

use crate::input::{self, Input};
use crate::{Arrival, FileError, Place};
use csv::CsvTrace;
pub use dissect::TraceLabels;
use dissect::{Contents, Known};
pub use flow_table::BothWays;
use flow_table::{FlowTable, Nameless};
use pcap::Pcap;
use pcapng::Pcapng;
use pifolab_units::{Rank, RankMap, Ratio, Span, Time};
use record::{At, Faults};
use std::io::{BufRead, Read};
use std::path::Path;
use window::Window;

/// The source of a packet's rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceRank {
    /// The DSCP field of the (outermost) IP header, 0 to 63. Packets that are not IP get 0.
    Dscp,
    /// The value that this map assigns to that field; packets that are not IP count as DSCP 0.
    DscpBy(RankMap),
    /// An unsigned integer in the transport payload. A packet without these payload bytes, sent or captured, gets 0 and
    /// is counted ([`TraceCounts::unranked`]). If the capture truncated the integers of all packets, that is an error.
    Payload {
        /// Bytes from the start of the TCP or UDP payload.
        offset: u32,
        /// The integer's width.
        width: RankWidth,
        /// The integer's byte order.
        order: ByteOrder,
    },
    /// The column `rank` of a CSV file.
    Column,
    /// 0; a rank function computes the rank later.
    Later,
}

/// The width of a rank in the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankWidth {
    /// 1 byte.
    One,
    /// 2 bytes.
    Two,
    /// 4 bytes.
    Four,
    /// 8 bytes; values above 2^63 - 1 become 2^63 - 1.
    Eight,
}

pifolab_params::choices! {
    /// The order of the bytes of an integer.
    pub enum ByteOrder {
        Big = "big": "most significant byte first",
        Little = "little": "least significant byte first",
    }
}

pifolab_params::choices! {
    /// The reaction to a packet with an earlier timestamp than its predecessor.
    pub enum OutOfOrder {
        Error = "error": "stop and name the packet",
        Sort = "sort": "sort the trace by time",
    }
}

/// The options of a trace reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// The source of ranks.
    pub rank: TraceRank,
    /// The factor by which the replay is faster than the recording; above 0.
    pub speed_up: Ratio,
    /// The reaction to packets out of order.
    pub out_of_order: OutOfOrder,
}

/// The counts of the packets read so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCounts {
    /// All packets replayed.
    pub packets: u64,
    /// Packets that are not IP, are encrypted by the link, or have an invalid IP header: one flow.
    pub not_ip: u64,
    /// Packets captured without their addresses: one flow.
    pub short: u64,
    /// Packets with an inconsistent record: an invalid fraction of a second, or more bytes captured than sent. Times
    /// and lengths are those of the record.
    pub odd: u64,
    /// Packets whose time in a CSV file is finer than a picosecond and is rounded.
    pub rounded: u64,
    /// Packets in a tunnel with unreadable content (encrypted, truncated by the capture, not IP): the flow is that of
    /// the tunnel's end points.
    pub tunnels: u64,
    /// Later fragments, which contain no ports: the flow is that of the addresses.
    pub fragments: u64,
    /// Packets captured with fewer bytes than their length.
    pub cut: u64,
    /// Packets without the payload bytes that hold the rank.
    pub unranked: u64,
    /// Packets left out because they cannot be replayed; not included in `packets`.
    pub skipped: u64,
}

impl TraceCounts {
    /// The counts that are 0 in most traces, if above 0, with their keys in manifests.
    pub fn rare(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let counts = [("short_packets", self.short), ("odd_packets", self.odd), ("rounded_times", self.rounded)];
        counts.into_iter().filter(|(_, count)| *count > 0)
    }
}

/// The packets of a trace as arrivals.
///
/// ```
/// use pifolab_units::Ratio;
/// use pifolab_workload::trace::{OutOfOrder, TraceOptions, TraceRank, TraceReader};
/// let options =
///     TraceOptions { rank: TraceRank::Column, speed_up: Ratio::ONE, out_of_order: OutOfOrder::Error };
/// let csv = "time_us,size_bytes,rank,flow\n100,1500,7,web\n100.5,64,3,dns\n";
/// let arrivals: Result<Vec<_>, _> = TraceReader::new(csv.as_bytes(), "trace.csv", options)?.collect();
/// let second = arrivals?[1];
/// assert_eq!((second.time.as_ns(), second.bytes, second.rank.get(), second.flow), (500, 64, 3, 1));
/// # Ok::<(), pifolab_workload::FileError>(())
/// ```
pub struct TraceReader<'a> {
    records: Records<'a>,
    clock: Clock,
    sorted: Option<std::vec::IntoIter<SortedRecord>>,
    zipped: bool,
    /// The labels of the last returned packet.
    labels: TraceLabels,
    /// The eligible time of the last returned packet.
    eligible: Time,
    held_back: bool,
    failed: bool,
}

impl TraceReader<'static> {
    /// Opens the trace at `path`.
    ///
    /// # Errors
    /// If the file cannot be opened, is empty, or is neither a capture nor a CSV trace, or if `options` do not fit the
    /// file. With [`OutOfOrder::Sort`] also if any packet is invalid.
    pub fn open(path: &Path, options: TraceOptions) -> Result<Self, FileError> {
        Self::from_input(input::open(path)?, options, u64::MAX)
    }
}

impl<'a> TraceReader<'a> {
    /// Reads the trace in `content`; errors name it `file`.
    ///
    /// # Errors
    /// As [`TraceReader::open`].
    pub fn new(content: impl Read + Send + 'a, file: &str, options: TraceOptions) -> Result<Self, FileError> {
        Self::within(content, file, options, u64::MAX)
    }

    /// Like [`new`](Self::new), with a limit for [`OutOfOrder::Sort`]: a trace of more than `most_sorted` packets,
    /// which must all be in memory, is an error.
    ///
    /// # Errors
    /// As [`open`](TraceReader::open), or if the trace exceeds the limit.
    pub fn within(
        content: impl Read + Send + 'a,
        file: &str,
        options: TraceOptions,
        most_sorted: u64,
    ) -> Result<Self, FileError> {
        Self::from_input(input::from_reader(content, file)?, options, most_sorted)
    }

    fn from_input(input: Input<'a>, options: TraceOptions, most_sorted: u64) -> Result<Self, FileError> {
        if options.speed_up == Ratio::ZERO {
            return Err(FileError::new(&input.file, Place::File, "speed-up 0: expected a factor above 0"));
        }
        let clock = Clock { speed_up: options.speed_up, first: None, last: 0, file: input.file.clone() };
        let zipped = input.zipped;
        let mut reader = Self {
            zipped,
            records: Records::open(input, options.rank)?,
            clock,
            sorted: None,
            labels: TraceLabels::default(),
            eligible: Time::ZERO,
            held_back: false,
            failed: false,
        };
        if options.out_of_order == OutOfOrder::Sort {
            let mut all = Vec::new();
            while let Some((at, arrival)) = reader.records.next()? {
                if all.len() as u64 >= most_sorted {
                    let problem = format!(
                        "has over {most_sorted} packets, more than fit into memory to be sorted: sort it beforehand, \
                         such as with editcap or reordercap"
                    );
                    return Err(FileError::new(&reader.clock.file, Place::File, problem));
                }
                let Arrival { bytes, rank, flow, .. } = arrival;
                let labels = reader.records.labels;
                all.push(SortedRecord { time_ps: at.time_ps, hold_ps: at.hold_ps, rank, bytes, flow, labels });
            }
            all.sort_by_key(|record| record.time_ps);
            reader.sorted = Some(all.into_iter());
        }
        Ok(reader)
    }

    /// The counts of the packets read so far.
    pub fn counts(&self) -> TraceCounts {
        self.records.counts()
    }

    /// The labels of the last returned packet.
    pub const fn labels(&self) -> TraceLabels {
        self.labels
    }

    /// The earliest departure time of the last returned packet, at or after its arrival. Equal to the arrival unless a
    /// column of a CSV file (`eligible_ns`, `eligible_us` or `eligible_s`) sets it. Times in that column use the clock
    /// of the time column: the same origin and speed-up.
    pub const fn eligible(&self) -> Time {
        self.eligible
    }

    /// Whether the eligible time of the last returned packet is after its arrival.
    pub const fn is_held_back(&self) -> bool {
        self.held_back
    }

    /// Whether the trace is a CSV file with a column of eligible times.
    pub fn has_eligible(&self) -> bool {
        matches!(&self.records.format, Format::Csv(csv) if csv.has_eligible())
    }

    /// Whether the trace is a CSV file with the column `class`.
    pub fn has_classes(&self) -> bool {
        matches!(&self.records.format, Format::Csv(csv) if csv.has_classes())
    }

    /// Whether packets have headers, as in a capture.
    pub const fn has_headers(&self) -> bool {
        !matches!(&self.records.format, Format::Csv(_))
    }

    /// The file's format: `pcap, times in microseconds`, `pcapng`, `snoop`, or `CSV` with its columns; followed by `,
    /// gzip` for a gzip file.
    pub fn format(&self) -> String {
        let name = match &self.records.format {
            Format::Pcap(pcap) => pcap.name(),
            Format::Pcapng(_) => "pcapng".to_owned(),
            Format::Csv(csv) => csv.name(),
        };
        if self.zipped { name + ", gzip" } else { name }
    }

    /// The time from the first packet to the last returned packet in picoseconds, without the speed-up.
    pub fn elapsed_ps(&self) -> u128 {
        // Not negative, and below 2^127, because both times have about 100 bits.
        self.clock.first.map_or(0, |first| (self.clock.last - first) as u128)
    }

    /// The names of some flows, as in [`flow_names`](Self::flow_names).
    pub fn names_of_flows(&self, flows: &[u32]) -> Vec<String> {
        self.records.flows.names_of(flows)
    }

    /// The names of the flows read so far, by number: `10.0.0.1:80 > 10.0.0.2:4000 tcp`, or the label in the CSV file.
    pub fn flow_names(&self) -> Vec<String> {
        self.records.flows.names()
    }

    /// The two directions of the flows read so far, with `bytes` by number, if most of them have a reverse flow.
    pub fn both_ways(&self, bytes: &[u64]) -> Option<BothWays> {
        self.records.flows.both_ways(bytes)
    }

    /// A description of the packets left out and the reasons, without the file's name. Complete after the whole file is
    /// read.
    pub fn left_out(&self) -> Option<String> {
        self.records.faults().and_then(Faults::text)
    }

    fn advance(&mut self) -> Result<Option<Arrival>, FileError> {
        let (at, mut arrival) = match &mut self.sorted {
            Some(sorted) => match sorted.next() {
                // The places of errors were checked while the file was read. Only a time outside of the range can still
                // fail.
                Some(SortedRecord { time_ps, hold_ps, rank, bytes, flow, labels }) => {
                    self.labels = labels;
                    let arrival = Arrival { time: Time::ZERO, bytes, rank, flow };
                    (At { time_ps, hold_ps, place: Place::File }, arrival)
                }
                None => return Ok(None),
            },
            None => match self.records.next()? {
                Some(record) => {
                    self.labels = self.records.labels;
                    record
                }
                None => return Ok(None),
            },
        };
        arrival.time = self.clock.time(&at)?;
        self.held_back = at.hold_ps > 0;
        self.eligible = if at.hold_ps == 0 { arrival.time } else { self.clock.eligible(&at)? };
        Ok(Some(arrival))
    }
}

impl Iterator for TraceReader<'_> {
    type Item = Result<Arrival, FileError>;

    /// Returns the next packet; after an error, the iterator ends.
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.advance().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

/// A record of a trace to sort.
struct SortedRecord {
    time_ps: i128,
    hold_ps: u64,
    rank: Rank,
    bytes: u32,
    flow: u32,
    labels: TraceLabels,
}

// A small record, because a sorted trace must fit into memory.
const _: () = assert!(size_of::<SortedRecord>() == 64);

/// Converts times of the file to times of the run.
struct Clock {
    speed_up: Ratio,
    first: Option<i128>,
    last: i128,
    file: String,
}

impl Clock {
    #[inline]
    fn time(&mut self, at: &At) -> Result<Time, FileError> {
        let now = at.time_ps;
        let first = *self.first.get_or_insert_with(|| {
            self.last = now;
            now
        });
        if now < self.last {
            let problem = format!(
                "is {} earlier than the previous packet; if it was captured so, sort the trace with --sort (in a \
                 scenario: out_of_order = \"sort\")",
                early((self.last - now) as u128)
            );
            return Err(FileError::new(&self.file, at.place.clone(), problem));
        }
        self.last = now;
        self.scaled(now, first).ok_or_else(|| {
            let problem = "is over 213 days after the first packet: expected a shorter trace, or a faster one with --speed-up (in a \
                           scenario: speed_up)";
            FileError::new(&self.file, at.place.clone(), problem)
        })
    }

    /// The eligible time of the packet whose time was converted last.
    fn eligible(&self, at: &At) -> Result<Time, FileError> {
        let time = at.time_ps.checked_add(i128::from(at.hold_ps));
        time.and_then(|time| self.scaled(time, self.first?)).ok_or_else(|| {
            let problem = "may leave over 213 days after the first packet arrives: expected an earlier time, or a faster trace with \
                           --speed-up (in a scenario: speed_up)";
            FileError::new(&self.file, at.place.clone(), problem)
        })
    }

    /// Scales the time since `first`, which is not later than `time`.
    #[inline]
    fn scaled(&self, time: i128, first: i128) -> Option<Time> {
        // Not negative, and below 2^127, because both times have about 100 bits.
        let since = (time - first) as u128;
        let scaled = if self.speed_up == Ratio::ONE {
            Some(since)
        } else {
            since
                .checked_mul(u128::from(self.speed_up.denominator()))
                .map(|product| product / u128::from(self.speed_up.numerator()))
        };
        u64::try_from(scaled?).ok().map(Time::from_ps)
    }
}

/// Formats a length of time for messages.
fn early(ps: u128) -> String {
    u64::try_from(ps).map_or_else(|_| format!("{} s", ps / 1_000_000_000_000), |ps| Span::from_ps(ps).to_string())
}

/// The records of a trace in any format, with ranks and flows, and with times as in the file.
struct Records<'a> {
    format: Format<'a>,
    rank: TraceRank,
    flows: FlowTable,
    counts: TraceCounts,
    /// The labels of the last record.
    labels: TraceLabels,
    /// Packets of which only length and time are readable.
    unread: u64,
    /// Packets with a rank read from their payload.
    ranked: u64,
    /// The fault of the first unread and of the first unranked packet. It becomes an error if all packets have the
    /// fault.
    first_unread: Option<FileError>,
    first_unranked: Option<FileError>,
}

enum Format<'a> {
    Pcap(Pcap<'a>),
    Pcapng(Pcapng<'a>),
    Csv(CsvTrace<'a>),
}

impl<'a> Records<'a> {
    fn open(mut input: Input<'a>, rank: TraceRank) -> Result<Self, FileError> {
        let start = input.content.fill_buf().map_err(|error| input::unreadable(&input.file, Place::File, &error))?;
        let fault = |problem: String| FileError::new(&input.file, Place::File, problem);
        let format = if start.is_empty() {
            return Err(fault("empty: expected a pcap, pcapng or CSV trace".to_owned()));
        } else if pcap::is_pcap(start) {
            let mut magic = [0; 8];
            let length = start.len().min(magic.len());
            magic[..length].copy_from_slice(&start[..length]);
            Format::Pcap(Pcap::open(Window::new(input), &magic)?)
        } else if pcapng::is_pcapng(start) {
            Format::Pcapng(Pcapng::open(Window::new(input)))
        } else if let Some(problem) = input::no_text(start) {
            return Err(fault(format!("{problem}: expected a pcap, pcapng or CSV trace (editcap -F pcap writes one)")));
        } else {
            Format::Csv(CsvTrace::open(input, rank == TraceRank::Column)?)
        };
        let misfit = match (&format, rank) {
            (Format::Csv(csv), TraceRank::Dscp | TraceRank::DscpBy(_) | TraceRank::Payload { .. }) => {
                Some(csv.fault("a CSV trace has no headers or payload to take the rank from: use its column rank"))
            }
            (Format::Pcap(pcap), TraceRank::Column) => Some(pcap.fault("a capture does not have a column rank")),
            (Format::Pcapng(pcapng), TraceRank::Column) => Some(pcapng.fault("a capture does not have a column rank")),
            _ => None,
        };
        match misfit {
            Some(error) => Err(error),
            None => Ok(Self {
                format,
                rank,
                flows: FlowTable::default(),
                counts: TraceCounts::default(),
                labels: TraceLabels::default(),
                unread: 0,
                ranked: 0,
                first_unread: None,
                first_unranked: None,
            }),
        }
    }

    fn faults(&self) -> Option<&Faults> {
        match &self.format {
            Format::Pcap(pcap) => Some(&pcap.faults),
            Format::Pcapng(pcapng) => Some(&pcapng.faults),
            Format::Csv(_) => None,
        }
    }

    fn counts(&self) -> TraceCounts {
        let (odd, skipped) = self.faults().map_or((0, 0), |faults| (faults.odd, faults.skipped));
        TraceCounts { odd, skipped, ..self.counts }
    }

    /// Returns the next record; its arrival time is not set. A trace without any readable record is an error.
    #[inline]
    fn next(&mut self) -> Result<Option<(At, Arrival)>, FileError> {
        let record = self.read()?;
        if record.is_none() {
            self.check_end()?;
        }
        Ok(record)
    }

    #[cold]
    fn check_end(&mut self) -> Result<(), FileError> {
        if self.counts.packets == 0 {
            return Err(self.empty());
        }
        let unread = self.first_unread.take().filter(|_| self.unread == self.counts.packets);
        let unranked = self.first_unranked.take().filter(|_| self.ranked == 0);
        unread.or(unranked).map_or(Ok(()), Err)
    }

    #[cold]
    fn empty(&self) -> FileError {
        if let Some(error) = self.faults().and_then(Faults::first) {
            return error.clone();
        }
        let problem = "has no packets: expected at least one";
        match &self.format {
            Format::Pcap(pcap) => pcap.fault(problem),
            Format::Pcapng(pcapng) => pcapng.fault(problem),
            Format::Csv(csv) => csv.fault(problem),
        }
    }

    #[inline]
    fn read(&mut self) -> Result<Option<(At, Arrival)>, FileError> {
        let Self { format, rank, flows, counts, labels, unread, ranked, first_unread, first_unranked } = self;
        let (captured, file) = match format {
            Format::Pcap(pcap) => pcap.next()?,
            Format::Pcapng(pcapng) => pcapng.next()?,
            Format::Csv(csv) => {
                let record = csv.next(flows, &mut labels.class, &mut counts.rounded)?;
                counts.packets += u64::from(record.is_some());
                return Ok(record);
            }
        };
        let Some(packet) = captured else { return Ok(None) };
        let place = Place::Packet(packet.number, packet.offset);
        counts.packets += 1;
        let cut = (packet.data.len() as u64) < u64::from(packet.original);
        counts.cut += u64::from(cut);
        let contents = dissect::dissect(packet.link, packet.data, packet.original);
        *labels = match &contents {
            Contents::Ip(ip) => ip.labels(),
            Contents::Other | Contents::Cut { .. } => TraceLabels::default(),
        };
        let without_ip = if let TraceRank::DscpBy(map) = rank { map.rank(0) } else { Rank::ZERO };
        let wants_payload = matches!(rank, TraceRank::Payload { .. });
        let (flow, rank) = match contents {
            Contents::Ip(ip) => {
                match ip.known {
                    Known::Flow => {}
                    Known::WithoutPorts => counts.fragments += 1,
                    Known::Outside => counts.tunnels += 1,
                }
                let rank = match *rank {
                    TraceRank::Dscp => Rank::from(u32::from(ip.dscp)),
                    TraceRank::DscpBy(map) => map.rank(ip.dscp),
                    TraceRank::Payload { offset, width, order } => {
                        match payload_rank(&ip, packet.data, offset, width, order) {
                            PayloadRank::Rank(rank) => {
                                *ranked += 1;
                                rank
                            }
                            PayloadRank::NoPayload => {
                                counts.unranked += 1;
                                Rank::ZERO
                            }
                            PayloadRank::Cut(needed) => {
                                counts.unranked += 1;
                                first_unranked
                                    .get_or_insert_with(|| too_short(file, &place, "rank ends", needed, packet.data));
                                Rank::ZERO
                            }
                        }
                    }
                    TraceRank::Column | TraceRank::Later => Rank::ZERO,
                };
                (flows.number_of_tuple(&ip.tuple), rank)
            }
            Contents::Other => {
                counts.not_ip += 1;
                counts.unranked += u64::from(wants_payload);
                if let Some(problem) = packet.link.unsupported() {
                    *unread += 1;
                    first_unread.get_or_insert_with(|| FileError::new(file, place.clone(), problem));
                }
                (flows.number_of_other(Nameless::NotIp), without_ip)
            }
            Contents::Cut { needed } => {
                counts.short += 1;
                counts.unranked += u64::from(wants_payload);
                *unread += 1;
                first_unread
                    .get_or_insert_with(|| too_short(file, &place, "addresses and ports end", needed, packet.data));
                (flows.number_of_other(Nameless::Cut), without_ip)
            }
        };
        let Some(flow) = flow else {
            return Err(FileError::new(file, place, "the trace has more than 2^32 - 1 flows"));
        };
        let arrival = Arrival { time: Time::ZERO, bytes: packet.original, rank, flow };
        Ok(Some((At { time_ps: packet.time_ps, hold_ps: 0, place }, arrival)))
    }
}

#[cold]
fn too_short(file: &str, place: &Place, what: &str, needed: usize, data: &[u8]) -> FileError {
    let got = data.len();
    let problem =
        format!("the {what} at byte {needed}, of which {got} were captured: capture with a longer snap length");
    FileError::new(file, place.clone(), problem)
}

enum PayloadRank {
    Rank(Rank),
    NoPayload,
    /// The rank would end at this byte of the packet, which was not captured.
    Cut(usize),
}

fn payload_rank(ip: &dissect::Ip, data: &[u8], offset: u32, width: RankWidth, order: ByteOrder) -> PayloadRank {
    let width = match width {
        RankWidth::One => 1,
        RankWidth::Two => 2,
        RankWidth::Four => 4,
        RankWidth::Eight => 8,
    };
    let Some(payload) = ip.payload else { return PayloadRank::NoPayload };
    let end = offset as usize + width;
    if end > payload.length {
        return PayloadRank::NoPayload;
    }
    let Some(bytes) = data.get(payload.start + end - width..payload.start + end) else {
        return PayloadRank::Cut(payload.start + end);
    };
    let value = match order {
        ByteOrder::Big => bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)),
        ByteOrder::Little => bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)),
    };
    PayloadRank::Rank(Rank::saturating(value))
}
