//! `sshare`: usage and fair share of accounts and users.

mod fields;
mod table;

use daybook_schemas::api::{AssociationShare, SharesAnswer};

use super::{Command, json};
use crate::client::Client;
use crate::options::Order;
use crate::{people, say, table as cells};
use fields::{FIELDS, Field, Shown};

pub const COMMAND: Command = Command {
    name: "sshare",
    summary: "Show usage and fair share of accounts and users.",
    usage: "sshare [OPTION]...",
    options: table::OPTIONS,
    order: Order::Permute,
    exit_bad_option: 1,
    run,
};

/// What stands before the reason of a failed call.
const CALL: &str = "Couldn't get shares from controller";
/// Slurm's exit status where nobody answers.
const EXIT_NO_ANSWER: u8 = 255;
const DEFAULT: &str = "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare";
const LONG: &str = "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,LevelFS,GrpTRESMins,TRESRunMins";

/// What stands between values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Aligned,
    Ended,
    Separated,
}

struct Wish {
    accounts: Vec<String>,
    /// `None`: all.
    users: Option<Vec<String>>,
    users_only: bool,
    columns: Vec<Column>,
    header: bool,
    form: Form,
    json: bool,
}

struct Column {
    field: &'static Field,
    width: usize,
    left: bool,
}

fn run(arguments: &[String]) -> u8 {
    let wish = match read(arguments) {
        Ok(Some(wish)) => wish,
        Ok(None) => {
            say::print(&names());
            return 0;
        }
        Err(exit) => return exit,
    };
    let answer =
        Client::connect().map_err(Into::into).and_then(|mut client| client.get::<SharesAnswer>("/v1/shares"));
    match answer {
        Ok(mut answer) if wish.json => {
            answer.associations.retain(|share| wish.means(share));
            json::print("shares", &answer)
        }
        Ok(answer) => {
            say::print(&text(&wish, &answer));
            0
        }
        Err(error) => {
            json::report(CALL, &error);
            EXIT_NO_ANSWER
        }
    }
}

/// The names of all fields, four on a line.
fn names() -> String {
    let line = |fields: &[Field]| {
        let names: Vec<String> = fields.iter().map(|field| format!("{:<17}", field.name)).collect();
        names.join(" ") + "\n"
    };
    FIELDS.chunks(4).map(line).collect()
}

/// `None`: only the names of the fields are asked for.
fn read(arguments: &[String]) -> Result<Option<Wish>, u8> {
    let line = COMMAND.read(arguments)?;
    if let Some(operand) = line.operands.first() {
        say::error("sshare", format!("Unrecognized option: {operand}"));
        return Err(1);
    }
    let own = || people::job_user_of(&people::own_uid().to_string()).map(|user| vec![user.name]);
    let mut wish = Wish {
        accounts: Vec::new(),
        users: Some(own().unwrap_or_default()),
        users_only: false,
        columns: Vec::new(),
        header: true,
        form: Form::Aligned,
        json: false,
    };
    let (mut format, mut long, mut with_partitions) = (None, false, false);
    for given in &line.options {
        let list = || {
            let words = given.text().split(',').map(str::trim).filter(|word| !word.is_empty());
            words.map(str::to_ascii_lowercase).collect::<Vec<String>>()
        };
        match given.option.long {
            "accounts" => wish.accounts = list(),
            "all" => wish.users = None,
            "users" => wish.users = Some(list()),
            "Users" => wish.users_only = true,
            "format" => format = Some(given.text().to_string()),
            "helpformat" => return Ok(None),
            "long" => long = true,
            "noheader" => wish.header = false,
            "parsable" => wish.form = Form::Ended,
            "parsable2" => wish.form = Form::Separated,
            "partition" => with_partitions = true,
            "json" => wish.json = true,
            _ => {}
        }
    }
    let format = format.unwrap_or_else(|| {
        let format = if long { LONG } else { DEFAULT };
        if with_partitions { format.replacen("User,", "User,Partition,", 1) } else { format.to_string() }
    });
    wish.columns = columns(&format)?;
    Ok(Some(wish))
}

/// Reads `account%30,user,fairshare%-12`.
fn columns(format: &str) -> Result<Vec<Column>, u8> {
    let parts = format.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, width) = part.split_once('%').unwrap_or((part, ""));
            if name.eq_ignore_ascii_case("GrpTRESRaw") {
                say::error("sshare", "the field GrpTRESRaw is not supported by daybook yet");
                return Err(1);
            }
            let Some(field) = fields::by_name(name) else {
                say::line(format!("Invalid field requested: \"{name}\""));
                return Err(1);
            };
            let given = width.parse::<i32>().ok().filter(|width| *width != 0 && width.abs() < 10_000);
            Ok(match given {
                // A given width justifies to the right, as in Slurm; one below 0 to the left.
                Some(width) => Column { field, width: width.unsigned_abs() as usize, left: width < 0 },
                None => Column { field, width: field.width, left: field.left },
            })
        })
        .collect()
}

impl Wish {
    fn means(&self, share: &AssociationShare) -> bool {
        let of_user = match (&share.user, &self.users) {
            (Some(user), Some(users)) => users.iter().any(|name| name.eq_ignore_ascii_case(user)),
            (Some(_), None) => true,
            (None, _) => !self.users_only,
        };
        of_user && (self.accounts.is_empty() || self.accounts.contains(&share.account))
    }
}

fn text(wish: &Wish, answer: &SharesAnswer) -> String {
    let meant: Vec<&AssociationShare> =
        answer.associations.iter().filter(|share| wish.means(share)).collect();
    // The tree is drawn from the highest that is shown; users alone are no tree.
    let top = meant.iter().map(|share| share.depth).min().unwrap_or(0);
    let mut out = String::new();
    if wish.header {
        head(wish, &mut out);
    }
    for share in meant {
        let indent = if wish.users_only { 0 } else { (share.depth - top) as usize };
        let shown = Shown { share, indent, cluster: &answer.cluster };
        line(wish, |column, out| (column.field.write)(&shown, out), &mut out);
    }
    out
}

fn head(wish: &Wish, out: &mut String) {
    if wish.form != Form::Aligned {
        return line(wish, |column, out| out.push_str(column.field.name), out);
    }
    for column in &wish.columns {
        cells::put(out, column.field.name, column.width, !column.left);
        out.push(' ');
    }
    out.push('\n');
    for column in &wish.columns {
        out.extend(std::iter::repeat_n('-', column.width));
        out.push(' ');
    }
    out.push('\n');
}

fn line(wish: &Wish, cell: impl Fn(&Column, &mut String), out: &mut String) {
    let last = wish.columns.len().saturating_sub(1);
    for (place, column) in wish.columns.iter().enumerate() {
        let mut text = String::new();
        cell(column, &mut text);
        match wish.form {
            Form::Aligned => {
                cells::put_marked(out, &text, column.width, !column.left);
                out.push(' ');
            }
            Form::Ended => out.extend([text.as_str(), "|"]),
            Form::Separated => {
                out.push_str(&text);
                if place < last {
                    out.push('|');
                }
            }
        }
    }
    out.push('\n');
}
