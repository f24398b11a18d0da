//! The data planes of the router: the user-space switch, or the kernel with eBPF in front of its queues.

use super::linux::LinuxQdisc;
use super::namespace::Lab;
#[cfg(feature = "ebpf")]
use crate::ebpf::{
    KernelPlane, Plane, PlaneConfig, QdiscConfig, QdiscPlane, RankSource, Settings, plane::best_occupancy,
};
use crate::rank::RankOptions;
use crate::switch::{self, LinkArgs, SwitchConfig, bridge::prefer_this_thread, choice::SchedulerOptions};
use crate::{Error, Result};
use clap::ValueEnum;
#[cfg(feature = "ebpf")]
use pifolab_registry::find_scheduler;
#[cfg(feature = "ebpf")]
use pifolab_sched::params::Args;
use pifolab_units::Span;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

/// The data plane that carries the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataPlane {
    /// The kernel's queues behind an eBPF program
    Ebpf,
    /// A BPF qdisc, also for pifo (Linux >= 6.16 with CONFIG_NET_SCH_BPF)
    Qdisc,
    /// The user-space switch
    Switch,
    /// The qdisc that Linux itself has for fifo, drr and fq-codel, behind HTB, to compare with
    Linux,
}

impl DataPlane {
    /// The name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ebpf => "ebpf",
            Self::Qdisc => "qdisc",
            Self::Switch => "switch",
            Self::Linux => "linux",
        }
    }
}

/// A scheduler at the bottleneck.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    /// The data plane.
    pub plane: DataPlane,
    /// The scheduler's name.
    pub scheduler: String,
    /// Its parameters.
    pub parameters: SchedulerOptions,
    /// The place of ranks in packets.
    pub rank: String,
    /// The link.
    pub link: LinkArgs,
    /// The Linux qdisc, for the data plane `linux`.
    pub linux: Option<LinuxQdisc>,
}

impl Bottleneck {
    /// Checks the user's rank options before any run.
    pub fn check(&self) -> Result<()> {
        match self.plane {
            DataPlane::Switch => {
                let scheduler = switch::choice::build_scheduler(&self.scheduler, &self.parameters)?;
                switch::choice::join_rank(scheduler, &self.rank).map(drop)
            }
            #[cfg(feature = "ebpf")]
            DataPlane::Ebpf => self.settings().map(drop),
            #[cfg(feature = "ebpf")]
            DataPlane::Qdisc => self.rank_source().map(drop),
            _ => Ok(()),
        }
    }

    /// The kernel, if this user may load programs, the kernel supports the scheduler with these parameters, and no
    /// delay is requested; otherwise the switch.
    pub fn best_plane(&self) -> DataPlane {
        if self.link.delay_us == 0 && self.kernel_runs_it() { DataPlane::Ebpf } else { DataPlane::Switch }
    }

    #[cfg(feature = "ebpf")]
    fn kernel_runs_it(&self) -> bool {
        self.settings().is_ok() && libbpf_rs::ProgramType::SchedCls.is_supported().unwrap_or(false)
    }

    #[cfg(not(feature = "ebpf"))]
    const fn kernel_runs_it(&self) -> bool {
        false
    }

    /// Runs `work` while the data plane carries packets between the lab's sender and receiver. Returns the result and
    /// the data plane's counters.
    pub fn carry<T: Send>(&self, lab: &Lab, work: impl FnOnce() -> Result<T> + Send) -> Result<(T, Value)> {
        match self.plane {
            DataPlane::Switch => self.carry_by_switch(lab, work),
            DataPlane::Ebpf | DataPlane::Qdisc => self.carry_by_kernel(lab, work),
            DataPlane::Linux => self.carry_by_linux(lab, work),
        }
    }

    fn carry_by_linux<T: Send>(&self, lab: &Lab, work: impl FnOnce() -> Result<T> + Send) -> Result<(T, Value)> {
        self.expect_no_delay()?;
        let qdisc = self.linux.as_ref().expect("the choice of Linux's qdisc sets it");
        qdisc.install(&lab.router, "r1")?;
        let result = work()?;
        Ok((result, lab.router.enter(|| qdisc.counters("r1"))?))
    }

    fn expect_no_delay(&self) -> Result<()> {
        if self.link.delay_us == 0 {
            return Ok(());
        }
        Err(Error::Usage(
            "--delay-us: only the switch adds a delay, the kernel's data planes do not; use --data-plane switch".into(),
        ))
    }

    fn carry_by_switch<T: Send>(&self, lab: &Lab, work: impl FnOnce() -> Result<T> + Send) -> Result<(T, Value)> {
        let config = SwitchConfig {
            input: "r0".to_owned(),
            output: "r1".to_owned(),
            scheduler: self.scheduler.clone(),
            parameters: self.parameters.clone(),
            parameter_file: None,
            flow_timeout: None,
            rank: self.rank.clone(),
            rank_options: RankOptions::default(),
            link: self.link,
        };
        let stop = AtomicBool::new(false);
        let run = |up: Sender<()>| {
            let mut bridge = switch::open(&config)?;
            prefer_this_thread();
            // The receiver waits for this single message.
            let _ = up.send(());
            bridge.run(&stop, Span::ZERO, |_| {});
            Ok(serde_json::to_value(bridge.snapshot()).expect("counters serialize as numbers"))
        };
        carry_beside(lab, work, run, || stop.store(true, Ordering::Relaxed))
    }

