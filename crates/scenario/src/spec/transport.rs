//! `[transport]`: the transport of every flow of a network. A congestion controller without parameters is named
//! directly.

use super::schedulers::{Chosen, read_controller};
use super::workload::read_distribution;
use crate::error::Error;
use crate::extras::Extras;
use crate::fields::Reader;
use pifolab_params::{Case, Choice, FromValue, Kind, Misfit, Param, Role, Table, Value, Word, choices};
use pifolab_sim::network::{NetbenchTransport, Profile, UdpHost};
use pifolab_transport::dctcp::DctcpParams;
use pifolab_transport::udp::UdpParams;
use pifolab_transport::{Congestion, PlainController, Recovery, TcpParams, TransportParams, rows};
use pifolab_units::Span;
use pifolab_workload::Distribution;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// The name of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransportName {
    /// TCP with a controller that has no parameters.
    Plain(PlainController),
    /// A transport that is more than a controller.
    Other(OtherTransport),
}

choices! {
    /// A transport that is more than a controller without parameters.
    pub(crate) enum OtherTransport {
        Dctcp = "dctcp": "DCTCP: TCP that cuts its window in proportion to the marked fraction",
        Pfabric = "pfabric": "TCP that starts with 30 segments and ranks by remaining size",
        Udp = "udp": "an open loop at a constant rate, without feedback",
        RankPerPacket = "rank-per-packet": "TCP NewReno whose packets each draw a rank (SP-PIFO Fig. 5 and 6)",
    }
}

/// The keys of `[transport]`. `pifolab_transport::TcpParams` describes them.
pub(crate) const TRANSPORT: &[Param] = &[Param::new("name", Kind::OneOf(&WORDS, &CASES)).doc("The transport.")];

const PLAIN: &[Word] = PlainController::WORDS;
const OTHER: &[Word] = OtherTransport::WORDS;

/// The words of all transports.
const WORDS: [Word; PLAIN.len() + OTHER.len()] = {
    let mut words = [("", ""); PLAIN.len() + OTHER.len()];
    let (plain, other) = words.split_at_mut(PLAIN.len());
    plain.copy_from_slice(PLAIN);
    other.copy_from_slice(OTHER);
    words
};

/// The keys of each transport.
const CASES: [Case; WORDS.len()] = {
    let mut cases: [Case; WORDS.len()] = [("", PLAIN_KEYS); WORDS.len()];
    let mut place = 0;
    while place < cases.len() {
        cases[place].0 = WORDS[place].0;
        if place >= PLAIN.len() {
            cases[place].1 = OtherTransport::ALL[place - PLAIN.len()].keys();
        }
        place += 1;
    }
    cases
};

/// The keys of every transport that is TCP, and these.
macro_rules! tcp_keys {
    ($($own:expr),+) => {
        &[
            CONTROLLER,
            rows::MSS_BYTES,
            rows::INITIAL_WINDOW_SEGMENTS,
            rows::INITIAL_SSTHRESH_SEGMENTS,
            rows::MAX_WINDOW_BYTES,
            rows::INITIAL_RTO,
            rows::MIN_RTO,
            rows::MAX_RTO,
            rows::UNLIMITED_RTO,
            rows::RECOVERY,
            rows::DUPLICATE_THRESHOLD,
            rows::LIMITED_TRANSMIT,
            rows::COUNT_FIRST_DUPLICATES,
            rows::HANDSHAKE,
            rows::ACCEPT_DATA_IN_HANDSHAKE,
            rows::RESTART_TIMER_ON_SEND,
            rows::TIMEOUT_SETS_RECOVER,
            $($own),+
        ]
    };
}

const PLAIN_KEYS: &[Param] = tcp_keys![rows::ECN, rows::RANK, rows::ACK_RANK, UDP];

impl OtherTransport {
    const fn keys(self) -> &'static [Param] {
        match self {
            Self::Dctcp => tcp_keys![rows::RANK, rows::ACK_RANK, rows::GAIN, rows::INITIAL_ALPHA, rows::CUT],
            Self::Pfabric => PLAIN_KEYS,
            Self::Udp => &[rows::RANK, rows::ACK_RANK, rows::PAYLOAD_BYTES, rows::INTERVAL],
            Self::RankPerPacket => tcp_keys![rows::ECN, PACKET_RANKS, UDP],
        }
    }
}

const CONTROLLER: Param = Param::new("controller", Kind::Component(Role::Controller))
    .means("the transport's own")
    .doc("A congestion controller, written in Python, that replaces the transport's own.");
const UDP: Param = Param::new("udp", Kind::Tables(UDP_HOST))
    .means("none")
    .doc("Hosts whose flows are UDP instead, with datagrams of mss_bytes; not with ecn.");
