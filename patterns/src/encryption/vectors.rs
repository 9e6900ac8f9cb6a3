//! Keys and values that another library encrypted.

use futures_util::FutureExt as _;
use odm::bson::spec::{BinarySubtype, ElementType};
use odm::bson::{Binary, Bson, RawDocumentBuf, Uuid, deserialize_from_slice};

use super::aead;
use super::blob::{self, Blob};
use super::plaintext::Plaintext;
use super::{
    Algorithm, Deterministic, Encrypted, EncryptionError, KeyMaterial, Keyring, LocalKey, MasterKey as _,
    Random, StoredKey,
};

const VECTORS: &str = include_str!("vectors.txt");

struct Value {
    name: &'static str,
    plain: Plaintext,
    deterministic: Option<Binary>,
    random: Binary,
}

fn bytes(digits: &str) -> Vec<u8> {
    let (pairs, _) = digits.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.iter().map(byte).collect()
}

fn encrypted(digits: &str) -> Binary {
    Binary {
        subtype: BinarySubtype::Encrypted,
        bytes: bytes(digits),
    }
}

fn lines() -> impl Iterator<Item = Vec<&'static str>> {
    let lines = VECTORS.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(' ').collect())
}

fn keys() -> Vec<StoredKey> {
    let keys = lines().filter(|line| line[0] == "key");
    keys.map(|line| deserialize_from_slice(&bytes(line[1])).unwrap())
        .collect()
}

fn values() -> Vec<Value> {
    let values = lines().filter(|line| line[0] != "key");
    let values = values.map(|line| {
        let document = bytes(line[1]);
        Value {
            name: line[0],
            plain: Plaintext::framed(
                ElementType::from(document[4]).unwrap(),
                &document[7..document.len() - 1],
            )
            .unwrap(),
            deterministic: (line[2] != "-").then(|| encrypted(line[2])),
            random: encrypted(line[3]),
        }
    });
    values.collect()
}

fn master(is_named: bool) -> LocalKey {
    let mut bytes: [u8; 96] = std::array::from_fn(|at| at as u8);
    if is_named {
        bytes.reverse();
    }
    let master = LocalKey::new(bytes.into());
    match is_named {
        true => master.named("other").unwrap(),
        false => master,
    }
}

fn material() -> KeyMaterial {
    let bytes: [u8; 96] = std::array::from_fn(|at| (at * 7 + 3) as u8);
    bytes.into()
}

fn unwrapped(master: &LocalKey, key: &StoredKey) -> Option<KeyMaterial> {
    let unwrapped = master.unwrap(&key.wrapped.bytes, &key.master_key);
    unwrapped.now_or_never().unwrap().ok()
}

#[test]
fn keys_of_other_drivers_are_unwrapped() {
    let keys = keys();
    assert_eq!(keys[0].names, Some(vec!["b".to_owned(), "a".to_owned()]));
    assert_eq!(keys[1].names, None);
    for (key, is_named) in keys.iter().zip([false, true]) {
        let master = master(is_named);
        assert_eq!(key.provider(), super::MasterKey::provider(&master));
        assert_eq!((key.status, key.creation_date), (0, key.update_date));
        assert_eq!(unwrapped(&master, key).unwrap().expose(), material().expose());
        // What is wrapped here is as long, and comes back.
        let wrapped = master.wrap(&material()).now_or_never().unwrap().unwrap();
        assert_eq!(wrapped.len(), key.wrapped.bytes.len());
    }
    assert!(unwrapped(&master(true), &keys[0]).is_none());
}

#[test]
fn values_of_other_drivers_are_decrypted_and_made() {
    let (key, material) = (keys()[0].id, material());
    let values = values();
    assert_eq!(values.len(), 26);
    for value in &values {
        let name = value.name;
        for stored in [Some(&value.random), value.deterministic.as_ref()]
            .into_iter()
            .flatten()
        {
            let blob = Blob::of(stored).unwrap();
            assert_eq!((blob.key, blob.kind), (key, value.plain.kind()), "{name}");
            let opened = blob.open(&material).unwrap();
            assert_eq!(opened.bytes(), value.plain.bytes(), "{name}");
        }
        let made = blob::seal(key, &material, Algorithm::Deterministic, &value.plain);
        match &value.deterministic {
            Some(stored) => assert_eq!(made.unwrap().bytes, stored.bytes, "{name}"),
            None => assert!(matches!(made, Err(EncryptionError::Refused { .. })), "{name}"),
        }
        let made = blob::seal(key, &material, Algorithm::Random, &value.plain).unwrap();
        assert_eq!(made.bytes.len(), value.random.bytes.len(), "{name}");
        let opened = Blob::of(&made).unwrap().open(&material).unwrap();
        assert_eq!(opened.bytes(), value.plain.bytes(), "{name}");
    }
}

fn keyring(id: Uuid) -> Keyring {
    let mut keyring = Keyring::default();
    keyring.put(id, Ok(material()));
    keyring.name("a", id);
    keyring
}

fn find<'v>(values: &'v [Value], name: &str) -> &'v Value {
    values.iter().find(|value| value.name == name).unwrap()
}

