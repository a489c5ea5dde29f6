//! The text of the configuration.

use expect_test::expect;
use serde_json::json;

use super::*;
use crate::commands::sample;

#[test]
fn the_parameters_in_force_are_shown() {
    let cluster: ClusterConfigured = serde_json::from_value(json!({
        "cluster_name": "tx", "config_hash": "0123abcd", "nodes": [], "licenses": [{ "name": "matlab", "count": 10 }], "partitions": [], "administrators": [64030],
        "sources": [{ "name": "slurm.conf", "hash": "0" }],
        "parameters": {
            "kill_wait": 30, "min_job_age": 300, "max_array_size": 1001, "max_job_count": 10000, "first_job_id": 1,
            "default_memory": { "per_cpu": 500 }, "memory_is_consumed": true, "enforce_partition_limits": false,
            "job_requeue": true, "over_time_limit_minutes": 0, "backfill_reservations": 1, "planner_jobs_max": 1000,
            "priority": { "weight_age": 1000, "weight_fair_share": 10000, "weight_tres": { "cpu": 5 }, "period": 60,
                          "flags": ["no_normal_qos", "accrue_always"] },
        },
    }))
    .expect("a configuration");
    let text = text(&cluster, &sample::instants()).replace(env!("CARGO_PKG_VERSION"), "X.Y.Z");
    expect![[r#"
        Configuration data as of 2026-12-02T01:43:32
        ClusterName             = tx
        DaybookAdministrators   = 64030
        DaybookBackfillReservations = 1
        DaybookConfigHash       = 0123abcd
        DaybookPlannerJobsMax   = 1000
        DaybookSources          = slurm.conf
        DaybookVersion          = X.Y.Z
        DefMemPerCPU            = 500
        EnforcePartLimits       = NO
        FirstJobId              = 1
        JobRequeue              = 1
        KillWait                = 30 sec
        Licenses                = matlab:10
        MaxArraySize            = 1001
        MaxJobCount             = 10000
        MinJobAge               = 300 sec
        OverTimeLimit           = 0 min
        TrackWCKey              = No
        PreemptMode             = OFF
        PreemptType             = preempt/none
        PriorityCalcPeriod      = 00:01:00
        PriorityDecayHalfLife   = 7-00:00:00
        PriorityFavorSmall      = No
        PriorityFlags           = ACCRUE_ALWAYS,NO_NORMAL_QOS
        PriorityMaxAge          = 7-00:00:00
        PriorityShortTime       = 01:00:00
        PriorityType            = priority/multifactor
        PriorityUsageResetPeriod = NONE
        PriorityWeightAge       = 1000
        PriorityWeightAssoc     = 0
        PriorityWeightFairShare = 10000
        PriorityWeightJobSize   = 0
        PriorityWeightPartition = 0
        PriorityWeightQOS       = 0
        PriorityWeightShort     = 0
        PriorityWeightTRES      = cpu=5

    "#]]
    .assert_eq(&text);
}
