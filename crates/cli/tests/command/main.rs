//! The real binary, used like people and scripts do.

#[cfg(test)]
mod batch;
#[cfg(test)]
mod binary;
#[cfg(test)]
mod card;
#[cfg(test)]
mod eval;
#[cfg(test)]
mod help;
#[cfg(test)]
mod import;
#[cfg(test)]
mod input;
#[cfg(test)]
mod install;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod own_commands;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod rules;
