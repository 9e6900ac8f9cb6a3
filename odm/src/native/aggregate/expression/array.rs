use super::operator::Operator;
pub(super) static OPERATORS: &[Operator] = &[];
