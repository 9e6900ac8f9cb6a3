//! How often which page was looked at, by the hour and day, in documents that are made for reading.

use std::time::Instant;

use bson::DateTime;
use odm::{Db, Result};
use odm_patterns::counter::{Counters, Event, Key, Layout, Shape};
use odm_patterns::period::Unit;

use crate::models::Book;
use crate::show::{Show, table};

/// An hour in milliseconds.
const HOUR: i64 = 3_600_000;

/// Counts visits of three days, and reports them.
pub async fn tour(db: &Db, show: &mut Show) -> Result<()> {
    let start = Instant::now();
    let shape =
        Shape::new(Layout::per(Unit::Month).by(Unit::Day)).also(Layout::per(Unit::Day).by(Unit::Hour));
    let visits = Counters::new(db, "visits", shape)?;
    let books = db.collection::<Book>();
    let shown = books.find_all().sort(|b| b.title.asc()).limit(3).await?;
    let first = DateTime::builder()
        .year(2026)
        .month(11)
        .day(1)
        .build()
        .expect("a date");
    let at = |hours: i64| DateTime::from_millis(first.timestamp_millis() + hours * HOUR);
    for (book, step) in shown.iter().zip([5, 7, 11]) {
        let page = Key::of("page", format!("/books/{}", book.id));
        visits.preallocate(&page, first).await?;
        for hour in (0..72).step_by(step) {
            // Sent twice, counted once: every visit has an id.
            for _ in 0..2 {
                let event = Event::of(page.clone()).at(at(hour)).id(format!("visit {hour}"));
                visits.record(event).await?;
            }
        }
    }
    let mut rows = Vec::new();
    for book in &shown {
        let page = Key::of("page", format!("/books/{}", book.id));
        let days = visits.report(&page, first..at(72), Unit::Day).await?;
        let mut row = vec![book.title.clone()];
        row.extend(days.counts().iter().map(i64::to_string));
        rows.push(row);
    }
    show.step("visits", start);
    table("Visits by day", &["page", "1 Nov", "2 Nov", "3 Nov"], rows);
    Ok(())
}
