//! **Problem.** A product is in a few categories, a category has many products. A category's page lists its products; a
//! product's page names its categories.
//!
//! **Stored shape.** `products: {_id, name, categories: ["garden", "tools"]}` with an index on `{categories: 1, name: 1}`,
//! `categories: {_id, title}`
//!
//! **Why.** Many to many needs no collection in between: the side that has few holds the list, and an index over it answers
//! the other side. A list of products in the category would grow without end. When a category goes, it is taken out of
//! the lists.

use odm::{Db, Model, Ref, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "product_categories", referred_by(Product))]
struct Category {
    #[serde(rename = "_id")]
    id: String,
    title: String,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "categorized_products", index(keys(categories, name)))]
struct Product {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[odm(inverse = by_category, on_delete = pull)]
    categories: Vec<Ref<Category>>,
}

pub async fn story(db: &Db) -> Result<String> {
    let (categories, products) = (db.collection::<Category>(), db.collection::<Product>());
    products.delete_many(|_| odm::Filter::all()).await?;
    categories.delete_many(|_| odm::Filter::all()).await?;
    products.create_indexes().await?;
    let category = |id: &str| Category {
        id: id.to_owned(),
        title: id.to_uppercase(),
    };
    categories
        .insert_many(["garden", "tools", "toys"].map(category))
        .await?;
    let product = |id, name: &str, categories: &[&str]| Product {
        id,
        name: name.to_owned(),
        categories: categories.iter().map(|id| Ref::new((*id).to_owned())).collect(),
    };
    products
        .insert_many([
            product(1, "spade", &["garden", "tools"]),
            product(2, "hammer", &["tools"]),
            product(3, "bucket", &["garden", "toys"]),
        ])
        .await?;

    // Both ways, one query for each.
    let shown = products.get(1).load(|p| p.categories).required().await?;
    let titles: Vec<String> = shown
        .1
        .into_iter()
        .flatten()
        .map(|category| category.title)
        .collect();
    assert_eq!(titles, ["GARDEN", "TOOLS"]);
    let pages = categories
        .find_all()
        .sort(|c| c.id.asc())
        .with(Product::by_category().sort(|p| p.name.asc()))
        .await?;
    let names = |index: usize| -> Vec<&str> {
        pages[index]
            .1
            .iter()
            .map(|product| product.name.as_str())
            .collect()
    };
    assert_eq!(
        (names(0), names(1), names(2)),
        (vec!["bucket", "spade"], vec!["hammer", "spade"], vec!["bucket"])
    );
    products
        .find(|p| p.categories.has("tools"))
        .sort(|p| p.name.asc())
        .must_use_index()
        .await?;

    // A product comes into a category once, however often it is put there.
    for _ in 0..2 {
        products
            .update_one(|p| p.id.eq(2), |p| p.categories.add_to_set("garden"))
            .await?;
    }
    assert_eq!(products.count(|p| p.categories.has("garden")).await?, 3);

    categories.delete("garden".to_owned()).await?;
    let left = products.get(1).required().await?;
    assert_eq!(left.categories, [Ref::new("tools".to_owned())]);
    Ok(format!(
        "{} of 3 products are tools",
        products.count(|p| p.categories.has("tools")).await?
    ))
}
