#[derive(odm::Embedded)]
struct Address {
    city: String,
}

fn main() {}
