//! Of which session a command is, and of which transaction: here it is of none.

use super::super::document::{Doc, Value};
use super::super::fault::{Fault, Result, code};
use super::Call;
use super::shape::{Fields, Shape, Type, wrong_type};
use super::transaction::refuse_in_transaction;

/// The fields that say it.
pub(super) const FIELDS: &[&str] = &[
    "lsid",
    "txnNumber",
    "txnRetryCounter",
    "autocommit",
    "startTransaction",
    "coordinator",
];

static SESSION: Shape = Shape {
    name: "OperationSessionInfo.lsid",
    fields: &[
        ("id", Type::Uuid),
        ("uid", Type::Uuid),
        ("txnNumber", Type::Long),
        ("txnUUID", Type::Uuid),
    ],
    required: &["id"],
};

/// Commands that need no login: they are of no transaction.
const OPEN: &[&str] = &["buildInfo", "buildinfo", "hello", "isMaster", "ismaster", "ping"];

/// Commands that a driver may send again.
const RETRYABLE: &[&str] = &["delete", "findAndModify", "findandmodify", "insert", "update"];

/// What a command says of its session, by its types.
struct Info<'a> {
    session: Option<Fields<'a>>,
    number: Option<i64>,
    retry: Option<i32>,
    autocommit: Option<bool>,
    start: Option<bool>,
}

/// Checks what a command says of its session. A transaction does not begin by these fields, and does not go on; and what
/// a write did is kept under no number, so that one with a number is refused: whoever gives it one relies on it being
/// done once, however often it is sent.
///
/// # Errors
/// MongoDB's: 14, 207, 40414 and 40415 for what is no session, 72 for fields that go together, 263 for a command that
/// no transaction takes, 50768 for a number of what is not to be sent again. Unsupported (115) for a transaction, and for a
/// write that may be sent again.
pub(super) fn check(call: &Call<'_>) -> Result<()> {
    let info = Info::of(call.doc)?;
    if OPEN.contains(&call.name) {
        info.check_open()?;
    }
    if info.session.is_none() && info.number.is_some() {
        return Err(invalid(
            "Transaction number requires a session ID to also be specified",
        ));
    }
    info.check_transaction()?;
    match (info.autocommit, info.number) {
        (Some(_), _) => {
            check_database(call)?;
            refuse_in_transaction(call.name)?;
            if call.name == "killCursors" && info.start.is_some() {
                return Err(Fault::new(
                    code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
                    "Cannot run killCursors as the first operation in a multi-document transaction.",
                ));
            }
            Err(Fault::unsupported(
                "the embedded engine runs no command of a transaction that is begun by a command's own fields; \
                 transactions are begun with Db::transaction",
            ))
        }
        (None, Some(_)) if !RETRYABLE.contains(&call.name) => Err(Fault::new(
            50_768,
            format!(
                "txnNumber may only be provided for multi-document transactions and retryable write commands. \
                 autocommit:false was not provided, and {} is not a retryable write command.",
                call.name
            ),
        )),
        (None, Some(_)) => Err(Fault::unsupported(
            "the embedded engine does not know a write that is sent again by its txnNumber, and would do it again; \
             leave out txnNumber: no reply of the engine is lost on the way",
        )),
        (None, None) => Ok(()),
    }
}

fn check_database(call: &Call<'_>) -> Result<()> {
    let text = match call.database {
        "local" => "Cannot run command against the 'local' database in a transaction.",
        "config" => "Cannot run command against the config database in a transaction.",
        _ => return Ok(()),
    };
    Err(Fault::new(code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION, text))
}

