//! Making a failing sequence short.

/// A shortest sequence, as far as leaving out runs of steps finds one, that still fails. `fails` is asked of
/// subsequences only, so that operations must make sense, if only as refusals, without those before them.
pub async fn shrink<T: Clone>(steps: &[T], mut fails: impl AsyncFnMut(&[T]) -> bool) -> Vec<T> {
    let mut kept = steps.to_vec();
    let mut width = kept.len().div_ceil(2);
    while width > 0 {
        let mut shorter = false;
        let mut at = 0;
        while at < kept.len() {
            let mut fewer = kept.clone();
            fewer.drain(at..(at + width).min(kept.len()));
            if fails(&fewer).await {
                kept = fewer;
                shorter = true;
            } else {
                at += width;
            }
        }
        if !shorter || width > 1 {
            width /= 2;
        }
    }
    kept
}

#[tokio::test]
async fn what_does_not_matter_is_left_out() {
    let steps: Vec<u32> = (0..1_000).collect();
    let fails = async |steps: &[u32]| steps.contains(&17) && steps.contains(&700) && steps.contains(&701);
    assert_eq!(shrink(&steps, fails).await, [17, 700, 701]);
}
