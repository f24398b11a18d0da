//! The congestion window and the interface of congestion controllers.

use pifolab_units::Time;

/// The window of one connection. Sizes are floating-point numbers of bytes, because additive increase adds a fraction
/// of a byte per acknowledgement. Only the four basic operations change them, so results are identical on every machine
/// (also CUBIC's cube root, see there).
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Congestion window in bytes.
    pub cwnd: f64,
    /// Slow-start threshold in bytes.
    pub ssthresh: f64,
    /// Maximum segment size in bytes.
    pub mss: f64,
    /// Upper limit of the window in bytes.
    pub limit: f64,
}

impl Window {
    /// Slow start below the threshold; one segment per window above it.
    pub fn grow_like_reno(&mut self) {
        self.cwnd += if self.cwnd < self.ssthresh { self.mss } else { self.mss * self.mss / self.cwnd };
        self.cwnd = self.cwnd.min(self.limit);
    }
}

/// The data of an acknowledgement that controllers use.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The current time.
    pub now: Time,
    /// The first unacknowledged byte according to this acknowledgement, counted from 0.
    pub upto_bytes: u64,
    /// Bytes acknowledged for the first time.
    pub newly_bytes: u64,
    /// One past the highest byte sent.
    pub sent_bytes: u64,
    /// Whether the acknowledgement echoes a congestion mark.
    pub marked: bool,
    /// Smoothed round-trip time in seconds.
    pub rtt_s: f64,
}

/// Controls a [`Window`]. The sender, not the controller, inflates and deflates the window during fast recovery (RFC
/// 6582).
pub trait Controller {
    /// Handles an acknowledgement of new data outside recovery, or the one that ends recovery. The window may grow.
    fn on_new_ack(&mut self, window: &mut Window, ack: &Ack);
    /// Handles every acknowledgement, new or duplicate, after loss handling and before the left edge moves.
    fn on_any_ack(&mut self, _window: &mut Window, _ack: &Ack) {}
    /// Handles a loss inferred from duplicate acknowledgements with `flight_bytes` outstanding: sets the threshold.
    fn on_loss(&mut self, window: &mut Window, flight_bytes: u64, now: Time);
    /// Handles the expiry of the retransmission timer with `flight_bytes` outstanding: sets the threshold and the loss
    /// window.
    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u64, now: Time);
}

/// A controller from outside of this crate, such as a user's.
pub type BoxedController = Box<dyn Controller + Send>;
