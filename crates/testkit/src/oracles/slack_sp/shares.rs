//! Slack-SP with `map = shares`, from lab/pages/slack-shares.md. Weights and quantiles are floating point; registers
//! are whole multiples.

use crate::oracle::{Buffer, number, serve_first, store};
use crate::{Answer, Offer, Settings};
use pifolab_sched::DropReason;
use std::collections::VecDeque;

const WHOLE: i128 = 1 << 32;

/// Slack-SP with shares of the free places.
pub struct Shares {
    queues: Vec<Buffer>,
    /// For each register, its position in 2^-20 ranks and its quantile in 2^-32.
    registers: Vec<(i128, i128)>,
    range: i128,
    gain: i128,
    last_weight: f64,
    eps: f64,
    arrivals: i128,
    /// Over how many packets registers average, in 2^-16.
    memory: i128,
    crowded: i128,
    departed: bool,
    /// 1 when an arrival finds nothing waiting, in 2^-32; less with each arrival since.
    emptied: i128,
    /// The share of the ranks that the link carries, in 2^-32.
    carried: i128,
    /// Rank and queue of what was admitted last, oldest first, and how many are kept.
    recent: VecDeque<(i128, usize)>,
    kept: usize,
}

impl From<Settings> for Shares {
    fn from(settings: Settings) -> Self {
        let queues = Buffer::all(&settings.capacities());
        let m = settings.get("registers", 9);
        let top = settings.get("top_registers", (m + 1).div_euclid(2).min(5));
        let range = settings.get("ranks", 100).min(1 << 42) << 20;
        let places: u64 = queues.iter().map(Buffer::total).sum();
        // The distances from 1 of the quantiles of the last place in the buffer and of the first top register.
        let nearest = (0.75 / places as f64).min(0.15);
        let farthest: f64 = if top == 1 { nearest } else { 0.3 };
        let quantile = |k: i128| {
            let even = (m - top) as f64;
            if k < m - top {
                return 0.05 + (1.0 - farthest - 0.05) * k as f64 / even;
            }
            let steps = (top - 1).max(1) as f64;
            1.0 - farthest * (nearest / farthest).powf((k - (m - top)) as f64 / steps)
        };
        let register = |k| {
            let quantile = (quantile(k) * WHOLE as f64).floor() as i128;
            ((range * quantile) >> 32, quantile)
        };
        Self {
            queues,
            registers: (0..m).map(register).collect(),
            range,
            gain: (number(&settings.get_fraction("gain", (1, 1))) * 65536.0).floor() as i128,
            last_weight: number(&settings.get_fraction("last_weight", (3, 5))),
            eps: number(&settings.get_fraction("eps", (1, 10))),
            arrivals: 0,
            memory: 0,
            crowded: 0,
            departed: false,
            emptied: WHOLE,
            carried: 21 * (WHOLE / 20),
            recent: VecDeque::new(),
            kept: settings.get("recent", 3) as usize,
        }
    }
}

impl Shares {
    /// Interpolates between the two registers around the rank.
    fn quantile(&self, rank: i128) -> i128 {
        let m = self.registers.len();
        let line = |(x0, y0): (i128, i128), x1: i128, y1: i128| y0 + (y1 - y0) * (rank - x0) / (x1 - x0);
        let reached: Vec<i128> = self.registers.iter().map(|(at, _)| *at).filter(|at| *at <= rank).collect();
        let others = self.registers.iter().map(|(at, _)| *at).filter(|at| *at > rank);
        // At least 2^-10 ranks.
        let apart = |a: usize, b: usize| (self.registers[b].0 - self.registers[a].0).max(1 << 10);
        let found = match reached.len() {
            0 => {
                let ((at, y0), (_, y1)) = (self.registers[0], self.registers[1]);
                y0 - (y1 - y0) * (at - rank) / apart(0, 1)
            }
            all if all == m => {
                let ((_, y0), (at, y1)) = (self.registers[m - 2], self.registers[m - 1]);
                y1 + (y1 - y0) * (rank - at) / apart(m - 2, m - 1)
            }
            k => {
                let low = *reached.iter().max().expect("at least one");
                line((low, self.registers[k - 1].1), others.min().expect("at least one"), self.registers[k].1)
            }
        };
        found.clamp(0, WHOLE)
    }

    /// The share by which registers move: 1 over the memory plus some packets.
    fn rate(&self, packets: i128) -> i128 {
        (WHOLE / (self.memory / 65536 + packets)).max(WHOLE / 4096) * self.gain / 65536
    }

    /// Moves every register by a share of the width, in ranks, of its part of the distribution.
    fn learn(&mut self, rank: i128) {
        self.arrivals += 1;
        let dithered = rank + (self.arrivals * 40503 % 65536) * 16;
        let old = self.registers.clone();
        let last = old.len() - 1;
        self.memory += 65536;
        let (top, quantile) = old[last];
        if dithered >= top {
            // The whole memory times 1 / (4096 p), at most one half.
            self.memory -= self.memory * WHOLE / (4096 * (WHOLE - quantile).max(WHOLE / 2048));
        }
        self.memory = self.memory.min(4096 * 65536);
        let share = self.rate(20);
        for (k, (at, quantile)) in self.registers.iter_mut().enumerate() {
            let (before, after) = (old[k.max(1) - 1], old[(k + 1).min(last)]);
            let far = if k == last { 2 } else { 1 };
            // The width per unit of quantile, with 16 fractional bits.
            let width = ((after.0 - before.0) * far * ((1 << 48) / (after.1 - before.1).max(1))) >> 16;
            let step = ((width.max((self.range / 10).max(1)) * share) >> 32).min((self.range / 10).max(1));
            let up = (step * *quantile) >> 32;
            *at += if dithered >= *at { up } else { up - step };
        }
        for k in 1..=last {
            self.registers[k].0 = self.registers[k].0.max(self.registers[k - 1].0);
        }
    }

