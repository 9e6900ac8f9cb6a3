//! Database URLs.

use std::path::PathBuf;
use std::time::Duration;

use super::options::Durability;
use crate::error::{Error, ErrorKind, Result};

/// The database of `memory:` and `native:` when the URL names none.
const DEFAULT_DATABASE: &str = "main";

const MAX_DATABASE_NAME: usize = 63;

/// Where a database is, as its URL says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// The embedded engine, in memory or in a directory.
    Native {
        /// `None` is memory.
        directory: Option<PathBuf>,
        database: String,
        durability: Option<Durability>,
        create: Option<bool>,
        read_only: Option<bool>,
    },
    /// A MongoDB server; the URL is the driver's to read, and names a database.
    MongoDb { url: String },
}

/// Reads a database URL.
///
/// Texts of errors show the URL without its credentials.
pub(super) fn parse(url: &str) -> Result<Address> {
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(invalid(
            "the URL has no scheme: use `memory:`, `native:path/to/dir` or `mongodb://host/database`",
            url,
        ));
    };
    match scheme {
        "memory" => {
            let (path, query) = split_query(rest);
            if !matches!(path, "" | "//") {
                let text = "`memory:` takes no path: every opening is a new, empty database";
                return Err(invalid(text, url));
            }
            match native(None, query, url)? {
                Address::Native {
                    durability: Some(Durability::Immediate | Durability::Interval(_)),
                    ..
                } => {
                    let text = "`memory:` is on no disk: its `durability` can only be `none`";
                    Err(invalid(text, url))
                }
                Address::Native {
                    create: Some(false), ..
                } => {
                    let text = "`memory:` is always new: `create` can only be `true`";
                    Err(invalid(text, url))
                }
                address => Ok(address),
            }
        }
        "native" => {
            let (path, query) = split_query(rest);
            let path = decode(path.strip_prefix("//").unwrap_or(path), url)?;
            if path.is_empty() {
                return Err(invalid(
                    "the URL names no directory: use `native:path/to/dir`",
                    url,
                ));
            }
            native(Some(PathBuf::from(path)), query, url)
        }
        "mongodb" | "mongodb+srv" => {
            let Some(rest) = rest.strip_prefix("//") else {
                return Err(invalid(
                    "the URL must begin with `mongodb://` or `mongodb+srv://`",
                    url,
                ));
            };
            let database = mongodb_database(rest);
            if database.is_empty() {
                let text =
                    "the URL names no database: put its name after the host, as in `mongodb://host/library`";
                return Err(invalid(text, url));
            }
            Ok(Address::MongoDb { url: url.to_owned() })
        }
        _ => Err(invalid(
            "the URL's scheme is unknown; known are `memory:`, `native:`, `mongodb:` and `mongodb+srv:`",
            url,
        )),
    }
}

/// Checks a database's name by MongoDB's rules.
pub(crate) fn check_database_name(name: &str) -> Result<()> {
    let bad = |c: char| {
        matches!(
            c,
            '/' | '\\' | '.' | ' ' | '"' | '$' | '*' | '<' | '>' | ':' | '|' | '?' | '\0'
        )
    };
    let text = match name {
        "" => "the database's name is empty",
        _ if name.len() > MAX_DATABASE_NAME => "the database's name is longer than 63 bytes",
        _ if name.contains(bad) => {
            "the database's name has a character that is not allowed: one of /\\. \"$*<>:|? or NUL"
        }
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidArgument, text).with_namespace(name))
}

fn native(directory: Option<PathBuf>, query: &str, url: &str) -> Result<Address> {
    let mut database = DEFAULT_DATABASE.to_owned();
    let mut durability = None;
    let mut create = None;
    let mut read_only = None;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decode(value, url)?;
        match name {
            "database" => database = value,
            "durability" => durability = Some(parse_durability(&value, url)?),
            "create" => {
                let text = "`create` must be `true` or `false`";
                create = Some(flag(&value).ok_or_else(|| invalid(text, url))?);
            }
            "readOnly" => {
                let text = "`readOnly` must be `true` or `false`";
                read_only = Some(flag(&value).ok_or_else(|| invalid(text, url))?);
            }
            _ => {
                let text = "the URL has an unknown option; known are `database`, `durability`, `create` and `readOnly`";
                return Err(invalid(text, url));
            }
        }
    }
    check_database_name(&database)?;
    Ok(Address::Native {
        directory,
        database,
        durability,
        create,
        read_only,
    })
}

