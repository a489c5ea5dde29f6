//! The tables of sinfo, character by character.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::commands::sample;

fn wish(words: &[&str]) -> Wish {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let line = options::parse(table::OPTIONS, Order::Permute, &words).expect("known options");
    wish::read(&line.options).expect("options that make sense")
}

fn printed(words: &[&str], nodes: Vec<NodeView>) -> String {
    let mut wish = wish(words);
    let (mut nodes, mut partitions) = (nodes, sample::partitions());
    partitions.retain(|partition| wish.means_partition(partition));
    nodes.retain(|node| wish.means_node(node));
    render(&mut wish, &partitions, &nodes, &sample::instants())
}

fn check(words: &[&str], expected: Expect) {
    expected.assert_eq(&format!("$ sinfo {}\n{}", words.join(" "), printed(words, sample::nodes())));
}

#[test]
fn the_default_has_a_line_for_each_partition_and_state() {
    check(
        &[],
        expect![[r#"
        $ sinfo 
        PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
        main*        up 2-00:00:00      1   comp gpu01
        main*        up 2-00:00:00      1  drain node02
        main*        up 2-00:00:00      1    mix gpu02
        main*        up 2-00:00:00      1   idle node01
        short        up    1:00:00      1  drain node02
        short        up    1:00:00      1   idle node01
        gpu          up 1-00:00:00      1   comp gpu01
        gpu          up 1-00:00:00      1    mix gpu02
        debug      down      30:00      1   idle node01
    "#]],
    );
}

#[test]
fn by_node_has_a_line_for_each_node_and_partition() {
    check(
        &["-N"],
        expect![[r#"
        $ sinfo -N
        NODELIST   NODES PARTITION STATE 
        gpu01          1     main* comp  
        gpu01          1       gpu comp  
        gpu02          1     main* mix   
        gpu02          1       gpu mix   
        node01         1     main* idle  
        node01         1     short idle  
        node01         1     debug idle  
        node02         1     main* drain 
        node02         1     short drain 
    "#]],
    );
    check(
        &["-N", "-l"],
        expect![[r#"
        $ sinfo -N -l
        Wed Dec 02 01:43:32 2026
        NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON              
        gpu01          1     main*  completing 8       1:8:1  16000     1000     10 intel,a1 none                
        gpu01          1       gpu  completing 8       1:8:1  16000     1000     10 intel,a1 none                
        gpu02          1     main*       mixed 8       1:8:1  16000     1000     10 intel,a1 none                
        gpu02          1       gpu       mixed 8       1:8:1  16000     1000     10 intel,a1 none                
        node01         1     main*        idle 8       1:8:1  16000     1000      1 intel,av none                
        node01         1     short        idle 8       1:8:1  16000     1000      1 intel,av none                
        node01         1     debug        idle 8       1:8:1  16000     1000      1 intel,av none                
        node02         1     main*     drained 8       1:8:1  16000     1000      1 intel,av bad disk            
        node02         1     short     drained 8       1:8:1  16000     1000      1 intel,av bad disk            
    "#]],
    );
}

#[test]
fn long_has_the_partitions_limits() {
    check(
        &["-l"],
        expect![[r#"
        $ sinfo -l
        Wed Dec 02 01:43:32 2026
        PARTITION AVAIL  TIMELIMIT   JOB_SIZE ROOT OVERSUBS     GROUPS  NODES       STATE NODELIST
        main*        up 2-00:00:00 1-infinite   no       NO        all      1  completing gpu01
        main*        up 2-00:00:00 1-infinite   no       NO        all      1     drained node02
        main*        up 2-00:00:00 1-infinite   no       NO        all      1       mixed gpu02
        main*        up 2-00:00:00 1-infinite   no       NO        all      1        idle node01
        short        up    1:00:00 1-infinite   no       NO        all      1     drained node02
        short        up    1:00:00 1-infinite   no       NO        all      1        idle node01
        gpu          up 1-00:00:00 1-infinite   no       NO        all      1  completing gpu01
        gpu          up 1-00:00:00 1-infinite   no       NO        all      1       mixed gpu02
        debug      down      30:00          1   no       NO        all      1        idle node01
    "#]],
    );
}

#[test]
fn reasons_say_why_who_and_when() {
    check(
        &["-R"],
        expect![[r#"
        $ sinfo -R
        REASON               USER      TIMESTAMP           NODELIST
        bad disk             root      2026-12-02T01:23:53 node02
    "#]],
    );
    check(
        &["-R", "-l"],
        expect![[r#"
        $ sinfo -R -l
        Wed Dec 02 01:43:32 2026
        REASON               USER         TIMESTAMP           STATE  NODELIST
        bad disk             root(0)      2026-12-02T01:23:53 drain  node02
    "#]],
    );
    check(
        &["-R", "-h", "-o", "%n|%E|%u|%H"],
        expect![[r#"
        $ sinfo -R -h -o %n|%E|%u|%H
        vm|bad disk|root|2026-12-02T01:23:53
    "#]],
    );
}

#[test]
fn the_summary_has_a_line_for_each_partition() {
    check(
        &["-s"],
        expect![[r#"
        $ sinfo -s
        PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST
        main*        up 2-00:00:00          2/1/1/4 gpu[01-02],node[01-02]
        short        up    1:00:00          0/1/1/2 node[01-02]
        gpu          up 1-00:00:00          2/0/0/2 gpu[01-02]
        debug      down      30:00          0/1/0/1 node01
    "#]],
    );
}

#[test]
fn partitions_without_a_node_that_is_meant_stay_visible() {
    check(
        &["-n", "node01"],
        expect![[r#"
        $ sinfo -n node01
        PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
        main*        up 2-00:00:00      1   idle node01
        short        up    1:00:00      1   idle node01
        gpu          up 1-00:00:00      0    n/a 
        debug      down      30:00      1   idle node01
    "#]],
    );
    check(
        &["-d"],
        expect![[r#"
        $ sinfo -d
        PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
        main*        up 2-00:00:00      0    n/a 
        short        up    1:00:00      0    n/a 
        gpu          up 1-00:00:00      0    n/a 
        debug      down      30:00      0    n/a 
    "#]],
    );
    check(
        &["-p", "nosuch"],
        expect![[r#"
        $ sinfo -p nosuch
        PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
    "#]],
    );
    check(
        &["-p", "gpu"],
        expect![[r#"
        $ sinfo -p gpu
        PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
        gpu          up 1-00:00:00      1   comp gpu01
        gpu          up 1-00:00:00      1    mix gpu02
    "#]],
    );
}

#[test]
fn idle_means_what_nothing_runs_on() {
    check(
        &["-t", "idle", "-p", "main"],
        expect![[r#"
        $ sinfo -t idle -p main
        PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
        main*        up 2-00:00:00      1   comp gpu01
        main*        up 2-00:00:00      1  drain node02
        main*        up 2-00:00:00      1   idle node01
    "#]],
    );
    check(
        &["-t", "drain,down", "-h", "-o", "%N %T"],
        expect![[r#"
        $ sinfo -t drain,down -h -o %N %T
        node02 drained
    "#]],
    );
}

#[test]
fn nodes_that_show_the_same_are_one_line() {
    let busy = |name: &str, cpus: u32| {
        sample::node(
            name,
            json!({ "state": "mixed", "allocated": { "cpus": cpus, "memory": 500, "gpus": 0 } }),
        )
    };
    let nodes =
        vec![busy("gpu01", 2), sample::node("gpu02", json!({})), busy("node01", 6), busy("node02", 1)];
    expect![[r#"
        PARTITION AVAIL TIMELIMIT NODES STATE CPUS(A/I/O/T) GRES NODELIST
        main* up 2-00:00:00 1 mix 2/6/0/8 gpu:a100:4 gpu01
        main* up 2-00:00:00 2 mix 7/9/0/16 (null) node[01-02]
        main* up 2-00:00:00 1 idle 0/8/0/8 gpu:a100:4 gpu02
        short up 1:00:00 2 mix 7/9/0/16 (null) node[01-02]
        gpu up 1-00:00:00 1 mix 2/6/0/8 gpu:a100:4 gpu01
        gpu up 1-00:00:00 1 idle 0/8/0/8 gpu:a100:4 gpu02
        debug down 30:00 1 mix 6/2/0/8 (null) node01
    "#]]
    .assert_eq(&printed(&["-o", "%P %a %l %D %t %C %G %N"], nodes));
    check(
        &["-h", "-o", "%D"],
        expect![[r#"
        $ sinfo -h -o %D
        4
    "#]],
    );
}

#[test]
fn sizes_that_differ_have_a_plus_unless_exact() {
    let nodes = || {
        vec![sample::node("gpu01", json!({})), sample::node("gpu02", json!({ "definition": { "cpus": 16 } }))]
    };
    assert_eq!(printed(&["-p", "gpu", "-h", "-o", "%P %c %N"], nodes()), "gpu 8+ gpu[01-02]\n");
    assert_eq!(printed(&["-e", "-p", "gpu", "-h", "-o", "%P %c %N"], nodes()), "gpu 8 gpu01\ngpu 16 gpu02\n");
}

#[test]
fn stars_mark_nodes_that_do_not_answer() {
    let nodes = vec![
        sample::node("gpu01", json!({ "state": "down", "not_responding": true })),
        sample::node("gpu02", json!({ "state": "mixed", "drain": true })),
        sample::node("node01", json!({ "state": "unknown", "not_responding": true })),
        sample::node("node02", json!({ "state": "allocated" })),
    ];
    expect![[r#"
        PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
        main*        up 2-00:00:00      1  down* gpu01
        main*        up 2-00:00:00      1   unk* node01
        main*        up 2-00:00:00      1   drng gpu02
        main*        up 2-00:00:00      1  alloc node02
    "#]]
    .assert_eq(&printed(&["-p", "main"], nodes));
}

#[test]
fn letters_and_names_show_what_slurm_shows() {
    let format =
        "%P|%a|%l|%D|%t|%T|%N|%C|%c|%m|%d|%f|%G|%w|%X|%Y|%Z|%z|%e|%O|%F|%A|%R|%B|%g|%h|%L|%M|%s|%S|%p|%i|%I";
    check(
        &["-h", "-p", "main", "-t", "drain", "-o", format],
        expect![[r#"
        $ sinfo -h -p main -t drain -o %P|%a|%l|%D|%t|%T|%N|%C|%c|%m|%d|%f|%G|%w|%X|%Y|%Z|%z|%e|%O|%F|%A|%R|%B|%g|%h|%L|%M|%s|%S|%p|%i|%I
        main*|up|2-00:00:00|1|drain|drained|node02|0/0/8/8|8|16000|1000|intel,avx512|(null)|1|1|8|1|1:8:1|N/A|N/A|0/0/1/1|0/0|main|UNLIMITED|all|NO|1:00:00|OFF|1-infinite|all|1|%i|1
    "#]],
    );
    check(
        &["-N", "-p", "gpu", "-O", "NodeList:8,StateLong:12,CPUsState:15,GresUsed:24,AllocMem"],
        expect![[r#"
        $ sinfo -N -p gpu -O NodeList:8,StateLong:12,CPUsState:15,GresUsed:24,AllocMem
        NODELISTSTATE       CPUS(A/I/O/T)  GRES_USED               ALLOCMEM            
        gpu01   completing  0/8/0/8        gpu:a100:0(IDX:N/A)     0                   
        gpu02   mixed       2/6/0/8        gpu:a100:2(IDX:0-1)     1000                
    "#]],
    );
    check(
        &["-o", "%zzz", "-p", "debug"],
        expect![[r#"
        $ sinfo -o %zzz -p debug
        S:C:Tzz
        1:8:1zz
    "#]],
    );
}

#[test]
fn all_has_every_letter_in_order() {
    let text = printed(&["-o", "%all"], sample::nodes());
    let head = text.lines().next().unwrap_or_default();
    assert!(
        head.starts_with("AVAIL|ACTIVE_FEATURES|CPUS|TMP_DISK|FREE_MEM|AVAIL_FEATURES|GROUPS|"),
        "{head}"
    );
    assert!(head.contains("WEIGHT|S:C:T|NODES(A/I) |MAX_CPUS_PER_NODE |CPUS(A/I/O/T) |NODES |"), "{head}");
    assert!(head.ends_with("|CLUSTER |SOCKETS |CORES |THREADS "), "{head:?}");
}

#[test]
fn columns_grow_with_long_names() {
    let mut partitions = sample::partitions();
    partitions.truncate(1);
    partitions[0].definition.name = "a-very-long-name".to_string();
    let text = render(&mut wish(&["-h"]), &partitions, &sample::nodes()[2..3], &sample::instants());
    assert_eq!(text, "a-very-long-name*    up 2-00:00:00      1   idle node01\n");
}

#[test]
fn sorting_takes_letters() {
    assert_eq!(
        printed(&["-h", "-p", "main", "-S", "N", "-o", "%N %t"], sample::nodes()),
        "gpu01 comp\ngpu02 mix\nnode01 idle\nnode02 drain\n"
    );
    assert_eq!(printed(&["-h", "-S", "-P", "-o", "%R"], sample::nodes()), "short\nmain\ngpu\ndebug\n");
}

#[test]
fn hidden_partitions_show_when_they_are_asked_for() {
    let mut hidden = sample::partitions().remove(1);
    hidden.definition.hidden = true;
    for (words, shown) in
        [(&[][..], false), (&["-a"], true), (&["-p", "short"], true), (&["-a", "--hide"], false)]
    {
        assert_eq!(wish(words).means_partition(&hidden), shown, "{words:?}");
    }
}
