//! Circular and hyperbolic functions of decimals.
//!
//! The server computes most of them with 113 binary digits: the number is rounded to these, and so is the result.

use super::super::super::super::super::document::decimal::{Decimal, MIN_EXPONENT, Rounding};
use super::fixed::Fixed;
use super::{Signed, to_exponent};

/// Numbers below ten to this power are their own sines.
const TINY: i32 = -17;

/// The exponents of a zero that some functions give.
const ZERO_EXPONENT: i32 = -40;

fn zero(negative: bool, exponent: i32) -> Decimal {
    Decimal::Finite {
        negative,
        coefficient: 0,
        exponent,
    }
}

/// By so much the exponent of any zero is lowered to the least.
const TO_LEAST: i32 = 2 * MIN_EXPONENT;

/// What is made of a zero: one of the same sign, its exponent lower by so much, but not below the least.
fn of_zero(x: Decimal, lower: i32) -> Decimal {
    let exponent = match x {
        Decimal::Finite { exponent, .. } => exponent,
        _ => 0,
    };
    zero(x.is_negative(), (exponent + lower).max(MIN_EXPONENT))
}

/// With all 34 digits.
fn in_full(x: Decimal) -> Decimal {
    to_exponent(x, MIN_EXPONENT, Rounding::HalfEven)
}

fn one() -> Decimal {
    in_full(Decimal::from_i64(1))
}

fn is_tiny(x: Decimal) -> bool {
    match x {
        Decimal::Finite {
            coefficient,
            exponent,
            ..
        } => coefficient.checked_ilog10().map_or(0, |digits| digits as i32) + exponent < TINY,
        _ => false,
    }
}

fn decimal(magnitude: Fixed, negative: bool) -> Decimal {
    Signed { negative, magnitude }.to_decimal(0)
}

/// A function that turns with the sign of its argument, of which it is given the size; `None` where that is too great
/// for it.
fn odd(
    x: Decimal,
    lower: i32,
    function: fn(Fixed) -> Option<Fixed>,
    beyond: fn(Decimal) -> Decimal,
) -> Decimal {
    let negative = x.is_negative();
    if x.is_nan() {
        return x;
    }
    if x.is_zero() {
        return of_zero(x, lower);
    }
    if is_tiny(x) {
        return in_full(x);
    }
    let result = Signed::of(x).and_then(|x| function(x.magnitude));
    match result {
        Some(result) => decimal(result, negative),
        None if negative => beyond(x.abs()).negate(),
        None => beyond(x),
    }
}

/// The sine and the cosine of up to a quarter of a turn, by their series from the nearer end.
fn sine_and_cosine(x: Fixed) -> (Fixed, Fixed) {
    if x > Fixed::PI.over(4) {
        let (sine, cosine) = sine_and_cosine(Fixed::PI.over(2).minus(x));
        return (cosine, sine);
    }
    (series(x, 1, true), series(x, 0, true))
}

/// The sum of `x^n / n!` over every other `n` from the first one on, with signs that change or without.
fn series(x: Fixed, first: u64, changes: bool) -> Fixed {
    let square = x.multiply(x);
    let mut term = if first == 0 { Fixed::whole(1) } else { x };
    let (mut added, mut taken) = (term, Fixed::ZERO);
    let mut n = first;
    while term != Fixed::ZERO {
        term = term.multiply(square).over((n + 1) * (n + 2));
        n += 2;
        if changes && (n / 2) % 2 == 1 {
            taken = taken.plus(term);
        } else {
            added = added.plus(term);
        }
    }
    added.minus(taken)
}

/// The sine and the cosine of a decimal, each with its sign; `None` beyond 2^63.
fn turned(x: Decimal) -> Option<(Signed, Signed)> {
    let x = Signed::of(x)?;
    let quarter = Fixed::PI.over(2);
    let mut turns = (x.magnitude.to_f64() / std::f64::consts::FRAC_PI_2).floor() as u64;
    while quarter.times(turns) > x.magnitude {
        turns -= 1;
    }
    let mut rest = x.magnitude.minus(quarter.times(turns));
    while rest >= quarter {
        rest = rest.minus(quarter);
        turns += 1;
    }
    let (sine, cosine) = sine_and_cosine(rest);
    let (sine, cosine) = if turns.is_multiple_of(2) {
        (sine, cosine)
    } else {
        (cosine, sine)
    };
    let signed = |magnitude, negative| Signed { negative, magnitude };
    Some((
        signed(sine, x.negative != (turns % 4 >= 2)),
        signed(cosine, matches!(turns % 4, 1 | 2)),
    ))
}