const UDP_HOST: &[Param] =
    &[Param::integer("host", 0, 1 << 25).doc("The number of the host that sends the flows."), rows::INTERVAL];
const PACKET_RANKS: Param =
    Param::new("packet_ranks", Kind::Distribution).doc("The distribution of the rank of each packet, data or not.");

impl FromValue for TransportName {
    fn from_value(_: &Kind, value: &Value) -> Option<Self> {
        let Value::Text(word) = value else { return None };
        let plain = PlainController::from_word(word).map(Self::Plain);
        plain.or_else(|| OtherTransport::from_word(word).map(Self::Other))
    }
}

/// A transport, and the distribution of each packet's rank if ranks are drawn.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    pub(crate) params: TransportParams,
    pub(crate) packet_ranks: Option<Arc<Distribution>>,
    /// A congestion controller of the user's.
    pub(crate) controller: Option<Chosen>,
    /// Hosts whose flows are UDP.
    pub(crate) udp_hosts: Vec<UdpHost>,
}

/// Reads `[transport]` of a network with so many `hosts`; absent keys have the defaults of `profile`.
pub(crate) fn read_transport(
    section: Table,
    hosts: u32,
    file: &str,
    profile: Option<Profile>,
    extras: &dyn Extras,
) -> Result<(Transport, Json), Error> {
    let mut reader = Reader::new(section, file, TRANSPORT)?;
    let name = reader.given::<TransportName>("name")?;
    let of_fork = |kind| profile.map(|profile| profile.transport(kind));
    let tcp = of_fork(NetbenchTransport::Tcp);
    let mut params = match name {
        TransportName::Plain(controller) => match tcp {
            Some(tcp) => TransportParams { congestion: Congestion::Plain(controller), ..tcp },
            None => TransportParams::plain(controller),
        },
        TransportName::Other(OtherTransport::Dctcp) => {
            of_fork(NetbenchTransport::Dctcp).unwrap_or_else(TransportParams::dctcp)
        }
        TransportName::Other(OtherTransport::Pfabric) => {
            of_fork(NetbenchTransport::Pfabric).unwrap_or_else(TransportParams::pfabric)
        }
        TransportName::Other(OtherTransport::Udp) => TransportParams::udp(UdpParams {
            payload_bytes: reader.given::<u32>("payload_bytes")?,
            interval: reader.time("interval")?.expect("interval is required"),
        }),
        TransportName::Other(OtherTransport::RankPerPacket) => tcp.unwrap_or_else(TransportParams::new_reno),
    };
    let is_tcp = params.has_window();
    if is_tcp {
        read_tcp(&mut reader, &mut params.tcp)?;
    }
    if matches!(params.congestion, Congestion::Plain(_)) {
        params.tcp.ecn = reader.optional_flag("ecn")?.unwrap_or(params.tcp.ecn);
    }
    let (udp_hosts, udp_shown) = match matches!(params.congestion, Congestion::Plain(_)) && reader.has("udp") {
        true => read_udp_hosts(reader.tables("udp")?, hosts, file)?,
        false => (Vec::new(), Json::Null),
    };
    if params.is_ecn_capable() && !udp_hosts.is_empty() {
        return Err(reader.fault("udp", "has no effect with ecn = true: expected one of them").into());
    }
    if let Congestion::Dctcp(dctcp) = &mut params.congestion {
        read_dctcp(&mut reader, dctcp)?;
    }
    let controller = match is_tcp && reader.has("controller") {
        true => reader.table("controller")?.map(|section| read_controller(section, file, extras)).transpose()?,
        false => None,
    };
    let packet_ranks = match name {
        TransportName::Other(OtherTransport::RankPerPacket) => {
            Some(Arc::new(read_distribution(&mut reader, file, "packet_ranks")?.ok_or_else(|| {
                reader.fault("packet_ranks", "is missing: expected the distribution of ranks, such as \"uniform\"")
            })?))
        }
        _ => {
            params.rank = reader.get("rank")?.unwrap_or(params.rank);
            params.ack_rank = reader.get("ack_rank")?.unwrap_or(params.ack_rank);
            None
        }
    };
    if let Err(error) = params.validated() {
        return Err(reader.fault(&reader.written(&error.key), error.problem()).into());
    }
    let mut resolved = reader.finish()?;
    let controller = controller.map(|(chosen, shown)| {
        resolved.insert("controller".to_owned(), shown);
        chosen
    });
    if !udp_hosts.is_empty() {
        resolved.insert("udp".to_owned(), udp_shown);
    }
    if is_tcp {
        show_tcp(&params.tcp, &mut resolved);
    }
    if matches!(params.congestion, Congestion::Plain(_)) {
        resolved.insert("ecn".to_owned(), params.tcp.ecn.into());
    }
    if let Congestion::Dctcp(dctcp) = &params.congestion {
        resolved.insert("gain".to_owned(), dctcp.gain.into());
        resolved.insert("initial_alpha".to_owned(), dctcp.initial_alpha.into());
        resolved.insert("cut".to_owned(), dctcp.cut.word().into());
    }
    if packet_ranks.is_none() {
        resolved.insert("rank".to_owned(), params.rank.word().into());
        resolved.insert("ack_rank".to_owned(), params.ack_rank.word().into());
    }
    Ok((Transport { params, packet_ranks, controller, udp_hosts }, resolved.into()))
}

