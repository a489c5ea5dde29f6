//! `scontrol show licenses`: how many of each licence there are, and how many are in use.

use daybook_schemas::api::LicenseView;

use crate::client::{CallError, Client};
use crate::commands::json;
use crate::commands::scontrol::Flags;
use crate::say;

/// What stands before the reason of a failed call.
const CALL: &str = "slurm_load_license error";

/// Shows them: all, or the one of a name.
pub fn show(flags: Flags, name: Option<&str>) -> u8 {
    let asked = Client::connect().map_err(CallError::from).and_then(|mut client| client.get("/v1/licenses"));
    let licenses: Vec<LicenseView> = match asked {
        Ok(licenses) => licenses,
        Err(error) => return json::report(CALL, &error),
    };
    if flags.json {
        return json::print("licenses", &licenses);
    }
    say::print(&text(&licenses, name, flags.one_line));
    0
}

/// As in Slurm a name that is not known gives nothing.
fn text(licenses: &[LicenseView], name: Option<&str>, one_line: bool) -> String {
    if licenses.is_empty() {
        return "No licenses configured in Slurm.\n".to_string();
    }
    let separator = if one_line { " " } else { "\n    " };
    let meant = licenses.iter().filter(|license| name.is_none_or(|name| license.name == name));
    let record = |license: &LicenseView| {
        let LicenseView { name, total, used, free } = license;
        format!("LicenseName={name}{separator}Total={total} Used={used} Free={free} Reserved=0 Remote=no\n")
    };
    meant.map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_shown_as_slurm_shows_them() {
        let license =
            |name: &str, total, used, free| LicenseView { name: name.to_string(), total, used, free };
        let licenses = [license("ansys", 4, 0, 4), license("matlab", 10, 3, 7)];
        let ansys = "LicenseName=ansys\n    Total=4 Used=0 Free=4 Reserved=0 Remote=no\n";
        let matlab = "LicenseName=matlab\n    Total=10 Used=3 Free=7 Reserved=0 Remote=no\n";
        assert_eq!(text(&licenses, None, false), format!("{ansys}{matlab}"));
        assert_eq!(text(&licenses, Some("matlab"), false), matlab);
        assert_eq!(text(&licenses, Some("matlab"), true), matlab.replace("\n    ", " "));
        assert_eq!(text(&licenses, Some("nosuch"), false), "");
        assert_eq!(text(&[], None, false), "No licenses configured in Slurm.\n");
    }
}
