//! Language models from outside: the real daemon with a scripted model as its judge, and a real
//! llama.cpp server whose tiny model answers garbage.

mod fixture;
mod judge;
mod llama;
mod scripted;
mod shadow;
