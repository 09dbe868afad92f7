//! The commands that speak with the daemon: ask it, answer it, look after it.

pub mod args;
pub mod args_house;
pub mod ask;
mod choose;
pub mod config;
pub mod credential;
pub mod crises;
pub mod decide;
pub mod doctor;
pub mod grants;
pub mod house;
pub mod ledger;
mod ledger_read;
pub mod login;
pub mod now;
pub mod page;
pub mod permit;
pub mod preview;
pub mod proof;
mod reach;
pub mod show;
pub mod stats;
pub mod status;
pub mod watch;
pub mod who;

pub use reach::paths;