#[test]
fn rust_values_are_encrypted_as_their_types_of_bson() {
    let (values, id) = (values(), keys()[0].id);
    let keyring = keyring(id);
    let stored = |name| find(&values, name).deterministic.clone().unwrap();
    let ssn: Encrypted<String, Deterministic> = keyring.encrypt("a", "457-55-5462").unwrap();
    assert_eq!(ssn.as_binary(), &stored("string"));
    let number: Encrypted<i32, Deterministic> = keyring.encrypt(id, 5).unwrap();
    assert_eq!(number.as_binary(), &stored("int32"));
    let number: Encrypted<i64, Deterministic> = keyring.encrypt(id, i64::MIN).unwrap();
    assert_eq!(number.as_binary(), &stored("int64"));
    let uuid = Uuid::from_bytes(std::array::from_fn(|at| at as u8));
    let uuid: Encrypted<Uuid, Deterministic> = keyring.encrypt(id, uuid).unwrap();
    assert_eq!(uuid.as_binary(), &stored("uuid"));
    let weight = Encrypted::<f64, Random>::from_binary(find(&values, "double").random.clone()).unwrap();
    assert_eq!(keyring.decrypt(&weight).unwrap(), 1.5);
}

#[test]
fn each_flipped_bit_of_a_value_is_an_error() {
    let (values, id) = (values(), keys()[0].id);
    let keyring = keyring(id);
    for value in values {
        for stored in [Some(value.random), value.deterministic].into_iter().flatten() {
            for bit in 0..stored.bytes.len() * 8 {
                let mut flipped = stored.clone();
                flipped.bytes[bit / 8] ^= 1 << (bit % 8);
                let error = keyring.decrypt_bson(&Bson::Binary(flipped)).unwrap_err();
                assert!(
                    matches!(
                        error,
                        EncryptionError::Damaged { .. }
                            | EncryptionError::NoKey { .. }
                            | EncryptionError::UnknownAlgorithm { .. }
                    ),
                    "{} bit {bit}: {error:?}",
                    value.name
                );
            }
            for length in 0..stored.bytes.len() {
                let mut cut = stored.clone();
                cut.bytes.truncate(length);
                let error = keyring.decrypt_bson(&Bson::Binary(cut)).unwrap_err();
                assert!(error.is_damaged(), "{} of {length}: {error:?}", value.name);
            }
        }
    }
}

/// What somebody who has the key can encrypt: any bytes as a value of any type.
fn sealed(id: Uuid, kind: u8, plain: &[u8]) -> Bson {
    let mut bytes = vec![1];
    bytes.extend(id.bytes());
    bytes.push(kind);
    let sealed = aead::seal_deterministic(&material(), &bytes, plain);
    bytes.extend(sealed);
    Bson::Binary(Binary {
        subtype: BinarySubtype::Encrypted,
        bytes,
    })
}

#[test]
fn any_bytes_are_a_value_or_an_error() {
    let id = keys()[0].id;
    let keyring = keyring(id);
    let values = values();
    // Of a linear congruential generator.
    let mut state = 7_u64;
    let mut below = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let mut decrypted = 0;
    for _ in 0..20_000 {
        let value = &values[below(values.len())];
        let mut plain = value.plain.bytes();
        for _ in 0..below(3) {
            if !plain.is_empty() {
                let at = below(plain.len());
                plain[at] = below(256) as u8;
            }
        }
        let kind = match below(4) {
            0 => below(256) as u8,
            _ => value.plain.kind() as u8,
        };
        let stored = sealed(id, kind, &plain);
        match keyring.decrypt_bson(&stored) {
            Ok(_) => decrypted += 1,
            Err(error) => assert!(error.is_damaged(), "{error:?}"),
        }
    }
    assert!((5_000..20_000).contains(&decrypted), "{decrypted}");
}

#[test]
fn what_was_encrypted_by_others_need_not_be_sound() {
    let id = keys()[0].id;
    let keyring = keyring(id);
    let sealed = |kind: u8, plain: &[u8]| sealed(id, kind, plain);
    let mut nested = RawDocumentBuf::new();
    for _ in 0..5_000 {
        let mut outer = RawDocumentBuf::new();
        outer.append(odm::bson::cstr!("a"), nested);
        nested = outer;
    }
    let text = b"\x02\0\0\0\xff\0";
    for (kind, plain) in [
        (0x10, &[1, 2, 3][..]),
        (0x10, &[1, 0, 0, 0, 0x10, b'w', 0, 1, 0, 0, 0][..]),
        (0x02, &[255, 255, 255, 255, 0][..]),
        (0x02, text),
        (0x03, &[5, 0, 0, 0, 1][..]),
        (0x03, nested.as_bytes()),
        (0x08, &[7][..]),
        (0x63, &[][..]),
    ] {
        let error = keyring.decrypt_bson(&sealed(kind, plain)).unwrap_err();
        assert!(
            matches!(error, EncryptionError::Damaged { .. }),
            "{kind}: {error:?}"
        );
        let Bson::Binary(binary) = sealed(kind, plain) else {
            unreachable!()
        };
        if let Ok(typed) = Encrypted::<Bson, Deterministic>::from_binary(binary) {
            assert!(keyring.decrypt(&typed).is_err(), "{kind}");
        }
    }
}
