//! The versions of the protocol.

/// Which version a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolDialect {
    /// Version 1.0.
    V1,
    /// Version 0.3.
    V03,
    /// The original methods `tasks/send` and `tasks/get`.
    Original,
}
