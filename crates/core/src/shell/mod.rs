//! Reading shell text.
