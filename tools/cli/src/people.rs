//! Who asks, and who somebody is: users of this machine by name or number.

use daybook_schemas::job::JobUser;
use nix::unistd::{Gid, Group, Uid, User};

/// The uid of a name, or of a number.
pub fn uid_of(text: &str) -> Option<u32> {
    match User::from_name(text) {
        Ok(Some(user)) => Some(user.uid.as_raw()),
        _ => text.parse().ok(),
    }
}

/// Name and groups of a user; `None` where this machine does not know it.
pub fn job_user_of(text: &str) -> Option<JobUser> {
    let user = User::from_uid(Uid::from_raw(uid_of(text)?)).ok()??;
    Some(JobUser {
        uid: user.uid.as_raw(),
        gid: user.gid.as_raw(),
        group: group_name(user.gid),
        name: user.name,
    })
}

fn group_name(gid: Gid) -> String {
    match Group::from_gid(gid) {
        Ok(Some(group)) => group.name,
        _ => gid.to_string(),
    }
}

/// Who runs this program.
pub fn own_uid() -> u32 {
    nix::unistd::getuid().as_raw()
}

/// This machine's name, up to the first dot.
pub fn host_name() -> String {
    let name = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.split('.').next().unwrap_or_default().to_string()
}
