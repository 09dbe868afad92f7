//! Snapshots of files and folders before a change, and their exact restoration.
//!
//! A snapshot is complete or does not exist: contents are stored by their SHA-256 and synced, and
//! only then the record that names them appears, by one rename. A limit that is reached, a special
//! file, a hard link or a file that changes while it is read means that there is no snapshot. Every
//! path is opened part by part from its parent without following symlinks, so that a swapped folder
//! is an error and never another folder's content.

mod apply;
mod budget;
mod capture;
mod changes;
pub mod diff;
mod error;
mod folders;
mod objects;
mod path_text;
mod plan;
mod prune;
mod record;
mod restore;
mod roots;
mod state;
mod store;
mod verify;

pub use budget::SnapshotLimits;
pub use changes::{PathChange, changes};
pub use error::SnapshotError;
pub use path_text::{decode_path, encode_path};
pub use plan::RestorePlan;
pub use prune::{Pruned, Retention};
pub use record::{AfterState, SnapshotLabel, SnapshotRecord, SnapshotTree};
pub use restore::RestoreReport;
pub use state::{EntryMeta, EntryState};
pub use store::SnapshotStore;
pub use verify::RecordedSnapshot;
