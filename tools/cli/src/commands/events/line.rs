//! An event on one line, for people: position, local time, type, who, what.

use daybook_schemas::api::EventRecord;
use serde_json::Value;

use super::facts;
use crate::table::instants::Instants;
use crate::table::put;

/// Characters of the columns.
const SEQ_WIDTH: usize = 7;
const TYPE_WIDTH: usize = 20;
const ACTOR_WIDTH: usize = 14;

/// The line.
pub fn of(record: &EventRecord, instants: &Instants) -> String {
    let text = |key: &str| record.event.get(key).and_then(Value::as_str).unwrap_or("?");
    let actor = record.event.pointer("/actor/name").and_then(Value::as_str).unwrap_or("?");
    let nothing = Value::Null;
    let data = record.event.get("data").unwrap_or(&nothing);
    let mut out = String::new();
    put(&mut out, &record.seq.to_string(), SEQ_WIDTH.max(record.seq.to_string().len()), true);
    out.push_str("  ");
    instants.write(record.logged_at.seconds(), &mut out);
    out.push_str(&format!(".{:03}  ", record.logged_at.0.rem_euclid(1_000_000) / 1000));
    column(&mut out, name(text("type")), TYPE_WIDTH);
    column(&mut out, actor, ACTOR_WIDTH);
    out.push_str(&printable(&facts::of(text("type"), data)));
    let length = out.trim_end().len();
    out.truncate(length);
    out.push('\n');
    out
}

/// Padded, never cut.
fn column(out: &mut String, text: &str, width: usize) {
    put(out, text, width.max(text.chars().count()), false);
    out.push_str("  ");
}

/// `run.started` of `run.started.v1`; later versions stay visible.
fn name(event_type: &str) -> &str {
    event_type.strip_suffix(".v1").unwrap_or(event_type)
}

/// On one line, and without anything that a terminal would act upon: job names are other people's texts.
fn printable(text: &str) -> String {
    let safe = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(safe).collect()
}

#[cfg(test)]
mod tests {
    use daybook_schemas::{Seq, UtcMicros};
    use expect_test::expect;
    use jiff::tz::TimeZone;
    use serde_json::json;

    use super::*;

    fn line(seq: u64, event_type: &str, actor: &str, data: Value) -> String {
        let record = EventRecord {
            seq: Seq(seq),
            logged_at: UtcMicros(1_796_175_809_123_456),
            writer: "plan".to_string(),
            event: json!({ "type": event_type, "actor": { "name": actor }, "data": data }),
        };
        of(&record, &Instants::new(TimeZone::UTC, 0))
    }

    #[test]
    fn the_events_of_a_job_are_lined_up() {
        let node = json!({
            "node": "gpu01", "cpus": "0-1", "memory": 1000, "tasks": 1,
            "gpus": [{ "index": 0, "uuid": "gpu01/gpu0", "gpu_type": "a100" },
                     { "index": 1, "uuid": "gpu01/gpu1", "gpu_type": "a100" }]
        });
        let lines = [
            line(9, "job.held.v1", "alice", json!({ "job": 391, "by_administrator": false })),
            line(10, "job.released.v1", "root", json!({ "job": 10, "tasks": "2-4" })),
            line(
                11,
                "planner.cycle.v1",
                "planner",
                json!({
                    "input": 10, "now": "2026-12-02T01:43:29.000000Z", "policy_hash": "p", "starts": ["391.0"],
                    "reasons": [{ "job": 394, "reason": "priority" }], "reservations": [], "jobs_considered": 2,
                    "bounded": false, "decision_hash": "d"
                }),
            ),
            line(
                11,
                "run.allocated.v1",
                "planner",
                json!({
                    "run": "391.0", "partition": "main", "nodes": [node], "time_limit": { "minutes": 20 }
                }),
            ),
            line(12, "run.started.v1", "agent/gpu01", json!({ "run": "391.0", "node": "gpu01", "pid": 77 })),
            line(13, "job.cancel_requested.v1", "alice", json!({ "job": 391, "uid": 1001 })),
            line(
                14,
                "run.ended.v1",
                "agent/gpu01",
                json!({
                    "run": "391.0", "node": "gpu01", "cause": "cancelled", "exit": { "code": 0, "signal": 15 }
                }),
            ),
            line(15, "run.node_released.v1", "agent/gpu01", json!({ "run": "391.0", "node": "gpu01" })),
            line(
                16,
                "run.exploded.v2",
                "agent/gpu01",
                json!({ "run": "391.0", "why": "a\nb", "parts": [1, 2] }),
            ),
        ];
        expect![[r#"
            $ daybook events
                  9  2026-12-02T01:43:29.123  job.held              alice           job 391
                 10  2026-12-02T01:43:29.123  job.released          root            job 10_[2-4]
                 11  2026-12-02T01:43:29.123  planner.cycle         planner         at 10, considered 2 jobs; starts 391.0; waiting 394 (Priority)
                 11  2026-12-02T01:43:29.123  run.allocated         planner         run 391.0 on gpu01 (cpus 0-1, 1000M, gpus 0-1), limit 00:20:00
                 12  2026-12-02T01:43:29.123  run.started           agent/gpu01     run 391.0 on gpu01, pid 77
                 13  2026-12-02T01:43:29.123  job.cancel_requested  alice           job 391, uid 1001
                 14  2026-12-02T01:43:29.123  run.ended             agent/gpu01     run 391.0 on gpu01, cancelled, exit 0:15
                 15  2026-12-02T01:43:29.123  run.node_released     agent/gpu01     run 391.0 on gpu01
                 16  2026-12-02T01:43:29.123  run.exploded.v2       agent/gpu01     parts=[1,2] run=391.0 why=a\nb
        "#]]
        .assert_eq(&format!("$ daybook events\n{}", lines.concat()));
    }
}
