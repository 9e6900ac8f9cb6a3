//! The elements of documents and arrays, one after the other.

use serde::de::{DeserializeSeed, EnumAccess, MapAccess, SeqAccess};

use super::name::Name;
use super::{Decoder, Result, Unfit, shape, unfit};

/// The fields by which the visitor of `Bson` takes a document for another value.
pub(super) const SHOWN: [&str; 18] = [
    "$oid",
    "$symbol",
    "$numberInt",
    "$numberLong",
    "$numberDouble",
    "$numberDecimal",
    "$numberDecimalBytes",
    "$binary",
    "$uuid",
    "$code",
    "$scope",
    "$timestamp",
    "$regularExpression",
    "$dbPointer",
    "$date",
    "$maxKey",
    "$minKey",
    "$undefined",
];

/// The elements of a document or array that are left.
pub(super) struct Elements<'de> {
    rest: &'de [u8],
    depth: usize,
    /// The value of the name that was given last.
    value: Option<Decoder<'de>>,
    /// Whether they go to the visitor of `Bson`.
    is_for_bson: bool,
}

impl<'de> Elements<'de> {
    /// The elements that these bytes are, in so many documents and arrays.
    #[inline]
    pub(super) fn of(bytes: &'de [u8], depth: usize) -> Elements<'de> {
        Elements {
            rest: bytes,
            depth,
            value: None,
            is_for_bson: false,
        }
    }

    /// The same for the visitor of `Bson`, if they are.
    #[inline]
    pub(super) fn for_bson(self, is_for_bson: bool) -> Elements<'de> {
        Elements { is_for_bson, ..self }
    }

    #[inline]
    fn next(&mut self) -> Result<Option<(&'de [u8], Decoder<'de>)>> {
        let Some((&kind, named)) = self.rest.split_first() else {
            return Ok(None);
        };
        let end = shape::name_end(named).ok_or(Unfit::Left)?;
        let (name, value) = named.split_at_checked(end).ok_or(Unfit::Left)?;
        let value = value.get(1..).ok_or(Unfit::Left)?;
        Ok(Some((name, self.take(kind, value)?)))
    }

    /// The value of this kind that starts these bytes, which are what is left. A call would cost as much as all else.
    #[inline(always)]
    fn take(&mut self, kind: u8, bytes: &'de [u8]) -> Result<Decoder<'de>> {
        let size = shape::value_size(kind, bytes).ok_or(Unfit::Left)?;
        let (value, rest) = bytes.split_at_checked(size).ok_or(Unfit::Left)?;
        self.rest = rest;
        let depth = self.depth;
        Ok(Decoder { kind, value, depth })
    }

    /// The next value if it has this name.
    #[inline]
    fn named(&mut self, name: &str) -> Result<Option<Decoder<'de>>> {
        let Some((&kind, named)) = self.rest.split_first() else {
            return Ok(None);
        };
        let Some([0, value @ ..]) = named.strip_prefix(name.as_bytes()) else {
            return Ok(None);
        };
        self.take(kind, value).map(Some)
    }

    /// The next name; its value is put by.
    #[inline]
    fn name(&mut self) -> Result<Option<Name<'de>>> {
        let Some((name, value)) = self.next()? else {
            return Ok(None);
        };
        if self.is_for_bson
            && name.starts_with(b"$")
            && let Some(shown) = SHOWN.iter().find(|shown| shown.as_bytes() == name)
        {
            return Err(unfit::shows_another(shown));
        }
        self.value = Some(value);
        Ok(Some(Name(name)))
    }

    #[inline]
    fn value(&mut self) -> Result<Decoder<'de>> {
        self.value.take().ok_or(Unfit::Left)
    }
}

impl<'de> MapAccess<'de> for Elements<'de> {
    type Error = Unfit;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        match self.name()? {
            Some(name) => seed.deserialize(name).map(Some),
            None => Ok(None),
        }
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        seed.deserialize(self.value()?)
    }
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Unfit;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        match self.next()? {
            Some((_, value)) => seed.deserialize(value).map(Some),
            None => Ok(None),
        }
    }
}

impl<'de> EnumAccess<'de> for Elements<'de> {
    type Error = Unfit;
    type Variant = Decoder<'de>;

    #[inline]
    fn variant_seed<V: DeserializeSeed<'de>>(mut self, seed: V) -> Result<(V::Value, Decoder<'de>)> {
        let name = self.name()?.ok_or(Unfit::Left)?;
        let variant = seed.deserialize(name)?;
        Ok((variant, self.value()?))
    }
}

/// The elements of a document that has the fields of a struct in their order.
pub(super) struct InOrder<'de> {
    elements: Elements<'de>,
    fields: &'static [&'static str],
}

impl<'de> InOrder<'de> {
    /// Nothing where the document has others, more, fewer, or another order.
    #[inline]
    pub(super) fn of(
        document: &Decoder<'de>,
        fields: &'static [&'static str],
    ) -> Result<Option<InOrder<'de>>> {
        let mut elements = document.elements()?;
        for field in fields {
            if elements.named(field)?.is_none() {
                return Ok(None);
            }
        }
        if !elements.rest.is_empty() {
            return Ok(None);
        }
        let elements = document.elements()?;
        Ok(Some(InOrder { elements, fields }))
    }

    /// Whether all were taken.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.fields.is_empty()
    }
}

impl<'de> SeqAccess<'de> for InOrder<'de> {
    type Error = Unfit;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some((field, rest)) = self.fields.split_first() else {
            return Ok(None);
        };
        self.fields = rest;
        let value = self.elements.named(field)?.ok_or(Unfit::Left)?;
        seed.deserialize(value).map(Some)
    }
}