/// By doubles, where a decimal is too great.
fn by_double(x: Decimal, function: fn(f64) -> f64) -> Decimal {
    Decimal::from_f64(function(x.to_f64()))
}

pub(in super::super) fn sin(x: Decimal) -> Decimal {
    match x {
        _ if x.is_zero() => x,
        _ if is_tiny(x) => in_full(x),
        _ => turned(x).map_or_else(|| by_double(x, f64::sin), |(sine, _)| sine.to_decimal(0)),
    }
}

pub(in super::super) fn cos(x: Decimal) -> Decimal {
    match x {
        _ if is_tiny(x) => one(),
        _ => turned(x).map_or_else(|| by_double(x, f64::cos), |(_, cosine)| cosine.to_decimal(0)),
    }
}

pub(in super::super) fn tan(x: Decimal) -> Decimal {
    match x {
        _ if x.is_zero() => of_zero(x, ZERO_EXPONENT),
        _ if is_tiny(x) => in_full(x),
        _ => match turned(x) {
            Some((sine, cosine)) => {
                let magnitude = sine.magnitude.divided_by(cosine.magnitude);
                decimal(magnitude, sine.negative != cosine.negative)
            }
            None => by_double(x, f64::tan),
        },
    }
}

/// The arc tangent: near the estimate of a double its tangent is all but straight.
fn arc_tangent(x: Fixed) -> Fixed {
    if x > Fixed::whole(1) {
        return Fixed::PI
            .over(2)
            .minus(arc_tangent(Fixed::whole(1).divided_by(x)));
    }
    let estimate = Fixed::double(x.to_f64().atan());
    let (sine, cosine) = sine_and_cosine(estimate);
    let tangent = sine.divided_by(cosine);
    let (is_more, distance) = distance(x, tangent);
    let small = distance.divided_by(Fixed::whole(1).plus(x.multiply(tangent)));
    // Its own arc tangent, to the third power.
    let small = small.minus(small.multiply(small).multiply(small).over(3));
    if is_more {
        estimate.plus(small)
    } else {
        estimate.minus(small)
    }
}

/// Whether the first is more than the second, and how far they are apart.
fn distance(a: Fixed, b: Fixed) -> (bool, Fixed) {
    if a >= b {
        (true, a.minus(b))
    } else {
        (false, b.minus(a))
    }
}

pub(in super::super) fn atan(x: Decimal) -> Decimal {
    // A great number's is as much less than a quarter of a turn as its inverse says.
    let great = |x: Decimal| {
        let rest = Signed::of(Decimal::from_i64(1).divide(x)).map_or(Fixed::ZERO, |rest| rest.magnitude);
        decimal(Fixed::PI.over(2).minus(rest), false)
    };
    let function = |x: Fixed| (x < Fixed::whole(1 << 62)).then(|| arc_tangent(x.in_binary()).in_binary());
    odd(x, 0, function, great)
}

/// The arc sine of up to one.
fn arc_sine(x: Fixed) -> Fixed {
    let one = Fixed::whole(1);
    // (1 - x)(1 + x), which keeps the digits that 1 - x^2 loses.
    let cosine = one.minus(x).multiply(one.plus(x)).sqrt();
    if cosine == Fixed::ZERO {
        return Fixed::PI.over(2);
    }
    if x > cosine {
        return Fixed::PI.over(2).minus(arc_tangent(cosine.divided_by(x)));
    }
    arc_tangent(x.divided_by(cosine))
}

pub(in super::super) fn asin(x: Decimal) -> Decimal {
    odd(
        x,
        ZERO_EXPONENT,
        |x| Some(arc_sine(away_from_one(x)).in_binary()),
        |x| x,
    )
}

