//! The bundled embedded engine.
#![allow(dead_code, unused_imports)]

mod aggregate;
mod catalog;
mod document;
mod engine;
mod exec;
mod fault;
mod index;
mod key;
mod matcher;
mod plan;
mod projection;
mod sort;
mod storage;
mod update;
