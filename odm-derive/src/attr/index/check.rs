//! What MongoDB refuses of an index.

use proc_macro2::Span;
use syn::LitInt;
use syn::spanned::Spanned;

use super::{Index, Order};
use crate::problem::problem;

impl Index {
    /// The combinations that MongoDB refuses.
    pub(super) fn check(&self, span: Span) -> syn::Result<()> {
        if let Some(seconds) = &self.expire_after
            && (self.keys.len() > 1 || !matches!(self.keys[0].order, Order::Ascending | Order::Descending))
        {
            let help = "give the date a plain index of its own";
            return Err(problem(
                seconds.span,
                "only an index over one date can expire documents",
                help,
            ));
        }
        if self.sparse && self.partial.is_some() {
            let help = "say it in the partial filter: `|b| b.field.exists() & ..`";
            return Err(problem(span, "an index is `sparse` or `partial`, not both", help));
        }
        let hashed = self.keys.iter().filter(|key| key.order == Order::Hashed).count();
        if hashed > 0 && self.unique {
            let help = "give the field a second, unique index";
            return Err(problem(span, "a hashed index cannot be unique", help));
        }
        if hashed > 1 {
            return Err(problem(
                span,
                "an index has at most one hashed field",
                "keep one `hashed(..)`",
            ));
        }
        self.check_wildcard(span)?;
        self.check_words()?;
        self.check_plugins(span)
    }

    /// An index over all fields below one is over nothing else.
    fn check_wildcard(&self, span: Span) -> syn::Result<()> {
        let is_wildcard = self.keys.iter().any(|key| key.order == Order::Wildcard);
        let is_over_all = is_wildcard && self.keys.iter().any(|key| key.path.is_empty());
        if is_wildcard && self.keys.len() > 1 {
            let help = "give the other fields an index of their own";
            return Err(problem(span, "a wildcard index has no other fields", help));
        }
        if is_wildcard && (self.unique || self.sparse) {
            let help = "it leaves out what a document does not have; make fields unique one by one";
            return Err(problem(
                span,
                "a wildcard index is neither `unique` nor `sparse`",
                help,
            ));
        }
        if let Some(path) = self.only.iter().chain(&self.without).flatten().next() {
            if !is_over_all {
                let help = "`index(keys(wildcard()), only(title, author))`";
                return Err(problem(
                    path.span(),
                    "fields are chosen for a wildcard index over the whole document",
                    help,
                ));
            }
            if self.only.is_some() && self.without.is_some() {
                let help = "name those that are in it, or those that are not";
                return Err(problem(
                    span,
                    "a wildcard index has `only` or `without`, not both",
                    help,
                ));
            }
        }
        Ok(())
    }

    /// What is about text, and what is about the plane, where there is none.
    fn check_words(&self) -> syn::Result<()> {
        let has = |order| self.keys.iter().any(|key| key.order == order);
        let language = self.language.as_ref().or(self.language_field.as_ref());
        if let (Some(language), false) = (language, has(Order::Text)) {
            let help = "mark the field: `text(title)`";
            return Err(problem(language.span(), "only text has a language", help));
        }
        for key in &self.keys {
            if let (Some(weight), false) = (&key.weight, key.order == Order::Text) {
                let help = "mark the field: `text(title, weight = 10)`";
                return Err(problem(weight.span(), "only text has a weight", help));
            }
            if let Some(weight) = &key.weight
                && !weight
                    .base10_parse::<u32>()
                    .is_ok_and(|weight| (1..99_999).contains(&weight))
            {
                let help = "how much its words count beside those of other fields, 1 if not said";
                return Err(problem(weight.span(), "the weight of a text is 1 to 99998", help));
            }
        }
        let bounds = self.bounds.as_ref().map(|(least, _)| least.span());
        let bits = self.bits.as_ref().map(LitInt::span);
        if let (Some(plane), false) = (bounds.or(bits), has(Order::Geo2d)) {
            let help = "mark the field: `geo_2d(place)`";
            return Err(problem(plane, "only a `geo_2d` field lies within bounds", help));
        }
        if let Some(bits) = &self.bits
            && !bits
                .base10_parse::<u8>()
                .is_ok_and(|bits| (1..=32).contains(&bits))
        {
            let help = "how often each side is halved, 26 if not said";
            return Err(problem(
                bits.span(),
                "the bits of a `geo_2d` index are 1 to 32",
                help,
            ));
        }
        if let Some(collation) = &self.collation
            && [Order::Text, Order::Geo2d].into_iter().any(has)
        {
            let help = "give the field that is compared by a language an index of its own";
            return Err(problem(
                collation.span(),
                "an index of texts, or of places in the plane, has no collation",
                help,
            ));
        }
        Ok(())
    }

    /// Fields that are kept in a way of their own do not mix.
    fn check_plugins(&self, span: Span) -> syn::Result<()> {
        let plain = |order: &Order| matches!(order, Order::Ascending | Order::Descending);
        let mut plugins = self
            .keys
            .iter()
            .map(|key| key.order)
            .filter(|order| !plain(order));
        if let Some(first) = plugins.next()
            && plugins.any(|other| other != first)
        {
            let help = "give each field an index of its own";
            return Err(problem(
                span,
                "an index has fields of one kind only beside plain ones",
                help,
            ));
        }
        let flat = self.keys.iter().filter(|key| key.order == Order::Geo2d).count();
        if flat > 1 || (flat == 1 && self.keys[0].order != Order::Geo2d) {
            let help = "`keys(geo_2d(place), kind)`, or `geo_2dsphere`, which may stand anywhere";
            return Err(problem(
                span,
                "the `geo_2d` field is the first of its index, and the only one",
                help,
            ));
        }
        Ok(())
    }
}
