//! The ledger mark: how far the ledger had grown, signed, in a small file beside the key.
//!
//! A store that was restored from an older copy, cut or replaced does not continue its mark. The
//! mark is raised every second and before the answer to each redemption, so that a restored copy
//! cannot redeem a permit again.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use countersign_json::base64;
use countersign_json::canonical::Digest;
use countersign_ledger::checkpoint;
use countersign_ledger::merkle::verify_consistency;
use countersign_risk::verdict::Mode;
use countersign_store::{Backend, Store as _, StoreError, TreeHead};
use countersign_types::time::Timestamp;
use tokio::sync::Mutex;

use crate::freeze::Freeze;
pub use crate::integrity_fault::IntegrityFault;
use crate::keys::Keys;
use crate::modes::{mode_from_name, mode_name};
use crate::recorded_settings::RecordedSettings;

/// The file beside the key.
pub const FILE: &str = "ledger.mark";
/// The first line, which separates this signature from others of the same key.
const HEAD: &str = "countersign ledger mark 1";
/// The newest checkpoint, in the same folder.
const CHECKPOINT: &str = "newest.checkpoint";

/// The file, and what it says.
pub struct LedgerMark {
    keys: Arc<Keys>,
    file: PathBuf,
    /// The store's path, and the file that was opened there.
    store: (PathBuf, Option<(u64, u64)>),
    size: Mutex<u64>,
    /// The mode that people confirmed.
    mode: RwLock<Mode>,
    /// The freeze in force.
    freeze: RwLock<Option<Freeze>>,
    /// Whether the file was there and signed by us at the start.
    was_found: bool,
    /// Approvals up to this time have no permit any more, in milliseconds.
    void_until: AtomicI64,
}

/// What a mark says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Marked {
    head: TreeHead,
    mode: Mode,
    void_until: i64,
    freeze: Option<Freeze>,
}

