//! A table of flows and prefixes, each with a rank (or, for STFQ, a weight), from a text file:
//!
//! ```text
//! # flow PROTOCOL SOURCE DESTINATION RANK; dst PREFIX RANK; src PREFIX RANK
//! flow udp 10.0.0.1:4000 10.0.0.2:5001   3
//! flow tcp [2001:db8::1]:80 [2001:db8::2]:40000   1
//! dst 10.0.0.0/8   10
//! src 2001:db8::/32   20
//! ```
//!
//! The line of the flow itself has precedence, then the line of the longest prefix of the destination, then that of the
//! longest prefix of the source.

use crate::watched::{self, Changes};
use crate::whole::read_whole;
use crate::{Error, Result};
use pifolab_frames::frame::FlowKey;
use pifolab_frames::reader::LookUp;
use pifolab_units::Rank;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// The largest number of flows, and of prefixes, in a table: `MAX_FLOWS` of intf.h.
const MOST: usize = 65_536;
/// The protocols with ports.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The kind of values in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Ranks, from 0 to the largest rank.
    Ranks,
    /// Weights, from 1 to 2^20, as in the library's STFQ.
    Weights,
}

impl Values {
    const fn range(self) -> (u64, u64, &'static str) {
        match self {
            Self::Ranks => (0, Rank::MAX.get(), "a rank"),
            Self::Weights => (1, 1 << 20, "a weight"),
        }
    }

    /// The word in the format of a line.
    const fn name(self) -> &'static str {
        match self {
            Self::Ranks => "RANK",
            Self::Weights => "WEIGHT",
        }
    }
}

/// The address that a prefix is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The destination.
    Destination,
    /// The source.
    Source,
}

/// A prefix of one of the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// The side of the address.
    pub side: Side,
    /// The IP version, 4 or 6.
    pub version: u8,
    /// The address in the format of [`FlowKey`]; the bits after the prefix are 0.
    pub address: u128,
    /// The number of significant bits in an address of that version.
    pub bits: u8,
}

/// The number of bits of an address.
const fn width(version: u8) -> u8 {
    if version == 4 { 32 } else { 128 }
}

/// The first `bits` of an address of `width` bits in the low bits.
const fn masked(address: u128, bits: u8, width: u8) -> u128 {
    if bits == 0 { 0 } else { address >> (width - bits) << (width - bits) }
}

/// A parsed table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    flows: HashMap<FlowKey, u64>,
    prefixes: HashMap<Prefix, u64>,
    /// The lengths in use for each side and version, longest first.
    lengths: [[Vec<u8>; 2]; 2],
}

fn address(address: IpAddr) -> (u8, u128) {
    match address {
        IpAddr::V4(address) => (4, u32::from(address).into()),
        IpAddr::V6(address) => (6, address.into()),
    }
}

fn protocol(text: &str) -> Option<u8> {
    match text {
        "tcp" => Some(TCP),
        "udp" => Some(UDP),
        number => number.parse().ok(),
    }
}

/// Parses `10.0.0.1:80` for protocols with ports, `10.0.0.1` for others.
fn endpoint(text: &str, has_ports: bool) -> Result<(IpAddr, u16), String> {
    let with_port = text.parse::<SocketAddr>().map(|socket| (socket.ip(), socket.port()));
    match (has_ports, with_port, text.parse::<IpAddr>()) {
        (true, Ok(found), _) => Ok(found),
        (false, _, Ok(address)) => Ok((address, 0)),
        (true, ..) => {
            Err(format!("{text:?}: expected ADDRESS:PORT, or [ADDRESS]:PORT for IPv6 (port 0 stands for fragments)"))
        }
        (false, Ok(_), _) => Err(format!("{text:?}: expected an address without a port: only tcp and udp have ports")),
        (false, ..) => Err(format!("{text:?}: expected an address")),
    }
}

fn flow(words: &[&str]) -> Result<FlowKey, String> {
    let [name, source, destination] = words else { unreachable!("lines have the number of words of their kind") };
    let number = protocol(name).ok_or_else(|| format!("{name:?}: expected tcp, udp or a protocol number"))?;
    let has_ports = [TCP, UDP].contains(&number);
    let ((from, from_port), (to, to_port)) = (endpoint(source, has_ports)?, endpoint(destination, has_ports)?);
    let ((version, from), (other, to)) = (address(from), address(to));
    if version != other {
        return Err(format!("{source} and {destination}: expected addresses of one version of IP"));
    }
    let ports = u32::from(from_port) << 16 | u32::from(to_port);
    Ok(FlowKey { source: from, destination: to, ports, protocol: number, version })
}

fn prefix(side: Side, words: &[&str]) -> Result<Prefix, String> {
    let [text] = words else { unreachable!("lines have the number of words of their kind") };
    let wrong = || format!("{text:?}: expected a prefix such as 10.0.0.0/8 or 2001:db8::/32, or an address");
    let (host, length) = text.split_once('/').map_or((*text, None), |(host, length)| (host, Some(length)));
    let (version, address) = address(host.parse().map_err(|_| wrong())?);
    let bits = length.map_or(Ok(width(version)), str::parse).map_err(|_| wrong())?;
    if bits > width(version) {
        return Err(wrong());
    }
    if masked(address, bits, width(version)) != address {
        return Err(format!("{text:?}: the address has bits set beyond its prefix of {bits}"));
    }
    Ok(Prefix { side, version, address, bits })
}

