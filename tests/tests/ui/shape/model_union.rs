#[derive(odm::Model)]
union Book {
    id: i32,
}

fn main() {}
