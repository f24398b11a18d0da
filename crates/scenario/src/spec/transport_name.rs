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

const PLAIN: usize = PlainController::WORDS.len();
const COUNT: usize = PLAIN + OtherTransport::WORDS.len();

impl Choice for TransportName {
    const WORDS: &'static [Word] = &{
        let mut words = [("", ""); COUNT];
        let mut place = 0;
        while place < COUNT {
            words[place] =
                if place < PLAIN { PlainController::WORDS[place] } else { OtherTransport::WORDS[place - PLAIN] };
            place += 1;
        }
        words
    };
    const ALL: &'static [Self] = &{
        let mut all = [Self::Plain(PlainController::ALL[0]); COUNT];
        let mut place = 0;
        while place < COUNT {
            all[place] = if place < PLAIN {
                Self::Plain(PlainController::ALL[place])
            } else {
                Self::Other(OtherTransport::ALL[place - PLAIN])
            };
            place += 1;
        }
        all
    };

    fn as_word(self) -> &'static str {
        match self {
            Self::Plain(plain) => plain.as_word(),
            Self::Other(other) => other.as_word(),
        }
    }

    fn code(self) -> u32 {
        match self {
            Self::Plain(plain) => plain.code(),
            Self::Other(other) => PLAIN as u32 + other.code(),
        }
    }
}

impl FromValue for TransportName {
    fn from_value(_: &Kind, value: &Value) -> Option<Self> {
        if let Value::Text(text) = value { Self::from_word(text) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_controller_without_parameters_is_a_transport() {
        assert!(PlainController::ALL.len() >= 2);
        for plain in PlainController::ALL {
            assert_eq!(TransportName::from_word(plain.as_word()), Some(TransportName::Plain(*plain)));
        }
        for (place, name) in TransportName::ALL.iter().enumerate() {
            assert_eq!((name.as_word(), name.code() as usize), (TransportName::WORDS[place].0, place));
        }
    }
}
