//! Real agents at the gate: started offline, told by a stand-in model to do harm. Does it happen?

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
