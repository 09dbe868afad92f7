//! The commands that talk to the daemon: ask, decide, administer.

pub mod args;
pub mod args_admin;
pub mod args_channel;
pub mod args_people;
pub mod ask;
pub mod channel;
mod channel_add;
mod channel_file;
mod channel_steps;
pub mod config;
pub mod confirmation;
pub mod credential;
pub mod crises;
pub mod decide;
pub mod doctor;
mod find_request;
pub mod grants;
pub mod ledger;
mod ledger_read;
mod ledger_verify;
pub mod login;
pub mod now;
pub mod output;
pub mod page;
pub mod people;
pub mod permit;
pub mod preview;
pub mod reach;
mod running;
pub mod show;
pub mod stats;
pub mod status;
pub mod watch;

pub use reach::paths;
