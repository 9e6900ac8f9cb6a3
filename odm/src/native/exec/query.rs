//! A parsed query: filter, sort, hint, and what they cost to choose a plan for.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::aggregate::constants;
use super::super::aggregate::pipeline::{IN_RUN, no_order};
use super::super::catalog::Collection;
use super::super::collation::{Collation, has_text};
use super::super::document::{Doc, Owned, Value, equal};
use super::super::fault::{Fault, Result};
use super::super::index::{self, ID_INDEX, IndexDefinition};
use super::super::kept::Kept;
use super::super::matcher::Matcher;
use super::super::matcher::ast::{NearField, Node, Predicate};
use super::super::metadata::{Kind, Metadata, Wanted};
use super::super::needs::Needs;
use super::super::plan::{self, Access, Edges, IndexView, Plan, PlanRequest, text_required};
use super::super::projection::Projection;
use super::super::sort::SortSpec;
use super::super::storage::Read;
use super::trial::Race;
use super::{Deadline, Namespace, noted};

pub(crate) use self::order::Order;
pub(crate) use self::part::Part;

mod ids;
mod order;
mod part;

/// A parsed filter with sort and hint; made once, planned against each collection state it meets.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) matcher: Arc<Matcher>,
    pub(crate) sort: Option<SortSpec>,
    hint: Option<Owned>,
    /// How strings compare, if it is said: filter and sort know it then.
    collation: Option<Collation>,
    /// The part of the hinted index to look at.
    edges: Option<Arc<Edges>>,
    /// The projection as given, where there is one: it is a part of the shape.
    projected: Option<Vec<u8>>,
    /// The `let` that gave the variables, as long as it is not known how its strings compare.
    constants: Option<Arc<Vec<u8>>>,
    /// Whether it asks for what is near, be it in vain.
    asks_near: bool,
    /// What runs it, as faults of documents tell it; nothing where they do not.
    running: Option<&'static str>,
    part: Part,
    /// What is asked of what it finds, if that is less than all.
    needs: Option<Arc<Needs>>,
    /// The fields that are kept of it on the way, if these are not all.
    kept: Option<Arc<Kept>>,
}

impl Query {
    /// Parses the parts; the documents have passed the gate.
    pub(crate) fn parse(filter: Doc<'_>, sort: Option<Doc<'_>>, hint: Option<Value<'_>>) -> Result<Query> {
        Query::parse_with(filter, sort, hint, Vec::new())
    }

    /// Parses the parts of an operation that gives variables to its expressions.
    pub(crate) fn parse_with(
        filter: Doc<'_>,
        sort: Option<Doc<'_>>,
        hint: Option<Value<'_>>,
        variables: Vec<(String, Option<Owned>)>,
    ) -> Result<Query> {
        let mut query = Query::before_sort(filter, sort, hint, variables)?;
        query.sort_by(sort)?;
        Ok(query)
    }

    /// The same whose order is not read yet: [`sort_by`](Self::sort_by) does that.
    ///
    /// # Errors
    /// Those of the filter, and what is wrong with `$natural` in the order and in the hint.
    pub(crate) fn before_sort(
        filter: Doc<'_>,
        sort: Option<Doc<'_>>,
        hint: Option<Value<'_>>,
        variables: Vec<(String, Option<Owned>)>,
    ) -> Result<Query> {
        let matcher = Matcher::parse_query(filter, variables)?;
        // Told before it is seen that nothing can match.
        plan::check_natural(hint.as_ref(), sort, matcher.near().is_some())?;
        Ok(Query {
            asks_near: matcher.near().is_some(),
            matcher: Arc::new(matcher.or_never(filter)),
            sort: None,
            hint: hint.map(Owned::from),
            collation: None,
            edges: None,
            projected: None,
            constants: None,
            running: None,
            part: Part::default(),
            needs: None,
            kept: None,
        })
    }

    /// Parses the order in which it gives what it finds.
    ///
    /// # Errors
    /// Those of the order.
    pub(crate) fn sort_by(&mut self, sort: Option<Doc<'_>>) -> Result<()> {
        let sort = sort.map(SortSpec::parse).transpose()?;
        let sort = sort.filter(|sort| !sort.is_empty());
        if let Some(sort) = &sort {
            sort.wanted().check(self.searches_text(), self.asks_near)?;
        }
        self.sort = match self.collation.as_ref().filter(|own| !own.is_simple()) {
            Some(collation) => sort.map(|sort| sort.collated(collation)),
            None => sort,
        };
        Ok(())
    }

