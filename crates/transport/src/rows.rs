//! The rows of the transports' parameters: range, default and description of each.

pub use crate::dctcp::{CUT, GAIN, INITIAL_ALPHA};
use crate::{AckRank, RankRule, Recovery};
use pifolab_params::{Kind, Param};

/// The largest window, in bytes.
pub(crate) const MAX_BYTES: u64 = 1 << 40;

/// `mss_bytes`
pub const MSS_BYTES: Param =
    Param::integer("mss_bytes", 1, 65_535).means("1460; in the profiles 1380").doc("The payload of a full segment.");

/// `initial_window_segments`
pub const INITIAL_WINDOW_SEGMENTS: Param = Param::integer("initial_window_segments", 1, 65_535)
    .means("10, for pfabric 30; in the profiles 3, for pfabric 30")
    .doc("The congestion window at the start.");

/// `initial_ssthresh_segments`
pub const INITIAL_SSTHRESH_SEGMENTS: Param = Param::integer("initial_ssthresh_segments", 1, u32::MAX as u64)
    .means("none, for pfabric 30; in the profiles 30")
    .doc("The slow-start threshold at the start.");

/// `max_window_bytes`
pub const MAX_WINDOW_BYTES: Param =
    Param::integer("max_window_bytes", 1, MAX_BYTES).means("65535").doc("The window never grows beyond this.");

/// `initial_rto`
pub const INITIAL_RTO: Param = Param::new("initial_rto", Kind::Time)
    .means("10 ms; in the profiles 300 us, for pfabric 96384 ns")
    .doc("The retransmission timeout before the first round-trip sample.");

/// `min_rto`
pub const MIN_RTO: Param =
    Param::new("min_rto", Kind::Time).means("1 ms; in the profiles 0").doc("The floor of the timeout.");

/// `max_rto`
pub const MAX_RTO: Param =
    Param::new("max_rto", Kind::Time).means("60 s; in the profiles none").doc("The ceiling of the timeout.");

/// `unlimited_rto`
pub const UNLIMITED_RTO: Param = Param::flag("unlimited_rto")
    .means("false; in the profiles true")
    .doc("The timeout has no ceiling; instead of max_rto.");

/// `recovery`
pub const RECOVERY: Param =
    Param::choice::<Recovery>("recovery").means("duplicates").doc("How the sender detects losses.");

/// `duplicate_threshold`
pub const DUPLICATE_THRESHOLD: Param =
    Param::integer("duplicate_threshold", 1, 255).means("3").doc("Duplicate acknowledgements that reveal a loss.");

/// `limited_transmit`
pub const LIMITED_TRANSMIT: Param =
    Param::flag("limited_transmit").means("true").doc("Send new data on the first two duplicates (RFC 3042).");

/// `count_first_duplicates`
pub const COUNT_FIRST_DUPLICATES: Param =
    Param::flag("count_first_duplicates").means("true; in the profiles false").doc(
        "Count duplicates also before the first new acknowledgement, so that a lost first segment is repaired \
              without a timeout.",
    );

/// `handshake`
pub const HANDSHAKE: Param = Param::flag("handshake")
    .means("true")
    .doc("Whether a flow begins with a handshake. If false, its connection is already open.");

/// `accept_data_in_handshake`
pub const ACCEPT_DATA_IN_HANDSHAKE: Param = Param::flag("accept_data_in_handshake")
    .means("true; in the profiles false")
    .doc("The receiver takes data that arrives before the handshake's last segment.");

/// `restart_timer_on_send`
pub const RESTART_TIMER_ON_SEND: Param = Param::flag("restart_timer_on_send")
    .means("false; in the profiles true")
    .doc("Restart the timer at every transmission, not only when it is not running.");

/// `timeout_sets_recover`
pub const TIMEOUT_SETS_RECOVER: Param = Param::flag("timeout_sets_recover")
    .means("true; in the profiles false")
    .doc("After a timeout, losses of what was outstanding do not start a fast recovery (RFC 6582).");

/// `ecn`
pub const ECN: Param = Param::flag("ecn").means("false").doc(
    "Data can carry marks (RFC 3168), and a mark cuts the window as a loss does, once per window. DCTCP always answers to marks.",
);

/// `rank`
pub const RANK: Param = Param::choice::<RankRule>("rank")
    .means("zero, for pfabric remaining-size; in the profiles zero, for pfabric remaining-by-sequence")
    .doc("The rank that a sender writes into its segments, in bytes.");

/// `ack_rank`
pub const ACK_RANK: Param = Param::choice::<AckRank>("ack_rank").means("zero").doc("The rank of what receivers send.");

/// `payload_bytes`
pub const PAYLOAD_BYTES: Param = Param::integer("payload_bytes", 1, 65_535).doc("The payload of a datagram.");

/// `interval`
pub const INTERVAL: Param = Param::new("interval", Kind::Time).doc("The time between two datagrams of a flow.");
