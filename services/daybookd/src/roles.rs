//! Which services run in this process.

/// The services, as `--roles` names them.
const NAMES: [&str; 6] = ["gateway", "queue", "planner", "dispatch", "agent", "ledger"];

/// A set of services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Takes requests.
    pub gateway: bool,
    /// Answers questions about the present.
    pub queue: bool,
    /// Plans, or stands by for it.
    pub planner: bool,
    /// Tells agents what to do.
    pub dispatch: bool,
    /// Runs jobs.
    pub agent: bool,
    /// Keeps the books.
    pub ledger: bool,
}

impl Roles {
    const ALL: Roles =
        Roles { gateway: true, queue: true, planner: true, dispatch: true, agent: true, ledger: true };

    /// From the command line; all without it.
    pub fn parse(asked: Option<&[String]>) -> Result<Roles, String> {
        let Some(asked) = asked else { return Ok(Roles::ALL) };
        if let Some(unknown) = asked.iter().find(|role| !NAMES.contains(&role.as_str()) && *role != "all") {
            return Err(format!(
                "--roles: \"{unknown}\" is no role; the roles are {}, or all",
                NAMES.join(", ")
            ));
        }
        let has = |name: &str| asked.iter().any(|role| role == name || role == "all");
        Ok(Roles {
            gateway: has("gateway"),
            queue: has("queue"),
            planner: has("planner"),
            dispatch: has("dispatch"),
            agent: has("agent"),
            ledger: has("ledger"),
        })
    }

    /// Whether every service runs here.
    pub fn are_all(self) -> bool {
        self == Roles::ALL
    }

    /// Whether only agents run here: no state is kept but that of their runs.
    pub fn are_agent_only(self) -> bool {
        self == Roles {
            agent: true,
            ..Roles {
                gateway: false,
                queue: false,
                planner: false,
                dispatch: false,
                agent: false,
                ledger: false,
            }
        }
    }

    /// Whether clients are answered here.
    pub fn serve_clients(self) -> bool {
        self.gateway || self.queue || self.ledger
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_named_one_by_one_or_all() {
        let parse = |list: &str| Roles::parse(Some(&list.split(',').map(str::to_string).collect::<Vec<_>>()));
        assert!(Roles::parse(None).unwrap().are_all() && parse("all").unwrap().are_all());
        assert!(parse("gateway,queue,planner,dispatch,agent,ledger").unwrap().are_all());
        assert!(parse("agent").unwrap().are_agent_only());
        let some = parse("planner,agent").unwrap();
        assert!(!some.are_agent_only() && !some.are_all() && !some.serve_clients());
        assert!(parse("planer").unwrap_err().contains("\"planer\" is no role"));
    }
}