    /// The same query of which no more is asked than this.
    pub(crate) fn needing(self, needs: Option<Needs>) -> Query {
        Query {
            needs: needs.map(Arc::new),
            ..self
        }
    }

    /// The same query, of whose documents these fields are kept, if they are not all.
    pub(crate) fn keeping(self, kept: Option<Kept>) -> Query {
        Query {
            kept: kept.map(Arc::new),
            ..self
        }
    }

    /// The same query for a part of the documents.
    pub(crate) fn part(mut self, part: Part) -> Query {
        self.part = part;
        self
    }

    /// The same query with strings compared by the collation, if there is one.
    pub(crate) fn collated(self, collation: Option<Collation>) -> Query {
        let Some(collation) = collation else {
            return self;
        };
        if collation.is_simple() {
            return Query {
                collation: Some(collation),
                ..self
            };
        }
        let matcher = Arc::try_unwrap(self.matcher).unwrap_or_else(|shared| (*shared).clone());
        Query {
            asks_near: self.asks_near,
            matcher: Arc::new(matcher.collated(&collation)),
            sort: self.sort.map(|sort| sort.collated(&collation)),
            hint: self.hint,
            collation: Some(collation),
            edges: self.edges,
            projected: self.projected,
            constants: self.constants,
            running: self.running,
            part: self.part,
            needs: self.needs,
            kept: self.kept,
        }
    }

