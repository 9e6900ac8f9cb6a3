//! Authenticated encryption of bytes: AES-256-CBC, then HMAC-SHA-512, as in
//! [draft-mcgrew-aead-aes-cbc-hmac-sha2](https://datatracker.ietf.org/doc/html/draft-mcgrew-aead-aes-cbc-hmac-sha2-05), with
//! initialization vectors and keys as MongoDB's libraries have them.
//!
//! The first 32 bytes of a key are the HMAC's, the next 32 the cipher's, the last 32 make the initialization vectors of
//! deterministic values. What is sealed is `initialization vector (16) | blocks | tag (32)`; the tag is the first half of the
//! HMAC over `associated | initialization vector | blocks | bits of associated as 64-bit big-endian`.

use aes::Aes256;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeDecrypt as _, BlockModeEncrypt as _, KeyIvInit as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha512;
use zeroize::Zeroizing;

use super::EncryptionError;
use super::material::KeyMaterial;

const VECTOR: usize = 16;
const BLOCK: usize = 16;
const TAG: usize = 32;
/// The fewest bytes that something sealed has.
pub(super) const LEAST: usize = VECTOR + BLOCK + TAG;

type Vector = [u8; VECTOR];

/// Seals bytes so that equal ones are sealed alike.
pub(super) fn seal_deterministic(material: &KeyMaterial, associated: &[u8], plain: &[u8]) -> Vec<u8> {
    let [_, _, vector_key] = material.parts();
    let mac = mac(vector_key)
        .chain_update(associated)
        .chain_update(bits(associated))
        .chain_update(plain);
    let digest = mac.finalize().into_bytes();
    let (vectors, _) = digest.as_chunks::<VECTOR>();
    seal(
        material,
        vectors.first().unwrap_or(&[0; VECTOR]),
        associated,
        plain,
    )
}

/// Seals bytes so that nothing is seen of them but about how many there are.
///
/// # Errors
/// [`NoRandomness`](EncryptionError::NoRandomness).
pub(super) fn seal_random(
    material: &KeyMaterial,
    associated: &[u8],
    plain: &[u8],
) -> Result<Vec<u8>, EncryptionError> {
    let mut vector = [0; VECTOR];
    getrandom::fill(&mut vector).map_err(|_| EncryptionError::NoRandomness)?;
    Ok(seal(material, &vector, associated, plain))
}

fn seal(material: &KeyMaterial, vector: &Vector, associated: &[u8], plain: &[u8]) -> Vec<u8> {
    let [mac_key, cipher_key, _] = material.parts();
    let blocks =
        cbc::Encryptor::<Aes256>::new(cipher_key.into(), vector.into()).encrypt_padded_vec::<Pkcs7>(plain);
    let mut sealed = Vec::with_capacity(VECTOR + blocks.len() + TAG);
    sealed.extend_from_slice(vector);
    sealed.extend_from_slice(&blocks);
    let tag = mac(mac_key)
        .chain_update(associated)
        .chain_update(&sealed)
        .chain_update(bits(associated))
        .finalize()
        .into_bytes();
    sealed.extend(tag.iter().take(TAG));
    sealed
}

/// What was sealed; none if it is not whole, or was sealed by another key or with something else associated. The tag is
/// compared in constant time, before anything is decrypted.
pub(super) fn open(material: &KeyMaterial, associated: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    if sealed.len() < LEAST {
        return None;
    }
    let [mac_key, cipher_key, _] = material.parts();
    let (rest, tag) = sealed.split_last_chunk::<TAG>()?;
    mac(mac_key)
        .chain_update(associated)
        .chain_update(rest)
        .chain_update(bits(associated))
        .verify_truncated_left(tag)
        .ok()?;
    let (vector, blocks) = rest.split_first_chunk::<VECTOR>()?;
    let plain =
        cbc::Decryptor::<Aes256>::new(cipher_key.into(), vector.into()).decrypt_padded_vec::<Pkcs7>(blocks);
    plain.ok().map(Zeroizing::new)
}

fn mac(key: &[u8; 32]) -> Hmac<Sha512> {
    // An HMAC fills its key up with zeros.
    let mut filled = Zeroizing::new([0; 128]);
    if let Some(first) = filled.first_chunk_mut() {
        *first = *key;
    }
    Hmac::new((&*filled).into())
}

fn bits(associated: &[u8]) -> [u8; 8] {
    (associated.len() as u64 * 8).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn material(first: u8) -> KeyMaterial {
        KeyMaterial::from(std::array::from_fn(|at| first.wrapping_add(at as u8)))
    }

    #[test]
    fn bytes_of_every_length_come_back() {
        let key = material(3);
        for length in 0..50 {
            let plain = vec![7; length];
            for sealed in [
                seal_deterministic(&key, b"associated", &plain),
                seal_random(&key, b"associated", &plain).unwrap(),
            ] {
                assert_eq!(sealed.len(), VECTOR + (length / BLOCK + 1) * BLOCK + TAG);
                assert_eq!(*open(&key, b"associated", &sealed).unwrap(), plain);
                assert!(open(&key, b"associates", &sealed).is_none());
                assert!(open(&key, b"", &sealed).is_none());
                assert!(open(&material(4), b"associated", &sealed).is_none());
                for cut in 0..sealed.len() {
                    assert!(open(&key, b"associated", &sealed[..cut]).is_none());
                }
            }
        }
    }

    #[test]
    fn each_flipped_bit_is_noticed() {
        let key = material(9);
        let sealed = seal_random(&key, b"", &[1; 20]).unwrap();
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&key, b"", &flipped).is_none(), "bit {bit}");
        }
    }

    #[test]
    fn deterministic_is_alike_and_random_is_not() {
        let key = material(1);
        assert_eq!(
            seal_deterministic(&key, b"a", b"x"),
            seal_deterministic(&key, b"a", b"x")
        );
        assert_ne!(
            seal_deterministic(&key, b"a", b"x"),
            seal_deterministic(&key, b"b", b"x")
        );
        assert_ne!(
            seal_random(&key, b"a", b"x").unwrap(),
            seal_random(&key, b"a", b"x").unwrap()
        );
    }
}
