//! What `#[odm(..)]` says of a model's place among others and of its shapes: kind, schema version, options.

use proc_macro2::{Span, TokenStream};
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{LitInt, LitStr, Path, Token, parenthesized};

use super::{once, string};
use crate::problem::{Problems, problem};

/// As written.
#[derive(Default)]
pub(crate) struct Schema {
    kind: Option<LitStr>,
    tag: Option<LitStr>,
    version: Option<LitInt>,
    migrate: Option<(Span, Vec<Path>)>,
    pub(crate) options: Option<Path>,
    /// The function that says which documents are seen.
    pub(crate) scope: Option<Path>,
}

/// What tells a model's documents from others of the collection.
pub(crate) struct Kind {
    pub(crate) tag: String,
    pub(crate) name: String,
}

/// The present version, and the functions that lead to it.
pub(crate) struct Versions {
    pub(crate) current: i32,
    pub(crate) chain: Vec<Path>,
}

impl Schema {
    pub(crate) fn read(&mut self, key: &str, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        match key {
            "kind" => once(&mut self.kind, meta, key, string),
            "tag" => once(&mut self.tag, meta, key, string),
            "options" => once(&mut self.options, meta, key, |meta| meta.value()?.parse()),
            "scope" => once(&mut self.scope, meta, key, |meta| meta.value()?.parse()),
            "schema_version" => once(&mut self.version, meta, key, |meta| meta.value()?.parse()),
            _ => once(&mut self.migrate, meta, key, |meta| {
                let span = meta.path.span();
                let inside;
                if !meta.input.peek(syn::token::Paren) {
                    return Err(problem(
                        span,
                        "`migrate` needs functions",
                        "`migrate(v1_to_v2, v2_to_v3)`",
                    ));
                }
                parenthesized!(inside in meta.input);
                let paths = inside.parse_terminated(Path::parse_mod_style, Token![,])?;
                Ok((span, paths.into_iter().collect()))
            }),
        }
    }

    /// The first thing said, which an enum of kinds cannot say.
    pub(crate) fn span(&self) -> Option<Span> {
        let kind = self.kind.as_ref().map(LitStr::span);
        let tag = self.tag.as_ref().map(LitStr::span);
        let version = self.version.as_ref().map(LitInt::span);
        let migrate = self.migrate.as_ref().map(|(span, _)| *span);
        kind.or(tag).or(version).or(migrate)
    }

    pub(crate) fn kind(&self, fields: &[&str], problems: &mut Problems) -> Option<Kind> {
        let Some(name) = &self.kind else {
            if let Some(tag) = &self.tag {
                problems.at(
                    tag,
                    "a tag without a kind",
                    "say which kind the documents are: `kind = \"cat\"`",
                );
            }
            return None;
        };
        let tag = self.tag.as_ref().map_or_else(|| "kind".to_owned(), LitStr::value);
        let span = self.tag.as_ref().unwrap_or(name);
        let wrong = match tag.as_str() {
            "" => "a stored name cannot be empty",
            "_id" => "`_id` cannot say the kind",
            tag if tag.starts_with('$') || tag.contains(['.', '\0']) => {
                "the name of a stored field holds no `.` and no NUL, and does not start with `$`"
            }
            tag if fields.contains(&tag) => {
                "a field of the model is stored under the name that says the kind"
            }
            _ => {
                return Some(Kind {
                    tag,
                    name: name.value(),
                });
            }
        };
        problems.at(span, wrong, "choose another: `tag = \"..\"`");
        None
    }

    pub(crate) fn versions(&self, problems: &mut Problems) -> Option<Versions> {
        let steps = self.migrate.as_ref().map_or(0, |(_, chain)| chain.len());
        let Some(version) = &self.version else {
            if let Some((span, _)) = &self.migrate {
                problems.at_span(
                    *span,
                    "migrations without a version",
                    format!("say which version they lead to: `schema_version = {}`", steps + 1),
                );
            }
            return None;
        };
        let help = "a whole number from 1 on: `schema_version = 2`";
        let current = match version.base10_parse::<i32>() {
            Ok(current) if current >= 1 => current,
            _ => {
                problems.at(version, "not a schema version", help);
                return None;
            }
        };
        if usize::try_from(current - 1) != Ok(steps) {
            let wrong = format!(
                "version {current} is {} migrations away from version 1, and there are {steps}",
                current - 1
            );
            let help = "`migrate(..)` has one function for each step: from 1 to 2, from 2 to 3, and so on";
            problems.at(version, wrong, help);
            return None;
        }
        let chain = self
            .migrate
            .as_ref()
            .map_or_else(Vec::new, |(_, chain)| chain.clone());
        Some(Versions { current, chain })
    }
}

impl Kind {
    /// `.kind("kind", "cat")`.
    pub(crate) fn expand(&self) -> TokenStream {
        let Kind { tag, name } = self;
        quote::quote!(.kind(#tag, #name))
    }
}

impl Versions {
    pub(crate) fn expand(&self) -> TokenStream {
        let Versions { current, chain } = self;
        quote::quote!(.versions(__odm::Versions::new(#current, &[#(#chain),*])))
    }
}