impl Table {
    /// Reads a file.
    ///
    /// # Errors
    /// If the file cannot be read, a line is invalid, or two lines have the same key; the message contains the line.
    pub fn read(path: &Path, values: Values) -> Result<Self> {
        let text = read_whole(path)?;
        Self::parse(&text, values).map_err(|error| Error::Usage(format!("{}: {error}", path.display())))
    }

    fn parse(text: &str, values: Values) -> Result<Self, String> {
        let ((least, most, what), value_name) = (values.range(), values.name());
        let mut table = Self::default();
        for (index, line) in text.lines().enumerate() {
            let wrong = |reason: String| format!("line {}: {reason}", index + 1);
            let line = line.split('#').next().unwrap_or("");
            let words: Vec<_> = line.split_ascii_whitespace().collect();
            let Some((kind, fields)) = words.split_first() else { continue };
            let form = match *kind {
                "flow" => "flow PROTOCOL SOURCE DESTINATION",
                "dst" => "dst PREFIX",
                "src" => "src PREFIX",
                other => return Err(wrong(format!("{other:?}: expected flow, dst or src"))),
            };
            let (words, value) = match fields.split_last() {
                Some((value, words)) if fields.len() == form.split(' ').count() => (words, *value),
                _ => return Err(wrong(format!("{:?}: expected `{form} {value_name}`", line.trim()))),
            };
            let number = value.parse().ok().filter(|number| (least..=most).contains(number));
            let number = number.ok_or_else(|| wrong(format!("{value:?}: expected {what} from {least} to {most}")))?;
            let before = match *kind {
                "flow" => table.flows.insert(flow(words).map_err(wrong)?, number),
                "dst" => table.prefixes.insert(prefix(Side::Destination, words).map_err(wrong)?, number),
                _ => table.prefixes.insert(prefix(Side::Source, words).map_err(wrong)?, number),
            };
            if before.is_some() {
                return Err(wrong(format!("duplicate of an earlier line: {}", line.trim())));
            }
        }
        for (count, what) in [(table.flows.len(), "flows"), (table.prefixes.len(), "prefixes")] {
            if count > MOST {
                return Err(format!("{count} {what}: expected at most {MOST}"));
            }
        }
        for prefix in table.prefixes.keys() {
            let lengths = &mut table.lengths[prefix.side as usize][usize::from(prefix.version == 6)];
            if let Err(place) = lengths.binary_search_by(|known| prefix.bits.cmp(known)) {
                lengths.insert(place, prefix.bits);
            }
        }
        Ok(table)
    }

    /// The value of a flow in the table.
    pub fn look_up(&self, flow: &FlowKey) -> Option<u64> {
        let by_prefix = |side: Side, address: u128| {
            let version = flow.version;
            let found = |bits: &u8| {
                let address = masked(address, *bits, width(version));
                self.prefixes.get(&Prefix { side, version, address, bits: *bits }).copied()
            };
            self.lengths[side as usize][usize::from(version == 6)].iter().find_map(found)
        };
        let own = self.flows.get(flow).copied();
        own.or_else(|| by_prefix(Side::Destination, flow.destination)).or_else(|| by_prefix(Side::Source, flow.source))
    }

    /// The largest value; 0 for an empty table.
    pub fn largest(&self) -> u64 {
        self.flows.values().chain(self.prefixes.values()).copied().max().unwrap_or(0)
    }

    /// All flows with their values.
    pub const fn flows(&self) -> &HashMap<FlowKey, u64> {
        &self.flows
    }

    /// All prefixes with their values.
    pub const fn prefixes(&self) -> &HashMap<Prefix, u64> {
        &self.prefixes
    }
}

const UNCHANGED: &str = "the table is unchanged";

/// Reads the file again whenever it changes, and passes every table to `change`, in a thread that ends with the process
/// or when `change` returns false. Prints the error of an invalid file, and keeps the table.
pub fn watch(path: PathBuf, values: Values, change: impl FnMut(Table) -> bool + Send + 'static) {
    watched::watch(path, UNCHANGED, move |path| Table::read(path, values), change);
}

