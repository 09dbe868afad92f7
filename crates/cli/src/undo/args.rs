//! The arguments of `countersign undo`.

use clap::{Parser, Subcommand};

/// List what calls changed, and restore files as they were.
///
/// Before a call that only changes files it names, the hook stores these files.
///
/// Restoring touches only what the call changed, and can be undone itself.
#[derive(Parser)]
#[command(name = "countersign undo", bin_name = "countersign undo")]
#[command(args_conflicts_with_subcommands = true, after_help = UNDO_EXAMPLES)]
pub struct UndoArgs {
    /// The change to undo; without it, the changes are listed.
    pub id: Option<String>,
    /// Show what would be restored, and change nothing.
    #[arg(long, requires = "id")]
    pub dry_run: bool,
    /// Restore files that changed again after the call too.
    #[arg(long, requires = "id")]
    pub force: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// The action.
    #[command(subcommand)]
    pub what: Option<UndoWhat>,
}

/// The actions of `undo`.
#[derive(Subcommand)]
pub enum UndoWhat {
    /// List what can be undone, newest first.
    List {
        /// Also list what was undone already.
        #[arg(long)]
        all: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show exactly what a call changed.
    Show {
        /// The id of the change.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove old snapshots; they cannot be restored any more.
    Prune {
        /// Remove snapshots that are older than this, in days [default: `undo.keep_days`]
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
    },
}

const UNDO_EXAMPLES: &str = "\
Examples:
  countersign undo                     lists what can be undone
  countersign undo show 3f9a01c2       shows what the call changed
  countersign undo 3f9a01c2 --dry-run  shows what would be restored
  countersign undo 3f9a01c2            restores the files as they were before the call
  countersign undo prune --older-than 1

Exit codes: 0 success, 1 files changed again after the call (see --force), 2 another error.";