fn flag(text: &str) -> Option<bool> {
    match text {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

fn parse_durability(text: &str, url: &str) -> Result<Durability> {
    match text {
        "immediate" => Ok(Durability::Immediate),
        "none" => Ok(Durability::None),
        _ => match text.strip_suffix("ms").and_then(|millis| millis.parse().ok()) {
            Some(millis) => Ok(Durability::Interval(Duration::from_millis(millis))),
            None => Err(invalid(
                "`durability` must be `immediate`, `none` or milliseconds such as `100ms`",
                url,
            )),
        },
    }
}

fn split_query(rest: &str) -> (&str, &str) {
    rest.split_once('?').unwrap_or((rest, ""))
}

/// The database in what follows `mongodb://`; empty when there is none.
fn mongodb_database(rest: &str) -> &str {
    let (location, _) = split_query(rest);
    // A password may hold an unescaped slash only by mistake; what follows the last `@` is hosts and database.
    let hosts = location.rsplit_once('@').map_or(location, |(_, hosts)| hosts);
    hosts.split_once('/').map_or("", |(_, database)| database)
}

fn decode(text: &str, url: &str) -> Result<String> {
    if !text.contains('%') {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        match (tail.first().and_then(digit), tail.get(1).and_then(digit)) {
            (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
            _ => {
                return Err(invalid(
                    "a `%` in the URL is not followed by two hexadecimal digits",
                    url,
                ));
            }
        }
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| invalid("the URL is not UTF-8 once its `%` escapes are read", url))
}

fn invalid(message: &'static str, url: &str) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        format!("{message}: `{}`", redact(url)),
    )
}

/// The URL without user and password, nor options, which may hold secrets too.
fn redact(url: &str) -> String {
    let (location, _) = split_query(url);
    let Some((scheme, rest)) = location.split_once("://") else {
        // `mongodb:user:password@host` is malformed, but may still hold a password.
        return match location.rsplit_once('@') {
            Some((_, hosts)) => format!("***@{hosts}"),
            None => location.to_owned(),
        };
    };
    match rest.rsplit_once('@') {
        Some((_, hosts)) => format!("{scheme}://***@{hosts}"),
        None => location.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native(directory: Option<&str>, database: &str) -> Address {
        Address::Native {
            directory: directory.map(PathBuf::from),
            database: database.to_owned(),
            durability: None,
            create: None,
            read_only: None,
        }
    }

    #[test]
    fn reads_each_scheme() {
        for (url, expected) in [
            ("memory:", native(None, "main")),
            ("memory:?database=library", native(None, "library")),
            ("native:./data", native(Some("./data"), "main")),
            ("native:///var/lib/x", native(Some("/var/lib/x"), "main")),
            ("native:/a%20b?database=c", native(Some("/a b"), "c")),
            ("native:C:\\data", native(Some("C:\\data"), "main")),
        ] {
            assert_eq!(parse(url).unwrap(), expected, "{url}");
        }
        for url in [
            "mongodb://localhost/library",
            "mongodb+srv://u:p@h.example/x?retryWrites=true",
        ] {
            assert_eq!(parse(url).unwrap(), Address::MongoDb { url: url.to_owned() });
        }
    }

    #[test]
    fn reads_options() {
        let Address::Native {
            durability, create, ..
        } = parse("native:d?durability=50ms&create=false").unwrap()
        else {
            panic!("not native");
        };
        assert_eq!(durability, Some(Durability::Interval(Duration::from_millis(50))));
        assert_eq!(create, Some(false));
        let expected = Address::Native {
            directory: None,
            database: "library".to_owned(),
            durability: Some(Durability::None),
            create: Some(true),
            read_only: None,
        };
        let url = "memory:?database=library&create=true&durability=none";
        assert_eq!(parse(url).unwrap(), expected);
    }

    #[test]
    fn refuses_with_a_hint() {
        for (url, hint) in [
            ("library", "no scheme"),
            ("postgres://localhost/x", "known are `memory:`"),
            ("memory:library", "takes no path"),
            ("memory:?durability=immediate", "can only be `none`"),
            ("memory:?durability=100ms", "can only be `none`"),
            ("memory:?create=false", "always new"),
            ("native:", "no directory"),
            ("native:d?durable=yes", "known are `database`"),
            ("native:d?durability=often", "`100ms`"),
            ("native:d?database=a.b", "not allowed"),
            ("native:a%2", "two hexadecimal digits"),
            ("mongodb:localhost/x", "must begin with"),
            ("mongodb://localhost", "names no database"),
            ("mongodb://localhost/?replicaSet=rs", "names no database"),
        ] {
            let error = parse(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{url}");
            assert!(error.to_string().contains(hint), "{url}: {error}");
        }
    }

    #[test]
    fn never_shows_credentials() {
        for url in [
            "mongodb://ann:hunter2@localhost",
            "mongodb:ann:hunter2@localhost",
            "mongdb://ann:hun/ter2@localhost/x",
            "mongodb://localhost/?password=hunter2",
        ] {
            let text = parse(url).unwrap_err().to_string();
            assert!(!text.contains("hunter2") && !text.contains("hun/ter2"), "{text}");
        }
    }
}
