use odm_patterns::queue::Queue;

async fn numbers(db: &odm::Db) -> odm::Result<()> {
    let queue: Queue<i32> = Queue::new(db, "numbers");
    queue.enqueue(1).await?;
    Ok(())
}

fn main() {}
