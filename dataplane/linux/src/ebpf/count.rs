//! How many machine instructions a packet takes, counted by a clock that counts instructions.
//!
//! QEMU's emulation with `-icount shift=0` advances the guest's clock by one nanosecond for each instruction that the
//! guest executes. There the nanoseconds of a test run, less those of a program that does nothing, are the instructions
//! that the program and the helpers that it calls executed. `scripts/test_in_guest.sh` does it; on any other clock
//! [`Clock::new`] refuses.

use super::harness::frame;
use crate::{Error, Result};
use libbpf_rs::libbpf_sys;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Runs of each program. Their median counts: it leaves out the runs that a timer interrupted, as long as they are few.
const RUNS: usize = 1001;
/// Packets of one run: few, so that most runs end between two interrupts.
const PACKETS: u32 = 100;

/// Instructions of the two programs that the clock is tried with.
const STRAIGHT: usize = 1000;
/// How far the clock may be off: the kernel only estimates the rate of the counter that it reads.
const TOLERANCE: u64 = STRAIGHT as u64 / 100;

// One machine instruction each, but not one cycle each.
const R0_IS_0: u64 = 0x00b7;
const R0_PLUS_1: u64 = 0x1_0000_0007;
const R0_TIMES_R0: u64 = 0x002f;
const EXIT: u64 = 0x0095;

/// A clock that counts instructions.
pub struct Clock {
    /// What a packet costs in a program that does nothing.
    empty: u64,
}

impl Clock {
    /// Tries this machine's clock with programs of known length.
    ///
    /// # Errors
    /// The clock counts something else, or no right to load programs.
    pub fn new() -> Result<Self> {
        let straight = |operation| {
            let program = load(&[&[R0_IS_0], [operation; STRAIGHT].as_slice(), &[EXIT]].concat())?;
            median(|| time(&program))
        };
        let program = load(&[R0_IS_0, EXIT])?;
        let empty = median(|| time(&program))?;
        for (name, operation) in [("additions", R0_PLUS_1), ("multiplications", R0_TIMES_R0)] {
            let took = straight(operation)?.saturating_sub(empty);
            if took.abs_diff(STRAIGHT as u64) > TOLERANCE {
                return Err(Error::Unsupported(format!(
                    "the clock of this machine does not count instructions: {STRAIGHT} {name} took {took} ns; expected \
                     an emulated machine whose clock does (qemu -icount shift=0; make guest-test starts one)"
                )));
            }
        }
        Ok(Self { empty })
    }

    /// Instructions that a packet takes beyond those of a program that does nothing. `time` runs the program on as many
    /// packets as it is told and gives the mean time of one in nanoseconds.
    ///
    /// # Errors
    /// Those of `time`.
    pub fn count(&self, time: impl Fn(u32) -> Result<u64>) -> Result<u64> {
        Ok(median(|| time(PACKETS))?.saturating_sub(self.empty))
    }
}

fn median(time: impl Fn() -> Result<u64>) -> Result<u64> {
    let mut times = (0..RUNS).map(|_| time()).collect::<Result<Vec<_>>>()?;
    times.sort_unstable();
    Ok(times[RUNS / 2])
}

fn load(instructions: &[u64]) -> Result<OwnedFd> {
    const KIND: libbpf_sys::bpf_prog_type = libbpf_sys::BPF_PROG_TYPE_SCHED_CLS;
    // SAFETY: the pointers outlive the call; an instruction has eight bytes.
    let fd = unsafe {
        let (name, license) = (std::ptr::null(), c"GPL".as_ptr());
        let first = instructions.as_ptr().cast();
        libbpf_sys::bpf_prog_load(KIND, name, license, first, instructions.len() as _, std::ptr::null_mut())
    };
    if fd < 0 {
        let error = std::io::Error::from_raw_os_error(-fd);
        return Err(Error::failed("loading a program to try the clock with", error));
    }
    // SAFETY: just opened, and not owned elsewhere.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn time(program: &OwnedFd) -> Result<u64> {
    let frame = frame(0, 0);
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
        data_in: frame.as_ptr().cast(),
        data_size_in: frame.len() as u32,
        repeat: PACKETS as i32,
        ..Default::default()
    };
    // SAFETY: the options describe `frame`, which outlives the call.
    let status = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &raw mut options) };
    if status < 0 {
        return Err(Error::failed("running a program to try the clock", std::io::Error::from_raw_os_error(-status)));
    }
    Ok(options.duration.into())
}