impl<'a> Info<'a> {
    /// Reads the fields in their order.
    fn of(doc: Doc<'a>) -> Result<Info<'a>> {
        let mut info = Info {
            session: None,
            number: None,
            retry: None,
            autocommit: None,
            start: None,
        };
        for element in doc.elements() {
            let (name, value) = (element.name_str(), element.value());
            if !FIELDS.contains(&name) || matches!(value, Value::Null | Value::Undefined) {
                continue;
            }
            match (name, value) {
                ("lsid", Value::Document(session)) => info.session = Some(read_session(session)?),
                ("txnNumber", Value::Int64(number)) => info.number = Some(number),
                ("txnRetryCounter", Value::Int32(counter)) => info.retry = Some(counter),
                ("autocommit", Value::Bool(flag)) => info.autocommit = Some(flag),
                ("startTransaction", Value::Bool(flag)) => info.start = Some(flag),
                ("coordinator", Value::Bool(_)) => {}
                _ => {
                    let wanted = match name {
                        "lsid" => "type 'object'",
                        "txnNumber" => "type 'long'",
                        "txnRetryCounter" => "type 'int'",
                        _ => "type 'bool'",
                    };
                    return Err(wrong_type(&format!("OperationSessionInfo.{name}"), value, wanted));
                }
            }
        }
        Ok(info)
    }

    /// Refuses what a command that needs no login may not say.
    fn check_open(&self) -> Result<()> {
        if self.autocommit.is_some() {
            return Err(Fault::new(
                code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
                "This command is not supported in transactions",
            ));
        }
        match self.number {
            Some(_) => Err(Fault::new(
                50_889,
                "It is illegal to provide a txnNumber for this command",
            )),
            None => Ok(()),
        }
    }

    /// Refuses fields that do not go together.
    fn check_transaction(&self) -> Result<()> {
        let session = self.session.as_ref();
        if session.is_some_and(|own| own.get("txnNumber").is_some() && own.get("txnUUID").is_none()) {
            return Err(invalid(
                "Cannot specify txnNumber in lsid without specifying txnUUID",
            ));
        }
        if self.autocommit.is_none() && session.is_some_and(|own| own.get("txnUUID").is_some()) {
            return Err(invalid(
                "Internal sessions are not supported outside of transactions",
            ));
        }
        match self.number {
            Some(..0) => return Err(invalid("Transaction number cannot be negative")),
            None if self.autocommit.is_some() => {
                return Err(invalid(
                    "'autocommit' field requires a transaction number to also be specified",
                ));
            }
            _ => {}
        }
        match self.retry {
            Some(_) if self.number.is_some() && self.autocommit.is_none() => {
                return Err(invalid("Cannot specify txnRetryCounter for a retryable write"));
            }
            _ => {}
        }
        match (self.autocommit, self.start) {
            (Some(true), _) => Err(invalid("Specifying autocommit=true is not allowed.")),
            (None, Some(_)) => Err(invalid(
                "'startTransaction' field requires 'autocommit' field to also be specified",
            )),
            (_, Some(false)) => Err(invalid("Specifying startTransaction=false is not allowed.")),
            _ => Ok(()),
        }
    }
}

/// Reads the name of a session.
fn read_session(session: Doc<'_>) -> Result<Fields<'_>> {
    let fields = SESSION.part(session)?;
    for (name, wanted, expected) in [("id", 4, "UUID"), ("uid", 0, "general"), ("txnUUID", 4, "UUID")] {
        let Some(Value::Binary { subtype, bytes }) = fields.get(name) else {
            continue;
        };
        if subtype != wanted {
            return Err(Fault::new(
                code::TYPE_MISMATCH,
                format!(
                    "BSON field '{}.{name}' is the wrong binData type '{}', expected type '{expected}'",
                    SESSION.name,
                    shown(subtype)
                ),
            ));
        }
        match (name, bytes.len()) {
            ("uid", 32) => {}
            ("uid", length) => {
                return Err(Fault::new(
                    12,
                    format!("Unsupported SHA256Block hash length: {length}"),
                ));
            }
            (_, 16) => {}
            _ => {
                return Err(Fault::new(
                    207,
                    "uuid must be a 16-byte binary field with UUID (4) subtype",
                ));
            }
        }
    }
    Ok(fields)
}

/// The server's name of a kind of bytes.
fn shown(subtype: u8) -> &'static str {
    match subtype {
        0 => "general",
        1 => "function",
        2 => "byte(deprecated)",
        3 => "UUID(deprecated)",
        4 => "UUID",
        5 => "MD5",
        6 => "encrypt",
        7 => "column",
        128 => "Custom",
        _ => "invalid",
    }
}

fn invalid(text: &'static str) -> Fault {
    Fault::new(code::INVALID_OPTIONS, text)
}
