//! Accounts and transfers between them.

mod audit;
mod books;
mod error;
mod stored;

pub use self::audit::LedgerProblem;
pub use self::books::Accounts;
pub use self::error::TransferError;
pub use self::stored::{Account, Transfer};
