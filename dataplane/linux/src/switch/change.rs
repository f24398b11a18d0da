//! Other parameters while the switch runs: another scheduler of the same kind takes over the frames of the one before.

use super::arena::Slot;
use super::choice::{SchedulerOptions, build_scheduler};
use super::chosen::Chosen;
use super::parameters::ParameterFile;
use super::port::Port;
use crate::watched::Changes;
use crate::{Error, Result, say};
use pifolab_registry::BoxedScheduler;
use pifolab_sched::{Inspect, Packet, Scheduler};
use pifolab_units::{Rate, Time};
use std::path::{Path, PathBuf};

impl Port<Chosen> {
    /// Goes on with `scheduler`, which takes over the frames that wait, each in its queue where there are several, and the window,
    /// bounds and registers of the one before. What it has no room for is lost and counted. What the rank function remembers
    /// of flows stays.
    pub fn change_scheduler(&mut self, scheduler: BoxedScheduler, now: Time) {
        self.advance(now);
        self.make_room_for(scheduler.capacity(), scheduler.queues());
        let mut old = std::mem::replace(self.scheduler_mut().inner_mut(), scheduler);
        let mut lost = Vec::new();
        self.scheduler_mut().inner_mut().succeed(&mut *old, now, &mut |packet| lost.push(packet));
        lost.iter().for_each(|packet| self.lose(packet));
    }

    fn lose(&mut self, packet: &Packet) {
        self.count_lost_at_change(packet.size as usize);
        self.release(packet.id as Slot);
    }
}

/// A scheduler whose parameters follow a file.
pub struct Followed {
    scheduler: String,
    options: SchedulerOptions,
    changes: Changes<ParameterFile>,
}

impl Followed {
    /// Follows the file at `path`, which goes before `options`, the parameters of the command line. A file that is wrong is
    /// told on standard error and changes nothing.
    pub fn new(path: PathBuf, scheduler: &str, options: &SchedulerOptions) -> Self {
        let (name, own) = (scheduler.to_owned(), options.clone());
        let read = move |path: &Path| {
            let file = ParameterFile::read(path)?;
            link_rate(&file)?;
            build_scheduler(&name, &file.over(&own)).map(|_| file)
        };
        let changes = Changes::new(path, UNCHANGED, read);
        Self { scheduler: scheduler.to_owned(), options: options.clone(), changes }
    }

    /// Changes what the file has changed. Costs one load if it has not.
    #[inline]
    pub fn apply(&self, port: &mut Port<Chosen>, now: Time) {
        let Some((mut schedulers, rate)) = self.take(1) else { return };
        port.change_scheduler(schedulers.remove(0), now);
        if let Some(rate) = rate {
            port.change_rate(rate);
        }
        self.told();
    }

    /// `count` schedulers with the parameters that the file has by now, and the link's rate if it has one; `None` if they were taken
    /// before.
    #[inline]
    pub fn take(&self, count: usize) -> Option<(Vec<BoxedScheduler>, Option<Rate>)> {
        let file = self.changes.take()?;
        let options = file.over(&self.options);
        match (0..count).map(|_| build_scheduler(&self.scheduler, &options)).collect() {
            Ok(schedulers) => Some((schedulers, link_rate(&file).ok().flatten())),
            Err(error) => {
                say(&format!("{error}; {UNCHANGED}"));
                None
            }
        }
    }

    /// Says that they are in use.
    pub fn told(&self) {
        say(&format!("{} now has the new parameters", self.scheduler));
    }
}

const UNCHANGED: &str = "the parameters are unchanged";

