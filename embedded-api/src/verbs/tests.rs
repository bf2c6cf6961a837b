//! The API as its clients see it.