pub(in super::super) fn acos(x: Decimal) -> Decimal {
    let Some(given) = Signed::of(x) else {
        return x;
    };
    let magnitude = away_from_one(given.magnitude);
    let one = Fixed::whole(1);
    // Twice the arc sine of half of the chord, where the cosine itself says little.
    let of_size = match magnitude > one.over(2) {
        true => arc_sine(one.minus(magnitude).over(2).sqrt()).times(2),
        false => Fixed::PI.over(2).minus(arc_sine(magnitude)),
    };
    let angle = if given.negative {
        Fixed::PI.minus(of_size)
    } else {
        of_size
    };
    match angle == Fixed::ZERO {
        true => zero(false, MIN_EXPONENT),
        false => decimal(angle.in_binary(), false),
    }
}

/// Up to here the hyperbolic functions, and the terms of their series, are small enough.
const MODERATE: u64 = 36;

/// The hyperbolic sine and cosine of a moderate number.
fn hyperbolic(x: Fixed) -> (Fixed, Fixed) {
    (series(x, 1, false), series(x, 0, false))
}

/// Half of e to this power, which both are of a great number.
fn half_of_exp(x: Decimal) -> Decimal {
    match (Signed::of(x), Signed::ln(Decimal::from_i64(2))) {
        (Some(x), Some(of_two)) if x.magnitude < Fixed::whole(15_000) => {
            let magnitude = x.magnitude.minus(of_two.magnitude);
            Signed { magnitude, ..x }.exp()
        }
        _ => Decimal::Infinity { negative: false },
    }
}

pub(in super::super) fn sinh(x: Decimal) -> Decimal {
    let function = |x: Fixed| (x < Fixed::whole(MODERATE)).then(|| hyperbolic(x.in_binary()).0.in_binary());
    odd(x, ZERO_EXPONENT, function, half_of_exp)
}

pub(in super::super) fn cosh(x: Decimal) -> Decimal {
    if x.is_nan() {
        return x;
    }
    if x.is_zero() || is_tiny(x) {
        return one();
    }
    match Signed::of(x) {
        Some(x) if x.magnitude < Fixed::whole(MODERATE) => {
            decimal(hyperbolic(x.magnitude.in_binary()).1.in_binary(), false)
        }
        _ => half_of_exp(x.abs()),
    }
}

pub(in super::super) fn tanh(x: Decimal) -> Decimal {
    let function = |x: Fixed| {
        (x < Fixed::whole(MODERATE)).then(|| {
            let (sine, cosine) = hyperbolic(x.in_binary());
            sine.divided_by(cosine).in_binary()
        })
    };
    odd(x, 0, function, |x| {
        let one = Decimal::from_i64(1);
        let two = Decimal::from_i64(2);
        let below = super::exp(x.multiply(two).negate()).multiply(two);
        let tangent = one.subtract(below);
        if tangent.compare(&one).is_eq() {
            one
        } else {
            tangent
        }
    })
}

/// The inverse of the hyperbolic sine, of a moderate number: near the estimate of a double it is all but straight.
fn area_sine(x: Fixed) -> Fixed {
    let estimate = Fixed::double(x.to_f64().asinh());
    let (sine, cosine) = hyperbolic(estimate);
    let (is_more, distance) = distance(x, sine);
    let step = distance.divided_by(cosine);
    let bend = step.multiply(step).multiply(sine.divided_by(cosine)).over(2);
    match is_more {
        true => estimate.plus(step).minus(bend),
        false => estimate.minus(step).minus(bend),
    }
}

/// The logarithm of twice a great number.
fn ln_of_twice(x: Decimal) -> Decimal {
    match (Signed::ln(x), Signed::ln(Decimal::from_i64(2))) {
        (Some(log), Some(of_two)) => log.plus(of_two).to_decimal(0),
        _ => x,
    }
}

/// What the inverse of a hyperbolic function of a great number is beside that: less than the last digit of the
/// greatest.
fn beside(x: Decimal) -> Decimal {
    let square = x.multiply(x).multiply(Decimal::from_i64(4));
    Decimal::from_i64(1).divide(square)
}

pub(in super::super) fn asinh(x: Decimal) -> Decimal {
    // The library computes it in binary, where what is so small is zero.
    let least = Decimal::Finite {
        negative: false,
        coefficient: 3_237_587_559_719_012_555_462_219_479_113_823,
        exponent: -4966 - 33,
    };
    if !x.is_nan() && !x.is_zero() && x.abs().compare(&least).is_le() {
        return if x.is_negative() {
            Decimal::ZERO.negate()
        } else {
            Decimal::ZERO
        };
    }
    let function = |x: Fixed| (x < Fixed::whole(1 << 50)).then(|| area_sine(x.in_binary()).in_binary());
    odd(x, TO_LEAST, function, |x| match x.is_infinite() {
        true => x,
        false => ln_of_twice(x).add(beside(x)),
    })
}