/// The rate that a file gives, if it does.
pub fn link_rate(file: &ParameterFile) -> Result<Option<Rate>> {
    let wrong = |rate: f64| Error::Usage(format!("rate_mbps = {rate}: expected a rate from 0.001 to 1000000 Mb/s"));
    let bps = |rate: f64| {
        let in_range = (1e-3..=1e6).contains(&rate);
        in_range.then(|| Rate::from_bps((rate * 1e6).round() as u64)).flatten().ok_or_else(|| wrong(rate))
    };
    file.rate_mbps.map(bps).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::{RankSource, WHOLE};
    use crate::switch::choice::params;
    use crate::switch::port::{Frame, PortConfig};
    use pifolab_frames::frame::udp_frame;
    use pifolab_frames::reader::RankReader;
    use pifolab_sched::{Enqueued, InspectExt, Ranked};
    use pifolab_units::{Bytes, Rank, Span};

    fn options(pairs: &[(&str, &str)]) -> SchedulerOptions {
        let mut options = SchedulerOptions::default();
        pairs.iter().for_each(|(name, text)| options.set(name, text));
        options
    }

    fn build(scheduler: &str, pairs: &[(&str, &str)]) -> BoxedScheduler {
        build_scheduler(scheduler, &options(pairs)).expect("valid")
    }

    fn port(scheduler: &str, pairs: &[(&str, &str)]) -> Port<Chosen> {
        let scheduler = build(scheduler, pairs);
        let config = PortConfig {
            rank: RankReader::new(Some(RankSource::Dscp), Rank::from(63)),
            not_ip_share: WHOLE / 20,
            rate: Rate::from_bps(1000).expect("a rate"),
            overhead: Bytes(0),
            delay: Span::ZERO,
            frame_bytes: 2048,
            flows: 16,
            flow_timeout: Span::ZERO,
        };
        Port::new(Chosen::Plain(scheduler), config)
    }

    fn offer(port: &mut Port<Chosen>, ranks: impl IntoIterator<Item = u8>) {
        for rank in ranks {
            port.handle_frame(Frame::whole(&udp_frame(rank, 1, &[rank; 60])), Time::ZERO);
        }
    }

    fn window(port: &Port<Chosen>) -> Vec<u64> {
        let mut ranks = Vec::new();
        port.scheduler().visit_window(&mut |rank| ranks.push(rank.get()));
        ranks
    }

    #[test]
    fn frames_that_wait_and_the_window_stay_when_parameters_change() {
        for name in ["aifo", "packs"] {
            let capacity = if name == "aifo" { ("capacity_packets", "40") } else { ("queue_capacity_packets", "10") };
            let mut port = port(name, &[("window", "20"), capacity]);
            offer(&mut port, 1..=20);
            let (held, before) = (port.scheduler().len(), window(&port));
            assert!(held > 5 && before.len() == 20, "{name}: {held} {before:?}");
            for slots in ["20", "50", "8"] {
                port.change_scheduler(build(name, &[("window", slots), ("k", "0.3"), capacity]), Time::ZERO);
                let kept = before.len().min(slots.parse().expect("a number"));
                assert_eq!(window(&port), before[before.len() - kept..], "{name}, {slots} slots");
            }
            assert_eq!(port.scheduler().len(), held, "{name}: frames were lost");
            assert!(port.counters().balance(held as u64), "{name}: {:?}", port.counters());
        }
    }

    fn state(port: &Port<Chosen>) -> Vec<i64> {
        let mut numbers = Vec::new();
        port.scheduler().visit_state(&mut |number| numbers.push(number));
        numbers
    }

    #[test]
    fn bounds_and_registers_stay_when_parameters_change() {
        let ranks = || (1..=40u16).map(|place| (place * 37 % 61) as u8);
        // SP-PIFO: bounds stay, further queues begin with that of the last.
        let mut sp_pifo = port("sp-pifo", &[("queues", "4")]);
        offer(&mut sp_pifo, ranks());
        let before = state(&sp_pifo);
        let lengths = |port: &Port<Chosen>| (0..4).map(|queue| port.scheduler().queue_len(queue)).collect::<Vec<_>>();
        let held = lengths(&sp_pifo);
        assert!(before.len() == 4 && before.iter().any(|bound| *bound > 0), "{before:?}");
        sp_pifo.change_scheduler(build("sp-pifo", &[("queues", "4"), ("on_full", "update")]), Time::ZERO);
        assert_eq!((state(&sp_pifo), lengths(&sp_pifo)), (before.clone(), held.clone()));
        sp_pifo.change_scheduler(build("sp-pifo", &[("queues", "6")]), Time::ZERO);
        assert_eq!(state(&sp_pifo), [&before[..], &[before[3]; 2]].concat());
        sp_pifo.change_scheduler(build("sp-pifo", &[("queues", "2")]), Time::ZERO);
        assert_eq!(state(&sp_pifo), before[..2]);
        assert_eq!(lengths(&sp_pifo)[0], held[0]);
        // Slack-SP: registers stay while there are as many.
        let mut slack = port("slack-sp", &[("queues", "4"), ("admission_gain", "0.25")]);
        offer(&mut slack, ranks());
        let before = state(&slack);
        assert!(before.len() == 5 && before[0] != state(&port("slack-sp", &[("queues", "4")]))[0], "{before:?}");
        slack.change_scheduler(build("slack-sp", &[("queues", "4"), ("admission_gain", "0.5")]), Time::ZERO);
        assert_eq!(state(&slack), before);
        slack.change_scheduler(build("slack-sp", &[("queues", "5")]), Time::ZERO);
        assert_eq!(state(&slack), state(&port("slack-sp", &[("queues", "5")])));
        // RIFO: Min, Max and the counter.
        for mode in ["alg1", "pow2", "netbench"] {
            let mut rifo = port("rifo", &[("mode", mode), ("tracking_range_packets", "100")]);
            offer(&mut rifo, ranks());
            let before = state(&rifo);
            assert!(before[1] > before[0] && before[2] >= 39, "{mode}: {before:?}");
            rifo.change_scheduler(build("rifo", &[("mode", mode), ("k", "0.3")]), Time::ZERO);
            assert_eq!(state(&rifo), before, "{mode}");
            // A shorter range than what the counter has reached ends, and begins anew.
            rifo.change_scheduler(build("rifo", &[("mode", mode), ("tracking_range_packets", "10")]), Time::ZERO);
            offer(&mut rifo, [30, 30]);
            assert!(state(&rifo)[2] <= 10, "{mode}: {:?}", state(&rifo));
            offer(&mut rifo, [31; 8]);
            assert!(state(&rifo)[0] >= 30, "{mode}: {:?}", state(&rifo));
        }
        // Exp-PIFO: beta and the counter.
        let mut exp_pifo = port("exp-pifo", &[]);
        offer(&mut exp_pifo, ranks());
        let before = state(&exp_pifo);
        assert_eq!(before, [5, 40]);
        exp_pifo.change_scheduler(build("exp-pifo", &[("window_packets", "60")]), Time::ZERO);
        assert_eq!(state(&exp_pifo), before);
    }

    #[test]
    fn other_queues_and_capacities_take_what_they_have_room_for_and_the_rest_is_counted() {
        let mut port = port("pifo", &[("capacity_packets", "10")]);
        offer(&mut port, (0..11).rev());
        assert_eq!(port.scheduler().len(), 10);
        port.change_scheduler(build("pifo", &[("capacity_packets", "4")]), Time::ZERO);
        assert_eq!((port.scheduler().len(), port.counters().lost_at_change.packets), (4, 6));
        assert!(port.counters().balance(4), "{:?}", port.counters());
        // More than there was memory for.
        port.change_scheduler(build("pifo", &[("capacity_packets", "2000")]), Time::ZERO);
        offer(&mut port, std::iter::repeat_n(9, 2500));
        assert_eq!((port.scheduler().len(), port.counters().no_slot.packets), (2000, 0));
        port.change_rate(Rate::from_gbps(1));
        let (mut sent, mut now) = (0, Time::ZERO);
        // The frame that is on the link goes on at 1 kb/s.
        for _ in 0..200 {
            now += Span::from_us(10_000);
            port.advance(now);
            while let Some(slot) = port.poll_ready(now) {
                port.release(slot);
                sent += 1;
            }
        }
        assert!(sent > 2000, "{sent}");
        assert!(port.scheduler().is_empty() && port.counters().balance(0));
    }

    #[test]
    fn a_rank_function_remembers_its_flows_when_parameters_change() {
        let las = pifolab_registry::find_rank("las").expect("it is there");
        let las = las.build(params(las.info, &[])).expect("valid");
        let pifo = || build("pifo", &[]);
        let mut port = Port::new(Chosen::Ranked(Ranked::new(las, pifo())), port("pifo", &[]).into_config());
        let rank_of = |port: &mut Port<Chosen>| match port.offer(Frame::whole(&udp_frame(0, 7, &[0; 83])), Time::ZERO) {
            Some(Enqueued::Admitted { rank, .. }) => rank.get(),
            other => panic!("{other:?}"),
        };
        assert_eq!([rank_of(&mut port), rank_of(&mut port)], [0, 125]);
        port.change_scheduler(pifo(), Time::ZERO);
        assert_eq!(rank_of(&mut port), 250);
        // The first one is on the link.
        assert_eq!(port.scheduler().len(), 2);
    }
}
