//! The choice: equality first, then the sort, then one range.

use super::super::document::{Value, equal};
use super::super::fault::{Fault, Result, code};
use super::super::index::IndexDefinition;
use super::super::matcher::ast::Node;
use super::bounds::{Bounds, Conjunct, conjuncts, requires_presence};
use super::implied::implies;
use super::interval::Intervals;
use super::{Access, IndexView, KeyRange, Plan, PlanRequest};

/// How many ranges a plan may have before the rest of the components are left to the filter.
const MAX_RANGES: usize = 2_000;

/// Chooses how to answer a query.
pub(crate) fn choose(request: PlanRequest<'_>) -> Result<Plan> {
    let mut query = Vec::new();
    conjuncts(request.matcher.root(), &mut query);
    if matches!(request.matcher.root(), Node::Never) || query.iter().any(never) {
        check_hint(&request)?;
        return Ok(Plan::nothing());
    }
    if let Some(hint) = request.hint {
        let position = hinted(&request, &hint)?;
        return Ok(match candidate(&request, &query, position, true) {
            Some(candidate) => candidate.plan,
            None => Plan::collection(false, request.sort.is_none()),
        });
    }
    let best = (0..request.indexes.len())
        .filter_map(|position| candidate(&request, &query, position, false))
        .max_by_key(|candidate| candidate.score);
    if let Some(best) = &best
        && best.score.bounded
    {
        return Ok(best.plan.clone());
    }
    if let Some(union) = union(&request, &query) {
        return Ok(union);
    }
    if let Some(best) = best
        && best.plan.sorted
        && request.sort.is_some()
    {
        return Ok(best.plan);
    }
    let exact = query.is_empty();
    Ok(Plan { access: Access::Collection { reverse: false }, sorted: request.sort.is_none(), exact, covered_count: exact })
}

fn never(conjunct: &Conjunct<'_>) -> bool {
    match conjunct {
        Conjunct::Path { bounds, .. } => bounds.keys.is_none(),
        Conjunct::Other(node) => matches!(node, Node::Never),
    }
}

fn check_hint(request: &PlanRequest<'_>) -> Result<()> {
    request.hint.map(|hint| hinted(request, &hint)).transpose().map(|_| ())
}

/// The index that a hint names.
fn hinted(request: &PlanRequest<'_>, hint: &Value<'_>) -> Result<usize> {
    let found = request.indexes.iter().position(|view| {
        let definition = view.definition;
        let named = match hint {
            Value::String(name) => definition.name == *name,
            Value::Document(_) => equal(&Value::Document(definition.key_pattern()), hint),
            _ => false,
        };
        named && !definition.hidden
    });
    found.ok_or_else(|| {
        Fault::new(
            code::BAD_VALUE,
            "error processing query: planner returned error :: caused by :: hint provided does not correspond to an existing index",
        )
    })
}

/// How good an index is for a query; the greater the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    /// All components of a unique index are single values: at most one document per combination.
    unique: bool,
    /// Something is restricted at all.
    bounded: bool,
    /// Leading components that are bound to single values.
    points: usize,
    /// Whether the sort is answered.
    sorted: bool,
    /// Whether a range follows.
    ranges: usize,
    exact: bool,
    /// Shorter indexes are smaller.
    brevity: std::cmp::Reverse<usize>,
}

struct Candidate {
    plan: Plan,
    score: Score,
}

