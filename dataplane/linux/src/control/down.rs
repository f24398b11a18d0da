//! `pifolab-dataplane down`: takes data planes down, including the remains of a crash.

use crate::net::interface::Interface;
use crate::net::namespace::NetNamespace;
use crate::net::root::RootQdisc;
use crate::record::offloads::restore_after_crashes;
use crate::record::{Cleaned, Record};
use crate::{Error, Result, tell};

/// The arguments of `pifolab-dataplane down`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Only this interface, by its present name or its name at `up` [default: all that are up in this network
    /// namespace]
    #[arg(long, value_name = "IF")]
    dev: Option<String>,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let namespace = NetNamespace::current()?;
    let records = Record::all()?;
    for record in records.iter().filter(|record| !record.is_of(&namespace)) {
        record.forget_if_gone(&namespace)?;
    }
    let mut wanted: Vec<Record> = records.into_iter().filter(|record| record.is_of(&namespace)).collect();
    let mut named = None;
    if let Some(dev) = &args.dev {
        match Interface::find(dev) {
            Ok(interface) => {
                wanted.retain(|record| record.index == interface.index);
                named = Some(interface);
            }
            // The interface may have another name now, or no longer exist.
            Err(error) => {
                wanted.retain(|record| record.interface == *dev);
                if wanted.is_empty() {
                    return Err(error);
                }
            }
        }
    }
    let restored = restore_after_crashes(&namespace, args.dev.as_deref())?;
    restored.iter().for_each(|line| tell(line));
    let nothing = wanted.is_empty() && restored.is_empty();
    let mut left = Vec::new();
    for record in wanted {
        let Record { interface, scheduler, .. } = &record;
        let lock = record.take_over()?;
        // A process that ended normally has removed what it could itself.
        let cleaned = match record.is_written()? {
            true => record.clean(&namespace, &lock)?,
            false => record.cleaned_by_itself(&namespace)?,
        };
        match cleaned {
            Cleaned::Down(now) if now == *interface => tell(&format!("{interface}: {scheduler} is down")),
            Cleaned::Down(now) => tell(&format!("{now} (put up as {interface}): {scheduler} is down")),
            Cleaned::Left(what) => {
                left.push(format!("{interface}: not changed, since pifolab did not install it: {what}"))
            }
        }
    }
    match named.filter(|_| nothing) {
        Some(Interface { name, index, .. }) => match RootQdisc::of(&namespace, index)? {
            Some(root) => tell(&format!("{name}: no pifolab data plane is up; its root qdisc is {root}")),
            None => tell(&format!("{name}: nothing is up")),
        },
        None if nothing => tell("nothing is up in this network namespace"),
        None => {}
    }
    if left.is_empty() { Ok(()) } else { Err(Error::Held(left.join("; "))) }
}
