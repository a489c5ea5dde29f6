//! What holds for every notation: no text makes a reader panic, and what is shown is read back.

use daybook_schemas::grammar::{
    array, dependency, duration, gres, hostlist, instant, job_id, memory, output_pattern, signal,
};
use daybook_schemas::job::{ArrayRequest, TimeLimit};
use daybook_schemas::{JobId, Mebibytes, UtcMicros};
use jiff::tz::TimeZone;
use proptest::prelude::*;

/// Text that looks like what people type, and text that does not.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,24}",
        "[0-9:.,_%+\\-\\[\\]/ a-zA-Z?*é]{0,24}",
        "(now|today|noon|after|afterok|gpu|node|12|1-2)[0-9:.,_%+\\-\\[\\] amptdGKM]{0,12}",
    ]
}

const NOW: UtcMicros = UtcMicros(1_796_175_807_123_456);

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic(text in text()) {
        let _ = array::parse(&text);
        let _ = dependency::parse(&text);
        let _ = duration::parse_time_limit(&text);
        let _ = duration::parse_seconds(&text);
        let _ = gres::parse_gres(&text);
        let _ = gres::parse_gpus(&text);
        let _ = hostlist::expand(&text);
        let _ = hostlist::compress([text.as_str()]);
        let _ = job_id::parse_step_selector(&text);
        let _ = job_id::split_list(&text);
        let _ = memory::parse_mebibytes(&text);
        let _ = signal::parse(&text);
        for bare in [instant::Bare::Future, instant::Bare::Past] {
            if let Err(error) = instant::parse_instant(&text, NOW, &TimeZone::UTC, bare) {
                prop_assert!(error.position <= text.len().max(4));
            }
        }
        let values = output_pattern::PatternValues {
            job: JobId(1), array_job: JobId(1), array_task: None, node: &text, user: &text, name: &text,
        };
        let _ = output_pattern::expand(&text, &values);
    }

    #[test]
    fn limits_in_events_are_minutes_wherever_they_are_some(seconds in 0u64..1 << 40) {
        let limit = TimeLimit::Seconds(seconds);
        let written = serde_json::to_value(limit).expect("JSON");
        let is_minutes = seconds % 60 == 0 && seconds / 60 <= u64::from(u32::MAX);
        prop_assert_eq!(written.get("minutes").is_some(), is_minutes);
        prop_assert_eq!(serde_json::from_value::<TimeLimit>(written).expect("a limit"), limit);
    }

    #[test]
    fn limits_are_read_back_from_either_form(minutes in 1u32..=71_582_788) {
        let limit = TimeLimit::minutes(minutes);
        prop_assert_eq!(duration::parse_time_limit(&duration::format_time_limit(limit)), Ok(limit));
        prop_assert_eq!(duration::parse_time_limit(&duration::format_time_limit_squeue(limit)), Ok(limit));
    }

    #[test]
    fn whole_amounts_of_memory_are_read_back(mebibytes in 0u64..1 << 30) {
        let shown = memory::format_mebibytes(Mebibytes(mebibytes));
        // Slurm shows halves, but does not read them.
        if !shown.contains('.') {
            prop_assert_eq!(memory::parse_mebibytes(&shown), Ok(Mebibytes(mebibytes)));
        }
    }

    #[test]
    fn instants_are_read_back_to_the_second(seconds in -62_000_000_000i64..253_000_000_000) {
        let instant = UtcMicros::from_seconds(seconds);
        let shown = instant::format_local(instant, &TimeZone::UTC);
        for bare in [instant::Bare::Future, instant::Bare::Past] {
            prop_assert_eq!(instant::parse_instant(&shown, NOW, &TimeZone::UTC, bare), Ok(instant));
        }
    }

    #[test]
    fn arrays_and_the_ids_of_their_tasks_are_read_back(
        tasks in prop::collection::btree_set(0u32..1000, 1..30),
        running_max in prop::option::of(1u32..100),
        job in 1u32..,
    ) {
        let request = ArrayRequest { tasks: tasks.into_iter().collect(), running_max };
        prop_assert_eq!(array::parse(&array::format(&request)), Ok(Some(request.clone())));
        let shown = job_id::format_id(JobId(job), None, Some(&request));
        let read = job_id::parse_selector(&shown).unwrap();
        prop_assert_eq!((read.job, read.tasks), (JobId(job), Some(request.tasks)));
    }
}
