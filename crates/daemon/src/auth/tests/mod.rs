//! Attacks on the doors: none of them may get further than a person's or an agent's own rights.

mod credentials;
mod login;
mod pages;
mod settings;
mod step_up;
