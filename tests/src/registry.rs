//! Which cases there are.

/// Makes a test of every case of the suite on one backend: `for_every_case!(Memory)`.
#[macro_export]
macro_rules! for_every_case {
    ($target:ident) => {
        $crate::make_tests! {
            $target;
            traps: every_recorded_trap;
        }
    };
}

/// Makes tests of the listed cases, a module per theme.
#[macro_export]
macro_rules! make_tests {
    ($target:ident; $($theme:ident: $($case:ident),+;)+) => {
        $(mod $theme {
            $(#[test]
            fn $case() {
                $crate::harness::run($crate::harness::Target::$target, |db| async move {
                    $crate::suite::$theme::$case(&db).await;
                });
            })+
        })+
    };
}
