//! `odm` under another name.

mod library {
    pub(crate) use ::odm as models;
}

#[derive(Debug, serde::Serialize, serde::Deserialize, odm::Embedded)]
#[odm(crate = library::models)]
struct Address {
    city: String,
}

#[derive(Debug, serde::Serialize, serde::Deserialize, odm::Model)]
#[odm(crate = crate::renamed::library::models, index(keys(address.city)))]
struct Patron {
    #[serde(rename = "_id", with = "super::codecs::reversed")]
    id: String,
    address: Address,
}

#[test]
fn the_crate_can_be_named() {
    assert_eq!(
        super::specs::<Patron>()[0].get_str("name").unwrap(),
        "address.city_1"
    );
}