    /// Offers a packet.
    pub fn enqueue(&mut self, offer: Offer) -> Answer {
        let rank = i128::from(offer.rank).min(1 << 42) << 20;
        let quantile = self.quantile(rank);
        self.learn(rank);
        let target = if self.departed { 0 } else { WHOLE };
        self.departed = false;
        self.crowded += (target - self.crowded).div_euclid(16);
        let burst = self.crowded > 13 * (WHOLE / 20);
        let free: Vec<i128> = self.queues.iter().map(|queue| i128::from(queue.total() - queue.used())).collect();
        let total: Vec<i128> = self.queues.iter().map(|queue| i128::from(queue.total())).collect();
        let n = self.queues.len();
        let parked = if n < 8 { 1 } else { n / 4 };
        let ahead = n - parked;
        // How full the parked queues are, and what follows for the share that is carried.
        let places: i128 = total[ahead..].iter().sum();
        let occupied = (places - free[ahead..].iter().sum::<i128>()) * WHOLE / places;
        let times = |a: i128, b: i128| (a * b).div_euclid(WHOLE);
        let rate = self.rate(512);
        let waiting = self.queues.iter().any(|queue| queue.used() > 0);
        self.emptied = if waiting { self.emptied - self.emptied.div_euclid(256) } else { WHOLE };
        self.carried += times(3 * (WHOLE / 5) - occupied, rate) + if waiting { 0 } else { WHOLE / 64 };
        self.carried = self.carried.clamp(WHOLE / 64, 21 * (WHOLE / 20));
        let carried = self.carried;
        let overload = (2 * (WHOLE - carried)).clamp(0, WHOLE);
        let between = |of_room: i128, of_link: i128| of_room + times(of_link - of_room, overload);

        let least = if burst { 3 * (WHOLE / 10) } else { 4 * (WHOLE / 5) };
        let kept = WHOLE - times(WHOLE - least, self.emptied);
        let room: i128 = free.iter().sum();
        let room_limit = (room * WHOLE * WHOLE).div_euclid(total.iter().sum::<i128>() * kept).min(WHOLE);
        let of_link = times(carried, 6 * (WHOLE / 5) - occupied / 3);
        if waiting && quantile > between(room_limit, of_link) {
            return Answer::Dropped(DropReason::Admission);
        }

        let weight = |i: usize| match n {
            1 => 1.0,
            _ if burst => 0.5_f64.powf((n - 1 - i) as f64 / (n - 1) as f64),
            _ => self.last_weight.powf(i as f64 / (n - 1) as f64),
        };
        let of_place = |i: usize| weight(i) * free[i] as f64 / total[i] as f64;
        let all: f64 = (0..n).map(of_place).sum();
        let reached = |k: usize| {
            let share = 1.0 - self.eps.powf(k as f64 / ahead as f64);
            times(carried, (share * WHOLE as f64).floor() as i128)
        };
        let low = if ahead == 0 { 0 } else { reached(ahead) };
        let mut end = 0.0;
        let last = (0..n).rev().find(|i| free[*i] > 0);
        let mut taken_by = None;
        for i in (0..n).filter(|i| free[*i] > 0) {
            end = if Some(i) == last { 1.0 } else { end + of_place(i) / all };
            let of_room = (end * room_limit as f64).floor() as i128;
            let of_link = if i < ahead {
                reached(i + 1)
            } else {
                low + (of_link - low).max(0) * (i - ahead + 1) as i128 / parked as i128
            };
            // The last queue takes all that is admitted.
            if i == n - 1 || quantile <= between(of_room, of_link) {
                taken_by = Some(i);
                break;
            }
        }
        let Some(mut chosen) = taken_by else {
            return Answer::Dropped(DropReason::Full);
        };
        if !burst {
            let waits = self.recent.iter().filter(|(_, queue)| self.queues[*queue].used() > 0);
            let (lower, higher): (Vec<_>, Vec<_>) = waits.partition(|(other, _)| *other <= rank);
            let first = lower.iter().map(|(_, queue)| *queue).max().unwrap_or(0);
            let last = higher.iter().map(|(_, queue)| queue.max(&1) - 1).min().unwrap_or(n - 1);
            let moved = if chosen < first.min(last) {
                first.min(last)
            } else if chosen > first.max(last) {
                first.max(last)
            } else {
                chosen
            };
            if free[moved] > 0 {
                chosen = moved;
            }
        }
        let answer = store(&mut self.queues, chosen, offer);
        if matches!(answer, Answer::Admitted { .. }) {
            self.recent.push_back((rank, chosen));
            if self.recent.len() > self.kept {
                self.recent.pop_front();
            }
        }
        answer
    }

    /// Requests a packet.
    pub fn dequeue(&mut self) -> Answer {
        let answer = serve_first(&mut self.queues);
        self.departed |= matches!(answer, Answer::Sent(_));
        answer
    }
}
