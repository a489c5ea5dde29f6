//! `scontrol reconfigure`.

use daybook_schemas::api::{Changed, Reconfiguration};

use crate::client::{CallError, Client};
use crate::say;

/// Has the configuration files read again. Partitions are then as they stand there.
pub fn run(arguments: &[String]) -> u8 {
    if !arguments.is_empty() {
        say::line("too many arguments for keyword:reconfigure");
        return 1;
    }
    let request = Reconfiguration { request_id: uuid::Uuid::new_v4().to_string() };
    let answer = Client::connect()
        .map_err(CallError::from)
        .and_then(|mut client| client.post::<_, Changed>("/v1/reconfigure", &request));
    match answer {
        Ok(_) => 0,
        Err(error) => super::report_refusal("slurm_reconfigure error", &error),
    }
}
