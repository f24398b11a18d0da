//! Frames composed of parts: what each must be read as follows from its parts by the rules of docs/dataplane.md, not from a parser.

use crate::can_run;
use crate::frames::{Both, Reading};
use pifolab_dataplane::rank::RankOptions;

/// What a frame is made of.
#[derive(Clone, Debug)]
struct Parts {
    /// Priorities of its VLAN tags, outermost first.
    tags: &'static [u8],
    version: u8,
    dscp: u8,
    /// Words of IP options, or of an extension header (two words each).
    options: u8,
    /// More fragments follow, and where this one begins (in units of eight bytes).
    fragment: (bool, u16),
    transport: Transport,
    payload: usize,
    /// Bytes behind the packet.
    padding: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Udp,
    /// With so many words of header.
    Tcp(u8),
    /// IP in IP: the inner header has DSCP 1.
    Tunnel,
    /// GRE, without anything that can be read.
    Gre,
}

const ETHER: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
const SOURCE: [u8; 4] = [10, 1, 0, 1];
const DESTINATION: [u8; 4] = [10, 2, 0, 2];

/// The byte of the payload at `place`.
const fn payload_byte(place: usize) -> u8 {
    (place as u8).wrapping_mul(37).wrapping_add(11)
}

impl Parts {
    fn transport(&self) -> (u8, Vec<u8>) {
        let ports = [[0x1f, 0x90], [0x13, 0x89]].concat();
        let payload: Vec<u8> = (0..self.payload).map(payload_byte).collect();
        match self.transport {
            Transport::Udp => {
                let length = (8 + payload.len()) as u16;
                (17, [&ports[..], &length.to_be_bytes(), &[0, 0], &payload[..]].concat())
            }
            Transport::Tcp(words) => {
                let header = [&ports[..], &[0, 0, 0, 1, 0, 0, 0, 2, words << 4, 0x10, 0, 9, 0, 0, 0, 0]].concat();
                (6, [header, vec![1; 4 * (usize::from(words) - 5)], payload].concat())
            }
            Transport::Tunnel => {
                let inner = [0x45, 1 << 2, 0, 20, 0, 0, 0, 0, 9, 17, 0, 0, 9, 9, 9, 9, 8, 8, 8, 8];
                (4, [&inner[..], &payload[..]].concat())
            }
            Transport::Gre => (47, [&[0, 0, 8, 0][..], &payload[..]].concat()),
        }
    }

    fn packet(&self) -> Vec<u8> {
        let (protocol, rest) = self.transport();
        let (more, offset) = self.fragment;
        if self.version == 4 {
            let length = (20 + 4 * usize::from(self.options) + rest.len()) as u16;
            let flags = (u16::from(more) << 13) | offset;
            let start = [0x45 + self.options, self.dscp << 2];
            let header = [&start[..], &length.to_be_bytes(), &[0, 7], &flags.to_be_bytes(), &[64, protocol, 0, 0]];
            [&header.concat()[..], &SOURCE, &DESTINATION, &vec![1; 4 * usize::from(self.options)][..], &rest[..]]
                .concat()
        } else {
            // Hop-by-hop options stand for options; they hide what is behind them.
            let extensions: Vec<u8> = (0..self.options).flat_map(|_| [protocol, 0, 1, 4, 0, 0, 0, 0]).collect();
            let next = if self.options > 0 { 0 } else { protocol };
            let class = u32::from(self.dscp) << 22 | 6 << 28;
            let length = (extensions.len() + rest.len()) as u16;
            let header = [&class.to_be_bytes()[..], &length.to_be_bytes(), &[next, 64], &[0x20; 16], &[0x30; 16]];
            [&header.concat()[..], &extensions[..], &rest[..]].concat()
        }
    }

    fn frame(&self) -> Vec<u8> {
        let mut frame = ETHER.to_vec();
        for (place, priority) in self.tags.iter().enumerate() {
            // All but the last are service tags.
            let kind: [u8; 2] = if place + 1 < self.tags.len() { [0x88, 0xa8] } else { [0x81, 0] };
            frame.extend([&kind[..], &[priority << 5, 5]].concat());
        }
        frame.extend(if self.version == 4 { [8, 0] } else { [0x86, 0xdd] });
        frame.extend(self.packet());
        frame.extend(vec![0xee; self.padding]);
        frame
    }

    /// Whether the ports and the payload can be found.
    fn has_transport(&self) -> bool {
        let whole = self.fragment == (false, 0) || self.version == 6;
        let hidden = self.version == 6 && self.options > 0;
        whole && !hidden && matches!(self.transport, Transport::Udp | Transport::Tcp(_))
    }

