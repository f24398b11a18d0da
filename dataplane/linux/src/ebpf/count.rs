//! Counts the machine instructions per packet with a clock that counts instructions.
//!
//! QEMU's emulation with `-icount shift=0` advances the guest's clock by one nanosecond per executed instruction. The
//! nanoseconds of a test run, minus those of an empty program, are then the instructions of the program and its
//! helpers. `scripts/test_in_guest.sh` runs this. With any other clock, [`Clock::new`] returns an error.

use super::harness::frame;
use crate::{Error, Result};
use libbpf_rs::libbpf_sys;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The number of runs of each program. The median ignores runs with timer interrupts, while these are few.
const RUNS: usize = 1001;
/// The number of packets per run: small, so that most runs end between two interrupts.
const PACKETS: u32 = 100;

/// The number of instructions of the two programs that test the clock.
const STRAIGHT: usize = 1000;
/// The allowed error of the clock, because the kernel only estimates the rate of the counter that it reads.
const TOLERANCE: u64 = STRAIGHT as u64 / 100;

// One machine instruction each, but with different numbers of cycles.
const R0_IS_0: u64 = 0x00b7;
const R0_PLUS_1: u64 = 0x1_0000_0007;
const R0_TIMES_R0: u64 = 0x002f;
const EXIT: u64 = 0x0095;

/// A clock that counts instructions.
pub struct Clock {
    /// The cost per packet of an empty program.
    empty: u64,
}

impl Clock {
    /// Tests this machine's clock with programs of known length.
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

    /// The instructions per packet in addition to those of an empty program. `time` runs the program on the given
    /// number of packets, and returns the mean time per packet in nanoseconds.
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
