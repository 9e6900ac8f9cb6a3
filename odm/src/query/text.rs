//! Searches of texts.

use bson::raw::cstr;
use bson::{RawBson, RawDocumentBuf};

use super::filter::{Filter, Node};

/// A text search, for [`Filter::text`]: words of which one has to be there, `"phrases"` of which each has to, and
/// `-words` that must not.
///
/// ```
/// use odm::TextSearch;
///
/// let search = TextSearch::new("baleines -requins").language("french").diacritic_sensitive();
/// # let _ = search;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct TextSearch {
    text: String,
    language: Option<String>,
    case_sensitive: bool,
    diacritic_sensitive: bool,
}

impl TextSearch {
    /// A search in the language of the index, in which neither case nor accents count.
    ///
    /// The text is a search, with its own signs: what a person typed may hold quotation marks and minus signs, which
    /// then mean what they mean here. It can never become an operator.
    pub fn new(text: impl Into<String>) -> TextSearch {
        TextSearch {
            text: text.into(),
            language: None,
            case_sensitive: false,
            diacritic_sensitive: false,
        }
    }

    /// The language of the words: it decides on stems and on words that are left out. `"none"` for neither.
    pub fn language(mut self, language: impl Into<String>) -> TextSearch {
        self.language = Some(language.into());
        self
    }

    /// `Apple` is another word than `apple`.
    pub fn case_sensitive(mut self) -> TextSearch {
        self.case_sensitive = true;
        self
    }

    /// `café` is another word than `cafe`.
    pub fn diacritic_sensitive(mut self) -> TextSearch {
        self.diacritic_sensitive = true;
        self
    }

    fn document(&self) -> RawDocumentBuf {
        let mut document = RawDocumentBuf::new();
        document.append(cstr!("$search"), self.text.as_str());
        if let Some(language) = &self.language {
            document.append(cstr!("$language"), language.as_str());
        }
        if self.case_sensitive {
            document.append(cstr!("$caseSensitive"), true);
        }
        if self.diacritic_sensitive {
            document.append(cstr!("$diacriticSensitive"), true);
        }
        document
    }
}

impl From<&str> for TextSearch {
    fn from(text: &str) -> TextSearch {
        TextSearch::new(text)
    }
}

impl From<String> for TextSearch {
    fn from(text: String) -> TextSearch {
        TextSearch::new(text)
    }
}

impl<R> Filter<R> {
    /// Documents whose texts answer a search. It is on the model, not on a field: the collection's one text index
    /// says which fields count, and without one the query fails with code 27.
    ///
    /// A filter has one search, which `!` cannot turn around; beside it in an [`or`](Filter::or) all conditions need
    /// an index. [`Sort::by_text_score`](crate::Sort::by_text_score) puts the best answers first.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// use odm::{Db, Filter, Model, Sort};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize, Model)]
    /// #[odm(index(keys(text(title), text(body))))]
    /// struct Post {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     title: String,
    ///     body: String,
    /// }
    ///
    /// let posts = Db::open("memory:").await?.collection::<Post>();
    /// posts.create_indexes().await?;
    /// posts.insert(Post { id: 1, title: "Whales".into(), body: "They sing".into() }).await?;
    /// posts.insert(Post { id: 2, title: "Birds".into(), body: "They sing, like whales: singing whales".into() }).await?;
    ///
    /// let found = posts.find(|_| Filter::text("whale \"like whales\"")).await?;
    /// assert_eq!(found[0].id, 2);
    /// let best = posts.find(|_| Filter::text("whale")).sort(|_| Sort::by_text_score()).first().await?;
    /// assert_eq!(best.map(|post| post.id), Some(2));
    /// # Ok(())
    /// # }
    /// ```
    pub fn text(search: impl Into<TextSearch>) -> Filter<R> {
        Filter::from_node(Node::Operator {
            name: cstr!("$text"),
            value: RawBson::Document(search.into().document()),
        })
    }
}
