//! What `[transport]` is called, by its congestion controller where that is all there is to say, and the keys of each.

use pifolab_params::{Case, Choice, FromValue, Kind, Param, Role, Value, Word, choices};
use pifolab_transport::{PlainController, rows};

/// What `[transport]` is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransportName {
    /// TCP with a controller that has no parameters.
    Plain(PlainController),
    /// More than a controller.
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

/// The keys of `[transport]`. What they mean is said at `pifolab_transport::TcpParams`.
pub(crate) const TRANSPORT: &[Param] = &[Param::new("name", Kind::OneOf(&WORDS, &CASES)).doc("Which transport.")];

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

/// The keys that go with each of them.
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
            rows::DUPLICATE_THRESHOLD,
            rows::LIMITED_TRANSMIT,
            rows::COUNT_FIRST_DUPLICATES,
            rows::ACCEPT_DATA_IN_HANDSHAKE,
            rows::RESTART_TIMER_ON_SEND,
            rows::TIMEOUT_SETS_RECOVER,
            $($own),+
        ]
    };
}

const PLAIN_KEYS: &[Param] = tcp_keys![rows::ECN, rows::RANK, rows::ACK_RANK];

impl OtherTransport {
    const fn keys(self) -> &'static [Param] {
        match self {
            Self::Dctcp => tcp_keys![rows::RANK, rows::ACK_RANK, rows::GAIN, rows::INITIAL_ALPHA, rows::CUT],
            Self::Pfabric => PLAIN_KEYS,
            Self::Udp => &[rows::RANK, rows::ACK_RANK, rows::PAYLOAD_BYTES, rows::INTERVAL],
            Self::RankPerPacket => tcp_keys![rows::ECN, PACKET_RANKS],
        }
    }
}

const CONTROLLER: Param = Param::new("controller", Kind::Component(Role::Controller))
    .means("the transport's own")
    .doc("The congestion controller, written in Python, that steers the window in the place of the transport's own.");
const PACKET_RANKS: Param =
    Param::new("packet_ranks", Kind::Distribution).doc("What the rank of each packet, data or not, is drawn from.");

impl FromValue for TransportName {
    fn from_value(_: &Kind, value: &Value) -> Option<Self> {
        let Value::Text(word) = value else { return None };
        let plain = PlainController::from_word(word).map(Self::Plain);
        plain.or_else(|| OtherTransport::from_word(word).map(Self::Other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