/// Reads `[[transport.udp]]`.
fn read_udp_hosts(sections: Vec<Table>, hosts: u32, file: &str) -> Result<(Vec<UdpHost>, Json), Error> {
    let mut read = Vec::<UdpHost>::with_capacity(sections.len());
    let mut resolved = Vec::<Json>::with_capacity(sections.len());
    for section in sections {
        let mut reader = Reader::new(section, file, UDP_HOST)?;
        let host = reader.given::<u32>("host")?;
        if host >= hosts {
            return Err(reader.fault("host", Misfit::of(host, format!("expected a host, 0 to {}", hosts - 1))).into());
        }
        if read.iter().any(|udp| udp.host == host) {
            return Err(reader.fault("host", Misfit::of(host, "expected every host once".to_owned())).into());
        }
        let interval = reader.time("interval")?.expect("interval is required");
        if interval == Span::ZERO {
            let key = reader.written("interval");
            return Err(reader.fault(&key, Misfit::of(0, "expected above 0")).into());
        }
        read.push(UdpHost { host, interval });
        resolved.push(reader.finish()?.into());
    }
    Ok((read, resolved.into()))
}

fn read_tcp(reader: &mut Reader<'_>, tcp: &mut TcpParams) -> Result<(), Error> {
    tcp.mss_bytes = reader.get("mss_bytes")?.unwrap_or(tcp.mss_bytes);
    tcp.initial_window_segments = reader.get("initial_window_segments")?.unwrap_or(tcp.initial_window_segments);
    tcp.initial_ssthresh_segments = reader.get("initial_ssthresh_segments")?.or(tcp.initial_ssthresh_segments);
    tcp.max_window_bytes = reader.get::<u64>("max_window_bytes")?.unwrap_or(tcp.max_window_bytes);
    tcp.initial_rto = reader.time("initial_rto")?.unwrap_or(tcp.initial_rto);
    tcp.min_rto = reader.time("min_rto")?.unwrap_or(tcp.min_rto);
    match (reader.optional_flag("unlimited_rto")?, tcp.max_rto) {
        (Some(true), _) => tcp.max_rto = Span::MAX,
        (None, Span::MAX) if !reader.has("max_rto") => {}
        (Some(false), Span::MAX) if !reader.has("max_rto") => tcp.max_rto = TcpParams::default().max_rto,
        _ => tcp.max_rto = reader.time("max_rto")?.unwrap_or(tcp.max_rto),
    }
    tcp.recovery = reader.get("recovery")?.unwrap_or(tcp.recovery);
    tcp.duplicate_threshold = reader.get("duplicate_threshold")?.unwrap_or(tcp.duplicate_threshold);
    for (name, value) in [
        ("limited_transmit", &mut tcp.limited_transmit),
        ("count_first_duplicates", &mut tcp.count_first_duplicates),
        ("handshake", &mut tcp.handshake),
        ("accept_data_in_handshake", &mut tcp.accept_data_in_handshake),
        ("restart_timer_on_send", &mut tcp.restart_timer_on_send),
        ("timeout_sets_recover", &mut tcp.timeout_sets_recover),
    ] {
        *value = reader.optional_flag(name)?.unwrap_or(*value);
    }
    let of_duplicates = ["limited_transmit", "count_first_duplicates", "restart_timer_on_send", "timeout_sets_recover"];
    for (unused, keys, because) in [
        (tcp.recovery == Recovery::Rack, &of_duplicates[..], "recovery = \"rack\""),
        (!tcp.handshake, &["accept_data_in_handshake"], "handshake = false"),
    ] {
        if let Some(key) = keys.iter().find(|key| unused && reader.has(key)) {
            return Err(reader.fault(key, format!("has no effect with {because}: expected one of them")).into());
        }
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
            ("recovery", json!(tcp.recovery.word())),
            ("duplicate_threshold", json!(tcp.duplicate_threshold)),
            ("limited_transmit", json!(tcp.limited_transmit)),
            ("count_first_duplicates", json!(tcp.count_first_duplicates)),
            ("handshake", json!(tcp.handshake)),
            ("accept_data_in_handshake", json!(tcp.accept_data_in_handshake)),
            ("restart_timer_on_send", json!(tcp.restart_timer_on_send)),
            ("timeout_sets_recover", json!(tcp.timeout_sets_recover)),
        ]
        .map(|(key, value)| (key.to_owned(), value)),
    );
}