/// What an index can do for the query; nothing when it may lack matches. A hint accepts that.
fn candidate(request: &PlanRequest<'_>, query: &[Conjunct<'_>], position: usize, hint: bool) -> Option<Candidate> {
    let view = &request.indexes[position];
    let definition = view.definition;
    if !definition.is_ordered() || (definition.hidden && !hint) {
        return None;
    }
    if !hint && !holds_all_matches(definition, query) {
        return None;
    }
    let components = components(view, query);
    let points = components.iter().take_while(|own| own.single).count();
    let sort = request.sort.map(|sort| {
        let wanted: Vec<(&str, bool)> = sort.fields.iter().map(|field| (field.path.as_str(), field.descending)).collect();
        sort_direction(view, &components, &wanted)
    });
    let (sorted, reverse) = match sort {
        None => (true, false),
        Some(Some(reverse)) => (true, reverse),
        Some(None) => (false, false),
    };
    let (ranges, used) = key_ranges(definition, &components);
    let bounded = components[..used].iter().filter(|own| own.bound).count();
    let consumed: usize = components[..used].iter().map(|own| own.consumed).sum();
    let exact = components[..used].iter().all(|own| own.exact || !own.bound)
        && consumed == query.len()
        && definition.partial.is_none();
    let score = Score {
        unique: definition.unique && points == components.len(),
        bounded: bounded > 0,
        points: points.min(used),
        sorted: sorted && request.sort.is_some(),
        ranges: bounded - points.min(bounded),
        exact,
        brevity: std::cmp::Reverse(components.len()),
    };
    let access = if ranges.is_empty() {
        Access::Nothing
    } else {
        Access::Index { index: position, ranges, reverse }
    };
    // A sparse index lacks documents, so that it cannot count all of them.
    let covered_count = exact && (bounded > 0 || (!definition.sparse && query.is_empty()));
    Some(Candidate { plan: Plan { access, sorted, exact: exact && (bounded > 0 || query.is_empty()), covered_count }, score })
}

/// Whether every match has a key in the index.
fn holds_all_matches(definition: &IndexDefinition, query: &[Conjunct<'_>]) -> bool {
    if let Some(partial) = &definition.partial
        && !implies(query, partial.root())
    {
        return false;
    }
    if !definition.sparse {
        return true;
    }
    query.iter().any(|conjunct| match conjunct {
        Conjunct::Path { path, bounds, .. } => {
            requires_presence(bounds) && definition.keys.iter().any(|field| field.path == *path)
        }
        Conjunct::Other(_) => false,
    })
}

/// One component of an index with what the query says of it.
#[derive(Clone, Debug)]
struct Component {
    keys: Intervals,
    descending: bool,
    bound: bool,
    /// Whether it is bound to one value.
    single: bool,
    /// Whether it is bound to a set of single values.
    points: bool,
    exact: bool,
    /// How many conjuncts of the query its bounds stand for.
    consumed: usize,
}

fn components(view: &IndexView<'_>, query: &[Conjunct<'_>]) -> Vec<Component> {
    let mut multikey_bound = false;
    let component = |(position, field): (usize, &super::super::index::IndexField)| {
        let multikey = view.multikey.get(position).copied().unwrap_or(false);
        let mut own = Component {
            keys: Intervals::all(),
            descending: field.is_descending(),
            bound: false,
            single: false,
            points: false,
            exact: true,
            consumed: 0,
        };
        // Paths through array positions have keys that depend on more than the path.
        let numeric = field.path.split('.').any(|segment| segment.bytes().all(|byte| byte.is_ascii_digit()));
        if numeric || (multikey && multikey_bound) {
            return own;
        }
        let mut chosen: Option<(&Bounds, bool)> = None;
        let mut conjuncts = 0;
        for conjunct in query {
            let Conjunct::Path { path, bounds, whole, .. } = conjunct else { continue };
            if *path != field.path || bounds.keys.is_all() {
                continue;
            }
            conjuncts += usize::from(*whole);
            if multikey {
                // Each predicate may hold for another element: one of them bounds, the best one.
                let better = chosen.is_none_or(|(best, _)| rank(&bounds.keys) > rank(&best.keys));
                if better {
                    chosen = Some((bounds, *whole));
                }
            } else {
                own.keys = own.keys.intersect(&bounds.keys);
                own.exact &= bounds.exact && *whole;
                own.bound = true;
            }
        }
        if let Some((bounds, whole)) = chosen {
            own.keys = bounds.keys.clone();
            own.exact = bounds.exact && whole;
            own.bound = true;
            conjuncts = usize::from(whole);
            multikey_bound = true;
        }
        own.consumed = conjuncts;
        let points = own.keys.points();
        own.points = points.is_some();
        own.single = points.is_some_and(|points| points.len() == 1);
        own
    };
    view.definition.keys.iter().enumerate().map(component).collect()
}

