//! `countersign hook`, driven as agents drive it: what it says, when, and what it never lets pass.

#[cfg(test)]
mod agent_gates;
#[cfg(test)]
mod asked;
#[cfg(test)]
mod dry_run;
#[cfg(test)]
mod facts;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod first;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod impostors;
#[cfg(test)]
mod many;
#[cfg(test)]
mod mcp_gates;
#[cfg(test)]
mod mcp_socket;
#[cfg(test)]
mod place;
#[cfg(test)]
mod proof;
#[cfg(test)]
mod review;
#[cfg(test)]
mod starved;
#[cfg(test)]
mod undo;
#[cfg(test)]
mod words;
