//! Reservations on a cluster that runs.

use daybook_tests::{Cluster, wait_until};

/// Who runs the test, as the daemon's machine names it.
fn own_name() -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::getuid()).expect("the user database");
    user.expect("a user with a name").name
}

fn show(cluster: &Cluster, job: u32, format: &str) -> String {
    cluster.run("squeue", &["-h", "-t", "all", "-j", &job.to_string(), "-o", format]).out.trim().to_string()
}

fn wait_for(cluster: &Cluster, job: u32, format: &str, expected: &str) {
    wait_until(&format!("job {job} shows {expected}"), || show(cluster, job, format) == expected);
}

#[test]
fn a_reservation_keeps_its_node_and_lets_its_jobs_in_when_it_begins() {
    let mut cluster = Cluster::started();
    let me = own_name();
    let users = format!("users={me}");
    let create = |cluster: &Cluster, settings: &[&str]| {
        let mut words = vec!["create", "reservation", users.as_str()];
        words.extend_from_slice(settings);
        cluster.run("scontrol", &words)
    };
    let answer = create(&cluster, &["starttime=now+1hour", "duration=60", "nodes=n1"]);
    assert_eq!(answer.ok(), format!("Reservation created: {me}_1\n"));
    let first = format!("{me}_1");

    // What is wrong is refused in Slurm's words, and nothing of it is done.
    for (settings, why) in [
        (&["starttime=2020-01-01", "duration=60", "nodes=g1"][..], "Invalid time specified"),
        (&["starttime=now", "duration=0", "nodes=g1"], "Invalid time specified"),
        (&["starttime=now", "duration=60", "nodes=nosuch"], "Invalid node name specified"),
        (&["starttime=now", "duration=60", "nodecnt=9"], "Requested node configuration is not available"),
        (
            &["starttime=now+90minutes", "duration=60", "nodes=n1"],
            "Requested reservation overlaps with another reservation",
        ),
        (&["starttime=now+90minutes", "duration=60", "nodecnt=2"], "Requested nodes are busy"),
        (
            &["starttime=now", "duration=60", "nodes=g1", &format!("reservationname={first}")],
            "Duplicate reservation name",
        ),
        (&["starttime=now", "duration=60", "nodes=g1", "users=no_such_user"], "Invalid user id"),
        (
            &["starttime=now", "duration=60", "partition=nosuch", "nodes=ALL"],
            "Invalid partition name specified",
        ),
    ] {
        let answer = create(&cluster, settings);
        let expected = (1, format!("Error creating the reservation: {why}\n"));
        assert_eq!((answer.code, answer.err), expected, "{settings:?}");
    }
    let answer = cluster.run("sbatch", &["--reservation=nope", "--wrap=true"]);
    let refused = "sbatch: error: Batch job submission failed: Requested reservation is invalid\n";
    assert_eq!((answer.code, answer.err.as_str()), (1, refused));

    // A job that would reach into it goes to the other node, one for both nodes waits and says why.
    let long = cluster.submit(&["-t", "120", "-w", "n1"], "true");
    wait_for(&cluster, long, "%r", "ReqNodeNotAvail, May be reserved for other job");
    let told = cluster.run("why", &[&long.to_string()]).ok();
    assert!(
        told.contains(&format!("but for the reservation {first}: it keeps the nodes for others from ")),
        "{told}"
    );
    let brief = cluster.submit(&["-t", "10", "-w", "n1"], "true");
    assert_eq!(cluster.wait_ended(brief), "COMPLETED");
    let wanting = cluster.submit(&["--reservation", &first, "-t", "10"], "echo inside");
    wait_for(&cluster, wanting, "%r|%v", &format!("Reservation|{first}"));
    let busy = cluster.run("scontrol", &["delete", &format!("reservationname={first}")]);
    let expected =
        format!("slurm_delete_reservation reservationname={first}: Requested reservation is in use\n");
    assert_eq!((busy.code, busy.err), (1, expected));

    // It is the same after a restart; and when its start comes nearer its job starts without another event.
    cluster.kill();
    cluster.start();
    let shown = cluster.run("scontrol", &["show", "reservation", &first]).ok();
    assert!(shown.contains(" State=INACTIVE ") && shown.contains("Nodes=n1 NodeCnt=1 CoreCnt=4"), "{shown}");
    let sooner = cluster.run("scontrol", &["update", &format!("reservation={first}"), "starttime=now+2"]);
    assert_eq!(sooner.ok(), "Reservation updated.\n");
    assert_eq!(cluster.wait_ended(wanting), "COMPLETED");
    assert_eq!(cluster.output(wanting), "inside\n");
    assert_eq!(cluster.run("sinfo", &["-h", "-n", "n1", "-p", "main", "-o", "%t"]).ok().trim(), "resv");
    let listed = cluster.run("sinfo", &["-T"]).ok();
    assert!(listed.contains(&first) && listed.contains("ACTIVE"), "{listed}");
    let deleted = cluster.run("scontrol", &["delete", "reservation", &first]);
    assert_eq!((deleted.code, deleted.err.as_str()), (0, ""));
    assert_eq!(cluster.wait_ended(long), "COMPLETED");
    cluster.check_conservation();
}
