//! `daybook` itself: names, help, versions, links, check.

use std::path::Path;

use serde_json::json;

use crate::harness::{Daemon, Reply};

#[test]
fn a_command_is_found_by_the_programs_name_and_by_its_first_argument() {
    let daemon = Daemon::absent();
    let expected = "stderr:\nscancel: error: No job identification provided\nexit: 1";
    assert_eq!(daemon.run("scancel"), expected);
    assert_eq!(daemon.run("daybook scancel"), expected);
    assert_eq!(daemon.run("/opt/bin/scancel"), expected);
}

#[test]
fn slurms_names_answer_with_a_version_that_programs_can_read() {
    let daemon = Daemon::absent();
    let own = env!("CARGO_PKG_VERSION");
    for line in ["sbatch --version", "sbatch -V", "scancel -V", "scontrol --version", "scontrol version"] {
        assert_eq!(daemon.run(line), format!("stdout:\nslurm 22.05.8 (daybook {own})\nexit: 0"), "{line}");
    }
    assert_eq!(daemon.run("daybook --version"), format!("stdout:\ndaybook {own}\nexit: 0"));
}

#[test]
fn help_is_there_for_every_command_and_unknown_ones_are_named() {
    let daemon = Daemon::absent();
    for name in ["sbatch", "scancel", "scontrol"] {
        let help = daemon.run(&format!("{name} --help"));
        assert!(help.starts_with(&format!("stdout:\nUsage: {name} ")) && help.ends_with("exit: 0"), "{help}");
        assert_eq!(daemon.run(&format!("daybook help {name}")), help);
    }
    for line in ["daybook help", "daybook --help"] {
        let help = daemon.run(line);
        assert!(
            help.contains("\n  sbatch ") && help.contains("\n  links ") && help.ends_with("exit: 0"),
            "{help}"
        );
    }
    assert!(daemon.run("daybook").ends_with("exit: 2"));
    assert!(daemon.run("daybook nosuch").ends_with("exit: 2"));
    let unknown = "stderr:\ndaybook: error: there is no command nosuch; daybook help lists them\nexit: 2";
    assert_eq!(daemon.run("daybook help nosuch"), unknown);
}

#[test]
fn links_are_made_once_and_foreign_files_stay() {
    let daemon = Daemon::absent();
    let directory = daemon.path().join("bin");
    let line = format!("daybook links {}", directory.display());
    assert!(daemon.run(&line).contains("is no directory; make it first\nexit: 1"));
    std::fs::create_dir(&directory).expect("a fresh directory");
    let made = |count: usize| {
        format!("stdout:\n{}: {count} made, {} there already\nexit: 0", directory.display(), 12 - count)
    };
    assert_eq!(daemon.run(&line), made(12));
    assert_eq!(daemon.run(&line), made(0));
    let program = Path::new(env!("CARGO_BIN_EXE_daybook")).canonicalize().expect("the built program");
    for name in
        ["sbatch", "squeue", "scancel", "sinfo", "scontrol", "sacct", "sacctmgr", "sdiag", "sprio", "sshare"]
    {
        assert_eq!(directory.join(name).canonicalize().ok(), Some(program.clone()), "{name}");
    }
    for name in ["sacct", "sinfo"] {
        std::fs::remove_file(directory.join(name)).expect("a link");
    }
    std::fs::write(directory.join("sinfo"), "somebody else's").expect("a file");
    let refused = daemon.run(&line);
    assert!(refused.contains("sinfo is there already and is not this program"), "{refused}");
    assert!(!directory.join("sacct").exists(), "nothing is half done");
    assert_eq!(std::fs::read(directory.join("sinfo")).ok(), Some(b"somebody else's".to_vec()));
}

#[test]
fn ping_says_who_answers() {
    let daemon = Daemon::start(|request| {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/v1/ping"));
        let ping =
            json!({ "version": "0.1.0", "cluster": "tx", "host": "vm", "end": 5, "shown": 5, "pid": 1 });
        Reply::Answer(ping)
    });
    let up = "stdout:\nSlurmctld(primary) at vm is UP\nexit: 0";
    assert_eq!(daemon.run("scontrol ping"), up);
    assert_eq!(daemon.run("daybook ping"), up);
    let down = Daemon::absent().run("scontrol ping");
    assert!(down.ends_with(" is DOWN\nexit: 1") && !down.contains("stderr"), "{down}");
}

#[test]
fn arguments_that_are_no_utf8_are_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_daybook"))
        .args(["sbatch", "-J"])
        .arg(std::ffi::OsStr::from_bytes(b"\xff"))
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("argument 3 is not UTF-8"));
}

#[test]
fn check_says_what_a_setting_means() {
    let daemon = Daemon::absent();
    let found = daemon.run("daybook check --settings bf_one_resv");
    assert!(found.contains("words of SchedulerParameters\n  bf_one_resv_per_job  not needed    "), "{found}");
    assert!(found.ends_with("exit: 0"), "{found}");
    let all = daemon.run("daybook check --settings");
    assert!(all.lines().count() > 500 && all.contains("\n  KillWait "), "{all}");
    let json = daemon.run("daybook check --settings killwait --json");
    assert!(json.contains("\"name\":\"KillWait\"") && json.contains("\"standing\":\"read\""), "{json}");
    let none = daemon.run("daybook check --settings nosuchword");
    assert!(none.contains("no setting") && none.ends_with("exit: 1"), "{none}");
    let nothing = daemon.run("daybook check");
    assert!(nothing.ends_with("exit: 2"), "{nothing}");
}

#[test]
fn check_names_the_faults_of_a_configuration() {
    let daemon = Daemon::absent();
    let line = format!("daybook check {}", daemon.path().display());
    daemon
        .file("slurm.conf", "ClusterName=tx\nKilWait=30\nNodeName=n1 CPUs=2\nPartitionName=main Nodes=n1\n");
    let faulty = daemon.run(&line);
    assert!(faulty.contains("slurm.conf:2: error: "), "{faulty}");
    assert!(faulty.contains("KillWait") && faulty.ends_with("exit: 1"), "{faulty}");
    let json = daemon.run(&format!("{line} --json"));
    assert!(json.contains("\"usable\":false") && json.contains("\"line\":2"), "{json}");
    daemon.file(
        "slurm.conf",
        "ClusterName=tx\nTreeWidth=9\nNodeName=n1 CPUs=2\nPartitionName=main Nodes=n1 Default=YES\n",
    );
    let fine = daemon.run(&line);
    assert!(fine.contains("\nnot needed here: TreeWidth\n"), "{fine}");
    assert!(
        fine.contains(": 1 node, 1 partition, no GPUs; no errors") && fine.ends_with("exit: 0"),
        "{fine}"
    );
}
