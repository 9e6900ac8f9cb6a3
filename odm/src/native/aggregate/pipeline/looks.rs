//! The paths of documents at which stages look, where those are not all.

use super::super::super::kept::Kept;
use super::super::super::needs::Needs;
use super::super::stage::Stage;
use super::Pipeline;

/// What a stage asks of the documents that it is given.
pub(super) enum Asks {
    /// All that they have.
    All,
    /// Some fields, and it lets all through.
    Some,
    /// Some fields, and nothing else of them is left behind it.
    Last,
}

impl Pipeline {
    /// The fields of documents at which the stages from this position on look, where those are not all.
    pub(crate) fn kept_from(&self, position: usize) -> Option<Kept> {
        let mut needs = Needs::default();
        // How a document was found may show in any of its fields.
        let is_known = self.wanted.is_empty() && self.add_needs(position, &mut needs);
        is_known.then(|| Kept::of(&needs))
    }

    /// Adds the paths at which the stages from this position on look; `false` where these are not all.
    pub(crate) fn add_needs(&self, position: usize, needs: &mut Needs) -> bool {
        matches!(looks(self.stages.iter().skip(position), needs), Asks::Last)
    }
}

/// What stages ask together.
pub(super) fn looks<'s>(stages: impl Iterator<Item = &'s Stage>, needs: &mut Needs) -> Asks {
    for stage in stages {
        match asks(stage, needs) {
            Asks::Some => {}
            asked => return asked,
        }
    }
    Asks::Some
}

fn asks(stage: &Stage, needs: &mut Needs) -> Asks {
    let (is_known, is_last) = match stage {
        Stage::Skip(_) | Stage::Limit(_) | Stage::Sample(_) | Stage::UnionWith(_) => (true, false),
        Stage::Match(own) => (own.matcher().root().add_needs(needs), false),
        Stage::Sort(own) => (own.spec().add_needs(needs), false),
        Stage::Unwind(own) => {
            own.add_needs(needs);
            (true, false)
        }
        Stage::Densify(own) => {
            own.add_needs(needs);
            (true, false)
        }
        Stage::Transform(own) => (own.add_needs(needs), own.ends_document()),
        Stage::Lookup(own) => (own.add_needs(needs), false),
        Stage::GraphLookup(own) => (own.add_needs(needs), false),
        Stage::Windows(own) => (own.add_needs(needs), false),
        Stage::Fill(own) => (own.add_needs(needs), false),
        Stage::Group(own) => (own.add_needs(needs), true),
        Stage::BucketAuto(own) => (own.add_needs(needs), true),
        Stage::Facet(own) => (own.add_needs(needs), true),
        Stage::Count(_) => (true, true),
        Stage::Redact(_) | Stage::GeoNear(_) | Stage::Statistics(_) | Stage::Documents(_) => (false, false),
    };
    match (is_known, is_last) {
        (false, _) => Asks::All,
        (true, false) => Asks::Some,
        (true, true) => Asks::Last,
    }
}
