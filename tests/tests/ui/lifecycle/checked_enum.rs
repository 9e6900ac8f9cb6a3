use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
#[odm(validate = check)]
enum Kind {
    One { pages: i32 },
}

fn check(_: &Kind) -> Result<(), String> {
    Ok(())
}

fn main() {}
