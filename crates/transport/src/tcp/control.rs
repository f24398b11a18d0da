//! The congestion window and the interface of what steers it.

use pifolab_units::Time;

/// The window of one connection. Bytes, as floating-point numbers, since additive increase is a fraction per
/// acknowledgement; only the four basic operations touch them, so they have the same bits on every machine (CUBIC's
/// cube root excepted, see there).
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Congestion window in bytes.
    pub cwnd: f64,
    /// Slow-start threshold in bytes.
    pub ssthresh: f64,
    /// Maximum segment size in bytes.
    pub mss: f64,
    /// Growth stops here, in bytes.
    pub limit: f64,
}

impl Window {
    /// Slow start below the threshold, one segment per window above it.
    pub fn grow_like_reno(&mut self) {
        self.cwnd += if self.cwnd < self.ssthresh { self.mss } else { self.mss * self.mss / self.cwnd };
        self.cwnd = self.cwnd.min(self.limit);
    }
}

/// What an acknowledgement says to a controller.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Now.
    pub now: Time,
    /// First byte not yet acknowledged, counted from 0, according to this acknowledgement.
    pub upto_bytes: u64,
    /// Bytes that it acknowledges for the first time.
    pub newly_bytes: u64,
    /// One past the last byte ever sent.
    pub sent_bytes: u64,
    /// Whether it echoes a congestion mark.
    pub marked: bool,
    /// Smoothed round-trip time in seconds.
    pub rtt_s: f64,
}

/// Steers a [`Window`]. Inflation and deflation during fast recovery (RFC 6582) belong to the sender, not to the
/// controller.
pub trait Controller {
    /// New data was acknowledged outside recovery (or recovery just ended): the window may grow.
    fn on_new_ack(&mut self, window: &mut Window, ack: &Ack);
    /// Every acknowledgement, new or duplicate, after loss handling and before the left edge moves.
    fn on_any_ack(&mut self, _window: &mut Window, _ack: &Ack) {}
    /// A loss was inferred from duplicate acknowledgements with `flight_bytes` outstanding: sets the threshold.
    fn on_loss(&mut self, window: &mut Window, flight_bytes: u64, now: Time);
    /// The retransmission timer expired with `flight_bytes` outstanding: sets the threshold and the loss window.
    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u64, now: Time);
}

/// A controller that this crate does not know, such as one that a user wrote.
pub type BoxedController = Box<dyn Controller + Send>;
