//! Batches: which calls of a list may run side by side.
