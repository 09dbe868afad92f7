//! The document against the routers.