    fn payload_rank(&self, offset: usize, width: usize) -> Option<u64> {
        let found = self.has_transport() && offset + width <= self.payload;
        found.then(|| {
            let rank = (offset..offset + width).fold(0, |rank, place| rank << 8 | u64::from(payload_byte(place)));
            rank.min(u64::MAX >> 1)
        })
    }

    /// The rank by `source`; none if the packet carries none.
    fn rank(&self, source: &str) -> Option<u64> {
        match source {
            "dscp" => Some(self.dscp.into()),
            "dscp:phb" => Some(match self.dscp {
                48 | 56 => 0,
                44 | 46 => 1,
                40 => 2,
                32 => 3,
                // AF: the drop precedence within the class, and best effort for DSCPs without a name.
                dscp @ 10..=38 if dscp % 2 == 0 && dscp % 8 != 0 => u64::from(3 * (4 - dscp / 8) + dscp % 8 / 2) + 2,
                24 => 6,
                16 => 9,
                8 => 16,
                1 => 17,
                _ => 15,
            }),
            MAP => Some(match self.dscp {
                48 => 600,
                46 => 0,
                38 => 65_534,
                0 => 601,
                _ => 65_535,
            }),
            // 1 is below 0 (IEEE 802.1Q).
            "vlan" => self.tags.first().map(|priority| [6, 7, 5, 4, 3, 2, 1, 0][usize::from(*priority)]),
            "table" => match (self.version, self.has_transport(), self.transport) {
                (4, true, Transport::Udp) => Some(3),
                (4, true, Transport::Tcp(_)) => Some(5),
                (4, ..) => Some(8),
                _ => None,
            },
            payload => {
                let numbers: Vec<usize> =
                    payload.split(':').skip(1).map(|word| word.parse().expect("a number")).collect();
                self.payload_rank(numbers[0], numbers[1])
            }
        }
    }

    fn reading(&self, source: &str, missing: u64) -> Reading {
        if self.tags.len() > 2 { Reading::Other } else { Reading::Rank(self.rank(source).unwrap_or(missing)) }
    }
}

/// A map of DSCPs. Others come last.
const MAP: &str = "dscp:CS6=600,46=0,AF43=65534,0=601";

/// Every composition.
fn compositions() -> Vec<Parts> {
    let mut all = Vec::new();
    let fragments = [(false, 0), (true, 0), (true, 185), (false, 370)];
    let transports =
        [Transport::Udp, Transport::Tcp(5), Transport::Tcp(10), Transport::Tcp(15), Transport::Tunnel, Transport::Gre];
    for tags in [&[][..], &[3], &[0], &[1, 7], &[6, 2], &[5, 4, 3]] {
        for (version, options) in [(4, 0), (4, 1), (4, 5), (4, 10), (6, 0), (6, 1), (6, 3)] {
            for fragment in fragments {
                if version == 6 && fragment != (false, 0) {
                    continue;
                }
                for transport in transports {
                    for (payload, padding) in [(0, 0), (0, 18), (1, 45), (3, 1), (4, 0), (9, 7), (200, 0)] {
                        let dscp = (all.len() % 64) as u8;
                        all.push(Parts { tags, version, dscp, options, fragment, transport, payload, padding });
                    }
                }
            }
        }
    }
    all
}

#[test]
fn frames_composed_of_parts_have_the_rank_of_their_parts_in_both_data_planes() {
    if !can_run("frames_composed_of_parts_have_the_rank_of_their_parts_in_both_data_planes") {
        return;
    }
    let path = std::env::temp_dir().join(format!("pifolab-composed-{}.txt", std::process::id()));
    let text = "flow udp 10.1.0.1:8080 10.2.0.2:5001 3\nflow tcp 10.1.0.1:8080 10.2.0.2:5001 5\ndst 10.2.0.0/16 8\n";
    std::fs::write(&path, text).expect("a file in the temporary folder");
    let missing = 4_000_000_011;
    let options = RankOptions {
        rank_missing: missing.to_string().parse().expect("a rank"),
        rank_table: Some(path.clone()),
        ..RankOptions::default()
    };
    let all = compositions();
    assert!(all.len() > 3_000, "{}", all.len());
    for source in [
        "dscp",
        "dscp:phb",
        MAP,
        "vlan",
        "table",
        "payload:0:1",
        "payload:1:2",
        "payload:0:4",
        "payload:1:8",
        "payload:192:8",
    ] {
        let mut both = Both::new(source, &options);
        for parts in &all {
            let (frame, expected) = (parts.frame(), parts.reading(source, missing));
            assert_eq!(both.in_kernel(&frame), expected, "eBPF, {source}, {parts:?}: {frame:02x?}");
            assert_eq!(both.in_switch(&frame), expected, "the switch, {source}, {parts:?}: {frame:02x?}");
        }
    }
    std::fs::remove_file(&path).expect("it is there");
}
