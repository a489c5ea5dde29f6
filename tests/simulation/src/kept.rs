//! What seeds have found, each as short as it can be told.

use serde_json::{Value, json};

use crate::Options;
use crate::choice::Choice;
use crate::clients::Told;
use crate::network::Fate;
use crate::scenario::{Asked, submission};
use crate::simulation::Simulation;

/// A job that fits anywhere, with these dependencies.
fn small_job(simulation: &Simulation, id: &str, dependencies: Value) -> Asked {
    let cluster = &simulation.witness.cluster;
    let mut asked = submission(id.to_string(), cluster, cluster.time(), &mut Choice::of(0));
    let mut body: Value = serde_json::from_str(&asked.body).expect("a submission");
    body["request"] = json!({ "nodes_min": 1, "tasks": 1, "cpus_per_task": 1 });
    body["partition"] = Value::Null;
    body["array"] = Value::Null;
    body["dependencies"] = dependencies;
    asked.body = body.to_string();
    asked
}

fn simulate(story: impl AsyncFnOnce(Simulation)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let mut simulation = Simulation::new(1, Options::default()).await.expect("a cluster");
        let gateway = simulation.gateways[0].port.clone();
        gateway.see(simulation.log_end());
        simulation.settle().await.expect("nothing is wrong");
        story(simulation).await;
    });
}

async fn deliver_job(simulation: &mut Simulation, fate: Fate) {
    let on_their_way = simulation.network.on_their_way();
    let label = on_their_way.iter().find(|label| label.port.starts_with("gateway"));
    simulation.network.deliver(label.expect("an append"), fate).await;
    simulation.settle().await.expect("nothing is wrong");
}

/// The gateway said that nothing was changed where it could not look the request up.
#[test]
fn a_request_that_cannot_be_looked_up_is_not_said_to_have_changed_nothing() {
    simulate(async |mut simulation| {
        let asked = small_job(&simulation, "r1", Value::Null);
        simulation.clients.ask("r1".to_string(), asked, &simulation.gateways[0]);
        simulation.settle().await.expect("nothing is wrong");
        deliver_job(&mut simulation, Fate::ArrivedAndCut).await;
        assert_eq!(simulation.clients.requests["r1"].told, Some(Told::Unknown));

        simulation.gateways[0].port.set_connected(true);
        simulation.clients.ask_again("r1", &simulation.gateways[0]);
        simulation.settle().await.expect("nothing is wrong");
        let job = simulation.witness.submitted["r1"];
        assert_eq!(simulation.clients.requests["r1"].told, Some(Told::Accepted(Some(job))));
    });
}

/// A job could name the id that it was about to get, and waited for itself.
#[test]
fn a_job_cannot_wait_for_itself() {
    simulate(async |mut simulation| {
        let itself = json!({ "conditions": [{ "kind": "afterany", "job": 1 }] });
        let asked = small_job(&simulation, "r1", itself);
        simulation.clients.ask("r1".to_string(), asked, &simulation.gateways[0]);
        simulation.settle().await.expect("nothing is wrong");
        let refused = Told::Refused("Job dependency problem".to_string());
        assert_eq!(simulation.clients.requests["r1"].told, Some(refused));
    });
}
