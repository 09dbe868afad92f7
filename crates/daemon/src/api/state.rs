//! The state that every handler receives.

use std::path::PathBuf;
use std::sync::Arc;

use countersign_types::time::{Clock as _, Millis};
use countersign_workflow::assurance::Authority;

use super::access_offer::OfferSigner;
use super::tokenless_waits::TokenlessWaits;
use crate::auth::origin::AllowedHosts;
use crate::auth::{ANONYMOUS, Directory, LoginThrottle, PassphraseChecks};
use crate::buttons::Buttons;
use crate::changes_in_progress::ChangesInProgress;
use crate::fleet::Fleet;
use crate::gate::{Caller, Gate};
use crate::guard_slot::GuardSlot;
use crate::identity::DaemonIdentity;
use crate::inbound::InboundContext;
use crate::keys::Keys;
use crate::notifier::{self, ChannelPool, NotifierParts};
use crate::passkeys::Challenges;
use crate::presence::Presence;
use crate::proof::Proofs;
use crate::shutdown::{Stop, stopped};

/// The state of every handler.
#[derive(Clone)]
pub struct Api {
    parts: Arc<ApiParts>,
    /// Binds access requests to the evaluations that offered them; none without randomness.
    pub(super) offers: Option<Arc<OfferSigner>>,
    /// Handles replies through channels.
    inbound: Arc<InboundContext>,
    /// What is going on at the moment.
    pub now: Arc<ApiActivity>,
    /// Becomes true when the daemon stops; none in tests.
    stop: Option<Stop>,
    /// The caller of `/confirm` and `/pending` without a token.
    pub(super) anonymous: Arc<Caller>,
}

/// What is going on at the moment. Behind one pointer, because each waiting request has its copy of
/// the state.
#[derive(Debug, Default)]
pub struct ApiActivity {
    /// Open passkey challenges.
    pub(super) challenges: Challenges,
    /// Callers of `/confirm` without a token that wait.
    pub tokenless_waits: TokenlessWaits,
    /// Changes of people that are not done yet.
    pub changes: ChangesInProgress,
}

/// The parts that both APIs use.
pub struct ApiParts {
    /// The gate.
    pub gate: Arc<Gate>,
    /// People, agents, sessions and linked accounts.
    pub directory: Arc<Directory>,
    /// Failed logins and lockouts.
    pub login_throttle: LoginThrottle,
    /// Passphrase hashing, limited in parallel.
    pub checks: PassphraseChecks,
    /// The signing key.
    pub keys: Arc<Keys>,
    /// The open channels.
    pub channels: Arc<ChannelPool>,
    /// Signed button payloads for channels.
    pub buttons: Arc<Buttons>,
    /// Whether a person is active in the inbox.
    pub presence: Arc<Presence>,
    /// The guard model that the rules in force name.
    pub guard: GuardSlot,
    /// The results of the tests of the agents' gates.
    pub proofs: Arc<Proofs>,
    /// The certificate authority of the agents' fleet.
    pub fleet: Fleet,
    /// The folder of recovery codes.
    pub recovery: PathBuf,
    /// Who runs the daemon and where its files are.
    pub identity: DaemonIdentity,
    /// Allowed hosts of the agent API.
    pub agent_hosts: AllowedHosts,
    /// Allowed hosts and origins of the people API.
    pub people_hosts: AllowedHosts,
}

impl Api {
    /// Over these parts.
    pub fn new(parts: ApiParts) -> Api {
        let offers = OfferSigner::new().ok().map(Arc::new);
        let anonymous = Arc::new(Caller::named(ANONYMOUS));
        let inbound = Arc::new(InboundContext::new(
            Arc::clone(&parts.gate),
            Arc::clone(&parts.directory),
            Arc::clone(&parts.channels),
            Arc::clone(&parts.buttons),
        ));
        Api { parts: Arc::new(parts), offers, inbound, now: Arc::default(), stop: None, anonymous }
    }

    /// With a stop signal: open streams end when the daemon stops.
    #[must_use]
    pub fn until(mut self, stop: Stop) -> Api {
        self.stop = Some(stop);
        self
    }

    /// The parts that the notifier needs.
    pub fn notifier_parts(&self) -> NotifierParts {
        NotifierParts {
            channels: Arc::clone(&self.channels),
            buttons: Arc::clone(&self.buttons),
            presence: Arc::clone(&self.presence),
        }
    }

    /// Whether this person has a passkey that may sign now.
    pub fn has_passkey(&self, person: &str) -> bool {
        self.directory.has_passkey(person, self.gate.clock().now().at)
    }

    /// The assurance of a signed-in person for an answer.
    pub fn standing(&self, person: &str) -> Authority {
        Authority::login(self.has_passkey(person), self.directory.tenure(person))
    }

    /// How long a new passkey of this person waits before it may approve.
    pub fn waiting_period(&self, person: &str) -> Millis {
        self.directory.waiting_period(person, self.gate.rules().waiting_period)
    }

    /// Handles replies through channels.
    pub fn inbound(&self) -> &Arc<InboundContext> {
        &self.inbound
    }

    /// Announces a change of who may approve on every channel. The change does not wait for it.
    pub fn announce(&self, text: String) {
        notifier::broadcast_in_background(&self.gate, &self.channels, text);
    }

    /// Waits until the daemon stops.
    pub(super) async fn stopped(&self) {
        match self.stop.clone() {
            Some(mut stop) => stopped(&mut stop).await,
            None => std::future::pending().await,
        }
    }
}

impl std::ops::Deref for Api {
    type Target = ApiParts;

    fn deref(&self) -> &ApiParts {
        &self.parts
    }
}
