//! Real agents with the gate: started offline, with a fake model that proposes a harmful call.

#[cfg(test)]
mod agent_run;
#[cfg(test)]
mod broken;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod gated;
#[cfg(test)]
mod hook_and_proxy;
#[cfg(test)]
mod hosts;
#[cfg(test)]
mod installed;
