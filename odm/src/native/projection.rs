//! Projections of `find` and `findAndModify`.
