//! For how long an approval counts.

use serde::Serialize;

/// For how long an approval counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// For this request only.
    #[default]
    Once,
    /// Also for later calls of the same session that ask about nothing else.
    Session,
    /// Also for later calls in the same repository that ask about nothing else.
    Repository,
}

impl ApprovalScope {
    /// All scopes, the narrowest first.
    pub const ALL: [ApprovalScope; 3] =
        [ApprovalScope::Once, ApprovalScope::Session, ApprovalScope::Repository];

    /// The label used in every interface.
    pub const fn label(self) -> &'static str {
        match self {
            ApprovalScope::Once => "once",
            ApprovalScope::Session => "session",
            ApprovalScope::Repository => "repository",
        }
    }

    /// Parses a label.
    pub fn parse(text: &str) -> Option<ApprovalScope> {
        ApprovalScope::ALL.into_iter().find(|one| one.label() == text)
    }
}
