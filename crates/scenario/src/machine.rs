//! The memory that this process may still allocate.

use std::fs;
use std::path::Path;

/// A number of bytes in a readable form.
pub(crate) fn size(bytes: f64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6)];
    let (unit, scale) = units.into_iter().find(|(_, scale)| bytes >= *scale).unwrap_or(("KB", 1e3));
    format!("{:.3} {unit}", bytes / scale)
}

/// The memory that this process may still allocate: the least of the available memory of the system, the rest of the
/// limits of its control groups, and the rest of its address space.
pub(crate) fn available() -> Option<u64> {
    let read = |name: &str| fs::read_to_string(Path::new("/proc").join(name)).unwrap_or_default();
    let system = kilobytes(&read("meminfo"), "MemAvailable:");
    let groups = left_in_groups(&read("self/cgroup"), Path::new("/sys/fs/cgroup"));
    let space = left_of_space(&read("self/limits"), &read("self/status"));
    [system, groups, space].into_iter().flatten().min()
}

/// The number of kilobytes behind `key`, in bytes.
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The rest of the limit of the address space (`ulimit -v`); `None` without a limit.
fn left_of_space(limits: &str, status: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most = line.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(most.saturating_sub(kilobytes(status, "VmSize:")?))
}

/// The names of a memory group's files: its limit, its use, and the line of its statistics with the part of the use
/// that is file cache, which the system can free.
type Names = [&'static str; 3];
const V2: Names = ["memory.max", "memory.current", "inactive_file "];
const V1: Names = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "];

/// The rest of the limits of the groups in `/proc/self/cgroup`, below `root`; `None` if none has a limit. A group is
/// also limited by its parents. In a container its own group is mounted at the top, whatever its name.
fn left_in_groups(groups: &str, root: &Path) -> Option<u64> {
    let left = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let (top, names) = match controllers {
            "" => (root.to_owned(), V2),
            _ if controllers.split(',').any(|one| one == "memory") => (root.join("memory"), V1),
            _ => return None,
        };
        let group = top.join(path.trim_start_matches('/'));
        let around = group.ancestors().take_while(|around| around.starts_with(&top));
        around.filter_map(|around| left_in_group(around, names)).min()
    });
    left.min()
}

fn left_in_group(group: &Path, [limit, used, files]: Names) -> Option<u64> {
    let text = |name: &str| fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let statistics = text("memory.stat").unwrap_or_default();
    let files = statistics.lines().find_map(|line| line.strip_prefix(files)?.parse().ok()).unwrap_or(0);
    Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(files)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(root: &Path, path: &str, files: &[(&str, &str)]) {
        let folder = root.join(path);
        fs::create_dir_all(&folder).unwrap();
        for (name, content) in files {
            fs::write(folder.join(name), content).unwrap();
        }
    }

    #[test]
    fn the_tightest_group_of_either_version_says_what_is_left() {
        let root = std::env::temp_dir().join(format!("pifolab-groups-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let left = |groups: &str| left_in_groups(groups, &root);
        assert_eq!(left("0::/user\n"), None);
        group(&root, "user/run", &[("memory.max", "max\n"), ("memory.current", "5000\n")]);
        assert_eq!(left("0::/user/run\n"), None);
        // The parent group.
        group(&root, "user", &[("memory.max", "9000\n"), ("memory.current", "6000\n")]);
        assert_eq!(left("0::/user/run\n"), Some(3000));
        group(&root, "user", &[("memory.stat", "anon 1\ninactive_file 2500\n")]);
        assert_eq!(left("0::/user/run\n"), Some(5500));
        group(&root, "user/run", &[("memory.max", "4000\n")]);
        assert_eq!(left("0::/user/run\n"), Some(0));
        // The first version has a hierarchy for each controller, and a number so large that it means no limit.
        let first = "12:cpu,cpuacct:/job\n7:memory:/job/step\n1:name=systemd:/job\n";
        let limit = |limit: &'static str, used: &'static str| {
            [("memory.limit_in_bytes", limit), ("memory.usage_in_bytes", used)]
        };
        group(&root, "memory", &limit("9223372036854771712\n", "700\n"));
        group(&root, "memory/job", &limit("536870912\n", "36870912\n"));
        assert_eq!(left(first), Some(500_000_000));
        group(&root, "memory/job/step", &limit("1000\n", "400\n"));
        group(&root, "memory/job/step", &[("memory.stat", "inactive_file 9\ntotal_inactive_file 100\n")]);
        assert_eq!(left(first), Some(700));
        // In a container the path does not exist, and the top is its own group.
        group(&root, "memory", &limit("800\n", "500\n"));
        assert_eq!(left("7:memory:/docker/abc\n"), Some(300));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_limited_address_space_says_what_is_left_of_it() {
        let limits = |soft: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units\n\
                     Max address space         {soft:20} unlimited            bytes\n"
            )
        };
        let status = "Name:\tpifolab\nVmPeak:\t  900 kB\nVmSize:\t  600 kB\n";
        assert_eq!(left_of_space(&limits("unlimited"), status), None);
        assert_eq!(left_of_space(&limits("1024000"), status), Some(1_024_000 - 600 * 1024));
        assert_eq!(left_of_space(&limits("1000"), status), Some(0));
        assert_eq!(left_of_space("", status), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_memory() {
        assert!(available().is_some_and(|bytes| bytes > 0));
    }
}
