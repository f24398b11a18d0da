//! What carries the packets through the router: the user-space switch, or the kernel with eBPF in front of its queues.

use super::namespace::Lab;
use crate::switch::{self, LinkArgs, SwitchConfig, bridge::prefer_this_thread, choice::SchedulerOptions};
use crate::{Error, Result};
use clap::ValueEnum;
use pifolab_units::Span;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

/// What carries the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataPlane {
    /// The kernel's queues behind an eBPF program
    Ebpf,
    /// The user-space switch
    Switch,
}

impl DataPlane {
    /// The name as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ebpf => "ebpf",
            Self::Switch => "switch",
        }
    }
}

/// A scheduler at the bottleneck.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    /// What carries the packets.
    pub plane: DataPlane,
    /// The scheduler's name.
    pub scheduler: String,
    /// Its parameters.
    pub parameters: SchedulerOptions,
    /// How ranks travel.
    pub rank: String,
    /// The link.
    pub link: LinkArgs,
}

impl Bottleneck {
    /// Runs `work` while the data plane carries packets between the lab's sender and receiver; returns the data plane's
    /// own counters beside the result.
    ///
    /// # Errors
    /// A wrong parameter, or this machine cannot run the data plane.
    pub fn carry<T: Send>(&self, lab: &Lab, work: impl FnOnce() -> Result<T> + Send) -> Result<(T, Value)> {
        match self.plane {
            DataPlane::Switch => self.carry_by_switch(lab, work),
            DataPlane::Ebpf => self.carry_by_kernel(lab, work),
        }
    }

    fn carry_by_switch<T: Send>(&self, lab: &Lab, work: impl FnOnce() -> Result<T> + Send) -> Result<(T, Value)> {
        let config = SwitchConfig {
            input: "r0".to_owned(),
            output: "r1".to_owned(),
            scheduler: self.scheduler.clone(),
            parameters: self.parameters.clone(),
            rank: self.rank.clone(),
            link: self.link,
        };
        let stop = &AtomicBool::new(false);
        thread::scope(|scope| {
            let (opened, open) = mpsc::channel();
            let running = lab.router.spawn(scope, move || {
                let mut bridge = match switch::open(&config) {
                    Ok(bridge) => bridge,
                    Err(error) => {
                        // The receiver waits for this one message.
                        let _ = opened.send(Err(error));
                        return Value::Null;
                    }
                };
                prefer_this_thread();
                let _ = opened.send(Ok(()));
                bridge.run(stop, Span::ZERO, |_| {});
                serde_json::to_value(bridge.snapshot()).expect("counters are plain numbers")
            });
            let opened = open.recv().unwrap_or_else(|_| Err(Error::Failed("the switch did not start".to_owned())));
            let result = opened.and_then(|()| work());
            stop.store(true, Ordering::Relaxed);
            let counters = running.join().expect("the switch does not panic");
            Ok((result?, counters))
        })
    }

    fn carry_by_kernel<T: Send>(&self, _lab: &Lab, _work: impl FnOnce() -> Result<T> + Send) -> Result<(T, Value)> {
        Err(Error::Unsupported("the eBPF data plane is not in this build".to_owned()))
    }
}
