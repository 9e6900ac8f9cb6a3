//! Makes a freshly started `mongod --replSet odm` on a loopback port a replica set of one, waits until it takes
//! writes, and prints its URL.

use std::time::{Duration, Instant};

use bson::doc;
use odm::mongodb::driver::Client;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::args()
        .nth(1)
        .ok_or("usage: replica-set PORT")?
        .parse()?;
    let host = format!("127.0.0.1:{port}");
    let deadline = Instant::now() + Duration::from_secs(60);
    let direct = format!("mongodb://{host}/?directConnection=true&serverSelectionTimeoutMS=2000");
    let admin = Client::with_uri_str(&direct).await?.database("admin");
    let config = doc! { "_id": "odm", "members": [{ "_id": 0, "host": &host }] };
    let mut initiated = false;
    loop {
        if !initiated {
            // 23: it is initialised already.
            initiated = match admin
                .run_command(doc! { "replSetInitiate": config.clone() })
                .await
            {
                Ok(_) => true,
                Err(error) => error.to_string().contains("already initialized"),
            };
        }
        if initiated
            && let Ok(hello) = admin.run_command(doc! { "hello": 1 }).await
            && hello.get_bool("isWritablePrimary").unwrap_or(false)
        {
            println!("mongodb://{host}/?replicaSet=odm");
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("{host} did not become a primary within a minute").into());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
