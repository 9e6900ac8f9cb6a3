macro_rules! on_every_backend {
    ($($case:ident),+ $(,)?) => {
        crate::on_backend! { memory Memory $($case)+ }
        crate::on_backend! { native Native $($case)+ }
        crate::on_backend! { mongodb MongoDb $($case)+ }
    };
}
macro_rules! on_backend {
    ($module:ident $target:ident $($case:ident)+) => {
        mod $module {
            $(#[test]
            fn $case() {
                odm_tests::harness::run(odm_tests::harness::Target::$target, |db| async move {
                    super::$case(&db).await;
                });
            })+
        }
    };
}
pub(crate) use {on_backend, on_every_backend};
#[path = "suite/local_time.rs"]
mod local_time;
#[path = "suite/local_time_zones.rs"]
mod local_time_zones;
#[path = "suite/money.rs"]
mod money;
#[path = "suite/money_accounts.rs"]
mod money_accounts;
#[path = "suite/money_exact.rs"]
mod money_exact;
#[path = "suite/money_tables.rs"]
mod money_tables;
