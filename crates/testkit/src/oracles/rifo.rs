//! RIFO, Algorithm 1, eq. 3 and the tables of section V.

use super::aifo::single;
use crate::draw::{draw_capacity, draw_delay};
use crate::line::{FIFO, Suite, Vectors, line};
use crate::oracle::{Buffer, Found, serve_first, store};
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};
use num_rational::BigRational;
use pifolab_sched::DropReason;

/// RIFO.
pub struct Rifo {
    buffer: [Buffer; 1],
    found: Found,
    range: Option<(u64, u64)>,
    counter: i128,
    settings: Settings,
    /// Max and Min of the published simulation.
    registers: (i32, i32),
}

impl From<Settings> for Rifo {
    fn from(settings: Settings) -> Self {
        Self {
            buffer: [Buffer::new(settings.capacity())],
            found: Found::default(),
            range: None,
            counter: 0,
            settings,
            registers: (0, i32::MAX),
        }
    }
}

fn whole(value: u64) -> BigRational {
    BigRational::from_integer(value.into())
}

/// The nearest power of two, at least 1; halfway between two, the lower one.
fn nearest_power(value: &BigRational) -> BigRational {
    let mut power = whole(1);
    while (&power * whole(2) - value) < (value - &power) {
        power *= whole(2);
    }
    power
}

/// The largest power of two not above `value`; 0 for 0.
fn power_below(value: u64) -> BigRational {
    if value == 0 {
        return whole(0);
    }
    let mut power = 1u64;
    while power <= value / 2 {
        power *= 2;
    }
    whole(power)
}

/// Halves both numbers until the larger fits in 16 bits; returns them and the number of halvings.
fn fit_16_bits(mut large: u64, mut small: u64) -> (u64, u64, u32) {
    let mut halvings = 0;
    while large >= 1 << 16 {
        large /= 2;
        small /= 2;
        halvings += 1;
    }
    (large, small, halvings)
}

impl Rifo {
    fn admits(&self, seen: &Buffer, rank: u64, min: u64, max: u64) -> bool {
        let (total, used) = (seen.total(), seen.used());
        let (free, above, range) = (total - used, rank - min, max - min);
        let k = self.settings.get_fraction("k", (1, 10));
        let sheltered = (whole(1) - &k) * whole(total);
        if range == 0 {
            return true;
        }
        match self.settings.get_word("mode", "alg1") {
            "alg1" => whole(used) <= k * whole(total) || whole(above) / whole(range) <= whole(free) / whole(total),
            "eq3" => sheltered * whole(above) <= whole(free) * whole(range),
            _ => {
                let (range, above, _) = fit_16_bits(range, above);
                let (_, free, halvings) = fit_16_bits(total, free);
                let mut sheltered = nearest_power(&sheltered);
                for _ in 0..halvings {
                    if sheltered > whole(1) {
                        sheltered /= whole(2);
                    }
                }
                sheltered * power_below(above) <= power_below(free) * power_below(range)
            }
        }
    }
}

impl Rifo {
    /// The published simulation, step by step.
    fn admits_as_published(&mut self, seen: &Buffer, rank: u64) -> bool {
        let (mut max, mut min) = self.registers;
        let rank = rank as u32 as i32;
        if rank > max {
            max = rank;
        } else if rank < min {
            min = rank;
        }
        let score = f64::from(max.wrapping_sub(rank)) / f64::from(max.wrapping_sub(min));
        self.counter += 1;
        if self.counter == self.settings.get("tracking_range_packets", 500) {
            (max, min, self.counter) = (i32::MIN, i32::MAX, 0);
        }
        self.registers = (max, min);
        let (total, used) = (seen.total() as f64, seen.used() as f64);
        let k = single(&self.settings.get_fraction("k", (1, 10)));
        used <= f64::from(k) * total || score >= (total - used) / total
    }
}

impl Oracle for Rifo {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        let rank = offer.rank;
        let seen = self.found.seen(&self.buffer, &self.settings).remove(0);
        if self.settings.get_word("mode", "alg1") == "netbench" {
            return match self.admits_as_published(&seen, rank) {
                true => store(&mut self.buffer, 0, offer),
                false => Answer::Dropped(DropReason::Admission),
            };
        }
        if self.counter == self.settings.get("tracking_range_packets", 500) {
            self.range = Some((rank, rank));
            self.counter = self.settings.get("reset_counter", 1);
        } else {
            let (min, max) = self.range.unwrap_or((rank, rank));
            self.range = Some((min.min(rank), max.max(rank)));
            self.counter += 1;
        }
        let (min, max) = self.range.expect("a packet was seen");
        if self.admits(&seen, rank, min, max) {
            store(&mut self.buffer, 0, offer)
        } else {
            Answer::Dropped(DropReason::Admission)
        }
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        serve_first(&mut self.buffer)
    }
}

/// Adds RIFO to the suite.
pub(crate) const SUITE: Suite = Suite { lines: &[line::<Rifo>("rifo", rifo, FIFO)], vectors };

fn rifo(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_capacity(source, &mut settings);
    if source.once_in(2) {
        settings.integer("tracking_range_packets", source.from_to(1, 20));
    }
    settings.draw_fraction(source, "k");
    settings.draw_word(source, "mode", &["alg1", "eq3", "pow2", "netbench"]);
    if settings.get_word("mode", "alg1") != "netbench" && source.once_in(2) {
        settings.integer("reset_counter", source.below(2));
    }
    draw_delay(source, &mut settings);
    settings
}

fn vectors(add: &mut Vectors) {
    for (what, mode, ranks) in [
        ("alg1_bytes", "alg1", Ranks::Hundred),
        ("eq3_bytes_any_rank", "eq3", Ranks::Any),
        ("pow2_bytes", "pow2", Ranks::HeavyTailed),
    ] {
        add.vector(what, ranks, &|s| {
            s.integer("capacity_bytes", 12_000);
            s.integer("tracking_range_packets", 25);
            s.list("k", [1, 10]);
            s.word("mode", mode);
        });
    }
    // (1-k)B is nearer to 2^16 than to 2^15, but tables of four-bit exponents have no row for 2^16.
    add.vector("pow2_nearly_16_bits", Ranks::Hundred, &|s| {
        s.integer("capacity_bytes", 60_000);
        s.integer("tracking_range_packets", 25);
        s.list("k", [1, 10]);
        s.word("mode", "pow2");
    });
    add.vector("late_length", Ranks::Hundred, &|s| {
        s.integer("capacity_packets", 8);
        s.integer("tracking_range_packets", 25);
        s.list("k", [1, 10]);
        s.integer("occupancy_delay_packets", 1);
    });
    for (what, mode, k) in [("pow2_any_rank", "pow2", [0, 1]), ("eq3_reset_0", "eq3", [1, 3])] {
        add.vector(what, Ranks::Any, &|s| {
            s.integer("capacity_packets", 11);
            s.integer("tracking_range_packets", 9);
            s.list("k", k);
            s.word("mode", mode);
            s.integer("reset_counter", 0);
        });
    }
}