fn read_dctcp(reader: &mut Reader<'_>, dctcp: &mut DctcpParams) -> Result<(), Error> {
    dctcp.gain = reader.get::<f64>("gain")?.unwrap_or(dctcp.gain);
    dctcp.initial_alpha = reader.ratio("initial_alpha")?.map_or(dctcp.initial_alpha, |alpha| alpha.as_f64());
    dctcp.cut = reader.get("cut")?.unwrap_or(dctcp.cut);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_params::{Absent, Place};
    use std::collections::BTreeMap;

    /// The keys of each transport.
    fn cases() -> impl Iterator<Item = &'static Case> {
        TRANSPORT.iter().flat_map(Param::cases)
    }

    /// Every row once.
    fn rows() -> BTreeMap<&'static str, &'static Param> {
        cases().flat_map(|(_, rows)| *rows).map(|row| (row.name, row)).collect()
    }

    /// The default of a row's key.
    fn default(row: &Param, name: &str, profile: Option<Profile>) -> Option<String> {
        let section = Table::of("transport", Place::File, "name", Value::Text(name.to_owned()));
        let (_, resolved) = read_transport(section, 4, "test.toml", profile, &()).unwrap();
        if !matches!(row.kind, Kind::Time) {
            return resolved.get(row.name).map(|value| match value {
                Json::Null => "none".to_owned(),
                Json::Number(number) => number.as_f64().unwrap().to_string(),
                Json::String(word) => word.clone(),
                other => other.to_string(),
            });
        }
        resolved.get(format!("{}_ns", row.name)).map(|value| match value.as_f64() {
            None => "none".to_owned(),
            Some(0.0) => "0".to_owned(),
            Some(ns) => Span::from_ps((ns * 1e3).round() as u64).to_string(),
        })
    }

    /// A valid value of a row.
    fn example(row: &Param) -> Value {
        match row.kind {
            Kind::Integer { min, .. } => Value::Integer(min.into()),
            Kind::Flag => Value::Flag(true),
            Kind::Choice(words) => Value::Text(words[0].0.to_owned()),
            Kind::Distribution => Value::Text("uniform".to_owned()),
            _ => Value::Decimal("0.5".to_owned()),
        }
    }

    #[test]
    fn a_transport_reads_the_keys_that_go_with_it_and_no_others() {
        for (name, said) in cases() {
            for row in rows().values().copied() {
                let mut section = Table::of("transport", Place::File, "name", Value::Text((*name).to_owned()));
                let required = said.iter().filter(|other| matches!(other.absent, Absent::Required));
                for row in required.chain([row]) {
                    let key = row.keys().into_iter().max_by_key(String::len).unwrap();
                    if !section.contains(&key) {
                        section.put(&key, Place::File, example(row));
                    }
                }
                let refused = match read_transport(section, 4, "test.toml", None, &()) {
                    Ok(_) => String::new(),
                    Err(error) => error.to_string(),
                };
                let reads = said.iter().any(|other| other.name == row.name);
                assert_eq!(refused.contains("has no effect"), !reads, "{name}, {}: {refused}", row.name);
            }
        }
    }

    #[test]
    fn what_an_absent_key_means_is_what_it_comes_to() {
        let mut held = 0;
        for row in rows().values() {
            let Absent::Means(written) = row.absent else { continue };
            let of = |profile| {
                let plain = default(row, "newreno", profile).or_else(|| default(row, "dctcp", profile))?;
                let pfabric = default(row, "pfabric", profile).filter(|pfabric| *pfabric != plain);
                Some(plain + &pfabric.map(|value| format!(", for pfabric {value}")).unwrap_or_default())
            };
            let Some(own) = of(None) else { continue };
            for profile in Profile::ALL {
                let theirs = of(Some(*profile)).filter(|theirs| *theirs != own);
                let whole = own.clone() + &theirs.map(|value| format!("; in the profiles {value}")).unwrap_or_default();
                assert_eq!(whole, written, "{} with {profile:?}", row.name);
            }
            held += 1;
        }
        assert!(held >= 17, "only {held} rows were held to the code");
    }

    #[test]
    fn every_controller_without_parameters_is_a_transport() {
        assert!(PlainController::ALL.len() >= 2);
        let read = |word: &str| TransportName::from_value(&Kind::Text, &Value::Text(word.to_owned()));
        for plain in PlainController::ALL {
            assert_eq!(read(plain.as_word()), Some(TransportName::Plain(*plain)));
        }
        for (word, _) in WORDS {
            assert!(read(word).is_some(), "{word}");
        }
        assert_eq!(read("tcp"), None);
    }
}
