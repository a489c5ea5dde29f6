//! Real groups of this machine, in each version that it mounts. A machine on which none can be made (no root, or a
//! container that may not) has nothing to test here; it says so.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::*;
use crate::rules::Versions;

const PATIENCE: Duration = Duration::from_secs(30);

/// A node's directories for one test, removed behind it.
struct Node {
    mounted: Hierarchies,
    name: PathBuf,
    prepared: Hierarchies,
}

impl Node {
    /// One for all that is mounted, and one for each version alone. Empty where none can be made.
    fn each(test: &str) -> Vec<Node> {
        let versions = [("all", Versions::Both), ("v1", Versions::One), ("v2", Versions::Two)];
        let nodes = versions.map(|(which, versions)| {
            let mounted = Hierarchies::mounted().of(versions);
            let name = PathBuf::from(format!("daybook-test-{}-{test}-{which}", std::process::id()));
            let (prepared, faults) = mounted.prepare(&name);
            if prepared.is_empty() {
                eprintln!("no control groups ({which}): nothing is tested; {faults:?}");
            }
            Node { mounted, name, prepared }
        });
        nodes.into_iter().filter(|node| !node.prepared.is_empty()).collect()
    }

    fn make(&self, limits: &Confinement) -> Group {
        Group::make(&self.prepared, "1.0", limits).unwrap()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        for name in Group::names(&self.prepared) {
            let group = Group::named(&self.prepared, &name);
            group.kill();
            let since = Instant::now();
            while !group.remove() && since.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        self.mounted.remove(&self.name);
    }
}

fn start(group: &Group, program: &str, arguments: &[&str]) -> Child {
    let group = group.clone();
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
    // SAFETY: between fork and exec; it writes a few files.
    unsafe { command.pre_exec(move || group.join().map_err(|fault| fault.source)) };
    command.spawn().unwrap()
}

fn shell(group: &Group, script: &str) -> std::process::Output {
    start(group, "sh", &["-c", script]).wait_with_output().unwrap()
}

#[test]
fn a_run_has_the_cpus_it_was_given() {
    for node in Node::each("cpus").iter().filter(|node| node.prepared.abilities().cpus) {
        let cpus = crate::MachineCpus::online().of_node(&"0".parse().unwrap(), 0).unwrap();
        let group = node.make(&Confinement { cpus: Some(cpus.clone()), ..Confinement::default() });
        let output = shell(&group, "grep Cpus_allowed_list /proc/self/status");
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.split_whitespace().nth(1), Some(cpus.to_string().as_str()));
    }
}

#[test]
fn what_takes_too_much_memory_is_ended_and_counted() {
    for node in Node::each("memory").iter().filter(|node| node.prepared.abilities().memory) {
        let limits =
            Confinement { memory_bytes: Some(32 << 20), swap_bytes: Some(0), ..Confinement::default() };
        let group = node.make(&limits);
        assert_eq!(group.oom_kills(), Some(0));
        assert!(shell(&group, "head -c 1000000 /dev/zero | tail -c 1 | wc -c").status.success());
        // `tail` keeps what it reads.
        shell(&group, "head -c 200000000 /dev/zero | tail -n 1 | wc -c");
        assert!(group.oom_kills() > Some(0));
        // The limits of a group that is there can be changed, up and down.
        for mebibytes in [64u64, 16] {
            let limits = Confinement { memory_bytes: Some(mebibytes << 20), ..Confinement::default() };
            node.make(&limits);
        }
    }
}

#[test]
fn a_device_that_was_not_given_cannot_be_opened() {
    let full = Device::of_file(Path::new("/dev/full")).unwrap();
    for node in Node::each("devices").iter().filter(|node| node.prepared.abilities().devices) {
        let group = node.make(&Confinement { denied_devices: Some(vec![full]), ..Confinement::default() });
        assert!(shell(&group, "exec 3< /dev/zero").status.success(), "{node:?}", node = node.name);
        assert!(!shell(&group, "exec 3< /dev/full").status.success(), "{node:?}", node = node.name);
        // Another file of the same device is the device.
        let directory = tempfile::tempdir().unwrap();
        let other = directory.path().join("harmless");
        let made = nix::sys::stat::mknod(
            &other,
            nix::sys::stat::SFlag::S_IFCHR,
            nix::sys::stat::Mode::S_IRWXU,
            nix::sys::stat::makedev(full.major.into(), full.minor.into()),
        );
        if made.is_ok() && File::open(&other).is_ok() {
            let script = format!("exec 3< {}", other.display());
            assert!(!shell(&group, &script).status.success());
        }
    }
}

#[test]
fn nobody_escapes_and_nobody_survives() {
    for node in Node::each("kill") {
        let limits = Confinement { processes_max: Some(200), ..Confinement::default() };
        let group = node.make(&limits);
        // In a session of its own, without its parents, deaf to TERM; and one that starts others without end, where
        // something holds it.
        let bomb = match node.prepared.abilities().processes {
            true => "perl -e 'fork while 1'",
            false => {
                "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 1000 & done; wait"
            }
        };
        let script = format!("trap '' TERM; (setsid sleep 1000 &); {bomb}");
        let mut child = start(&group, "sh", &["-c", &script]);
        let since = Instant::now();
        while group.processes().len() < 20 && since.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(group.processes().len() >= 20);
        assert!(!group.remove(), "what has processes stays");
        while !group.processes().is_empty() && since.elapsed() < PATIENCE {
            group.kill();
            let _ = child.try_wait();
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait().unwrap();
        assert_eq!(group.processes(), Vec::<i32>::new());
        while !group.remove() && since.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!group.exists());
    }
}

#[test]
fn what_was_used_is_counted() {
    for node in Node::each("usage") {
        let group = node.make(&Confinement::default());
        // `tail` keeps what it reads until its input ends.
        let script = "(head -c 40000000 /dev/zero; while :; do :; done) | tail -n 1";
        let mut child = start(&group, "sh", &["-c", script]);
        // The kernel adds up what its CPUs have counted now and then.
        let counts_memory = node.prepared.has(Controller::Memory);
        let is_counted = |group: &Group| {
            let usage = group.usage();
            usage.user_cpu_us.is_none_or(|micros| micros >= 100_000)
                && (!counts_memory || usage.resident_bytes >= Some(20_000_000))
        };
        let since = Instant::now();
        while !is_counted(&group) && since.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(is_counted(&group), "{:?}", group.usage());
        group.kill();
        child.wait().unwrap();
    }
}
