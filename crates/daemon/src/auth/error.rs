//! Why a caller is not authenticated.

/// Why a caller is not authenticated. The caller learns no more than this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// No credential.
    #[error("a credential is required")]
    Missing,
    /// A credential that is unknown, expired or revoked.
    #[error("the credential is invalid, expired or revoked")]
    Invalid,
    /// An agent's credential where a person's is required.
    #[error("this needs a person's credential; an agent's is not accepted")]
    NotAPerson,
    /// A browser session without its proof: another program may have got hold of the cookie.
    #[error("a change from a browser session needs its proof in X-Countersign-Proof")]
    MissingProof,
    /// A person without the required role.
    #[error("this needs the role administrator")]
    NotAnAdministrator,
    /// Too many failed logins.
    #[error("too many failed logins; try again in {0} s")]
    LockedOut(u32),
}
