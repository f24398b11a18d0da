//! `pifolab-dataplane doctor`: checks the features of this machine, and the packages to install.
//!
//! Tests use the same probes: a test that cannot run prints the failed probe and the reason.

use crate::net::tc;
use crate::{Error, Result};
use std::env;
use std::path::Path;
use std::process::Command;

/// The arguments of `pifolab-dataplane doctor`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// Load every eBPF program with every option that changes its code, and list those that the kernel refuses
    #[cfg(feature = "ebpf")]
    #[arg(long)]
    programs: bool,
    /// With --programs: programs from this folder (NAME.filter.bpf.o, NAME.qdisc.bpf.o), which another compiler may have made
    #[cfg(feature = "ebpf")]
    #[arg(long, value_name = "FOLDER", requires = "programs")]
    objects: Option<std::path::PathBuf>,
}

const OWN_PROGRAM: &str = "pifolab's eBPF programs";

/// The result of one probe.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Finding {
    /// The name of the feature.
    pub what: &'static str,
    /// The uses of the feature.
    pub needed_for: &'static str,
    /// Whether the feature exists.
    pub ok: bool,
    /// The reason, or the details found.
    pub detail: String,
    /// The Debian packages that contain the feature, if any.
    pub packages: &'static str,
}

fn finding(what: &'static str, needed_for: &'static str, probe: Result<String, String>) -> Finding {
    let ok = probe.is_ok();
    let packages = match what {
        "tc" | "ip" => "iproute2",
        "clang" => "clang libbpf-dev libelf-dev zlib1g-dev pkg-config",
        "ethtool" => "ethtool",
        "qemu-system-x86_64" => "qemu-system-x86",
        _ => "",
    };
    Finding { what, needed_for, ok, detail: probe.unwrap_or_else(|reason| reason), packages }
}

/// Checks whether this process can create a network namespace, as root or in a user namespace: tier U.
pub fn own_namespace() -> Result<String, String> {
    let euid = nix::unistd::geteuid();
    let mut child = Command::new("/bin/true");
    let flags = if euid.is_root() { libc::CLONE_NEWNET } else { libc::CLONE_NEWUSER | libc::CLONE_NEWNET };
    // SAFETY: after fork the closure only makes a system call.
    unsafe {
        use std::os::unix::process::CommandExt;
        child.pre_exec(move || match libc::unshare(flags) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    match child.status() {
        Ok(_) if euid.is_root() => Ok("as root".to_owned()),
        Ok(_) => Ok("in a user namespace: unshare -Urnm".to_owned()),
        Err(error) => Err(format!(
            "unshare: {error}; user namespaces may be switched off (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces, \
             kernel.apparmor_restrict_unprivileged_userns)"
        )),
    }
}

/// Checks whether the kernel loads an eBPF classifier for this process: tier K.
pub fn load_classifier() -> Result<String, String> {
    // r0 = 0; exit
    let instructions: [u64; 2] = [0x0000_0000_0000_00b7, 0x0000_0000_0000_0095];
    let license = c"GPL";
    /// The beginning of `union bpf_attr` for BPF_PROG_LOAD.
    #[repr(C)]
    struct Attributes {
        kind: u32,
        count: u32,
        instructions: u64,
        license: u64,
        rest: [u64; 13],
    }
    const BPF_PROG_LOAD: libc::c_long = 5;
    const SCHED_CLS: u32 = 3;
    let attributes = Attributes {
        kind: SCHED_CLS,
        count: 2,
        instructions: instructions.as_ptr() as u64,
        license: license.as_ptr() as u64,
        rest: [0; 13],
    };
    // SAFETY: the pointers outlive the call, and the size is that of the struct; the descriptor is closed immediately.
    unsafe {
        let fd = libc::syscall(libc::SYS_bpf, BPF_PROG_LOAD, &raw const attributes, size_of::<Attributes>());
        if fd >= 0 {
            libc::close(fd as i32);
            return Ok("BPF_PROG_LOAD works".to_owned());
        }
    }
    let error = std::io::Error::last_os_error();
    Err(match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "BPF_PROG_LOAD: not permitted; it requires root (or CAP_BPF and CAP_NET_ADMIN in the first user namespace)"
                .to_owned()
        }
        Some(libc::ENOSYS) => "this kernel has no bpf(2) (CONFIG_BPF_SYSCALL)".to_owned(),
        _ => format!("BPF_PROG_LOAD: {error}"),
    })
}

fn on_path(command: &str) -> Result<String, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    // An ordinary user's PATH does not include the folders of tc and bpftool.
    let folders = env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(Into::into));
    let found = folders.map(|folder| folder.join(command)).find(|file| file.is_file());
    found.map(|file| file.display().to_string()).ok_or_else(|| format!("{command} is not installed"))
}

fn readable(path: &str) -> Result<String, String> {
    std::fs::File::open(path).map(|_| path.to_owned()).map_err(|error| format!("{path}: {error}"))
}