pub(in super::super) fn acosh(x: Decimal) -> Decimal {
    match Signed::of(x) {
        Some(x) if x.magnitude <= Fixed::whole(1) => Decimal::ZERO,
        Some(x) if x.magnitude < Fixed::whole(1 << 50) => {
            let half = away_from_one(x.magnitude).minus(Fixed::whole(1)).over(2);
            decimal(area_sine(half.sqrt()).times(2).in_binary(), false)
        }
        _ if x.is_nan() || x.is_infinite() => x,
        _ => ln_of_twice(x).subtract(beside(x)),
    }
}

/// The number in binary, unless it is so near to one that what is between them would be lost.
fn away_from_one(x: Fixed) -> Fixed {
    let (_, distance) = distance(x, Fixed::whole(1));
    if distance < Fixed::whole(1).over(100) {
        x
    } else {
        x.in_binary()
    }
}

pub(in super::super) fn atanh(x: Decimal) -> Decimal {
    if x.abs().compare(&Decimal::from_i64(1)).is_eq() {
        return Decimal::Infinity {
            negative: x.is_negative(),
        };
    }
    // Of the number whose hyperbolic sine is as far from the tangent as the cosine says.
    let function = |x: Fixed| {
        let x = away_from_one(x);
        let one = Fixed::whole(1);
        let cosine = one.minus(x).multiply(one.plus(x)).sqrt();
        (cosine != Fixed::ZERO).then(|| area_sine(x.divided_by(cosine)).in_binary())
    };
    odd(x, TO_LEAST, function, |x| by_double(x, f64::atanh))
}

/// The angle of a point, always with all digits.
pub(in super::super) fn atan2(y: Decimal, x: Decimal) -> Decimal {
    if y.is_nan() || x.is_nan() {
        return Decimal::NAN;
    }
    let (below, behind) = (y.is_negative(), x.is_negative());
    let angle = |angle: Fixed| {
        decimal(
            if behind { Fixed::PI.minus(angle) } else { angle }.in_binary(),
            below,
        )
    };
    let (up, along) = match (y.is_infinite(), x.is_infinite()) {
        (true, true) => {
            // These are without their last digit.
            let coefficient = match behind {
                true => 2_356_194_490_192_344_928_846_982_537_459_627,
                false => 785_398_163_397_448_309_615_660_845_819_876,
            };
            return Decimal::Finite {
                negative: below,
                coefficient,
                exponent: -33,
            };
        }
        (true, false) => return angle(Fixed::PI.over(2)),
        (false, true) => (None, Some(0)),
        (false, false) => (leading(y), leading(x)),
    };
    let (up, along) = match (up, along) {
        (Some(_), None) => return angle(Fixed::PI.over(2)),
        (None, _) if !behind => return zero(below, MIN_EXPONENT),
        (None, _) => return angle(Fixed::ZERO),
        (Some(up), Some(along)) => (up, along),
    };
    // Both as parts of a power of ten near the greater one.
    let greatest = up.max(along);
    let part = |number: Decimal, tens: i32| match number {
        Decimal::Finite {
            coefficient,
            exponent,
            ..
        } => Fixed::decimal(coefficient, exponent - tens).unwrap_or(Fixed::ZERO),
        _ => Fixed::ZERO,
    };
    let (high, wide) = (part(y, greatest), part(x, greatest));
    if high > wide {
        return angle(Fixed::PI.over(2).minus(arc_tangent(wide.divided_by(high))));
    }
    if behind || up - along > SLIGHT {
        return angle(arc_tangent(high.divided_by(wide)));
    }
    let size = y.abs().divide(x);
    if size.compare(&LEAST_ANGLE).is_lt() {
        return if below { size.negate() } else { size };
    }
    // Of so little the arc tangent is what the first two terms of its series say.
    let slope = high.divided_by(wide);
    let shrunk = Fixed::whole(1).minus(slope.multiply(slope).over(3));
    let slope = Signed {
        negative: below,
        magnitude: part(y, up).divided_by(part(x, along)).multiply(shrunk),
    };
    in_full(slope.to_decimal(up - along))
}

