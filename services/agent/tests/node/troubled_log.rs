//! A log that refuses, forgets to answer, or is slow: everything is told in the end, once.

use daybook_log::memory::Fault;

use crate::bench::Bench;

#[tokio::test]
async fn whatever_the_log_does_each_fact_is_told_once() {
    let faults = [
        vec![Some(Fault::Unavailable)],
        vec![Some(Fault::AcknowledgementLost)],
        vec![Some(Fault::AppendLost)],
        vec![Some(Fault::DeliveredTwice)],
        vec![Some(Fault::AppendLost), Some(Fault::Unavailable), Some(Fault::AcknowledgementLost)],
    ];
    for fault in faults {
        for healthy_before in 0..3 {
            let mut bench = Bench::unstarted(false);
            let order = bench.order("#!/bin/sh\n", "").await;
            // The registration, the start (or start and end), the end.
            let script = std::iter::repeat_n(None, healthy_before).chain(fault.iter().copied());
            bench.log.script(script);
            bench.start();
            let run = bench.give(order);
            assert_eq!(bench.end_of(run).await.text(), "exited 0:0", "{fault:?} after {healthy_before}");
            bench.is_settled(run).await;
            assert_eq!(bench.events(run).await.len(), 3, "{fault:?} after {healthy_before}");
            bench.seen_registrations(1).await;
        }
    }
}

#[tokio::test]
async fn an_end_that_the_log_does_not_take_stays_on_disk() {
    let mut bench = Bench::new().await;
    bench.seen_registrations(1).await;
    let order = bench.order("#!/bin/sh\nexit 3\n", "").await;
    bench.log.refuse_appends(usize::from(u8::MAX));
    let run = bench.give(order);
    crate::bench::until(|| bench.record(run).ended.is_some()).await;
    bench.stop().await;
    assert!(bench.record(run).ended.is_some());
    bench.log = bench.log.reopen();
    bench.start();
    assert_eq!(bench.end_of(run).await.text(), "exited 3:0");
    bench.is_settled(run).await;
}
