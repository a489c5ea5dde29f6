//! No space, no right to write: nothing is accepted that is not durable, and all goes on afterwards.

use std::path::Path;
use std::process::Command;

use daybook_tests::{Cluster, TWO_NODES, is_root, wait_until};

struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn new(megabytes: u32) -> SmallDisk {
        let path = std::env::temp_dir().join(format!("daybook-small-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a mount point");
        let size = format!("size={megabytes}m,mode=755");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path).status();
        assert!(mounted.is_ok_and(|status| status.success()), "mount {}", path.display());
        SmallDisk(path)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = std::fs::remove_dir(&self.0);
    }
}

fn fill(path: &Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(path).expect("a filler");
    let block = vec![7u8; 64 * 1024];
    while file.write_all(&block).is_ok() {}
    while file.write_all(&block[..512]).is_ok() {}
}

#[test]
fn a_full_disk_refuses_clearly_and_goes_on_when_there_is_room() {
    if !is_root() {
        eprintln!("left out: needs root for a small file system");
        return;
    }
    let disk = SmallDisk::new(96);
    let mut cluster = Cluster::in_directory(&disk.0, TWO_NODES);
    cluster.start();
    let before = cluster.submit(&["--hold"], "true");
    fill(&disk.0.join("filler"));
    let mut refused = 0;
    let mut accepted = Vec::new();
    for number in 0..100u64 {
        // A megabyte that neither compresses nor is in the log already; written elsewhere, this disk is full.
        let mut state = number + 1;
        let mut body = b"#!/bin/sh\n#".to_vec();
        while body.len() < 1 << 20 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            body.extend(format!("{state:016x}").bytes());
        }
        let mut child = cluster
            .command("sbatch", &["--parsable", "--hold"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("sbatch");
        let _ = std::io::Write::write_all(&mut child.stdin.take().expect("piped"), &body);
        let answer = daybook_tests::Answer::from(child.wait_with_output().expect("ends"));
        match answer.code {
            0 => accepted.push(answer.out.trim().parse::<u32>().expect("an id")),
            _ => {
                refused += 1;
                assert!(answer.err.contains("sbatch: error: "), "{answer:?}");
                break;
            }
        }
    }
    assert!(refused > 0, "a full disk accepted everything");
    std::fs::remove_file(disk.0.join("filler")).expect("room again");
    let mut after = 0;
    wait_until("submissions are accepted again", || {
        let answer = cluster.run("sbatch", &["--parsable", "--hold", "--wrap=true"]);
        after = answer.out.trim().parse().unwrap_or(0);
        answer.code == 0
    });
    cluster.kill();
    cluster.start();
    let listed = cluster.run("squeue", &["-h", "-o", "%i"]).ok();
    let listed: Vec<u32> = listed.lines().filter_map(|line| line.trim().parse().ok()).collect();
    for job in accepted.into_iter().chain([before, after]) {
        assert!(listed.contains(&job), "job {job} was acknowledged and is gone");
    }
    drop(cluster);
}

#[test]
fn a_state_directory_that_cannot_be_written_is_named() {
    if !is_root() {
        eprintln!("left out: needs root for a read-only file system");
        return;
    }
    let disk = SmallDisk::new(64);
    let mut cluster = Cluster::in_directory(&disk.0, TWO_NODES);
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.0).status();
    assert!(remounted.is_ok_and(|status| status.success()));
    let output = Command::new(daybook_tests::program("daybookd"))
        .args(["run", "--config"])
        .arg(cluster.root.join("config"))
        .arg("--state")
        .arg(cluster.state())
        .output()
        .expect("runs");
    let answer = daybook_tests::Answer::from(output);
    assert_ne!(answer.code, 0);
    assert!(answer.err.contains(&cluster.state().display().to_string()), "{answer:?}");
    cluster.kill();
}
