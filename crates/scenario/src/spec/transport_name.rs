//! What `[transport]` is called: by its congestion controller where that is all there is to say.

use pifolab_params::{Choice, FromValue, Kind, Value, Word, choices};
use pifolab_transport::PlainController;

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

const PLAIN: &[Word] = PlainController::WORDS;
const OTHER: &[Word] = OtherTransport::WORDS;

/// The words of all transports.
pub(crate) const TRANSPORT_WORDS: &[Word] = &{
    let mut words = [("", ""); PLAIN.len() + OTHER.len()];
    let (plain, other) = words.split_at_mut(PLAIN.len());
    plain.copy_from_slice(PLAIN);
    other.copy_from_slice(OTHER);
    words
};

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
        for (word, _) in TRANSPORT_WORDS {
            assert!(read(word).is_some(), "{word}");
        }
        assert_eq!(read("tcp"), None);
    }
}
