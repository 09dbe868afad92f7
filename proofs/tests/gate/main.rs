//! Black-box tests of the daemon: a real process and real sockets, with races, crashes and faults.
//!
//! `PROOF=full` runs the whole sizes; the usual ones are for every change. Figures are printed.

#[cfg(test)]
mod agent_cannot_decide;
#[cfg(test)]
mod api_fuzzing;
#[cfg(test)]
mod cards;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod disk_full;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod flood;
#[cfg(test)]
mod freeze;
#[cfg(test)]
mod inbox;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod kill_nine;
#[cfg(test)]
mod order;
#[cfg(test)]
mod original_client;
#[cfg(test)]
mod own_host;
#[cfg(test)]
mod own_user;
#[cfg(test)]
mod permits;
#[cfg(test)]
mod races;
#[cfg(test)]
mod records;
#[cfg(test)]
mod session_answers;
#[cfg(test)]
mod slow_bodies;
