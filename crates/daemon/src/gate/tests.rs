//! The gate as a whole.