/// Which bounds to prefer: single values, then two-sided ranges.
fn rank(keys: &Intervals) -> u8 {
    match keys.points() {
        Some(points) if points.len() == 1 => 3,
        Some(_) => 2,
        None => 1,
    }
}

/// The ranges of the leading components, and how many components they use: single values, then one set of ranges.
fn key_ranges(definition: &IndexDefinition, components: &[Component]) -> (Vec<KeyRange>, usize) {
    let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
    let mut used = 0;
    for component in components {
        let Some(points) = component.keys.points().filter(|_| component.bound && component.points) else { break };
        if prefixes.len() * points.len() > MAX_RANGES && used > 0 {
            break;
        }
        let mut points: Vec<Vec<u8>> = points
            .into_iter()
            .map(|point| if component.descending { point.iter().map(|byte| !byte).collect() } else { point.to_vec() })
            .collect();
        points.sort();
        prefixes = prefixes
            .iter()
            .flat_map(|prefix| points.iter().map(|point| [prefix.as_slice(), point].concat()))
            .collect();
        used += 1;
    }
    let mut ranges = Vec::new();
    match components.get(used).filter(|component| component.bound) {
        Some(component) => {
            for prefix in &prefixes {
                component.keys.ranges(prefix, component.descending, &mut ranges);
            }
            used += 1;
        }
        None => {
            for prefix in &prefixes {
                Intervals::all().ranges(prefix, false, &mut ranges);
            }
        }
    }
    debug_assert!(used <= definition.keys.len());
    (ranges, used)
}

/// Whether the index gives the order wanted: `Some(backwards)`.
fn sort_direction(view: &IndexView<'_>, components: &[Component], wanted: &[(&str, bool)]) -> Option<bool> {
    let mut wanted = wanted.iter().peekable();
    let mut reverse: Option<bool> = None;
    for (position, (field, component)) in view.definition.keys.iter().zip(components).enumerate() {
        let Some((path, descending)) = wanted.peek() else { break };
        let multikey = view.multikey.get(position).copied().unwrap_or(false);
        if *path == field.path && !multikey {
            let backwards = *descending != field.is_descending();
            if component.single {
                // One value: any direction is right.
                wanted.next();
                continue;
            }
            if reverse.is_some_and(|reverse| reverse != backwards) {
                return None;
            }
            reverse = Some(backwards);
            wanted.next();
            continue;
        }
        if !component.single {
            return None;
        }
    }
    // What is left must be fixed by the bounds.
    let fixed = |path: &str| {
        view.definition.keys.iter().zip(components).enumerate().any(|(position, (field, component))| {
            field.path == path && component.single && !view.multikey.get(position).copied().unwrap_or(false)
        })
    };
    if wanted.all(|(path, _)| fixed(path)) { Some(reverse.unwrap_or(false)) } else { None }
}

/// The branches of an `$or`, each through an index of its own.
fn union(request: &PlanRequest<'_>, query: &[Conjunct<'_>]) -> Option<Plan> {
    let branches = query.iter().find_map(|conjunct| match conjunct {
        Conjunct::Other(Node::Or(branches)) => Some(branches),
        _ => None,
    })?;
    let unsorted = PlanRequest { sort: None, hint: None, ..*request };
    let mut parts = Vec::new();
    let mut exact = query.len() == 1;
    for branch in branches {
        let mut inner = Vec::new();
        conjuncts(branch, &mut inner);
        if inner.iter().any(never) {
            continue;
        }
        let best = (0..request.indexes.len())
            .filter_map(|position| candidate(&unsorted, &inner, position, false))
            .filter(|candidate| candidate.score.bounded)
            .max_by_key(|candidate| candidate.score)?;
        exact &= best.plan.exact;
        parts.push(best.plan.access);
    }
    let access = if parts.is_empty() { Access::Nothing } else { Access::Union(parts) };
    Some(Plan { access, sorted: request.sort.is_none(), exact, covered_count: exact })
}