    #[cfg(feature = "ebpf")]
    fn put_up(&self) -> Result<Box<dyn KernelPlane>> {
        let (interface, rate_bps, force) = ("r1".to_owned(), (self.link.rate_mbps * 1e6).round() as u64, false);
        if self.plane == DataPlane::Ebpf {
            let config = PlaneConfig { interface, rate_bps, settings: self.settings()?, per_queue: false, force };
            return Ok(Box::new(Plane::up(config)?));
        }
        Ok(Box::new(QdiscPlane::up(QdiscConfig {
            interface,
            rate_bps,
            scheduler: self.scheduler.clone(),
            args: self.arguments()?,
            rank: self.rank_source()?,
            rank_options: RankOptions::default(),
            force,
        })?))
    }

    #[cfg(feature = "ebpf")]
    fn settings(&self) -> Result<Settings> {
        Settings::new(&self.scheduler, self.arguments()?, self.rank_source()?, best_occupancy())
    }

    #[cfg(feature = "ebpf")]
    fn arguments(&self) -> Result<Args> {
        let info = find_scheduler(&self.scheduler).map_err(Error::Usage)?.info;
        Ok(switch::choice::params(info, self.parameters.written()))
    }

    #[cfg(feature = "ebpf")]
    fn rank_source(&self) -> Result<RankSource> {
        self.rank.parse().map_err(|error| Error::Usage(format!("--rank {error}")))
    }

    #[cfg(feature = "ebpf")]
    fn carry_by_kernel<T: Send>(&self, lab: &Lab, work: impl FnOnce() -> Result<T> + Send) -> Result<(T, Value)> {
        self.expect_no_delay()?;
        let (finish, finished) = mpsc::channel::<()>();
        let run = move |up: Sender<()>| {
            let plane = self.put_up()?;
            // The receiver waits for this single message.
            let _ = up.send(());
            // Also ends when the other side is dropped.
            let _ = finished.recv();
            plane.shown().map(|(counters, _)| counters)
        };
        carry_beside(lab, work, run, || drop(finish))
    }

    #[cfg(not(feature = "ebpf"))]
    fn carry_by_kernel<T: Send>(&self, _: &Lab, _: impl FnOnce() -> Result<T> + Send) -> Result<(T, Value)> {
        Err(Error::Unsupported(
            "this program was built without the eBPF data plane; use --data-plane switch".to_owned(),
        ))
    }
}

/// Runs `work` here, and `run` in the router's namespace on another thread. `run` sends a message once the data plane
/// is up, and returns the counters soon after `end`. Namespaces belong to threads, so the same thread installs and
/// removes the data plane.
fn carry_beside<T>(
    lab: &Lab,
    work: impl FnOnce() -> Result<T>,
    run: impl FnOnce(Sender<()>) -> Result<Value> + Send,
    end: impl FnOnce(),
) -> Result<(T, Value)> {
    thread::scope(|scope| {
        let (up, is_up) = mpsc::channel();
        let running = lab.router.spawn(scope, move || run(up));
        let result = is_up.recv().map(|()| work());
        end();
        let counters = running.join().expect("the data plane does not panic");
        match result {
            Ok(result) => Ok((result?, counters?)),
            // The thread failed before the data plane was up.
            Err(_) => counters.and(Err(Error::Failed("the data plane did not start".to_owned()))),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bottleneck(scheduler: &str, parameters: &[(&str, &str)], delay_us: u64) -> Bottleneck {
        let mut options = SchedulerOptions::default();
        for (name, value) in parameters {
            options.set(name, value);
        }
        let link = LinkArgs { rate_mbps: 20.0, delay_us, overhead_bytes: 0 };
        let (scheduler, rank) = (scheduler.to_owned(), "dscp".to_owned());
        Bottleneck { plane: DataPlane::Ebpf, scheduler, parameters: options, rank, link, linux: None }
    }

    #[test]
    fn the_switch_is_best_for_what_no_program_of_the_kernel_can_do() {
        assert_eq!(bottleneck("slack-sp", &[("map", "shares")], 0).best_plane(), DataPlane::Switch);
        assert_eq!(bottleneck("drr", &[], 0).best_plane(), DataPlane::Switch);
        assert_eq!(bottleneck("slack-sp", &[], 1000).best_plane(), DataPlane::Switch);
    }

    #[cfg(feature = "ebpf")]
    #[test]
    fn a_program_that_refuses_a_parameter_is_told_of_before_anything_runs() {
        assert!(bottleneck("slack-sp", &[], 0).check().is_ok());
        let refused = bottleneck("slack-sp", &[("map", "shares")], 0).check().unwrap_err().to_string();
        assert!(refused.contains("map") && refused.contains("shares"), "{refused}");
    }
}