/// A look-up in `table`, which was read from `path` and is read again whenever that file changes.
pub fn followed(mut table: Table, path: PathBuf) -> LookUp {
    let changes = Changes::new(path, UNCHANGED, |path| Table::read(path, Values::Ranks));
    Box::new(move |flow| {
        if let Some(newest) = changes.take() {
            table = newest;
        }
        table.look_up(flow).map(Rank::saturating)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watched::LOOK_EVERY;
    use std::time::Duration;

    const TEXT: &str = "# ranks\n\nflow udp 10.0.0.1:4000 10.0.0.2:5001 3 # a call\nflow 1 10.0.0.1 10.0.0.2 9\n\
                        dst 10.0.0.0/8 10\ndst 10.0.0.0/24 11\nsrc 10.0.0.0/8 20\ndst 2001:db8::/32 30\nsrc ::/0 40\n";

    fn key(source: &str, destination: &str, protocol: u8) -> FlowKey {
        let name = protocol.to_string();
        flow(&[&name, source, destination]).expect("a flow")
    }

    #[test]
    fn the_flow_comes_before_the_longest_destination_and_that_before_the_source() {
        let table = Table::parse(TEXT, Values::Ranks).expect("a table");
        for (source, destination, protocol, rank) in [
            ("10.0.0.1:4000", "10.0.0.2:5001", 17, Some(3)),
            ("10.0.0.1:4000", "10.0.0.2:5001", 6, Some(11)),
            ("10.0.0.1", "10.0.0.2", 1, Some(9)),
            ("10.0.0.1:4000", "10.9.0.2:5001", 17, Some(10)),
            ("10.0.0.1:4000", "192.0.2.1:1", 17, Some(20)),
            ("192.0.2.1:1", "192.0.2.2:1", 17, None),
            ("[2001:db8::1]:1", "[2001:db8::2]:1", 6, Some(30)),
            ("[2001:db8::1]:1", "[2001:db9::2]:1", 6, Some(40)),
        ] {
            assert_eq!(table.look_up(&key(source, destination, protocol)), rank, "{source} {destination} {protocol}");
        }
        assert_eq!(table.largest(), 40);
    }

    #[test]
    fn a_wrong_line_is_refused_with_its_number_its_value_and_what_would_be_right() {
        for (text, words) in [
            ("dst 10.0.0.0/8 10\ndst 10.0.0.1/8 3", ["line 2", "10.0.0.1/8", "bits set beyond"]),
            ("dst 10.0.0.0/33 3", ["line 1", "10.0.0.0/33", "prefix such as"]),
            ("dst 10.0.0.0/8 ten", ["line 1", "ten", "a rank from 0"]),
            ("dst 10.0.0.0/8", ["line 1", "dst 10.0.0.0/8", "`dst PREFIX RANK`"]),
            ("src 10.0.0.0/8 4 5", ["line 1", "src 10.0.0.0/8 4 5", "`src PREFIX RANK`"]),
            ("flow udp nonsense", ["line 1", "flow udp nonsense", "`flow PROTOCOL SOURCE DESTINATION RANK`"]),
            ("flow udp 10.0.0.1 10.0.0.2:2 1", ["line 1", "\"10.0.0.1\"", "ADDRESS:PORT"]),
            ("flow tcp 10.0.0.1:70000 10.0.0.2:2 1", ["line 1", "10.0.0.1:70000", "ADDRESS:PORT"]),
            ("flow 132 10.0.0.1:1 10.0.0.2:2 1", ["line 1", "10.0.0.1:1", "only tcp and udp have ports"]),
            ("flow 132 10.0.0.256 10.0.0.2 1", ["line 1", "10.0.0.256", "expected an address"]),
            ("to 10.0.0.0/8 1", ["line 1", "\"to\"", "flow, dst or src"]),
            ("flow udp 10.0.0.1:1 [::1]:2 1", ["line 1", "[::1]:2", "one version"]),
            ("flow udp 10.0.0.1:1 1", ["line 1", "flow PROTOCOL", "DESTINATION"]),
            ("flow icmpx 10.0.0.1 10.0.0.2 1", ["line 1", "icmpx", "protocol number"]),
            ("src ::/0 1\nsrc ::/0 2", ["line 2", "duplicate", "src ::/0 2"]),
            ("dst", ["line 1", "\"dst\"", "`dst PREFIX RANK`"]),
        ] {
            let error = Table::parse(text, Values::Ranks).expect_err("wrong");
            for word in words {
                assert!(error.contains(word), "{word:?} is not in {error:?}");
            }
        }
        assert!(Table::parse("src ::/0 0", Values::Weights).expect_err("wrong").contains("a weight from 1"));
        assert!(Table::parse("flow udp", Values::Weights).expect_err("wrong").contains("DESTINATION WEIGHT"));
    }

    #[test]
    fn a_changed_file_is_read_again_and_a_wrong_one_changes_nothing() {
        let path = std::env::temp_dir().join(format!("pifolab-table-{}.txt", std::process::id()));
        std::fs::write(&path, "dst 10.0.0.0/8 1\n").expect("a file");
        let table = Table::read(&path, Values::Ranks).expect("a table");
        let mut look_up = followed(table, path.clone());
        let flow = key("10.0.0.1:1", "10.0.0.2:2", 17);
        let mut rank = || look_up(&flow).map(Rank::get);
        assert_eq!(rank(), Some(1));
        std::fs::write(&path, "dst 10.0.0.0/8 777\n").expect("a file");
        let read = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            rank() == Some(777)
        });
        assert!(read, "the new file was not read");
        std::fs::write(&path, "nonsense\n").expect("a file");
        std::thread::sleep(3 * LOOK_EVERY);
        assert_eq!(rank(), Some(777));
        std::fs::remove_file(&path).expect("it is there");
    }
}
