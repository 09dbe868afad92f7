//! Attacks on the two APIs: none may get further than the rights of its credential.

mod credentials;
mod login;
mod mode;
mod pages;
mod rollback;
mod settings;
mod step_up;
