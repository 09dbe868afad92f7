//! Language models from outside: the real daemon with a scripted model as its judge, and a real
//! llama.cpp server whose tiny model answers garbage.

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod llama;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod shadow;