/// The first line of an error. The verifier's log has hundreds; `--programs` prints its reason.
#[cfg(feature = "ebpf")]
fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// Loads the programs as `up` loads them by default.
#[cfg(feature = "ebpf")]
fn own_program() -> Result<String, String> {
    use crate::ebpf::Occupancy;
    use crate::ebpf::plane::{best_occupancy, try_occupancy};
    let best = best_occupancy();
    try_occupancy(best).map_err(|error| first_line(&error))?;
    Ok(match best {
        Occupancy::Walk => "they load, and read the occupancy from the kernel's queues".to_owned(),
        _ => "they load, but cannot read the kernel's queues (types of HTB: Linux 5.11, if it is a module): \
              --occupancy-from clock"
            .to_owned(),
    })
}

/// Loads and attaches programs with typed tracepoints: those that count the occupancy, or only STFQ's.
#[cfg(feature = "ebpf")]
fn tracepoints() -> Result<String, String> {
    use crate::ebpf::plane::best_occupancy;
    use crate::ebpf::{Loaded, Occupancy, RankSource, Settings};
    use pifolab_sched::params::Args as Params;
    let attach = |rank, occupancy| {
        let settings = Settings::new("fifo", Params::new("fifo"), rank, occupancy);
        settings.and_then(Loaded::load).and_then(|loaded| loaded.attach_tracepoints().map(drop))
    };
    if attach(RankSource::Dscp, Occupancy::Counters).is_ok() {
        return Ok(
            "tp_btf/qdisc_enqueue and qdisc_dequeue attach: STFQ ranks and --occupancy-from counters work".to_owned()
        );
    }
    attach(RankSource::Stfq, best_occupancy()).map_err(|error| first_line(&error))?;
    Ok("tp_btf/qdisc_dequeue attaches: STFQ ranks work; --occupancy-from counters does not (Linux 5.14)".to_owned())
}

/// Runs all probes, in the order of their dependencies.
pub fn examine() -> Vec<Finding> {
    let mut findings = vec![
        finding("a private network namespace", "the user-space switch and the testbed", own_namespace()),
        finding("tc", "eBPF data plane, testbed", on_path("tc")),
        finding("ip", "testbed", on_path("ip")),
        finding("HTB", "eBPF data plane", tc::try_qdisc("htb")),
        finding("loading eBPF classifiers", "eBPF data plane, conformance, cost", load_classifier()),
        finding(
            "kernel types (BTF)",
            "exact occupancy (else --occupancy-from clock)",
            readable("/sys/kernel/btf/vmlinux"),
        ),
    ];
    #[cfg(feature = "ebpf")]
    findings.push(finding(OWN_PROGRAM, "eBPF data plane", own_program()));
    #[cfg(feature = "ebpf")]
    findings.push(finding("qdisc tracepoints", "STFQ ranks; counting the occupancy", tracepoints()));
    #[cfg(feature = "ebpf")]
    findings.push(finding("BPF qdisc", "up --qdisc bpf (optional)", crate::ebpf::qdisc::supported()));
    #[cfg(not(feature = "ebpf"))]
    findings.push(finding(
        "eBPF programs in this binary",
        "eBPF data plane",
        Err("it was built with --no-default-features: the user-space switch only".to_owned()),
    ));
    findings.extend([
        finding("clang", "building the eBPF programs", on_path("clang")),
        finding("ethtool", "turning the offloads of a real interface off (optional)", on_path("ethtool")),
        finding(
            "qemu-system-x86_64",
            "tests in a virtual machine: BPF qdiscs, executed instructions (optional)",
            on_path("qemu-system-x86_64"),
        ),
    ]);
    findings
}

/// Loads every program, and prints the results.
#[cfg(feature = "ebpf")]
fn try_programs(args: &Args) -> Result<()> {
    use crate::ebpf::loads::{Summary, check};
    let loads = check(args.objects.as_deref())?;
    let summary = Summary::of(&loads);
    if args.json {
        println!("{}", serde_json::json!({ "summary": summary, "loads": loads }));
        return Ok(());
    }
    for load in &loads {
        if let Some(reason) = &load.refused {
            println!("refused: {}: {reason}", load.what);
        }
    }
    println!("loaded: {summary}");
    Ok(())
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    #[cfg(feature = "ebpf")]
    if args.programs {
        return try_programs(&args);
    }
    let findings = examine();
    let ok = |what: &str| findings.iter().filter(|finding| finding.what == what).all(|finding| finding.ok);
    let switch = ok("a private network namespace");
    let kernel = cfg!(feature = "ebpf") && ["tc", "HTB", "loading eBPF classifiers", OWN_PROGRAM].into_iter().all(ok);
    if args.json {
        println!("{}", serde_json::json!({ "switch": switch, "ebpf": kernel, "findings": findings }));
    } else {
        let install = if Path::new("/usr/bin/apt-get").exists() {
            "; sudo apt-get install"
        } else {
            "; packages, as Debian calls them:"
        };
        for Finding { what, needed_for, ok, detail, packages } in &findings {
            println!("{} {what}: {detail}", if *ok { "yes" } else { "NO " });
            if !ok {
                let (install, packages) = if packages.is_empty() { ("", "") } else { (install, *packages) };
                println!("    for {needed_for}{install} {packages}");
            }
        }
        let word = |works: bool| if works { "works here" } else { "does not work here" };
        println!("\nThe user-space switch {}; the eBPF data plane {}.", word(switch), word(kernel));
    }
    if switch || kernel { Ok(()) } else { Err(Error::Unsupported("no data plane can work here".to_owned())) }
}
