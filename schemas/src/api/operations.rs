//! The operations of the interface as data: the gateway's routes and the OpenAPI document come from it.

use schemars::{Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use super::*;

/// One operation.
pub struct Operation {
    /// `get` or `post`.
    pub method: &'static str,
    /// Path, with `{name}` for parameters.
    pub path: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Which service answers.
    pub service: &'static str,
    /// Query parameters: name and meaning.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Schema of the request's body.
    pub request: Option<fn(&mut SchemaGenerator) -> Schema>,
    /// Schema of the answer's body.
    pub answer: fn(&mut SchemaGenerator) -> Schema,
    /// Media type of the answer.
    pub media: &'static str,
}

macro_rules! operation {
    ($method:literal $path:literal by $service:literal: $summary:literal; $($request:ty)? => $answer:ty) => {
        operation!($method $path by $service: $summary; $($request)? => $answer; "application/json"; [])
    };
    ($method:literal $path:literal by $service:literal: $summary:literal; $request:ty => $answer:ty; $media:literal; [$($parameter:expr),*]) => {
        Operation {
            method: $method, path: $path, summary: $summary, service: $service, parameters: &[$($parameter),*],
            request: Some(|g| g.subschema_for::<$request>()), answer: |g| g.subschema_for::<$answer>(), media: $media,
        }
    };
    ($method:literal $path:literal by $service:literal: $summary:literal; => $answer:ty; $media:literal; [$($parameter:expr),*]) => {
        Operation {
            method: $method, path: $path, summary: $summary, service: $service, parameters: &[$($parameter),*],
            request: None, answer: |g| g.subschema_for::<$answer>(), media: $media,
        }
    };
}

/// All of them.
pub const OPERATIONS: &[Operation] = &[
    operation!("get" "/v1/ping" by "gateway": "Who answers, and up to where it shows the log."; => Ping),
    operation!("post" "/v1/jobs" by "gateway": "Submit a batch job."; JobSubmission => SubmitAnswer),
    operation!("post" "/v1/jobs/cancel" by "gateway": "Cancel or signal jobs."; CancelRequest => Changed),
    operation!("post" "/v1/jobs/hold" by "gateway": "Put jobs on hold."; JobAction => Changed),
    operation!("post" "/v1/jobs/release" by "gateway": "Release held jobs."; JobAction => Changed),
    operation!("post" "/v1/jobs/suspend" by "gateway": "Stop running jobs."; JobAction => Changed),
    operation!("post" "/v1/jobs/resume" by "gateway": "Let suspended jobs go on."; JobAction => Changed),
    operation!("post" "/v1/jobs/requeue" by "gateway": "Put jobs back into the queue."; JobAction => Changed),
    operation!("post" "/v1/jobs/top" by "gateway": "Put jobs in front of their owner's others."; JobAction => Changed),
    operation!("post" "/v1/jobs/update" by "gateway": "Change a job."; JobUpdateRequest => Changed),
    operation!("post" "/v1/nodes/update" by "gateway": "Drain, resume or set down nodes, or change their properties."; NodeUpdateRequest => Changed),
    operation!("post" "/v1/accounts/change" by "gateway": "Add, change or remove accounts, users, associations and QOS."; AccountsChangeRequest => AccountsChanged),
    operation!("post" "/v1/reservations/create" by "gateway": "Reserve nodes."; ReservationRequest => ReservationAnswer),
    operation!("post" "/v1/reservations/update" by "gateway": "Change a reservation."; ReservationRequest => ReservationAnswer),
    operation!("post" "/v1/reservations/delete" by "gateway": "Delete a reservation."; ReservationDeletion => ReservationAnswer),
    operation!("post" "/v1/partitions/create" by "gateway": "Create a partition, until the configuration is read again."; PartitionChange => Changed),
    operation!("post" "/v1/partitions/update" by "gateway": "Change a partition, until the configuration is read again."; PartitionChange => Changed),
    operation!("post" "/v1/partitions/delete" by "gateway": "Delete a partition, until the configuration is read again."; PartitionDeletion => Changed),
    operation!("post" "/v1/reconfigure" by "gateway": "Read the configuration files again."; Reconfiguration => Changed),
    operation!("get" "/v1/events" by "gateway": "The log, one event a line."; => EventRecord; "application/x-ndjson"; [
        ("stream", "state (the default) or detail"), ("from", "first position"), ("job", "only this job"),
        ("follow", "true: stay and send what comes"), ("limit", "at most so many")
    ]),
    operation!("post" "/v1/jobs/query" by "queue": "A table of jobs with the columns asked for."; JobQuery => JobTable),
    operation!("get" "/v1/jobs" by "queue": "Every job in memory, whole."; => Vec<JobView>),
    operation!("get" "/v1/jobs/{id}" by "queue": "One job, or an array's records."; => Vec<JobView>),
    operation!("get" "/v1/jobs/{id}/wait" by "queue": "Answers when the job has ended."; => JobWaitAnswer; "application/json"; [
        ("timeout_seconds", "the longest wait, at most 300")
    ]),
    operation!("get" "/v1/jobs/{id}/why" by "queue": "Why a job waits, with figures."; => Explanation; "application/json"; [
        ("task", "of an array: this task")
    ]),
    operation!("get" "/v1/statistics" by "queue": "What sdiag shows: jobs and planning cycles, counted."; => Statistics),
    operation!("get" "/v1/nodes" by "queue": "Every node."; => Vec<NodeView>),
    operation!("get" "/v1/partitions" by "queue": "Every partition."; => Vec<PartitionView>),
    operation!("get" "/v1/accounts" by "queue": "Accounts, users, associations and QOS, whole."; => AccountsView),
    operation!("get" "/v1/licenses" by "queue": "Every licence, with how many are in use."; => Vec<LicenseView>),
    operation!("get" "/v1/reservations" by "queue": "Every reservation that is not over."; => Vec<ReservationView>),
    operation!("get" "/v1/priorities" by "queue": "What sprio shows: priorities of waiting jobs and what they are made of."; => PrioritiesAnswer),
    operation!("get" "/v1/shares" by "queue": "What sshare shows: usage and fair share of every association."; => SharesAnswer),
    operation!("get" "/v1/cluster" by "queue": "The configuration in force."; => crate::events::ClusterConfigured),
    operation!("post" "/v1/accounting/query" by "ledger": "What sacct shows."; AccountingQuery => AccountingAnswer),
    operation!("post" "/v1/ledger/capacity" by "ledger": "The physical book: seconds by class for each GPU and node."; CapacityQuery => CapacityAnswer),
];

/// The OpenAPI 3.1 document of the interface.
pub fn openapi(version: &str) -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    let error = generator.subschema_for::<ApiError>();
    let mut paths = serde_json::Map::new();
    for operation in OPERATIONS {
        let mut parameters: Vec<Value> = Vec::new();
        for name in operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
            parameters.push(
                json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }),
            );
        }
        for (name, meaning) in operation.parameters {
            parameters.push(json!({
                "name": name, "in": "query", "required": false, "description": meaning, "schema": { "type": "string" }
            }));
        }
        let answer = (operation.answer)(&mut generator);
        let mut entry = json!({
            "summary": operation.summary,
            "operationId": format!("{}{}", operation.method, operation.path.replace(['/', '{', '}'], "_")),
            "tags": [operation.service],
            "parameters": parameters,
            "responses": {
                "200": { "description": "done", "content": { operation.media: { "schema": answer } } },
                "default": { "description": "refused", "content": { "application/json": { "schema": error } } }
            }
        });
        if let Some(request) = operation.request {
            let schema = request(&mut generator);
            entry["requestBody"] =
                json!({ "required": true, "content": { "application/json": { "schema": schema } } });
        }
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = entry;
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Daybook", "version": version },
        "paths": paths,
        "components": { "schemas": generator.take_definitions(true) }
    })
}
