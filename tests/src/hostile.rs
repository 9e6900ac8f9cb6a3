//! Input that means harm: nested as deep as it goes, of wrong lengths, mutated.

pub mod depth;
