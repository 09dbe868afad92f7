//! The look at real folders and repositories, friendly and hostile ones.

#[cfg(test)]
mod git_states;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod plan_binding;
#[cfg(test)]
mod plans;
