//! The other end of a connection: the agent that its certificate names.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use countersign_tls::FleetTrust;
use countersign_tls::rustls::pki_types::{CertificateDer, UnixTime};
use countersign_types::time::Timestamp;

use crate::clock::now;

/// A connection of a peer. A certificate that is revoked or expires meanwhile ends it.
#[derive(Debug, Clone)]
pub struct Connection(Arc<ConnectionState>);

#[derive(Debug)]
struct ConnectionState {
    agent: String,
    chain: Vec<CertificateDer<'static>>,
    trust: Arc<FleetTrust>,
    /// The list of revoked certificates under which the certificate was checked last.
    checked: AtomicU64,
}

impl Connection {
    /// The connection of the holder of this certificate; nothing if it is not accepted.
    pub fn of(chain: &[CertificateDer<'_>], trust: &Arc<FleetTrust>) -> Option<Connection> {
        let checked = AtomicU64::new(trust.generation());
        let agent = trust.check_client(chain, UnixTime::now())?;
        let chain = chain.iter().map(|one| one.clone().into_owned()).collect();
        Some(Connection(Arc::new(ConnectionState {
            agent,
            chain,
            trust: Arc::clone(trust),
            checked,
        })))
    }

    /// The agent.
    pub fn agent(&self) -> &str {
        &self.0.agent
    }

    /// The certificate, in DER.
    pub fn certificate(&self) -> &[u8] {
        self.0.chain.first().map_or(&[], |first| first.as_ref())
    }

    /// Whether the certificate is still accepted; checked again with each new list of revoked
    /// certificates.
    pub fn is_still_accepted(&self) -> bool {
        let state = &self.0;
        if !state.trust.is_current(Timestamp(now())) {
            return false;
        }
        let generation = state.trust.generation();
        if state.checked.load(Ordering::Acquire) == generation {
            return true;
        }
        let accepted = state.trust.check_client(&state.chain, UnixTime::now()).is_some();
        if accepted {
            state.checked.store(generation, Ordering::Release);
        }
        accepted
    }
}
