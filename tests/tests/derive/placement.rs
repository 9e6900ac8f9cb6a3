//! The derives wherever a type can stand.

use odm::bson::rawdoc;
use odm::{Filter, Model};
use serde::{Deserialize, Serialize};

use super::forbidden;

#[test]
fn types_may_stand_in_functions() {
    #[derive(Debug, Serialize, Deserialize, Model)]
    struct Local {
        _id: i32,
        name: String,
    }
    fn scope(local: LocalFields) -> Filter<Local> {
        local.name.eq("x")
    }
    assert_eq!(
        scope(Local::fields()).to_document().unwrap(),
        rawdoc! { "name": "x" }
    );
    assert_eq!(
        Local {
            _id: 1,
            name: String::new()
        }
        .name,
        ""
    );
}

macro_rules! model {
    ($name:ident { $($field:ident: $type:ty),* }) => {
        #[derive(Debug, Serialize, Deserialize, Model)]
        struct $name {
            _id: i32,
            $($field: $type),*
        }
    };
}

model!(FromMacro { title: String, pages: Option<i32> });

#[test]
fn types_may_come_from_macros() {
    let f = FromMacro::fields();
    assert!((f.title.eq("x") & f.pages.gt(1)).to_document().is_ok());
}

#[test]
fn fields_may_be_private() {
    assert!(forbidden::Book::fields().note.eq("x").to_document().is_ok());
}
