//! Names of collections that stand only until they get another's name.

const LETTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The name of a collection for this purpose, in the server's form: with five characters by chance.
pub(super) fn name(purpose: &str) -> String {
    let chance = bson::Uuid::new().bytes();
    let letters = chance.iter().take(5);
    let letters: String = letters
        .filter_map(|byte| LETTERS.get(usize::from(*byte) % LETTERS.len()))
        .map(|letter| char::from(*letter))
        .collect();
    format!("tmp{letters}.{purpose}")
}
