//! `pifolab-dataplane down`: takes data planes down, also what a crash left behind.

use crate::Result;
use crate::net::interface::Interface;
use crate::net::namespace::NetNamespace;
use crate::net::tc::{self, Root};
use crate::record::Record;

/// The arguments of `pifolab-dataplane down`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Only this interface [default: all that are up in this network namespace]
    #[arg(long, value_name = "IF")]
    dev: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// No right to, or a process that does not end.
pub fn run(args: Args) -> Result<()> {
    let namespace = NetNamespace::current()?;
    if let Some(dev) = &args.dev {
        Interface::find(dev)?;
    }
    let mut nothing = true;
    for record in Record::all()? {
        if record.namespace != namespace.inode() {
            // The interfaces of a namespace that is gone went with it.
            if !record.is_alive() {
                record.forget()?;
            }
            continue;
        }
        if args.dev.as_ref().is_some_and(|dev| *dev != record.interface) {
            continue;
        }
        record.stop()?;
        record.clean(&namespace)?;
        println!("{}: {} is down", record.interface, record.scheduler);
        nothing = false;
    }
    if let Some(dev) = args.dev.filter(|_| nothing) {
        // Without a record (somebody emptied /run) the filter still tells whose the queues are.
        if tc::root_of(&namespace, &dev)? == Root::Ours {
            tc::remove_root(&namespace, &dev)?;
            println!("{dev}: queues without an owner are removed");
        } else {
            println!("{dev}: nothing is up");
        }
    } else if nothing {
        println!("nothing is up in this network namespace");
    }
    Ok(())
}
