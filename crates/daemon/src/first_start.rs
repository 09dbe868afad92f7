//! What the first start creates: the private folder, the store and the person `owner`.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use countersign_store::{
    Backend, Role, SqliteOptions, SqliteStore, Store as _, StoreError, StoredPerson, WriteContext,
};
use countersign_types::time::{Clock, Timestamp};
use zeroize::Zeroizing;

use crate::auth::{generate_passphrase, hash_passphrase};
use crate::clock::DaemonClock;
use crate::config::DaemonConfig;
use crate::gate::Gate;
use crate::start_error::StartError;

/// The person who is created at the first start.
pub const OWNER: &str = "owner";

/// Opens the store and sets the clock to at least its newest time.
pub fn open_store(
    config: &DaemonConfig,
    clock: &Arc<DaemonClock>,
) -> Result<Arc<Backend>, StartError> {
    let options = SqliteOptions { sync_passes: config.strict, ..SqliteOptions::default() };
    let store_clock = Arc::clone(clock) as Arc<dyn Clock>;
    let store = SqliteStore::open(&config.store, store_clock, options)?;
    if let Some(newest) = store.newest_time() {
        clock.not_before(newest);
    }
    Ok(Arc::new(Backend::Sqlite(store)))
}

/// Creates a private folder.
pub fn private_folder(folder: &Path) -> Result<(), StartError> {
    let failed = |error| StartError::Folder(folder.to_owned(), error);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(failed)
}

/// Creates the owner before the daemon runs; returns the passphrase, or nothing if there is a
/// person already. Fails while a daemon has the store open.
pub async fn create_owner(config: &DaemonConfig) -> Result<Option<Zeroizing<String>>, StartError> {
    private_folder(&config.state)?;
    let clock = Arc::new(DaemonClock::start());
    let store = open_store(config, &clock)?;
    let passphrase = first_person(&store, config, clock.now().at).await;
    let closed = store.close().await;
    closed.map_err(|error| StartError::Store(config.store.clone(), error))?;
    passphrase
}

/// Creates the owner at the first start; the passphrase is shown once.
pub async fn first_person(
    store: &Backend,
    config: &DaemonConfig,
    now: Timestamp,
) -> Result<Option<Zeroizing<String>>, StartError> {
    let failed = |error| StartError::Store(config.store.clone(), error);
    // The ledger decides: who deletes or edits the rows of all people gets no new owner.
    let known = store.credentials().await.map_err(failed)?;
    if !config.create_owner || known.people_in_ledger || !known.people.is_empty() {
        return Ok(None);
    }
    let passphrase = generate_passphrase().map_err(|_| StartError::Passphrase)?;
    let owner = StoredPerson {
        name: OWNER.to_owned(),
        role: Role::Administrator,
        passphrase: hash_passphrase(&passphrase).ok_or(StartError::Passphrase)?,
        added: now,
        role_since: now,
        active_from: now,
        revoked: None,
    };
    let note = WriteContext { policy: config.rules.hash, facts: None, edited: None };
    store.save_person(owner, note).await.map_err(failed)?;
    Ok(Some(passphrase))
}

/// Records the rows of people, agents and their credentials in the ledger of an earlier version,
/// once. A store that does not continue what was signed is not adopted: its rows may be edited.
pub async fn adopt_credentials(gate: &Gate) -> Result<(), StoreError> {
    if gate.integrity().fault().is_some() {
        return Ok(());
    }
    let adopted = gate.store().adopt_credentials(gate.note()).await?;
    if adopted > 0 {
        tracing::warn!(
            adopted,
            "recorded the rows of people, agents and their credentials in the ledger, because an \
             earlier version did not; from now on an edited row gives no rights"
        );
    }
    Ok(())
}
