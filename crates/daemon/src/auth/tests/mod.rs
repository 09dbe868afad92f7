//! Attacks on the two APIs: none may get further than the rights of its credential.

mod clock_rebase;
mod credentials;
mod edited_rows;
mod forgotten;
mod login;
mod mode;
mod pages;
mod rollback;
mod sent_code;
mod settings;
mod step_up;
