//! Canonical JSON (RFC 8785) and the digests a decision is bound to.
