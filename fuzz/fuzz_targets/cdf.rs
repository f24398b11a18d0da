//! Any text as a distribution of flow sizes: an error that names the file, or sizes that lie within it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pifolab_workload::flows::{CdfFile, Interpolation, SizeUnit};

fuzz_target!(|input: (bool, u8, &str)| {
    let (packets, interpolation, text) = input;
    let unit = if packets { SizeUnit::Packets1460 } else { SizeUnit::Bytes };
    let all = [Interpolation::StepLower, Interpolation::StepUpper, Interpolation::Linear];
    match CdfFile::from_reader(text.as_bytes(), "fuzz", unit, all[usize::from(interpolation) % all.len()]) {
        Ok(CdfFile { sizes, rows, .. }) => {
            assert!(rows > 0);
            let mean = sizes.mean();
            assert!(mean.is_finite() && mean >= 1.0, "mean {mean}");
        }
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("fuzz") && !error.contains('\n'), "{error}");
        }
    }
});
