//! Other parameters while the switch runs: another scheduler of the same kind takes over the frames of the one before.

use super::arena::Slot;
use super::choice::{SchedulerOptions, params};
use super::chosen::Chosen;
use super::parameters::ParameterFile;
use super::port::Port;
use crate::rank::table::Watched;
use crate::{Error, Result, say};
use pifolab_registry::{BoxedScheduler, find_scheduler};
use pifolab_sched::params::Value;
use pifolab_sched::{Dequeued, Enqueued, Inspect, Packet, Scheduler};
use pifolab_units::{Rank, Rate, Time};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How soon a change of the file is seen.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The parameter by which a window begins with ranks.
const START_WINDOW: &str = "start_window";
const WINDOW: &str = "window";

impl Port<Chosen> {
    /// Goes on with `scheduler`, which takes over the frames that wait, in the order in which they would have left. What it has
    /// no room for is lost and counted. What the rank function remembers of flows stays.
    pub fn change_scheduler(&mut self, scheduler: BoxedScheduler, now: Time) {
        self.advance(now);
        self.make_room_for(scheduler.capacity(), scheduler.queues());
        let mut old = std::mem::replace(self.scheduler_mut().inner_mut(), scheduler);
        let mut at = now;
        loop {
            match old.dequeue(at) {
                Dequeued::Packet { packet, .. } => match self.scheduler_mut().inner_mut().enqueue(packet, now) {
                    Enqueued::Admitted { .. } => {}
                    Enqueued::Evicted { victims, .. } => victims.iter().for_each(|victim| self.lose(victim)),
                    Enqueued::Dropped { packet, .. } => self.lose(&packet),
                },
                Dequeued::Dropped { packet, .. } => self.lose(&packet),
                Dequeued::NotBefore(time) if time > at => at = time,
                Dequeued::NotBefore(_) | Dequeued::Empty => break,
            }
        }
    }

    fn lose(&mut self, packet: &Packet) {
        self.count_lost_at_change(packet.size as usize);
        self.release(packet.id as Slot);
    }
}

/// What a file of parameters says, as long as nobody has taken it.
struct Latest {
    fresh: AtomicBool,
    file: std::sync::Mutex<Option<ParameterFile>>,
}

/// A scheduler whose parameters follow a file.
pub struct Followed {
    scheduler: String,
    options: SchedulerOptions,
    latest: Arc<Latest>,
}

impl Followed {
    /// Follows the file at `path`, which goes before `options`, the parameters of the command line. A file that is wrong is
    /// told on standard error and changes nothing.
    pub fn new(path: PathBuf, scheduler: &str, options: &SchedulerOptions) -> Self {
        let latest = Arc::new(Latest { fresh: AtomicBool::new(false), file: std::sync::Mutex::default() });
        let (to, name, own) = (Arc::downgrade(&latest), scheduler.to_owned(), options.clone());
        let mut watched = Watched::new(&path);
        thread::spawn(move || {
            loop {
                thread::sleep(LOOK_EVERY);
                // The switch has ended.
                let Some(to) = to.upgrade() else { return };
                if !watched.changed() {
                    continue;
                }
                let read = ParameterFile::read(&path).and_then(|file| {
                    link_rate(&file)?;
                    build(&name, &file.over(&own), Vec::new()).map(|_| file)
                });
                match read {
                    Ok(file) => {
                        *to.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(file);
                        to.fresh.store(true, Ordering::Release);
                    }
                    Err(error) => say(&format!("{error}; the parameters stay as they were")),
                }
            }
        });
        Self { scheduler: scheduler.to_owned(), options: options.clone(), latest }
    }

    /// Changes what the file has changed. Costs one load if it has not.
    #[inline]
    pub fn apply(&self, port: &mut Port<Chosen>, now: Time) {
        if !self.latest.fresh.load(Ordering::Relaxed) || !self.latest.fresh.swap(false, Ordering::Acquire) {
            return;
        }
        let file = self.latest.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let Some(file) = file else { return };
        let mut window = Vec::new();
        port.scheduler().visit_window(&mut |rank| window.push(rank));
        match build(&self.scheduler, &file.over(&self.options), window) {
            Ok(scheduler) => {
                port.change_scheduler(scheduler, now);
                if let Ok(Some(rate)) = link_rate(&file) {
                    port.change_rate(rate);
                }
                say(&format!("{} goes on with other parameters", self.scheduler));
            }
            Err(error) => say(&format!("{error}; the parameters stay as they were")),
        }
    }
}

