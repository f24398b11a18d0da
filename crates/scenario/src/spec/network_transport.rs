//! `[transport]`: what every flow of a network is sent with.

use super::network_fields::TRANSPORT;
use super::schedulers::{Chosen, read_controller};
use super::workload::read_distribution;
use crate::error::Error;
use crate::extras::Extras;
use crate::fields::Reader;
use crate::text::Section;
use pifolab_sim::network::{NetbenchTransport, Profile};
use pifolab_transport::dctcp::{Cut, DctcpParams};
use pifolab_transport::udp::UdpParams;
use pifolab_transport::{AckRank, Congestion, RankRule, TcpParams, TransportParams};
use pifolab_units::Span;
use pifolab_workload::Distribution;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// A transport, and what each packet's rank is drawn from if that is so.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    pub(crate) params: TransportParams,
    pub(crate) packet_ranks: Option<Arc<Distribution>>,
    /// A congestion controller of the user's.
    pub(crate) controller: Option<Chosen>,
}

const CUTS: [Cut; 2] = [Cut::OncePerWindow, Cut::EveryMark];
const ACK_RANKS: [AckRank; 2] = [AckRank::Zero, AckRank::Remaining];
const RANKS: [RankRule; 5] = [
    RankRule::Zero,
    RankRule::RemainingSize,
    RankRule::RemainingBySequence,
    RankRule::FlowSize,
    RankRule::Unacknowledged,
];

/// Reads `[transport]`; what is absent is as `profile` has it.
pub(crate) fn read_transport(
    section: Section,
    file: &str,
    profile: Option<Profile>,
    extras: &dyn Extras,
) -> Result<(Transport, Json), Error> {
    let mut reader = Reader::new(section, file, TRANSPORT)?;
    let name = reader.given_choice("name")?;
    let of_fork = |kind| profile.map(|profile| profile.transport(kind));
    let tcp = of_fork(NetbenchTransport::Tcp);
    let mut params = match name {
        1 => of_fork(NetbenchTransport::Dctcp).unwrap_or_else(TransportParams::dctcp),
        2 => {
            let cubic = TransportParams::cubic();
            tcp.map_or(cubic, |tcp| TransportParams { congestion: cubic.congestion, ..tcp })
        }
        3 => of_fork(NetbenchTransport::Pfabric).unwrap_or_else(TransportParams::pfabric),
        4 => TransportParams::udp(UdpParams {
            payload_bytes: reader.given_integer("payload_bytes")? as u32,
            interval: reader.time("interval")?.expect("interval is required"),
        }),
        _ => tcp.unwrap_or_else(TransportParams::new_reno),
    };
    let udp = matches!(params.congestion, Congestion::Udp(_));
    if !udp {
        read_tcp(&mut reader, &mut params.tcp)?;
    }
    if let Congestion::Dctcp(dctcp) = &mut params.congestion {
        read_dctcp(&mut reader, dctcp)?;
    }
    // UDP leaves the table unread, and so says that it has no effect.
    let controller = match reader.has("controller") && !udp {
        true => reader.table("controller")?.map(|section| read_controller(section, file, extras)).transpose()?,
        false => None,
    };
    let packet_ranks = match name {
        5 => Some(Arc::new(read_distribution(&mut reader, file, "packet_ranks")?.ok_or_else(|| {
            reader.fault("packet_ranks", "is missing: expected the distribution of ranks, such as \"uniform\"")
        })?)),
        _ => {
            params.rank = reader.choice("rank")?.map_or(params.rank, |rank| RANKS[rank]);
            params.ack_rank = reader.choice("ack_rank")?.map_or(params.ack_rank, |rank| ACK_RANKS[rank]);
            None
        }
    };
    if let Err(error) = params.validated() {
        let key = reader.written_any(error.key);
        return Err(reader.fault(&key, format!("= {}: expected {}", error.value, error.expected)).into());
    }
    let mut resolved = reader.finish()?;
    let controller = controller.map(|(chosen, shown)| {
        resolved.insert("controller".to_owned(), shown);
        chosen
    });
    if !udp {
        show_tcp(&params.tcp, &mut resolved);
    }
    if let Congestion::Dctcp(dctcp) = &params.congestion {
        resolved.insert("gain".to_owned(), dctcp.gain.into());
        resolved.insert("initial_alpha".to_owned(), dctcp.initial_alpha.into());
        resolved.insert("cut".to_owned(), word("cut", CUTS.iter().position(|cut| *cut == dctcp.cut)));
    }
    if packet_ranks.is_none() {
        resolved.insert("rank".to_owned(), word("rank", RANKS.iter().position(|rank| *rank == params.rank)));
        let ack = ACK_RANKS.iter().position(|rank| *rank == params.ack_rank);
        resolved.insert("ack_rank".to_owned(), word("ack_rank", ack));
    }
    Ok((Transport { params, packet_ranks, controller }, resolved.into()))
}

