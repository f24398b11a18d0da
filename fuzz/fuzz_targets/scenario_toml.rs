//! Any text as a scenario: an error of one line that names the file, or a specification whose resolved form is whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pifolab_scenario::{Spec, ValidSpec};

fuzz_target!(|text: &str| {
    // Texts that name other files would be about those files.
    if text.contains("trace") || text.contains("file") {
        return;
    }
    let spec = Spec::parse(text, "fuzz").and_then(|mut spec| {
        spec.set("link.rate_gbps", "10")?;
        spec.validate(&())
    });
    match spec {
        Ok(spec) => {
            assert!(!spec.seeds().is_empty());
            assert!(matches!(spec, ValidSpec::OneLink(_)));
            let resolved = spec.resolved();
            assert!(resolved["link"]["rate_bps"].is_u64() && resolved["scheduler"].is_array());
        }
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("fuzz") && !error.contains('\n'), "{error}");
        }
    }
});