/// The rate that a file gives, if it does.
pub(super) fn link_rate(file: &ParameterFile) -> Result<Option<Rate>> {
    let wrong = |rate: f64| Error::Usage(format!("rate_mbps = {rate}: expected a rate from 0.001 to 1000000 Mb/s"));
    let bps = |rate: f64| {
        let in_range = (1e-3..=1e6).contains(&rate);
        in_range.then(|| Rate::from_bps((rate * 1e6).round() as u64)).flatten().ok_or_else(|| wrong(rate))
    };
    file.rate_mbps.map(bps).transpose()
}

/// Builds a scheduler whose window, if it has one, begins with the newest of `ranks`, which are in the order of their arrival.
fn build(name: &str, options: &SchedulerOptions, ranks: Vec<Rank>) -> Result<BoxedScheduler> {
    let wrong = |error: pifolab_sched::params::ParamError| Error::Usage(error.to_string());
    let entry = find_scheduler(name).map_err(Error::Usage)?;
    let mut args = params(entry.info, options.written());
    let row = |name: &str| entry.info.params.iter().find(|param| param.name == name);
    if let (Some(_), Some(window)) = (row(START_WINDOW).filter(|_| !options.contains(START_WINDOW)), row(WINDOW)) {
        let slots: u64 = args.clone().given(window).map_err(wrong)?;
        let newest = &ranks[ranks.len().saturating_sub(slots as usize)..];
        if !newest.is_empty() {
            let list = newest.iter().map(|rank| Value::Integer(rank.get().into())).collect();
            args.set(START_WINDOW, Value::List(list));
        }
    }
    (entry.build)(args).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::{RankSource, WHOLE};
    use crate::switch::frame::udp_frame;
    use crate::switch::port::{Frame, PortConfig};
    use crate::switch::rank::RankReader;
    use pifolab_sched::Ranked;
    use pifolab_units::{Bytes, Span};

    fn options(pairs: &[(&str, &str)]) -> SchedulerOptions {
        let mut options = SchedulerOptions::default();
        pairs.iter().for_each(|(name, text)| options.set(name, text));
        options
    }

    fn port(scheduler: &str, pairs: &[(&str, &str)]) -> Port<Chosen> {
        let scheduler = build(scheduler, &options(pairs), Vec::new()).expect("valid");
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
            let larger = build(
                name,
                &options(&[("window", "50"), capacity]),
                window(&port).into_iter().map(|rank| Rank::new(rank).expect("a rank")).collect(),
            );
            port.change_scheduler(larger.expect("valid"), Time::ZERO);
            assert_eq!(port.scheduler().len(), held, "{name}: frames were lost");
            assert_eq!(window(&port)[..20], before[..], "{name}");
            assert!(port.counters().balance(held as u64), "{name}: {:?}", port.counters());
        }
    }

    #[test]
    fn other_queues_and_capacities_take_what_they_have_room_for_and_the_rest_is_counted() {
        let mut port = port("pifo", &[("capacity_packets", "10")]);
        offer(&mut port, (0..11).rev());
        assert_eq!(port.scheduler().len(), 10);
        port.change_scheduler(
            build("pifo", &options(&[("capacity_packets", "4")]), Vec::new()).expect("valid"),
            Time::ZERO,
        );
        assert_eq!((port.scheduler().len(), port.counters().lost_at_change.packets), (4, 6));
        assert!(port.counters().balance(4), "{:?}", port.counters());
        // More than there was memory for.
        port.change_scheduler(
            build("pifo", &options(&[("capacity_packets", "2000")]), Vec::new()).expect("valid"),
            Time::ZERO,
        );
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
        let las = (las.build)(params(las.info, &[])).expect("valid");
        let pifo = || build("pifo", &SchedulerOptions::default(), Vec::new()).expect("valid");
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
