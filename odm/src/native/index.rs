//! Index definitions, the keys a document has in an index, and index maintenance.
