//! The products of the cases of attributes.

use odm::{Db, Model};
use odm_patterns::attributes::{
    AttributeFields, Attributed, Attributes, Catalog, Definition, Form, Kind, Listed, ProductType, Quantity,
    Scoped, Units, Value,
};
use odm_tests::random::Random;
use serde::{Deserialize, Serialize};

/// A model of each form.
macro_rules! product {
    ($name:ident, $form:ident, $collection:literal) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
        #[odm(collection = $collection)]
        pub struct $name {
            #[serde(rename = "_id")]
            pub id: i32,
            #[serde(rename = "type")]
            pub kind: String,
            #[serde(default)]
            pub attributes: Attributes<$form>,
        }

        impl Attributed for $name {
            type Form = $form;

            fn attribute_fields(p: Self::Fields<Self>) -> AttributeFields<Self> {
                AttributeFields::new(&p.kind, &p.attributes)
            }

            fn product_type(&self) -> &str {
                &self.kind
            }

            fn attributes(&self) -> &Attributes<$form> {
                &self.attributes
            }

            fn attributes_mut(&mut self) -> &mut Attributes<$form> {
                &mut self.attributes
            }
        }

        impl Product for $name {
            fn new(id: i32, kind: &str, attributes: Attributes<$form>) -> $name {
                let kind = kind.to_owned();
                $name {
                    id,
                    kind,
                    attributes,
                }
            }
        }
    };
}

pub trait Product: Attributed<Key = i32> + Clone + PartialEq + std::fmt::Debug {
    fn new(id: i32, kind: &str, attributes: Attributes<Self::Form>) -> Self;
}

product!(ScopedProduct, Scoped, "products");
product!(ListedProduct, Listed, "products");

pub fn units() -> Units {
    Units::new()
        .unit("kg", "mass", 1.0)
        .unit("g", "mass", 0.001)
        .unit("m", "length", 1.0)
}

pub fn types() -> [ProductType; 3] {
    [
        ProductType::new("shoe")
            .attribute(
                Definition::text("color")
                    .choices(["red", "black", "white"])
                    .required(),
            )
            .attribute(Definition::integer("size").at_least(20).at_most(50))
            .attribute(Definition::measure("weight", "kg").at_least(0))
            .attribute(Definition::text("tags").many())
            .attribute(Definition::number("ratings").many()),
        ProductType::new("lamp")
            .attribute(Definition::text("color").required())
            .attribute(Definition::number("watts").unindexed())
            .attribute(Definition::new("since", Kind::Date))
            .attribute(Definition::new("price", Kind::Decimal))
            .attribute(Definition::new("dimmed", Kind::Boolean)),
        ProductType::new("oddity").open(),
    ]
}

pub fn catalog<M: Product>(db: &Db) -> Catalog<M> {
    Catalog::new(db, types(), units()).unwrap()
}

/// Shoes with random attributes.
pub fn shoes<M: Product>(count: i32) -> Vec<M> {
    let mut random = Random::new(11);
    let shoe = |id| {
        let mut attributes = shoe(random.pick::<&str>(&["red", "black", "white"]));
        if !random.one_in(4) {
            attributes.set("size", 36 + random.below(8) as i32);
        }
        if !random.one_in(3) {
            let grams = 100 * (1 + random.below(20)) as i32;
            let weight = match random.one_in(2) {
                true => Quantity::new(grams, "g"),
                false => Quantity::new(f64::from(grams) / 1000.0, "kg"),
            };
            attributes.set("weight", weight);
        }
        let mut ratings = Vec::new();
        for _ in 0..random.below(4) {
            ratings.push(Value::from(random.below(6) as i32));
        }
        if !ratings.is_empty() {
            attributes = attributes.with_many("ratings", ratings);
        }
        M::new(id, "shoe", attributes)
    };
    (0..count).map(shoe).collect()
}

pub fn shoe<F: Form>(color: &str) -> Attributes<F> {
    Attributes::new().with("color", color)
}