impl LedgerMark {
    /// Reads the mark and compares the store with it. The mark is written if there is none yet.
    pub async fn open(
        folder: &Path,
        keys: Arc<Keys>,
        store: &Backend,
        config: (&Path, Mode),
        recorded: &RecordedSettings,
    ) -> Result<(LedgerMark, Option<IntegrityFault>), StoreError> {
        let file = folder.join(FILE);
        let head = store.tree_head().await?;
        let known = match fs::read_to_string(&file) {
            Ok(text) => Some(parse(&keys, &text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // A file that cannot be read says nothing, like an invalid one.
            Err(_) => Some(None),
        };
        let signed = store.checkpoint().await?;
        let fault = match &known {
            // The mark is always raised before a checkpoint is stored.
            Some(Some(marked)) if signed_size(signed.as_deref()) > marked.head.size => {
                Some(IntegrityFault::MarkOutdated)
            }
            Some(Some(marked)) => compare(store, marked.head, head).await?,
            Some(None) => Some(IntegrityFault::MarkInvalid),
            None if signed.is_some() || recorded.mode.is_some() => {
                Some(IntegrityFault::MarkMissing)
            }
            None => None,
        };
        let (store_path, first_mode) = config;
        let mode = match &known {
            // Neither an old mark nor one of another ledger confirms a weaker mode.
            _ if fault.is_some() => Mode::Enforce,
            // The operator chooses the mode of a new installation.
            None => first_mode,
            Some(marked) => recorded.confirmed_mode(marked.as_ref().map(|marked| marked.mode)),
        };
        let marked = known.flatten();
        let void_until = recorded.void_until(marked.as_ref().map(|marked| marked.void_until));
        let mark = LedgerMark {
            keys,
            file,
            store: (store_path.to_owned(), identity(store_path)),
            size: Mutex::new(marked.as_ref().map_or(0, |marked| marked.head.size)),
            mode: RwLock::new(mode),
            was_found: marked.is_some(),
            void_until: AtomicI64::new(void_until),
            freeze: RwLock::new(marked.and_then(|marked| marked.freeze)),
        };
        if fault.is_none() {
            mark.raise(head).await?;
        }
        Ok((mark, fault))
    }

    /// Raises the mark to this head, if that is further. Returns after it is on the disk.
    pub async fn raise(&self, head: TreeHead) -> Result<(), StoreError> {
        let mut size = self.size.lock().await;
        // Another caller may have raised it meanwhile.
        if *size >= head.size {
            return Ok(());
        }
        self.write(head).await?;
        *size = head.size;
        Ok(())
    }

    /// Sets the mark to this head, wherever it was: a person accepted this ledger. It may lack
    /// redemptions, so no earlier approval has a permit any more.
    pub async fn replace(&self, head: TreeHead, now: Timestamp) -> Result<(), StoreError> {
        let mut size = self.size.lock().await;
        self.void_until.fetch_max(now.0, Ordering::AcqRel);
        self.write(head).await?;
        *size = head.size;
        // It is of the other ledger; the next one is signed within seconds.
        let _ = fs::remove_file(self.file.with_file_name(CHECKPOINT));
        Ok(())
    }

    /// Approvals after this time are not void: the clock was rebased to before an acknowledgement.
    pub fn void_at_most_until(&self, now: Timestamp) {
        self.void_until.fetch_min(now.0, Ordering::AcqRel);
    }

    /// Whether an approval of this time has no permit any more.
    pub fn is_void(&self, approved: Timestamp) -> bool {
        approved.0 <= self.void_until.load(Ordering::Acquire)
    }

    /// The mode that people confirmed.
    pub fn mode(&self) -> Mode {
        *self.mode.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the confirmed mode.
    pub async fn set_mode(&self, mode: Mode, head: TreeHead) -> Result<(), StoreError> {
        let mut size = self.size.lock().await;
        let before = self.mode();
        *self.mode.write().unwrap_or_else(PoisonError::into_inner) = mode;
        if let Err(error) = self.write(head).await {
            *self.mode.write().unwrap_or_else(PoisonError::into_inner) = before;
            return Err(error);
        }
        *size = head.size;
        Ok(())
    }

    /// The freeze in force.
    pub fn freeze(&self) -> Option<Freeze> {
        self.freeze.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the file was there and signed by us at the start.
    pub fn was_found(&self) -> bool {
        self.was_found
    }

    /// Keeps a freeze for the next write.
    pub fn keep_freeze(&self, freeze: Option<Freeze>) {
        *self.freeze.write().unwrap_or_else(PoisonError::into_inner) = freeze;
    }

    /// Sets the freeze in force.
    pub async fn set_freeze(
        &self,
        freeze: Option<Freeze>,
        head: TreeHead,
    ) -> Result<(), StoreError> {
        let mut size = self.size.lock().await;
        let before = self.freeze();
        self.keep_freeze(freeze);
        if let Err(error) = self.write(head).await {
            self.keep_freeze(before);
            return Err(error);
        }
        *size = head.size;
        Ok(())
    }

    /// Whether the path of the store leads to another file than the one that was opened.
    pub fn is_store_replaced(&self) -> bool {
        self.store.1.is_some() && identity(&self.store.0) != self.store.1
    }

    async fn write(&self, head: TreeHead) -> Result<(), StoreError> {
        let void_until = self.void_until.load(Ordering::Acquire);
        let body = body(&Marked { head, mode: self.mode(), void_until, freeze: self.freeze() });
        let signature = base64::encode(&self.keys.sign_mark(body.as_bytes()));
        let (file, text) = (self.file.clone(), format!("{body}{signature}\n"));
        let written = tokio::task::spawn_blocking(move || replace(&file, &text)).await;
        let failed =
            |error: String| StoreError::Unavailable(format!("{}: {error}", self.file.display()));
        written
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))
    }
}

fn body(marked: &Marked) -> String {
    let Marked { head, mode, void_until, freeze } = marked;
    let freeze = freeze.as_ref().map(|freeze| freeze.to_line() + "\n").unwrap_or_default();
    let mode = mode_name(*mode);
    format!("{HEAD}\n{}\n{}\n{mode}\n{void_until}\n{freeze}", head.size, head.root)
}

/// What a mark says, if our key signed it.
fn parse(keys: &Keys, text: &str) -> Option<Marked> {
    let (body, signature) = text.strip_suffix('\n')?.rsplit_once('\n')?;
    let body = format!("{body}\n");
    let signature = <[u8; 64]>::try_from(base64::decode(signature).ok()?).ok()?;
    if !keys.holds(keys.kid(), body.as_bytes(), &signature) {
        return None;
    }
    let mut lines = body.lines();
    let head = lines.next()?;
    let (size, root) = (lines.next()?.parse().ok()?, Digest::parse(lines.next()?).ok()?);
    let mode = mode_from_name(lines.next()?)?;
    let void_until = lines.next()?.parse().ok()?;
    // The line of a freeze is there only while one is in force.
    let freeze = match lines.next() {
        Some(line) => Some(Freeze::parse(line)?),
        None => None,
    };
    let head_fits = head == HEAD && lines.next().is_none();
    head_fits.then_some(Marked { head: TreeHead { size, root }, mode, void_until, freeze })
}

/// The size of a checkpoint; 0 for none or an unreadable one.
fn signed_size(note: Option<&str>) -> u64 {
    let note = note.and_then(|note| checkpoint::parse(note).ok());
    note.map_or(0, |note| note.checkpoint.size)
}

/// Whether the ledger continues what was marked, and has the entries of its tree.
async fn compare(
    store: &Backend,
    marked: TreeHead,
    head: TreeHead,
) -> Result<Option<IntegrityFault>, StoreError> {
    let proof = if marked.size <= head.size {
        store.consistency_proof(marked.size, head.size).await?
    } else {
        None
    };
    let continues = proof.is_some_and(|proof| {
        verify_consistency(marked.size, &marked.root, head.size, &head.root, &proof).is_ok()
    });
    if continues && !store.has_intact_ledger().await? {
        return Ok(Some(IntegrityFault::EntriesChanged));
    }
    let fault = IntegrityFault::RolledBack { signed: marked.size, found: head.size };
    Ok((!continues).then_some(fault))
}

/// The device and number of a file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Replaces the file atomically.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let draft = file.with_extension("draft");
    let mut out =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    out.write_all(text.as_bytes())?;
    out.sync_data()?;
    fs::rename(&draft, file)
}
