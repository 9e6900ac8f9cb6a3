//! Names that the expansion could stumble over.

#![allow(
    dead_code,
    non_camel_case_types,
    non_snake_case,
    reason = "names that get in the way"
)]

#[derive(Debug)]
struct Option;
#[derive(Debug)]
struct Result;
#[derive(Debug)]
struct Vec;
#[derive(Debug)]
struct Field;
#[derive(Debug)]
struct Path;
#[derive(Debug)]
struct Handle;
#[derive(Debug)]
struct __R2;
trait Deref {}
trait Serializer {}
trait FieldType {}
mod std {}
mod core {}
mod odm {}
mod bson {}
mod path {}
fn base() {}
fn at() {}

type Text = ::std::string::String;
type Many<T> = ::std::vec::Vec<T>;

#[derive(Debug, ::serde::Serialize, ::serde::Deserialize, ::odm::Embedded)]
struct Inner {
    path: Text,
    codec: i32,
}

#[derive(Debug, ::serde::Serialize, ::serde::Deserialize, ::odm::Model)]
#[odm(index(keys(fields, desc(base.path)), unique))]
struct Shadowed {
    #[serde(rename = "_id")]
    id: i32,
    fields: Text,
    base: Inner,
    at: Many<Text>,
    r#Self_: i32,
    r#struct: i32,
    key: i32,
}

#[derive(Debug, ::serde::Serialize, ::serde::Deserialize, ::odm::Embedded)]
enum Words {
    Self_ { r#type: i32 },
    Match { r#in: i32 },
    Super(i32),
}

#[test]
fn shadowed_names_do_not_matter() {
    let s = <Shadowed as ::odm::Model>::fields();
    assert_eq!(s.base.path.path().to_string(), "base.path");
    assert_eq!(s.r#struct.path().to_string(), "struct");
    let w = <Words as ::odm::Embedded>::fields_at::<()>(::odm::Path::root());
    assert_eq!(w.r#match.r#in.path().to_string(), "Match.in");
    assert_eq!(w.super_.path().to_string(), "Super");
    assert_eq!(w.self_.r#type.path().to_string(), "Self_.type");
}
