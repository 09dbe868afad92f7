//! Paths: which class of target a path is, and what touching it costs.
