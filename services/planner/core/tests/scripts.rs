//! Golden scripts: what is decided, in text. `UPDATE_EXPECT=1 cargo test` writes the expected text anew.

mod support;

use expect_test::expect_file;

macro_rules! scripts {
    ($($name:ident),* $(,)?) => {$(
        #[test]
        fn $name() {
            let script = include_str!(concat!("scripts/", stringify!($name), ".txt"));
            expect_file![concat!("scripts/", stringify!($name), ".out")].assert_eq(&support::script::run(script));
        }
    )*};
}

scripts! {
    a_task_outlives_its_array,
    a_qos_takes_the_place_of_those_in_its_list,
    a_higher_tier_takes_the_place_of_a_lower,
    only_what_helps_gives_way,
    the_cheapest_give_way_first,
    youngest_first_looks_at_nothing_else,
    exempt_runs_do_not_give_way_yet,
    grace_is_a_warning,
    requeue_or_cancel,
    room_is_kept_where_a_part_of_it_is_free,
    room_of_a_task_that_left_its_array,
    off_never_gives_way,
    what_gives_way_is_kept_for_whom_it_is_for,
    arrays_and_gangs_take_what_they_need,
    arrays_start_task_by_task,
    blocks_hold_gangs_together,
    bounds_stop_a_cycle_and_say_so,
    circles_of_dependencies_are_refused,
    contiguous_nodes_are_neighbours,
    cpu_jobs_keep_away_from_gpu_nodes,
    deadlines_end_what_can_no_longer_keep_them,
    dependencies_and_begin_times,
    dependencies_in_all_forms,
    exclusive_jobs_have_their_nodes_alone,
    failing_nodes_and_changed_features,
    few_switches_are_waited_for,
    flexible_magnetic_and_overlapping_reservations,
    gangs_go_to_the_lowest_switch,
    fragmentation_is_what_the_usual_requests_cannot_use,
    gpu_jobs_keep_whole_nodes_whole,
    gpu_types_and_scopes,
    gpus_are_close_to_each_other_and_to_their_cpus,
    holds_are_of_two_kinds_and_arrays_have_parts,
    jobs_go_where_the_least_becomes_useless,
    later_jobs_do_not_delay_protected_starts,
    licenses_are_taken_and_promised_by_count,
    limits_hold_at_their_edge,
    limits_on_billing_hold_at_their_edge,
    limits_of_minutes_count_what_is_used_and_promised,
    limits_have_an_order,
    nobody_waits_for_one_that_starts_elsewhere,
    limits_promise_the_end_of_runs,
    limits_safe_and_flags_of_qos,
    maintenance_and_other_reservations_are_named_as_reasons,
    memory_by_default,
    memory_is_counted,
    only_the_largest_is_billed,
    one_job_may_start_in_several_partitions,
    partitions_limit_what_starts,
    partitions_say_who_and_what_they_are_for,
    priorities_follow_usage_and_age,
    priority_replaces_only_what_was_recorded,
    promises_keep_numbers_not_names,
    reservations_keep_nodes_for_those_who_may_use_them,
    reservations_repeat_float_and_are_given_up,
    several_partitions_each_have_their_limit_before_a_deadline,
    several_protected_starts,
    tasks_follow_their_counterparts,
    several_nodes_as_slurm_distributes,
    sockets_and_threads,
    time_min_shortens_a_limit_to_what_fits,
    the_shortest_expected_run_goes_first_behind_a_promise,
    unavailable_nodes,
    weights_make_gpus_dear,
    weights_features_and_named_nodes,
    why_jobs_wait,
    without_backfill_a_blocked_job_blocks_its_partition,
}
