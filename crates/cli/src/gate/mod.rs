//! The commands that speak with the daemon: ask it, answer it, look after it.

pub mod args;
pub mod args_channel;
pub mod args_house;
pub mod ask;
pub mod channel;
mod channel_add;
mod channel_file;
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
pub mod reach;
mod running;
pub mod show;
pub mod stats;
pub mod status;
pub mod watch;
pub mod who;

pub use reach::paths;