/// Below ten to this power a slope is all but its angle.
const SLIGHT: i32 = -13;

/// What is less is not rounded in binary.
const LEAST_ANGLE: Decimal = Decimal::Finite {
    negative: false,
    coefficient: 1,
    exponent: -36,
};

/// The power of ten of the first digit; `None` of zero.
fn leading(x: Decimal) -> Option<i32> {
    match x {
        Decimal::Finite {
            coefficient,
            exponent,
            ..
        } => Some(coefficient.checked_ilog10()? as i32 + exponent),
        _ => None,
    }
}

/// Degrees as radians, by a constant of 34 digits.
pub(in super::super) fn to_radians(x: Decimal) -> Decimal {
    x.multiply(Decimal::Finite {
        negative: false,
        coefficient: 1_745_329_251_994_329_576_923_690_768_488_613,
        exponent: -35,
    })
}

/// Radians as degrees, by a constant of 34 digits.
pub(in super::super) fn to_degrees(x: Decimal) -> Decimal {
    x.multiply(Decimal::Finite {
        negative: false,
        coefficient: 5_729_577_951_308_232_087_679_815_481_410_517,
        exponent: -32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_give_34_digits() {
        type Function = fn(Decimal) -> Decimal;
        for (function, x, expected) in [
            (sin as Function, "0", "0"),
            (sin, "1.5", "0.9974949866040544309417233711414873"),
            (cos, "0", "1.000000000000000000000000000000000"),
            (tan, "1", "1.557407724654902230506974807458360"),
            (asin, "-1", "-1.570796326794896619231321691639751"),
            (acos, "1", "0E-6176"),
            (atan, "Infinity", "1.570796326794896619231321691639751"),
            (sinh, "1", "1.175201193643801456882381850595601"),
            (cosh, "100", "1.344058570908067724206312775790007E+43"),
            (tanh, "0.5", "0.4621171572600097585023184836436726"),
            (tanh, "100", "1"),
            (asinh, "10", "2.998222950297969738846595537596454"),
            (acosh, "10", "2.993222846126380897912667713774183"),
            (atanh, "0.5", "0.5493061443340548456976226184612628"),
            (to_radians, "45", "0.7853981633974483096156608458198758"),
            (to_degrees, "2.5", "143.2394487827058021919953870352629"),
        ] {
            assert_eq!(function(Decimal::parse(x).unwrap()).to_string(), expected, "{x}");
        }
    }

    #[test]
    fn angles_of_points_give_34_digits() {
        for (y, x, expected) in [
            ("1", "0", "1.570796326794896619231321691639751"),
            ("-1", "-0", "-1.570796326794896619231321691639751"),
            ("0", "-1", "3.141592653589793238462643383279503"),
            ("-0", "1", "-0E-6176"),
            ("0", "0", "0E-6176"),
            ("Infinity", "-Infinity", "2.356194490192344928846982537459627"),
            ("-Infinity", "1", "-1.570796326794896619231321691639751"),
            ("1", "-Infinity", "3.141592653589793238462643383279503"),
            ("-1", "Infinity", "-0E-6176"),
            ("1", "1E+12", "9.999999999999999999999996666666667E-13"),
            ("1", "1E+17", "1.000000000000000000000000000000000E-17"),
            ("3", "7E+34", "4.285714285714285714285714285714286E-35"),
            ("-2", "8E+50", "-2.5E-51"),
            ("3E-6000", "7E+6000", "0E-6176"),
            ("3", "-7E+20", "3.141592653589793238458357668993789"),
            ("7E+20", "3", "1.570796326794896619227035977354037"),
            ("7E-100", "-3E-100", "1.975688113079980042543394620649194"),
            ("1E+5000", "3E+5000", "0.3217505543966421934014046143586613"),
            ("1.5", "1E+13", "1.499999999999999999999999988750000E-13"),
        ] {
            let [up, along] = [y, x].map(|text| Decimal::parse(text).unwrap());
            assert_eq!(atan2(up, along).to_string(), expected, "{y} {x}");
        }
    }
}
