//! The real binary, driven as people and scripts drive it.

#[cfg(test)]
mod batch;
#[cfg(test)]
mod binary;
#[cfg(test)]
mod card;
#[cfg(test)]
mod door;
#[cfg(test)]
mod eval;
#[cfg(test)]
mod help;
#[cfg(test)]
mod install;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod rules;
