//! Arguments of `reviews` and `feedback`.

use clap::{Parser, Subcommand};

use super::args::PersonArgs;

/// Look at what calls changed that ran first, and keep it or roll it back.
#[derive(Parser)]
#[command(name = "countersign reviews", bin_name = "countersign reviews")]
#[command(after_help = REVIEWS_EXAMPLES)]
pub struct ReviewsArgs {
    /// The action.
    #[command(subcommand)]
    pub what: ReviewsWhat,
}

const REVIEWS_EXAMPLES: &str = "\
Examples:
  countersign reviews list
  countersign reviews show 01hf3zq9x8y7w6v5t4s3r2q1p0
  countersign reviews keep 01hf3zq9x8y7w6v5t4s3r2q1p0
  countersign reviews roll-back 01hf3zq9x8y7w6v5t4s3r2q1p0

A review is named by the id of its request. A roll-back restores the files as they were before the
call; files that changed since then are restored only with --force.
Exit codes: 0 success, 2 an error.";

/// The actions of `reviews`.
#[derive(Subcommand)]
pub enum ReviewsWhat {
    /// List open reviews.
    List {
        /// Also list the reviews of the last week that have ended.
        #[arg(long)]
        all: bool,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Show what a call changed.
    Show(ReviewArgs),
    /// Keep what a call changed.
    Keep(ReviewArgs),
    /// Restore the files as they were before a call.
    RollBack {
        /// Also restore files that changed since the call.
        #[arg(long)]
        force: bool,
        /// The review, and the person.
        #[command(flatten)]
        review: ReviewArgs,
    },
}

/// One review.
#[derive(clap::Args)]
pub struct ReviewArgs {
    /// The id of the request, or the start of the id.
    pub review: String,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

/// Say whether a call that ran was right.
#[derive(Parser)]
#[command(name = "countersign feedback", bin_name = "countersign feedback")]
#[command(after_help = FEEDBACK_EXAMPLES)]
pub struct FeedbackArgs {
    /// The request: its id, the start of its id (4 or more characters), or its two words.
    pub request: String,
    /// The call should not have run.
    #[arg(long, required_unless_present = "right", conflicts_with = "right")]
    pub wrong: bool,
    /// The call was right.
    #[arg(long)]
    pub right: bool,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

const FEEDBACK_EXAMPLES: &str = "\
Examples:
  countersign feedback olive-tractor --wrong
  countersign feedback 01hf3zq9 --right

--wrong counts the call as denied for everything that is learned from approvals, and ends learned
grants of the same form. --right allows nothing.
Exit codes: 0 success, 2 an error.";
