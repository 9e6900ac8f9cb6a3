//! Arguments of operators that may be taken together in any grouping: as the server has them before it runs, which shows
//! in how sums of doubles are rounded, and in what is wrong with constants.

use super::super::super::fault::Result;
use super::operator::Operator;
use super::{Node, Scope};

/// Whether the order of the arguments makes no difference; `None` where their grouping makes one.
fn is_commutative(operator: &Operator, arguments: &[Node], known: Option<&Scope<'_>>) -> Option<bool> {
    match operator.name {
        "$add" | "$multiply" | "$setIntersection" => Some(true),
        // With a collation the first of equal values stays, so that they keep their order.
        "$setUnion" => known.map(|known| known.collation.is_simple()),
        "$concat" | "$concatArrays" => Some(false),
        // A single array stands for its items.
        "$sum" | "$min" | "$max" if arguments.len() != 1 => Some(true),
        _ => None,
    }
}

/// Takes the arguments of nested calls of the same operator for its own, and computes constants that come together: those
/// of a commutative operator do so at the end. All arguments have been folded.
///
/// # Errors
/// What is wrong with the constants.
pub(super) fn gather(
    operator: &'static Operator,
    arguments: &mut Vec<Node>,
    known: Option<&Scope<'_>>,
) -> Result<()> {
    let Some(commutative) = is_commutative(operator, arguments, known) else {
        return Ok(());
    };
    let mut gathered = Gathered {
        operator,
        known,
        commutative,
        kept: Vec::with_capacity(arguments.len()),
        constants: Vec::new(),
    };
    gathered.add_all(std::mem::take(arguments))?;
    gathered.end_constants()?;
    *arguments = gathered.kept;
    Ok(())
}

struct Gathered<'a> {
    operator: &'static Operator,
    known: Option<&'a Scope<'a>>,
    commutative: bool,
    kept: Vec<Node>,
    /// Constants that came one after the other.
    constants: Vec<Node>,
}

impl Gathered<'_> {
    fn add_all(&mut self, arguments: Vec<Node>) -> Result<()> {
        for node in arguments {
            match node {
                node if node.is_constant() => self.constants.push(node),
                Node::Call { operator, arguments }
                    if operator.name == self.operator.name
                        && is_commutative(operator, &arguments, self.known).is_some() =>
                {
                    self.add_all(arguments)?;
                }
                node => {
                    if !self.commutative {
                        self.end_constants()?;
                    }
                    self.kept.push(node);
                }
            }
        }
        Ok(())
    }

    fn end_constants(&mut self) -> Result<()> {
        let mut arguments = std::mem::take(&mut self.constants);
        if arguments.len() < 2 {
            self.kept.append(&mut arguments);
            return Ok(());
        }
        let operator = self.operator;
        let mut together = Node::Call { operator, arguments };
        together.fold(self.known)?;
        self.kept.push(together);
        Ok(())
    }
}
