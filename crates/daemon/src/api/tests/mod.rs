//! The API through its routers, over a real store.
