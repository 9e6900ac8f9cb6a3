//! How much memory this process may have: the machine's, or less where a control group (a container) has a limit.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// In bytes; `None` where the system does not tell it in files as Linux does.
pub(super) fn memory_limit() -> Option<u64> {
    static LIMIT: LazyLock<Option<u64>> = LazyLock::new(|| told_by(&|path| read_to_string(path).ok()));
    *LIMIT
}

/// What the system's files say; `read` gives a file's text.
fn told_by(read: &dyn Fn(PathBuf) -> Option<String>) -> Option<u64> {
    let machine = machine(&read("/proc/meminfo".into())?)?;
    let groups = read("/proc/self/cgroup".into()).unwrap_or_default();
    let limits = groups.lines().filter_map(|group| group_limit(group, read));
    Some(limits.fold(machine, u64::min))
}

fn machine(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The lowest limit of a group and those it is in. A group is a line of `id:controllers:path`; one of version 2 names
/// no controllers.
fn group_limit(group: &str, read: &dyn Fn(PathBuf) -> Option<String>) -> Option<u64> {
    let mut parts = group.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let (mounted, file) = if controllers.is_empty() {
        ("/sys/fs/cgroup", "memory.max")
    } else if controllers.split(',').any(|controller| controller == "memory") {
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
    } else {
        return None;
    };
    // In a container the path may be that outside of it: its own group is where the root should be.
    let groups = Path::new(path.trim_start_matches('/')).ancestors();
    let limits = groups.filter_map(|path| {
        read(Path::new(mounted).join(path).join(file))?
            .trim()
            .parse()
            .ok()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn told(files: &[(&str, &str)]) -> Option<u64> {
        told_by(&|path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path)?;
            Some(found.1.to_owned())
        })
    }

    #[test]
    fn a_machine_without_groups_has_all_its_memory() {
        let meminfo = "MemTotal:        8388608 kB\nMemFree: 12 kB\n";
        assert_eq!(told(&[("/proc/meminfo", meminfo)]), Some(8192 * MIB));
    }

    #[test]
    fn the_lowest_limit_of_the_groups_around_counts() {
        let machine = ("/proc/meminfo", "MemTotal: 8388608 kB\n");
        let second = told(&[
            machine,
            ("/proc/self/cgroup", "0::/apps/one\n"),
            ("/sys/fs/cgroup/apps/one/memory.max", "max\n"),
            ("/sys/fs/cgroup/apps/memory.max", "536870912\n"),
        ]);
        assert_eq!(second, Some(512 * MIB));
        let first = told(&[
            machine,
            ("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n"),
            ("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "268435456"),
            (
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712",
            ),
        ]);
        assert_eq!(first, Some(256 * MIB));
        let seen_from_inside = told(&[
            machine,
            ("/proc/self/cgroup", "0::/outside/pod\n"),
            ("/sys/fs/cgroup/memory.max", "1073741824\n"),
        ]);
        assert_eq!(seen_from_inside, Some(1024 * MIB));
    }

    #[test]
    fn other_systems_do_not_tell() {
        assert_eq!(told(&[]), None);
        assert_eq!(told(&[("/proc/meminfo", "MemTotal: lots\n")]), None);
    }
}
