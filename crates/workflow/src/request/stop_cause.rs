//! Why a person denies requests without reading them.

/// Why a person denies a request without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// They froze everything.
    Freeze,
    /// They took over the conversation.
    TakeOver,
}
