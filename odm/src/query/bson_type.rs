//! The types of stored values.

/// A type of stored values, for [`Field::has_type`](crate::Field::has_type).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BsonType {
    /// A 64-bit float.
    Double,
    /// A text.
    String,
    /// A nested document.
    Object,
    /// An array.
    Array,
    /// Bytes.
    Binary,
    /// An ObjectId.
    ObjectId,
    /// True or false.
    Boolean,
    /// Milliseconds since 1970, UTC.
    Date,
    /// Null.
    Null,
    /// A regular expression.
    Regex,
    /// JavaScript code.
    JavaScript,
    /// A 32-bit integer.
    Int32,
    /// The internal timestamp.
    Timestamp,
    /// A 64-bit integer.
    Int64,
    /// A 128-bit decimal number.
    Decimal128,
    /// The least of all values.
    MinKey,
    /// The greatest of all values.
    MaxKey,
    /// Any of the four number types.
    Number,
}

impl BsonType {
    /// MongoDB's name of the type.
    pub const fn alias(self) -> &'static str {
        match self {
            BsonType::Double => "double",
            BsonType::String => "string",
            BsonType::Object => "object",
            BsonType::Array => "array",
            BsonType::Binary => "binData",
            BsonType::ObjectId => "objectId",
            BsonType::Boolean => "bool",
            BsonType::Date => "date",
            BsonType::Null => "null",
            BsonType::Regex => "regex",
            BsonType::JavaScript => "javascript",
            BsonType::Int32 => "int",
            BsonType::Timestamp => "timestamp",
            BsonType::Int64 => "long",
            BsonType::Decimal128 => "decimal",
            BsonType::MinKey => "minKey",
            BsonType::MaxKey => "maxKey",
            BsonType::Number => "number",
        }
    }
}
