//! The bundled embedded engine.
//!
//! Everything below this module is a crate of its own in spirit: it knows `bson`, `std`, its store and itself. Only
//! [`seam`] sees the rest of `odm`: it translates operations into the engine's requests, and faults into errors.

mod aggregate;
mod catalog;
mod collation;
mod command;
mod document;
mod engine;
mod exec;
mod fault;
mod geo;
mod heap;
mod index;
mod introsort;
mod kept;
mod key;
mod matcher;
mod metadata;
mod needs;
mod places;
mod plan;
mod projection;
mod seam;
mod sort;
mod storage;
mod storage_engine;
#[cfg(test)]
mod supported;
mod tally;
mod text;
mod update;

pub(crate) use self::seam::{Opening, open_directory, open_memory};
