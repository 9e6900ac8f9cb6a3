//! Encrypted fields, as client-side field level encryption of every MongoDB driver has them (explicit encryption): the
//! database never sees the values, nor the keys.
//!
//! # The problem
//! Who reads the files, the backups, the logs or the network of a database reads all that is in it; so does who may
//! administer it. Values that only the program should know are encrypted before they leave it, each by a key that can be
//! taken away, with the keys themselves stored encrypted by a master key that is elsewhere.
//!
//! # The stored shape
//! That of the specifications of [client side encryption](https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md)
//! and of [binaries of subtype 6](https://github.com/mongodb/specifications/blob/master/source/bson-binary-encrypted/binary-encrypted.md),
//! so that values and keys are exchanged with every driver:
//!
//! ```text
//! encryption.__keyVault  { _id: UUID(..), keyAltNames: ["patients"], keyMaterial: BinData(0, ..), creationDate: ISODate(..),
//!                          updateDate: ISODate(..), status: 0, masterKey: { provider: "local" } }
//! any field              BinData(6, algorithm (1 byte) | id of the key (16) | type of the value (1)
//!                                   | initialization vector (16) | AES-256-CBC of the value | HMAC-SHA-512 (the first 32))
//! ```
//!
//! Index: `{keyAltNames: 1}`, unique, of documents that have names; it is made before the first key of a handle.
//!
//! # Guarantees
//!
//! | operation | round trips | what concurrency and a crash can do |
//! |---|---|---|
//! | [`encrypt`](KeyVault::encrypt), [`decrypt`](KeyVault::decrypt) and their like | 1 for each thousand keys that are not in the cache | values are encrypted only by keys that were read from the vault |
//! | [`keyring`](KeyVault::keyring) | the same, then none | |
//! | [`create_key`](KeyVault::create_key), [`add_name`](KeyVault::add_name) | 1, one more for the index | one write; a name is one key's |
//! | [`find_or_create_key`](KeyVault::find_or_create_key) | 1 to 4 | all that ask at once get one key |
//! | [`delete_key`](KeyVault::delete_key), [`remove_name`](KeyVault::remove_name) | 1 | one write; caches of other vaults last as long as they do |
//! | [`rewrap`](KeyVault::rewrap) | 2 for each 500 keys, 1 more | each key is wrapped by the old or the new master key at any time; begin again after a crash |
//!
//! * **What is seen** without the key: that there is a value, its BSON type, its length to 16 bytes, its key; of
//!   [`Deterministic`] ones which are equal, of one key and type. Names of fields are not encrypted.
//! * **What is noticed**: each changed bit, another key, another type: an error, never another value. That a whole encrypted value
//!   was put into another field or document of the same key, or an older one put back, is not noticed: the format does not
//!   bind a value to its place.
//! * **Secrets** are in no error and no `Debug`. Keys are overwritten when they are dropped; values are the program's.
//! * **In a transaction** (`vault.on(&tx)`) keys are made and read by it, with a cache of its own.
//! * **Replicated**: keys are written and read by majority, and read from the primary, whatever the handle and the URL say: no
//!   failover takes one back, and none is missed. How long a write waits, that it is on the disk, and a linearizable read stay
//!   as they are asked for. In a transaction that is the transaction's to say.
//!
//! # Example
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::encryption::{Deterministic, Encrypted, KeyVault, LocalKey};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Patient {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     #[odm(unique)]
//!     ssn: Encrypted<String, Deterministic>,
//!     notes: Option<Encrypted<String>>,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Db::open("memory:").await?;
//! let vault = KeyVault::new(&db, LocalKey::generate()?);
//! let key = vault.find_or_create_key("patients").await?;
//!
//! let patients = db.collection::<Patient>();
//! patients.sync_indexes().await?;
//! let ssn = vault.encrypt(key, "457-55-5462").await?;
//! let notes = Some(vault.encrypt(key, "sleeps badly").await?);
//! patients.insert(Patient { id: 1, ssn, notes }).await?;
//!
//! let ssn: Encrypted<String, Deterministic> = vault.encrypt(key, "457-55-5462").await?;
//! let found = patients.find_one(|p| p.ssn.eq(&ssn)).await?.unwrap();
//! assert_eq!(vault.decrypt(found.notes.as_ref().unwrap()).await?, "sleeps badly");
//!
//! vault.delete_key(key).await?; // nobody reads it any more
//! assert!(vault.decrypt(&found.ssn).await.unwrap_err().is_not_found());
//! # Ok(())
//! # }
//! ```

mod aead;
mod algorithm;
mod blob;
mod cache;
mod create;
mod crypt;
mod encrypted;
mod error;
mod key;
mod keyring;
mod local;
mod master;
mod material;
mod plaintext;
mod rewrap;
mod stored;
mod transform;
mod vault;
#[cfg(test)]
mod vectors;

pub use self::algorithm::{Algorithm, Deterministic, Mode, Random};
pub use self::create::CreateKey;
pub use self::encrypted::Encrypted;
pub use self::error::EncryptionError;
pub use self::key::KeyRef;
pub use self::keyring::Keyring;
pub use self::local::LocalKey;
pub use self::master::{MasterKey, MasterKeyError};
pub use self::material::KeyMaterial;
pub use self::rewrap::{Rewrap, Rewrapped};
pub use self::stored::StoredKey;
pub use self::vault::{KeyVault, VaultOptions};