    /// The query with all computed that depends on no document: strings compare by its collation, and by bytes if
    /// it has none.
    ///
    /// # Errors
    /// What is wrong with constants.
    pub(crate) fn settled(&self) -> Result<Cow<'_, Query>> {
        if !self.matcher.is_to_settle() {
            return Ok(Cow::Borrowed(self));
        }
        let mut query = self.clone();
        query.matcher = Arc::new((*self.matcher).clone().settled()?);
        Ok(Cow::Owned(query))
    }

    /// The query by what it reads: its constants, and how strings compare, with all computed that depends on no
    /// document.
    ///
    /// # Errors
    /// What is wrong with constants.
    pub(crate) fn settled_by(&self, own: &Collation) -> Result<Cow<'_, Query>> {
        let mut query = Cow::Borrowed(self);
        if let Cow::Owned(next) = query.with_constants_by(own)? {
            query = Cow::Owned(next);
        }
        if let Cow::Owned(next) = query.by_default(own) {
            query = Cow::Owned(next);
        }
        if let Cow::Owned(next) = query.settled()? {
            query = Cow::Owned(next);
        }
        Ok(query)
    }

    /// The same query, whose variables are those of this `let`.
    pub(crate) fn with_constants(self, constants: Option<Doc<'_>>) -> Query {
        Query {
            constants: constants.map(|constants| Arc::new(constants.to_bytes())),
            ..self
        }
    }

    /// The query with its `let` computed by the collation of what it reads, unless it has one of its own.
    ///
    /// # Errors
    /// What is wrong with the constants.
    pub(crate) fn with_constants_by(&self, own: &Collation) -> Result<Cow<'_, Query>> {
        let Some(constants) = self
            .constants
            .as_ref()
            .filter(|_| self.collation.is_none() && !own.is_simple())
        else {
            return Ok(Cow::Borrowed(self));
        };
        let mut query = self.clone();
        let matcher = (*self.matcher).clone();
        let variables = constants::of(Doc::Raw(constants), matcher.now(), own)?;
        query.matcher = Arc::new(matcher.with_variables(variables));
        Ok(Cow::Owned(query))
    }

    /// The same query without a time: an expression that asks for it fails.
    pub(crate) fn without_clock(mut self) -> Query {
        if self.matcher.computes() {
            self.matcher = Arc::new((*self.matcher).clone().without_clock());
        }
        self
    }

    /// As of the commands that do not know yet what they read: without a collation of its own, constants compare by bytes.
    ///
    /// # Errors
    /// What is wrong with constants.
    pub(crate) fn settled_alone(self, collation: Option<Collation>) -> Result<Query> {
        let query = self.collated(collation);
        Ok(match query.settled()? {
            Cow::Owned(settled) => settled,
            Cow::Borrowed(_) => query,
        })
    }

    /// The query by the collation of what it reads, unless it has one of its own.
    pub(crate) fn by_default(&self, own: &Collation) -> Cow<'_, Query> {
        match (&self.collation, own.is_simple()) {
            (None, false) => Cow::Owned(self.clone().collated(Some(own.clone()))),
            _ => Cow::Borrowed(self),
        }
    }

    /// How strings compare, if it is said.
    pub(crate) fn collation(&self) -> Option<&Collation> {
        self.collation.as_ref()
    }

    /// How strings compare in what has this collation.
    pub(crate) fn collation_in<'a>(&'a self, own: &'a Collation) -> &'a Collation {
        self.collation.as_ref().unwrap_or(own)
    }

    /// A query of parts that are parsed already, and know the collation.
    pub(crate) fn of(
        matcher: Matcher,
        sort: Option<SortSpec>,
        hint: Option<Owned>,
        collation: Collation,
    ) -> Query {
        Query {
            asks_near: matcher.near().is_some(),
            matcher: Arc::new(matcher),
            sort,
            hint,
            collation: Some(collation),
            edges: None,
            projected: None,
            constants: None,
            running: Some(IN_RUN),
            part: Part::piped(),
            needs: None,
            kept: None,
        }
    }

    /// The same query for documents that are projected.
    pub(crate) fn projected(self, projection: Option<Doc<'_>>) -> Query {
        Query {
            projected: projection.filter(|doc| !doc.is_empty()).map(Doc::to_bytes),
            ..self
        }
    }

    /// The projection as given.
    pub(crate) fn given_projection(&self) -> Option<Doc<'_>> {
        self.projected.as_ref().map(|own| Doc::Raw(own))
    }

    /// What is asked of what it finds, if that is less than all.
    pub(crate) fn needs(&self) -> Option<&Needs> {
        self.needs.as_deref()
    }

    /// The fields that are kept of what it finds, if these are not all.
    pub(crate) fn kept(&self) -> Option<&Kept> {
        self.kept.as_deref()
    }

    /// What queries have in common that differ in their values alone.
    pub(crate) fn shape(&self) -> String {
        let sort = self.sort.as_ref().map(|sort| sort.spec().to_string());
        let projection = self.projected.as_ref().map(|own| Doc::Raw(own).to_string());
        let collation = self
            .collation
            .as_ref()
            .and_then(|own| own.spec())
            .map(|own| own.to_string());
        let filter = self.matcher.root().shape();
        format!("{filter} {sort:?} {projection:?} {collation:?}")
    }

    /// The indexes of a collection as the planner sees them, and whether an index filter leaves some out.
    pub(crate) fn views<'a>(&self, collection: &'a Collection) -> (Vec<IndexView<'a>>, bool) {
        let mut views = views(collection);
        if collection.filters.is_empty() {
            return (views, false);
        }
        let Some(allowed) = collection.filters.indexes_for(&self.shape()) else {
            return (views, false);
        };
        for view in &mut views {
            let pattern = Value::Document(view.definition.key_pattern());
            view.is_left_out = !allowed.iter().any(|index| match index.as_value() {
                Value::String(name) => name == view.definition.name,
                keys => equal(&keys, &pattern),
            });
        }
        (views, true)
    }

    /// The same query on a part of the hinted index.
    pub(crate) fn between(self, edges: Option<Edges>) -> Query {
        Query {
            edges: edges.map(Arc::new),
            ..self
        }
    }

    /// The part of the hinted index to look at, if it is said.
    pub(crate) fn edges(&self) -> Option<&Edges> {
        self.edges.as_deref()
    }

    /// The same query in another order.
    pub(crate) fn sorted(&self, sort: SortSpec) -> Query {
        Query {
            sort: Some(sort).filter(|sort| !sort.is_empty()),
            ..self.clone()
        }
    }

    /// The same query with documents within this distance.
    pub(crate) fn within(&self, distance: f64) -> Query {
        Query {
            matcher: Arc::new(self.matcher.within(distance)),
            ..self.clone()
        }
    }

    /// Whether it is to go through the collection from its end.
    pub(super) fn goes_back(&self) -> bool {
        let hint = self.hint.as_ref();
        hint.is_some_and(|hint| plan::is_backwards(hint.as_value()))
    }

    /// What the documents are to be near, if anything.
    pub(crate) fn near(&self) -> Option<&NearField> {
        self.matcher.near()
    }

    /// Whether it asks for what is near, also where nothing can match.
    pub(crate) fn asks_near(&self) -> bool {
        self.asks_near
    }

    /// Whether a text search is asked for.
    pub(crate) fn searches_text(&self) -> bool {
        self.matcher.text().is_some()
    }

    /// Whether it can be asked where there is no collection, so that it finds nothing.
    ///
    /// # Errors
    /// Code 27 for a text search, 2 for a hint that no index can be meant by.
    pub(crate) fn check_without_collection(&self, ns: &Namespace) -> Result<()> {
        // As on the server, which looks for one `_id` without asking for a plan.
        let is_by_id = matches!(
            self.matcher.root(),
            Node::Field { path, predicate: Predicate::Equal(_) } if path.as_str() == "_id"
        );
        if let Some(hint) = self.hint.as_ref().filter(|_| !is_by_id) {
            plan::check_hint(&hint.as_value())?;
        }
        match self.searches_text() {
            true => Err(text_required(Some(&ns.to_string()))),
            false => Ok(()),
        }
    }

    /// The same of a count, which finds nothing then.
    ///
    /// # Errors
    /// 2 for a search with a hint.
    pub(super) fn check_count_without_collection(&self) -> Result<()> {
        match self.searches_text() && self.hint.is_some() {
            true => Err(plan::text_with_hint()),
            false => Ok(()),
        }
    }

    /// Parses the projection of what it finds, and then the order of that.
    ///
    /// # Errors
    /// As [`projection`](Self::projection) and [`sort_by`](Self::sort_by).
    pub(crate) fn shown_in(
        &mut self,
        projection: Option<Doc<'_>>,
        sort: Option<Doc<'_>>,
    ) -> Result<Option<Projection>> {
        let projection = projection.filter(|spec| !spec.is_empty());
        let projection = projection.map(|spec| Projection::parse(spec, Some(&self.matcher)));
        let Some(projection) = projection.transpose()? else {
            return self.sort_by(sort).map(|()| None);
        };
        if let Err(fault) = self.sort_by(sort) {
            // Its constants are computed by then.
            let collation = self.collation.clone().unwrap_or_default();
            projection.settled(&collation, self.matcher.variables())?;
            return Err(fault);
        }
        self.ordered(projection)
    }

    /// Parses the projection of what it finds; an empty one is none.
    ///
    /// # Errors
    /// What is wrong with it; code 2 where it shows the values of an order that there is not.
    pub(crate) fn projection(&self, spec: Option<Doc<'_>>) -> Result<Option<Projection>> {
        let Some(spec) = spec.filter(|spec| !spec.is_empty()) else {
            return Ok(None);
        };
        self.ordered(Projection::parse(spec, Some(&self.matcher))?)
    }

    /// The same of a document that is changed or removed: what is not known of how it was found is left out.
    ///
    /// # Errors
    /// As [`projection`](Self::projection).
    pub(crate) fn projection_of_one(&self, spec: Option<Doc<'_>>) -> Result<Option<Projection>> {
        let Some(spec) = spec.filter(|spec| !spec.is_empty()) else {
            return Ok(None);
        };
        self.ordered(Projection::parse_lenient(spec, &self.matcher)?)
    }

    fn ordered(&self, projection: Projection) -> Result<Option<Projection>> {
        match projection.wanted().has(Kind::SortKey) && self.sort.is_none() {
            true => Err(no_order()),
            false => Ok(Some(projection)),
        }
    }

    /// What is known of how the document was found by this plan, of what is wanted.
    pub(crate) fn known(&self, plan: Option<&Plan>, doc: Doc<'_>, wanted: Wanted) -> Result<Metadata> {
        let mut known = Metadata::default();
        if wanted.has(Kind::TextScore)
            && let Some(plan) = plan
        {
            known.score = plan.score(doc)?;
        }
        if wanted.has(Kind::GeoNearDistance) || wanted.has(Kind::GeoNearPoint) {
            let hit = self.near().and_then(|near| near.hit(doc));
            known.distance = hit.as_ref().map(|hit| hit.distance);
            known.point = hit.map(|hit| hit.place);
        }
        if wanted.has(Kind::SortKey)
            && let Some(sort) = &self.sort
        {
            let by = self.known(plan, doc, sort.wanted())?;
            known.sort_key = Some(sort.parts(doc, Some(&by))?);
        }
        Ok(known)
    }

    /// The hint as given.
    pub(crate) fn hint(&self) -> Option<&Owned> {
        self.hint.as_ref()
    }

    /// Chooses how to answer the query on this collection. `limit` is how many documents are wanted, those that are
    /// skipped included.
    ///
    /// # Errors
    /// What is wrong with the hint, what no index can answer, and what ends a trial.
    pub(crate) fn plan(
        &self,
        read: &dyn Read,
        collection: &Collection,
        limit: Option<u64>,
        deadline: Deadline,
    ) -> Result<Plan> {
        if let Some((ids, alone)) = self.ids()
            && let Some(entry) = collection.indexes.first()
            && entry.definition.is_id()
            && ids.values().iter().all(|id| holds_as_is(&entry.definition, id))
            && let Some(plan) = ids.plan(alone)
        {
            noted::planned(&plan, collection);
            let plan = match self.needs {
                None => plan,
                Some(_) => {
                    let (views, is_filtered) = self.views(collection);
                    plan.covering(&self.request(&views, limit, &collection.rules.collation, is_filtered))
                }
            };
            return Ok(plan.asking(&self.matcher));
        }
        let (views, is_filtered) = self.views(collection);
        let in_order = [("$natural".to_owned(), Owned::Int32(1))];
        let race = Race {
            read,
            collection,
            query: self,
            deadline,
        };
        let mut request = self.request(&views, limit, &collection.rules.collation, is_filtered);
        request.trial = Some(&race);
        if collection.rules.series.is_some() && matches!(request.hint, Some(Value::String(ID_INDEX))) {
            // The buckets of a time series are in this order, and have no such index.
            request.hint = Some(Value::Document(Doc::Fields(&in_order)));
        }
        let plan = plan::choose(request)
            .map_err(|fault| self.told(collection, fault))?
            .plan;
        check_center(self.near(), &plan, &views)?;
        noted::planned(&plan, collection);
        Ok(plan.asking(&self.matcher))
    }

    /// What the planner is asked.
    pub(crate) fn request<'a>(
        &'a self,
        indexes: &'a [IndexView<'a>],
        limit: Option<u64>,
        own: &'a Collation,
        is_filtered: bool,
    ) -> PlanRequest<'a> {
        PlanRequest {
            matcher: &self.matcher,
            sort: self.sort.as_ref(),
            indexes,
            // A filter decides, whatever the hint says.
            hint: self.hint.as_ref().map(Owned::as_value).filter(|_| !is_filtered),
            limit,
            edges: self.edges.as_deref().map(|edges| (edges, self.collation_in(own))),
            trial: None,
            needs: self.needs.as_deref(),
        }
    }

    /// What is left to do to bring documents in order.
    pub(crate) fn order_after<'a>(&'a self, plan: &Plan) -> Option<Order<'a>> {
        let sort = self.sort_after(plan);
        (sort.is_some() || self.near().is_some()).then(|| Order {
            sort,
            near: self.near(),
        })
    }

    /// The sort that is left to do when the access does not give the order.
    fn sort_after(&self, plan: &Plan) -> Option<&SortSpec> {
        self.sort
            .as_ref()
            .filter(|sort| !plan.sorted && !sort.fields.is_empty())
    }

    /// Whether every document matches, and no index is asked for.
    pub(crate) fn is_everything(&self) -> bool {
        let all = match self.matcher.root() {
            Node::Always => true,
            Node::And(parts) => parts.is_empty(),
            _ => false,
        };
        all && self.hint.is_none() && self.edges.is_none()
    }
}

