//! `scontrol create`, `update`, `delete` and `show` of reservations, and who asks for one.

use daybook_schemas::api::ErrorCode;
use serde_json::json;

use crate::harness::{Daemon, Reply, refuse};

#[test]
fn a_reservation_is_made_changed_and_deleted_in_one_request_each() {
    for (line, path, answer, sent) in [
        (
            "scontrol create reservation starttime=2030-01-01 duration=5 nodes=node0[1-2] users=alice flags=maint,ignore_jobs",
            "/v1/reservations/create",
            "stdout:\nReservation created: root_1\nexit: 0",
            json!({ "wish": {
                "start": "2030-01-01T00:00:00.000000Z", "duration": 300, "nodes": { "these": ["node01", "node02"] },
                "users": { "set": ["alice"] },
                "flags": [{ "flag": "maintenance", "set": true }, { "flag": "ignore_jobs", "set": true }]
            } }),
        ),
        (
            "scontrol create start=2030-01-01 endtime=2030-01-02 nodecnt=2 features=a100&ib accounts=ml res=r1",
            "/v1/reservations/create",
            "stdout:\nReservation created: root_1\nexit: 0",
            json!({ "wish": {
                "name": "r1", "start": "2030-01-01T00:00:00.000000Z", "end": "2030-01-02T00:00:00.000000Z",
                "node_count": 2, "features": ["a100", "ib"], "accounts": { "set": ["ml"] }
            } }),
        ),
        (
            "scontrol update reservation=r1 users-=alice flags=-daily duration=10",
            "/v1/reservations/update",
            "stdout:\nReservation updated.\nexit: 0",
            json!({ "wish": {
                "name": "r1", "users": { "remove": ["alice"] }, "duration": 600,
                "flags": [{ "flag": { "repeat": "daily" }, "set": false }]
            } }),
        ),
        ("scontrol delete reservationname=r1", "/v1/reservations/delete", "exit: 0", json!({ "name": "r1" })),
        ("scontrol delete reservation r1", "/v1/reservations/delete", "exit: 0", json!({ "name": "r1" })),
    ] {
        let daemon = Daemon::start(|_| Reply::Answer(json!({ "name": "root_1" })));
        assert_eq!(daemon.run(line), answer, "{line}");
        let request = &daemon.requests()[0];
        assert_eq!(request.path, path, "{line}");
        let mut body = request.body.clone();
        body.as_object_mut().expect("an object").remove("request_id");
        assert_eq!(body, sent, "{line}");
    }
}

#[test]
fn what_is_missing_or_wrong_is_said_before_anything_is_sent() {
    let daemon = Daemon::absent();
    let error = |text: &str| format!("stderr:\nscontrol: error: {text}\nexit: 1");
    for (line, expected) in [
        ("scontrol create reservation", error("A start time must be given.  No reservation created.")),
        (
            "scontrol create reservation starttime=now",
            error("An end time or duration must be given.  No reservation created."),
        ),
        (
            "scontrol create reservation starttime=now duration=5 users=root",
            error("CoreCnt, Nodes, NodeCnt, TRES or Watts must be specified.  No reservation created."),
        ),
        (
            "scontrol create reservation starttime=now duration=5 nodes=ALL",
            error("Either Users/Groups and/or Accounts must be specified.  No reservation created."),
        ),
        (
            "scontrol create reservation starttime=now duration=x",
            error("Invalid duration duration=x.  No reservation created."),
        ),
        (
            "scontrol create reservation starttime=now foo=1",
            error("Unknown parameter foo=1.  No reservation created."),
        ),
        (
            "scontrol create reservation corecnt=4x",
            error("Invalid core count corecnt=4x.  No reservation created."),
        ),
        (
            "scontrol update reservation= duration=5",
            error("ReservationName must be given.  No reservation update."),
        ),
        ("scontrol update reservation=r1", "stderr:\nNo changes specified\nexit: 1".to_string()),
        ("scontrol delete foo=1", "stderr:\nInvalid deletion entity: foo=1\nexit: 1".to_string()),
        (
            "scontrol create nosuch=1",
            "stderr:\nNo valid entity in create command\nInput line must include \"PartitionName\",\nor \"ReservationName\"\nexit: 1"
                .to_string(),
        ),
    ] {
        assert_eq!(daemon.run(line), expected, "{line}");
    }
}

#[test]
fn a_refusal_stands_behind_slurms_words_for_what_was_asked() {
    let create = "scontrol create reservation starttime=now duration=5 nodes=ALL users=root";
    for (line, code, message, expected) in [
        (create, ErrorCode::WrongState, "Requested nodes are busy", "Error creating the reservation"),
        (create, ErrorCode::PermissionDenied, "Invalid user id", "Error creating the reservation"),
        (
            "scontrol update reservation=r1 duration=5",
            ErrorCode::InvalidReservation,
            "Requested reservation is invalid",
            "Error updating the reservation",
        ),
        (
            "scontrol delete reservationname=r1",
            ErrorCode::WrongState,
            "Requested reservation is in use",
            "slurm_delete_reservation reservationname=r1",
        ),
    ] {
        let daemon = Daemon::start(move |_| refuse(code, message));
        assert_eq!(daemon.run(line), format!("stderr:\n{expected}: {message}\nexit: 1"), "{line}");
    }
}

#[test]
fn without_reservations_that_is_said() {
    let none = |_: &crate::harness::Request| Reply::Answer(json!([]));
    for (line, expected) in [
        ("scontrol show reservation", "stdout:\nNo reservations in the system\nexit: 0"),
        ("sinfo -T", "stdout:\nNo reservations in the system\nexit: 0"),
        ("scontrol show reservation r9", "stdout:\nReservation r9 not found\nexit: 1"),
    ] {
        assert_eq!(Daemon::start(none).run(line), expected, "{line}");
    }
}