fn read_tcp(reader: &mut Reader<'_>, tcp: &mut TcpParams) -> Result<(), Error> {
    let integer = |reader: &mut Reader<'_>, name, absent: u32| {
        reader.integer(name).map(|value| value.map_or(absent, |value| value as u32))
    };
    tcp.mss_bytes = integer(reader, "mss_bytes", tcp.mss_bytes)?;
    tcp.initial_window_segments = integer(reader, "initial_window_segments", tcp.initial_window_segments)?;
    if let Some(segments) = reader.integer("initial_ssthresh_segments")? {
        tcp.initial_ssthresh_segments = Some(segments as u32);
    }
    tcp.max_window_bytes = reader.integer("max_window_bytes")?.unwrap_or(tcp.max_window_bytes);
    tcp.initial_rto = reader.time("initial_rto")?.unwrap_or(tcp.initial_rto);
    tcp.min_rto = reader.time("min_rto")?.unwrap_or(tcp.min_rto);
    match (reader.optional_flag("unlimited_rto")?, tcp.max_rto) {
        (Some(true), _) => tcp.max_rto = Span::MAX,
        (None, Span::MAX) if !reader.has("max_rto") => {}
        (Some(false), Span::MAX) if !reader.has("max_rto") => tcp.max_rto = TcpParams::default().max_rto,
        _ => tcp.max_rto = reader.time("max_rto")?.unwrap_or(tcp.max_rto),
    }
    tcp.duplicate_threshold = integer(reader, "duplicate_threshold", tcp.duplicate_threshold)?;
    for (name, value) in [
        ("limited_transmit", &mut tcp.limited_transmit),
        ("count_first_duplicates", &mut tcp.count_first_duplicates),
        ("accept_data_in_handshake", &mut tcp.accept_data_in_handshake),
        ("restart_timer_on_send", &mut tcp.restart_timer_on_send),
        ("timeout_sets_recover", &mut tcp.timeout_sets_recover),
    ] {
        *value = reader.optional_flag(name)?.unwrap_or(*value);
    }
    Ok(())
}

fn show_tcp(tcp: &TcpParams, resolved: &mut Map<String, Json>) {
    let ns = |span: Span| json!(span.as_ps() as f64 / 1e3);
    let unlimited = tcp.max_rto == Span::MAX;
    resolved.extend(
        [
            ("mss_bytes", json!(tcp.mss_bytes)),
            ("initial_window_segments", json!(tcp.initial_window_segments)),
            ("initial_ssthresh_segments", json!(tcp.initial_ssthresh_segments)),
            ("max_window_bytes", json!(tcp.max_window_bytes)),
            ("initial_rto_ns", ns(tcp.initial_rto)),
            ("min_rto_ns", ns(tcp.min_rto)),
            ("max_rto_ns", if unlimited { Json::Null } else { ns(tcp.max_rto) }),
            ("unlimited_rto", json!(unlimited)),
            ("duplicate_threshold", json!(tcp.duplicate_threshold)),
            ("limited_transmit", json!(tcp.limited_transmit)),
            ("count_first_duplicates", json!(tcp.count_first_duplicates)),
            ("accept_data_in_handshake", json!(tcp.accept_data_in_handshake)),
            ("restart_timer_on_send", json!(tcp.restart_timer_on_send)),
            ("timeout_sets_recover", json!(tcp.timeout_sets_recover)),
        ]
        .map(|(key, value)| (key.to_owned(), value)),
    );
}

fn read_dctcp(reader: &mut Reader<'_>, dctcp: &mut DctcpParams) -> Result<(), Error> {
    dctcp.gain = reader.positive("gain")?.unwrap_or(dctcp.gain);
    dctcp.initial_alpha = reader.ratio("initial_alpha", false)?.map_or(dctcp.initial_alpha, |alpha| alpha.as_f64());
    dctcp.cut = reader.choice("cut")?.map_or(dctcp.cut, |cut| CUTS[cut]);
    Ok(())
}

/// The word of a choice of `[transport]`, for the manifest.
fn word(name: &str, index: Option<usize>) -> Json {
    super::network::word_of(TRANSPORT, name, index)
}
