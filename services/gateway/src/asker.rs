//! Who asks: a peer of this machine, or one of a login machine that its relay vouches for.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use daybook_schemas::api::Peer;
use daybook_schemas::job::JobUser;
use daybook_schemas::{Actor, Authentication};
use nix::unistd::{Gid, Group, Uid, User};

/// What goes with a [`Peer`] that is on a login machine. Whoever serves relays puts it into the request, after verifying
/// it, beside the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relayed {
    /// The relay's name.
    pub via: String,
    /// The user's name on the login machine.
    pub user: String,
    /// The name of the user's primary group there.
    pub group: String,
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) peer: Peer,
    pub(crate) relayed: Option<Relayed>,
}

impl Asker {
    /// The user, with the names that its own machine has for it; digits stand for a name that is not known there.
    pub(crate) fn identity(&self) -> JobUser {
        let Peer { uid, gid, .. } = self.peer;
        if let Some(Relayed { user, group, .. }) = &self.relayed {
            return JobUser { uid, gid, name: user.clone(), group: group.clone() };
        }
        let user = User::from_uid(Uid::from_raw(uid)).ok().flatten();
        let group = Group::from_gid(Gid::from_raw(gid)).ok().flatten();
        JobUser {
            uid,
            gid,
            name: user.map_or_else(|| uid.to_string(), |user| user.name),
            group: group.map_or_else(|| gid.to_string(), |group| group.name),
        }
    }

    /// The same as an event's actor.
    pub(crate) fn actor(&self) -> Actor {
        let authentication = match self.relayed {
            Some(_) => Authentication::RelayedPeerCredentials,
            None => Authentication::PeerCredentials,
        };
        Actor {
            name: self.identity().name,
            uid: Some(self.peer.uid),
            authentication,
            via: self.relayed.as_ref().map(|relayed| relayed.via.clone()),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Asker {
    type Rejection = StatusCode;

    /// Without a peer nobody is served.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Asker, StatusCode> {
        let peer = parts.extensions.get::<Peer>().copied().ok_or(StatusCode::UNAUTHORIZED)?;
        Ok(Asker { peer, relayed: parts.extensions.get::<Relayed>().cloned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relayed_peer_has_the_login_machines_names_and_its_event_says_by_which_way() {
        let peer = Peer { uid: 4_000_000, gid: 4_000_001, pid: None };
        let relayed = Relayed { via: "login1".into(), user: "alice".into(), group: "users".into() };
        let asker = Asker { peer, relayed: Some(relayed) };
        let identity = asker.identity();
        assert_eq!((identity.name.as_str(), identity.group.as_str()), ("alice", "users"));
        assert_eq!((identity.uid, identity.gid), (peer.uid, peer.gid));
        let actor = asker.actor();
        assert_eq!((actor.name.as_str(), actor.via.as_deref()), ("alice", Some("login1")));
        assert_eq!(actor.authentication, Authentication::RelayedPeerCredentials);

        let local = Asker { peer, relayed: None };
        assert_eq!(local.identity().name, "4000000");
        assert_eq!(local.actor().via, None);
        assert_eq!(local.actor().authentication, Authentication::PeerCredentials);
    }
}
