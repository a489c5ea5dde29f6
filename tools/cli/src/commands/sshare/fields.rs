//! The columns of sshare.

use std::fmt::Write as _;

use daybook_schemas::accounts::{Shares, TresAmounts};
use daybook_schemas::api::{AssociationShare, LevelFairShare};

/// An association with what stands before its account's name.
pub struct Shown<'a> {
    pub share: &'a AssociationShare,
    pub indent: usize,
    pub cluster: &'a str,
}

/// A column.
pub struct Field {
    pub name: &'static str,
    pub width: usize,
    pub left: bool,
    pub write: fn(&Shown<'_>, &mut String),
}

/// The field of a name, or of the first letters of one, in any letter case.
pub fn by_name(name: &str) -> Option<&'static Field> {
    let name = name.to_ascii_lowercase();
    let full = FIELDS.iter().find(|field| field.name.eq_ignore_ascii_case(&name));
    full.or_else(|| FIELDS.iter().find(|field| field.name.to_ascii_lowercase().starts_with(&name)))
}

const fn field(name: &'static str, width: usize, write: fn(&Shown<'_>, &mut String)) -> Field {
    Field { name, width, left: false, write }
}

/// Every column, by name.
pub static FIELDS: &[Field] = &[
    Field {
        name: "Account",
        width: 20,
        left: true,
        write: |shown, out| {
            out.extend(std::iter::repeat_n(' ', shown.indent));
            out.push_str(&shown.share.account);
        },
    },
    field("Cluster", 10, |shown, out| out.push_str(shown.cluster)),
    field("EffectvUsage", 13, |shown, out| millionths(shown.share.effective_usage, out)),
    field("FairShare", 10, |shown, out| {
        if let Some(rank) = shown.share.fair_share {
            millionths(rank, out);
        }
    }),
    field("GrpTRESMins", 30, |shown, out| {
        let all: Vec<String> =
            shown.share.grp_tres_mins.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
        out.push_str(&all.join(","));
    }),
    field("ID", 6, |shown, out| {
        let _ = write!(out, "{}", shown.share.id);
    }),
    field("LevelFS", 10, |shown, out| match shown.share.level_fair_share {
        Some(LevelFairShare::Infinite) => out.push_str("inf"),
        Some(LevelFairShare::Millionths(level)) => millionths(level, out),
        None => {}
    }),
    field("NormShares", 11, |shown, out| millionths(shown.share.norm_shares, out)),
    field("NormUsage", 11, |shown, out| {
        if shown.share.depth > 0 {
            millionths(shown.share.norm_usage, out);
        }
    }),
    field("Partition", 12, |shown, out| out.push_str(shown.share.partition.as_deref().unwrap_or_default())),
    field("RawShares", 10, |shown, out| match shown.share.shares {
        _ if shown.share.depth == 0 => {}
        Shares::Parent => out.push_str("parent"),
        Shares::Number(shares) => {
            let _ = write!(out, "{shares}");
        }
    }),
    field("RawUsage", 11, |shown, out| {
        let _ = write!(out, "{}", shown.share.usage / 1_000);
    }),
    field("TRESRunMins", 30, |shown, out| tres(&shown.share.tres_run_mins, out)),
    field("User", 10, |shown, out| out.push_str(shown.share.user.as_deref().unwrap_or_default())),
];

fn millionths(number: u64, out: &mut String) {
    let _ = write!(out, "{}.{:06}", number / 1_000_000, number % 1_000_000);
}

/// In Slurm's order of the resources that are always there; those that nothing here is measured in are 0.
fn tres(amounts: &TresAmounts, out: &mut String) {
    let order = ["cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages", "gres/gpu"];
    let all: Vec<String> = order
        .iter()
        .map(|name| format!("{name}={}", amounts.get(*name).copied().unwrap_or_default()))
        .collect();
    out.push_str(&all.join(","));
}
