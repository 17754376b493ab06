//! Typed JSON documents of registrations.
