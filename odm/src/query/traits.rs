//! What some operators ask of a field's type, beyond what models ask.

mod increment;
mod integer;
mod nullable;

pub use self::increment::Increment;
pub use self::integer::Integer;
pub use self::nullable::Nullable;
