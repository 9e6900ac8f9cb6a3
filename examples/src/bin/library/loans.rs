//! Loans: due at closing time where the library is, with fines for each local day, and reminders that are not forgotten.

use std::time::Instant;

use bson::DateTime;
use bson::oid::ObjectId;
use odm::{Db, Model, Ref};
use odm_patterns::money::{Accounts, Decimal, Money, Rounding};
use odm_patterns::queue::{Failure, Job, New, Queue, Task, Worker};
use odm_patterns::time::{Appointment, Choice, Happened, Period, Unit, Zones};
use serde::{Deserialize, Serialize};

use crate::models::{Book, Patron};
use crate::show::{Show, table};

/// Where the library is.
const ZONE: &str = "America/New_York";
/// What each day costs that a book comes late.
const FINE: &str = "0.25 USD";

/// A book that somebody took home.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "loans")]
#[odm(index(keys(due.date)))]
struct Loan {
    #[serde(rename = "_id")]
    id: ObjectId,
    book: Ref<Book>,
    patron: Ref<Patron>,
    /// An instant, and what the clock on the wall showed.
    lent: Happened,
    /// A time on that clock: if the country changes its rules, the loan is still due at closing time.
    due: Appointment,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    fine: Option<Money>,
}

/// Something that is to be done later.
#[derive(Debug, Serialize, Deserialize)]
struct Reminder {
    patron: String,
    loan: ObjectId,
}

impl Job for Reminder {
    fn kind(&self) -> &str {
        "reminder"
    }
}

/// Lends a book over the night in which the clocks change, and takes it back late.
pub async fn tour(db: &Db, show: &mut Show) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let zones = Zones::bundled();
    let zone = zones.get(ZONE)?;
    let loans = db.collection::<Loan>();
    loans.sync_indexes().await?;
    let lent: Happened = "2026-10-10T17:45:00-04:00[America/New_York]".parse()?;
    let due = Appointment::new("2026-10-31T18:00".parse()?, ZONE, Choice::Compatible, &zones)?;
    let loan = Loan {
        id: ObjectId::new(),
        book: Ref::new("moby-dick".to_owned()),
        patron: Ref::new("joe".to_owned()),
        lent,
        due,
        fine: None,
    };
    loans.insert(&loan).await?;

    // The reminder is enqueued once, and is due with the loan.
    let reminders: Queue<Reminder> = Queue::new(db, "reminders");
    reminders.prepare().await?;
    let reminder = Reminder {
        patron: "joe".to_owned(),
        loan: loan.id,
    };
    let unique = format!("loan {}", loan.id);
    reminders
        .enqueue(New::job(reminder).unique(unique).at(loan.due.date))
        .await?;

    // Days are those of the wall: the second of these has 25 hours.
    let returned: Happened = "2026-11-03T09:10:00-05:00[America/New_York]".parse()?;
    let late = Period::covering(Unit::Day, loan.due.date..returned.date, &zone)?;
    let days = late.len() - 1;
    let fine = FINE
        .parse::<Money>()?
        .times(&Decimal::from(days as i64), Rounding::HalfEven)?;
    loans
        .update_one(|l| l.id.eq(loan.id), |l| l.fine.set(fine.clone()))
        .await?;

    // Paid once, however often the desk says so.
    let accounts = Accounts::new(db);
    accounts.sync_indexes().await?;
    for account in ["joe", "fines"] {
        accounts.open(account, fine.currency(), None).await?;
    }
    let key = format!("fine of loan {}", loan.id);
    for _ in 0..2 {
        accounts.transfer(&key, "joe", "fines", &fine).await?;
    }
    let owed = accounts.balance("joe").await?;

    let worker = Worker::new(&reminders).until_empty();
    let summary = worker
        .run(
            async |task: Task<Reminder>| {
                let loan = task.job.loan;
                match loans.get(loan).await? {
                    Some(loan) => Ok(loan.due.date),
                    None => Err(Failure::dead("there is no such loan")),
                }
            },
            std::future::pending(),
        )
        .await;
    show.step("a loan, a fine, a reminder", start);
    table(
        "A loan over the end of summer time",
        &["of the loan", ""],
        [
            ("due", loan.due.happened().to_string()),
            ("returned", returned.to_string()),
            ("days late", days.to_string()),
            (
                "their hours",
                late.iter()
                    .map(|day| day.hours().to_string())
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
            ("fine", fine.to_string()),
            ("joe's account", owed.to_string()),
            ("reminders sent", summary.done.to_string()),
        ]
        .map(|(name, value)| vec![name.to_owned(), value]),
    );
    overdue(db, show).await?;
    Ok(())
}

/// What was to be back by now: a plain range of dates, by the index.
async fn overdue(db: &Db, show: &mut Show) -> odm::Result<()> {
    let start = Instant::now();
    let now: DateTime = db.now();
    let loans = db.collection::<Loan>();
    let overdue = loans.count(|l| l.due.date.lt(now) & l.fine.is_null()).await?;
    show.step("overdue", start);
    println!("Loans that are overdue: {overdue}\n");
    Ok(())
}
