use daybook_schemas::accounts::{
    Account, AccountUser, AdminLevel, Association, Limits, PreemptMode, Qos, QosFlag, Shares, TresAmounts,
    WorkloadKey,
};
use daybook_schemas::events::{
    AccountDefined, AccountRemoved, AssociationDefined, AssociationRemoved, QosDefined, QosRemoved,
    UserDefined, UserRemoved, WckeyDefined, WckeyRemoved,
};
use daybook_schemas::{Body, Seconds, Subject};

type Bodies = (Subject, Body, Body);

pub fn account_defined() -> Bodies {
    let account = Account {
        name: "ml".to_string(),
        description: "machine learning".to_string(),
        organization: "lab".to_string(),
        coordinators: vec!["alice".to_string()],
    };
    let minimal = Account { coordinators: Vec::new(), ..account.clone() };
    (Subject::Jobs, AccountDefined { account }.into(), AccountDefined { account: minimal }.into())
}

pub fn account_removed() -> Bodies {
    let removed = AccountRemoved { account: "ml".to_string() };
    (Subject::Jobs, removed.clone().into(), removed.into())
}

pub fn association_defined() -> Bodies {
    let association = Association {
        id: 7,
        account: "ml".to_string(),
        user: Some("alice".to_string()),
        partition: Some("gpu".to_string()),
        parent: Some("research".to_string()),
        shares: Shares::Number(10),
        default_qos: Some("normal".to_string()),
        qos: Some(vec!["high".to_string(), "normal".to_string()]),
        priority: Some(5),
        limits: limits(),
        comment: Some("until June".to_string()),
    };
    let minimal = Association { id: 1, account: "root".to_string(), ..Association::default() };
    let defined = AssociationDefined { association };
    (Subject::Jobs, defined.into(), AssociationDefined { association: minimal }.into())
}

/// A user that shares with the account above.
pub fn association_of_parent() -> Body {
    let association =
        Association { id: 8, account: "ml".to_string(), shares: Shares::Parent, ..Association::default() };
    AssociationDefined { association }.into()
}

pub fn association_removed() -> Bodies {
    (Subject::Jobs, AssociationRemoved { id: 7 }.into(), AssociationRemoved { id: 1 }.into())
}

pub fn qos_defined() -> Bodies {
    let qos = Qos {
        description: "first".to_string(),
        priority: 1_000,
        preempt: vec!["low".to_string()],
        preempt_mode: Some(PreemptMode::Requeue),
        grace_time: Seconds(60),
        preempt_exempt_time: Some(Seconds(600)),
        usage_factor: 2_000_000,
        limit_factor: Some(1_500_000),
        usage_threshold: Some(250_000),
        flags: vec![QosFlag::DenyOnLimit, QosFlag::NoReserve],
        limits: limits(),
        ..Qos::new(3, "high")
    };
    (Subject::Jobs, QosDefined { qos }.into(), QosDefined { qos: Qos::new(1, "normal") }.into())
}

pub fn qos_removed() -> Bodies {
    let removed = QosRemoved { qos: "high".to_string() };
    (Subject::Jobs, removed.clone().into(), removed.into())
}

pub fn user_defined() -> Bodies {
    let user = AccountUser {
        name: "alice".to_string(),
        default_account: Some("ml".to_string()),
        default_wckey: Some("thesis".to_string()),
        admin_level: AdminLevel::Operator,
    };
    let minimal = AccountUser { name: "bob".to_string(), ..AccountUser::default() };
    (Subject::Jobs, UserDefined { user }.into(), UserDefined { user: minimal }.into())
}

pub fn user_removed() -> Bodies {
    let removed = UserRemoved { user: "alice".to_string() };
    (Subject::Jobs, removed.clone().into(), removed.into())
}

pub fn wckey_defined() -> Bodies {
    (Subject::Jobs, WckeyDefined { key: key() }.into(), WckeyDefined { key: key() }.into())
}

pub fn wckey_removed() -> Bodies {
    (Subject::Jobs, WckeyRemoved { key: key() }.into(), WckeyRemoved { key: key() }.into())
}

fn key() -> WorkloadKey {
    WorkloadKey { user: "alice".to_string(), name: "thesis".to_string() }
}

/// Every limit that there is.
fn limits() -> Limits {
    let tres = |name: &str, amount: u64| TresAmounts::from([(name.to_string(), amount)]);
    Limits {
        grp_tres: TresAmounts::from([("cpu".to_string(), 100), ("gres/gpu:a100".to_string(), 4)]),
        grp_tres_mins: tres("gres/gpu", 60_000),
        grp_tres_run_mins: tres("cpu", 6_000),
        grp_jobs: Some(50),
        grp_jobs_accrue: Some(10),
        grp_submit_jobs: Some(200),
        grp_wall: Some(Seconds(864_000)),
        max_tres_per_job: tres("node", 4),
        max_tres_per_node: tres("gres/gpu", 4),
        max_tres_per_user: tres("gres/gpu", 8),
        max_tres_per_account: tres("gres/gpu", 16),
        max_tres_mins_per_job: tres("cpu", 10_000),
        max_tres_run_mins_per_user: tres("cpu", 20_000),
        max_tres_run_mins_per_account: tres("cpu", 40_000),
        max_wall_per_job: Some(Seconds(172_800)),
        max_jobs: Some(5),
        max_submit_jobs: Some(20),
        max_jobs_accrue: Some(3),
        max_jobs_per_account: Some(25),
        max_submit_jobs_per_account: Some(100),
        max_jobs_accrue_per_account: Some(15),
        min_tres_per_job: tres("gres/gpu", 1),
        min_priority: Some(1_000),
    }
}
