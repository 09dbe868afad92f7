//! Black-box tests of delegation between agents: a real daemon, real nodes, mutual TLS.

#[cfg(test)]
mod approved_content;
#[cfg(test)]
mod attacks;
#[cfg(test)]
mod conversations;
#[cfg(test)]
mod crashes;
#[cfg(test)]
mod executors;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod load;
#[cfg(test)]
mod original_cases;
#[cfg(test)]
mod peer_limits;
#[cfg(test)]
mod push;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod renewal;
#[cfg(test)]
mod sdk;
#[cfg(test)]
mod tasks;
