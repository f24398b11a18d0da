//! Any text as a histogram or a flow-size file: an error that names the file, or a distribution that can be drawn from.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pifolab_workload::flows::{CdfFile, Interpolation, SizeUnit};
use pifolab_workload::{Distribution, Stream};

fuzz_target!(|text: &str| {
    match Distribution::histogram_from(text.as_bytes(), "fuzz") {
        Ok(distribution) => {
            let weights = distribution.weights().expect("a histogram has a table");
            let mut stream = Stream::named(1, "fuzz");
            for _ in 0..32 {
                let value = distribution.draw(&mut stream);
                assert!(weights.binary_search_by_key(&value, |&(value, _)| value).is_ok());
            }
            assert!(distribution.mean().is_finite());
        }
        Err(error) => assert!(error.to_string().starts_with("fuzz")),
    }
    for interpolation in [Interpolation::StepLower, Interpolation::StepUpper, Interpolation::Linear] {
        match CdfFile::from_reader(text.as_bytes(), "fuzz", SizeUnit::Packets1460, interpolation) {
            Ok(file) => {
                let sizes: Vec<u64> = (0..=16).map(|i| file.sizes.quantile(f64::from(i) / 16.0)).collect();
                assert!(sizes[0] > 0 && sizes.is_sorted());
                assert!(file.sizes.mean() >= 0.0);
            }
            Err(error) => assert!(error.to_string().starts_with("fuzz")),
        }
    }
});