/// Whether the index's keys of the value are those of its bytes.
fn holds_as_is(definition: &IndexDefinition, value: &Owned) -> bool {
    definition.collation.is_simple() || !has_text(&value.as_value())
}

/// Refuses a center outside the grid of a `2d` index.
fn check_center(near: Option<&NearField>, plan: &Plan, views: &[IndexView<'_>]) -> Result<()> {
    let (Some(field), Access::Index { index, .. }) = (near, &plan.access) else {
        return Ok(());
    };
    let keys = views
        .get(*index)
        .into_iter()
        .flat_map(|view| &view.definition.keys);
    let grid = keys.clone().find_map(|key| match key.order {
        index::Order::Flat(grid) => Some(grid),
        _ => None,
    });
    match (grid, field.near.flat_center()) {
        (Some(grid), Some(place)) if !grid.has(place) => Err(Fault::new(
            16433,
            format!(
                "{} :: caused by :: {{ 0: {:.1}, 1: {:.1} }}",
                grid.outside(),
                place.x,
                place.y
            ),
        )),
        _ => Ok(()),
    }
}

/// The indexes of a collection as the planner sees them.
fn views(collection: &Collection) -> Vec<IndexView<'_>> {
    collection
        .indexes
        .iter()
        .map(|entry| IndexView {
            definition: &entry.definition,
            multikey: &entry.multikey,
            is_left_out: false,
        })
        .collect()
}
