//! A tree as text, and as a diagram.

use std::fmt::Write;

use odm::Model;

use super::branch::Branch;
use super::error::Result;
use super::handle::Tree;
use super::model::TreeModel;

impl<M: Model, S: TreeModel> Tree<M, S> {
    /// The tree as text, one line for each node, drawn with lines.
    ///
    /// ```
    /// # use odm::{Db, Model};
    /// # use odm_patterns::tree::{Branch, Tree, TreeOptions};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Category { #[serde(rename = "_id")] id: String }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// # let tree = Tree::<Category>::new(&db, TreeOptions::new());
    /// # let leaf = |id: &str| Branch::leaf(Category { id: id.into() });
    /// # let programming = Branch::new(Category { id: "Programming".into() }, [leaf("Databases"), leaf("Languages")]);
    /// # tree.load(vec![Branch::new(Category { id: "Books".into() }, [programming, leaf("Novels")])]).await?;
    /// let expected = "\
    /// Books
    /// ├── Programming
    /// │   ├── Databases
    /// │   └── Languages
    /// └── Novels
    /// ";
    /// assert_eq!(tree.to_text(|c| c.id.clone()).await?, expected);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of the database.
    pub async fn to_text(&self, label: impl Fn(&M) -> String) -> Result<String> {
        Ok(text(&self.branches().await?, label))
    }

    /// The tree in Graphviz's language.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn to_dot(&self, label: impl Fn(&M) -> String) -> Result<String> {
        Ok(dot(&self.branches().await?, label))
    }

    /// The tree as a Mermaid flowchart.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn to_mermaid(&self, label: impl Fn(&M) -> String) -> Result<String> {
        Ok(mermaid(&self.branches().await?, label))
    }
}

fn text<M>(branches: &[Branch<M>], label: impl Fn(&M) -> String) -> String {
    let mut text = String::new();
    // Each with the line's beginning, that of the lines below it, and the branch.
    let mut open: Vec<(String, String, &Branch<M>)> = branches
        .iter()
        .rev()
        .map(|branch| (String::new(), String::new(), branch))
        .collect();
    while let Some((own, below, branch)) = open.pop() {
        let label = label(&branch.node);
        let mut lines = label.lines();
        let _ = writeln!(text, "{own}{}", lines.next().unwrap_or(""));
        for line in lines {
            let _ = writeln!(text, "{below}{line}");
        }
        let last = branch.children.len().saturating_sub(1);
        open.extend(branch.children.iter().enumerate().rev().map(|(at, child)| {
            let (first, rest) = if at == last {
                ("└── ", "    ")
            } else {
                ("├── ", "│   ")
            };
            (format!("{below}{first}"), format!("{below}{rest}"), child)
        }));
    }
    text
}

/// Nodes with numbers, each with the number of its parent.
fn numbered<M>(branches: &[Branch<M>]) -> Vec<(&M, Option<usize>)> {
    let mut nodes = Vec::new();
    let mut open: Vec<(&Branch<M>, Option<usize>)> =
        branches.iter().rev().map(|branch| (branch, None)).collect();
    while let Some((branch, parent)) = open.pop() {
        let own = nodes.len();
        nodes.push((&branch.node, parent));
        open.extend(branch.children.iter().rev().map(|child| (child, Some(own))));
    }
    nodes
}

fn dot<M>(branches: &[Branch<M>], label: impl Fn(&M) -> String) -> String {
    let mut text = String::from("digraph tree {\n    node [shape=box];\n");
    for (number, (node, parent)) in numbered(branches).into_iter().enumerate() {
        let label = label(node)
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        let _ = writeln!(text, "    n{number} [label=\"{label}\"];");
        if let Some(parent) = parent {
            let _ = writeln!(text, "    n{parent} -> n{number};");
        }
    }
    text.push_str("}\n");
    text
}

fn mermaid<M>(branches: &[Branch<M>], label: impl Fn(&M) -> String) -> String {
    let mut text = String::from("flowchart TD\n");
    for (number, (node, parent)) in numbered(branches).into_iter().enumerate() {
        let mut escaped = String::new();
        for character in label(node).chars() {
            match character {
                '\n' => escaped.push_str("<br>"),
                '"' | '#' | '&' | '<' | '>' | '`' => {
                    let _ = write!(escaped, "#{};", u32::from(character));
                }
                plain => escaped.push(plain),
            }
        }
        let _ = writeln!(text, "    n{number}[\"{escaped}\"]");
        if let Some(parent) = parent {
            let _ = writeln!(text, "    n{parent} --> n{number}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forest() -> Vec<Branch<&'static str>> {
        vec![
            Branch::new(
                "a",
                [Branch::new("b \"q\"", [Branch::leaf("c\nd")]), Branch::leaf("e")],
            ),
            Branch::leaf("f"),
        ]
    }

    fn label(node: &&'static str) -> String {
        (*node).to_owned()
    }

    #[test]
    fn text_has_lines() {
        let expected = "a\n├── b \"q\"\n│   └── c\n│       d\n└── e\nf\n";
        assert_eq!(text(&forest(), label), expected);
    }

    #[test]
    fn diagrams_escape_labels() {
        let graph = dot(&forest(), label);
        assert!(
            graph.contains("n1 [label=\"b \\\"q\\\"\"];\n    n0 -> n1;"),
            "{graph}"
        );
        assert!(graph.contains("n2 [label=\"c\\nd\"]"), "{graph}");
        let chart = mermaid(&forest(), label);
        assert!(chart.contains("n1[\"b #34;q#34;\"]\n    n0 --> n1"), "{chart}");
        assert!(chart.contains("n2[\"c<br>d\"]"), "{chart}");
    }
}
