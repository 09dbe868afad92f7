//! Signs of a person in crisis, and the card that answers them.
