//! The memory that the machine has.

use std::fs;

/// A number of bytes as people write it.
pub(crate) fn size(bytes: f64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6)];
    let (unit, scale) = units.into_iter().find(|(_, scale)| bytes >= *scale).unwrap_or(("KB", 1e3));
    format!("{:.3} {unit}", bytes / scale)
}

/// The memory that this process may still take: what the system has, and what its control group leaves.
pub(crate) fn available() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
    });
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let read = |name: &str| {
        let inside = format!("/sys/fs/cgroup{}/{name}", group.trim_end_matches('/'));
        // In a container its own group is mounted at the top.
        let text = fs::read_to_string(inside).or_else(|_| fs::read_to_string(format!("/sys/fs/cgroup/{name}")));
        text.ok()?.trim().parse::<u64>().ok()
    };
    let left = read("memory.max").zip(read("memory.current")).map(|(most, now)| most.saturating_sub(now));
    [system, left].into_iter().flatten().min()
}
