//! The rules of this repository, kept by tests. CONTRIBUTING.md says them in plain words.
//!
//! Some rules came after the code. For those a file in `allowed/` lists what broke the rule on that
//! day; `ratchet` lets each list only shrink.

#[cfg(test)]
mod container;
#[cfg(test)]
mod cycles;
#[cfg(test)]
mod dependencies;
#[cfg(test)]
mod files;
#[cfg(test)]
mod imports;
#[cfg(test)]
mod names;
#[cfg(test)]
mod papers;
#[cfg(test)]
mod portable;
#[cfg(test)]
mod ratchet;
#[cfg(test)]
mod sizes;
#[cfg(test)]
mod source;
#[cfg(test)]
mod vendors;
#[cfg(test)]
mod waits;
#[cfg(test)]
mod words;
