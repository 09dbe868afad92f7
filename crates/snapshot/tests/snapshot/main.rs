//! Snapshots of real files: restored byte for byte, killed at any moment, attacked.

#[cfg(test)]
mod after_states;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod killed_edits;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod random_edits;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod retention;
