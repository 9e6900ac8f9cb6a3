//! Types that hold themselves.

use std::collections::BTreeMap;

use odm::{Embedded, Model};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Model)]
struct Tree {
    _id: i32,
    left: Option<Box<Node>>,
    children: Vec<Node>,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Node {
    value: i32,
    next: Option<Box<Node>>,
    children: Vec<Node>,
    named: BTreeMap<String, Node>,
}

#[test]
fn types_may_hold_themselves() {
    let t = Tree::fields();
    assert_eq!(t.left.next.next.value.path().to_string(), "left.next.next.value");
    let deep = t.children.any().children.at(2).named.key("x").value;
    assert_eq!(deep.path().to_string(), "children.children.2.named.x.value");
}
