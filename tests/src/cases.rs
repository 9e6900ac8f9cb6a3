//! What makes tests of cases, on each backend.

/// Makes a test of each of these cases on each backend.
#[macro_export]
macro_rules! on_every_backend {
    ($($case:ident),+ $(,)?) => {
        mod boxed {
            $(pub(super) fn $case(db: $crate::harness::Db) -> $crate::harness::Case<'static> {
                Box::pin(async move { super::$case(&db).await })
            })+
        }
        $crate::boxed_on! { memory Memory $($case)+ }
        $crate::boxed_on! { native Native $($case)+ }
        $crate::boxed_on! { mongodb MongoDb $($case)+ }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! boxed_on {
    ($module:ident $target:ident $($case:ident)+) => {
        mod $module {
            $(#[test]
            fn $case() {
                $crate::harness::run_case($crate::harness::Target::$target, super::boxed::$case);
            })+
        }
    };
}

/// Makes a test of each of these cases on one backend.
#[macro_export]
macro_rules! on_backend {
    ($module:ident $target:ident $($case:ident)+) => {
        mod $module {
            $(#[test]
            fn $case() {
                $crate::harness::run($crate::harness::Target::$target, |db| async move {
                    super::$case(&db).await;
                });
            })+
        }
    };
}
