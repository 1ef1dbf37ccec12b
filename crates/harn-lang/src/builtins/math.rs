//! Numbers, chance and ranges.

use std::sync::Arc;

use super::args::{self, at};
use super::{Cx, Group, pure, stats, vm};
use crate::fault::Fault;
use crate::value::{HandleKind, Range, Value, compare};

type Answer = Result<Value, Fault>;

pub static MATH: Group = Group {
    title: "Math",
    builtins: &[
        pure("abs", "n", "any", "A number without its sign.", abs),
        pure("acos", "n", "float", "The angle in radians that has this cosine.", acos),
        pure("asin", "n", "float", "The angle in radians that has this sine.", asin),
        pure("atan", "n", "float", "The angle in radians that has this tangent.", atan),
        pure("atan2", "y, x", "float", "The angle in radians of the point (x, y).", atan2),
        pure("ceil", "n", "any", "The smallest whole number that is not less.", ceil),
        pure("cos", "n", "float", "The cosine of an angle in radians.", cos),
        pure("e", "", "float", "Euler's number.", e),
        pure("exp", "n", "float", "Euler's number to the power of n.", exp),
        pure("floor", "n", "any", "The largest whole number that is not more.", floor),
        pure("is_infinite", "n", "bool", "Whether a number is infinite.", is_infinite),
        pure("is_nan", "n", "bool", "Whether a float is not a number.", is_nan),
        pure("ln", "n", "float", "The natural logarithm.", ln),
        pure("log10", "n", "float", "The logarithm to base 10.", log10),
        pure("log2", "n", "float", "The logarithm to base 2.", log2),
        pure("max", "a, b", "any", "The larger of two values, or the largest item of one list.", max),
        pure("mean", "items", "float", "The average of numbers.", stats::mean),
        pure("median", "items", "float", "The middle of numbers in order.", stats::median),
        pure("min", "a, b", "any", "The smaller of two values, or the smallest item of one list.", min),
        pure(
            "percentile",
            "items, p",
            "float",
            "The number below which p percent of the numbers lie, between two of them if need be.",
            stats::percentile,
        ),
        pure("pi", "", "float", "The ratio of a circle's circumference to its diameter.", pi),
        pure("pow", "base, exp", "any", "A power: of whole numbers a whole number, while it fits.", pow),
        pure("random", "", "float", "A random number from 0 up to 1.", random),
        pure("random_choice", "list", "any", "A random item of a list, or nil.", random_choice),
        pure(
            "random_int",
            "min, max",
            "any",
            "A random whole number between two, both included.",
            random_int,
        ),
        pure("random_shuffle", "list", "list", "The items of a list in random order.", random_shuffle),
        pure(
            "range",
            "start_or_end, end?",
            "list",
            "The whole numbers from 0, or from the first argument, up to but without the last argument.",
            range,
        ),
        vm(
            "rng_seed",
            "spec",
            "any",
            "A generator of random numbers that gives the same ones for the same seed.",
        ),
        pure("round", "n", "any", "The nearest whole number; halves go away from zero.", round),
        pure("sign", "n", "int", "-1, 0 or 1.", sign),
        pure("sin", "n", "float", "The sine of an angle in radians.", sin),
        pure("sqrt", "n", "any", "The square root.", sqrt),
        pure("stddev", "items, sample?", "float", "The standard deviation of numbers.", stats::stddev),
        pure("tan", "n", "float", "The tangent of an angle in radians.", tan),
        pure("variance", "items, sample?", "float", "The variance of numbers.", stats::variance),
    ],
};

/// Float functions of one number; what is no number gives nil.
macro_rules! float_functions {
    ($($name:ident: $function:expr;)*) => {
        $(fn $name(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
            let function: fn(f64) -> f64 = $function;
            Ok(at(args, 0).as_number().map_or(Value::Nil, |value| Value::Float(function(value))))
        })*
    };
}

float_functions! {
    acos: f64::acos;
    asin: f64::asin;
    atan: f64::atan;
    cos: f64::cos;
    exp: f64::exp;
    ln: f64::ln;
    log10: f64::log10;
    log2: f64::log2;
    sin: f64::sin;
    sqrt: f64::sqrt;
    tan: f64::tan;
}

fn pi(_: &mut Cx<'_>, _: &mut [Value]) -> Answer {
    Ok(Value::Float(std::f64::consts::PI))
}

fn e(_: &mut Cx<'_>, _: &mut [Value]) -> Answer {
    Ok(Value::Float(std::f64::consts::E))
}

fn atan2(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(match (at(args, 0).as_number(), at(args, 1).as_number()) {
        (Some(y), Some(x)) => Value::Float(y.atan2(x)),
        _ => Value::Nil,
    })
}

fn abs(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(match at(args, 0) {
        Value::Int(value) => value.checked_abs().map_or(Value::Float(-(*value as f64)), Value::Int),
        Value::Float(value) => Value::Float(value.abs()),
        Value::Duration(value) => Value::Duration(value.saturating_abs()),
        _ => Value::Nil,
    })
}

fn sign(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(match at(args, 0) {
        Value::Int(value) => Value::Int(value.signum()),
        Value::Float(value) => Value::Int(i64::from(*value > 0.0) - i64::from(*value < 0.0)),
        _ => Value::Nil,
    })
}

fn whole(args: &[Value], name: &str, rounded: fn(f64) -> f64) -> Answer {
    match at(args, 0) {
        Value::Int(value) => Ok(Value::Int(*value)),
        Value::Float(value) if value.is_finite() => Ok(Value::Int(rounded(*value) as i64)),
        Value::Float(value) => {
            Err(Fault::thrown(format!("{name}: cannot make a whole number of {value}: it is not finite")))
        }
        _ => Ok(Value::Nil),
    }
}

fn floor(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    whole(args, "floor", f64::floor)
}

fn ceil(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    whole(args, "ceil", f64::ceil)
}

fn round(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    whole(args, "round", f64::round)
}

fn is_nan(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(at(args, 0).as_number().is_some_and(f64::is_nan).into())
}

fn is_infinite(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(at(args, 0).as_number().is_some_and(f64::is_infinite).into())
}

fn min(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(extreme(args, std::cmp::Ordering::Less))
}

fn max(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(extreme(args, std::cmp::Ordering::Greater))
}

fn extreme(args: &[Value], wanted: std::cmp::Ordering) -> Value {
    match args {
        [Value::List(list)] => first_extreme(list, wanted),
        _ => first_extreme(args.get(..2).unwrap_or(args), wanted),
    }
}

/// The first of the smallest or largest values; nil when there is none.
pub fn first_extreme(values: &[Value], wanted: std::cmp::Ordering) -> Value {
    let best = values.iter().reduce(|best, value| if compare(value, best) == wanted { value } else { best });
    best.cloned().unwrap_or_default()
}

fn pow(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (base, exponent) = (at(args, 0), at(args, 1));
    if let (Value::Int(base), Value::Int(exponent)) = (base, exponent)
        && let Some(power) = u32::try_from(*exponent).ok().and_then(|exponent| base.checked_pow(exponent))
    {
        return Ok(Value::Int(power));
    }
    Ok(match (base.as_number(), exponent.as_number()) {
        (Some(base), Some(exponent)) => Value::Float(base.powf(exponent)),
        _ => Value::Nil,
    })
}

fn range(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (start, end) = match args {
        [Value::Int(end)] => (0, *end),
        [Value::Int(start), Value::Int(end), ..] => (*start, *end),
        [_, _, ..] => return Err(Fault::type_error("range(a, b): expected integer arguments")),
        _ => return Err(Fault::type_error("range(n): expected integer argument")),
    };
    Ok(Value::Range(Arc::new(Range { start, end, exclusive: true })))
}

/// The arguments after the generator that they may begin with.
fn after_rng(args: &[Value]) -> &[Value] {
    match args {
        [Value::Handle(handle), rest @ ..] if handle.kind == HandleKind::Rng => rest,
        all => all,
    }
}

fn random(cx: &mut Cx<'_>, _: &mut [Value]) -> Answer {
    Ok(Value::Float(cx.rng.fraction()))
}

fn random_int(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let args = after_rng(args);
    let (low, high) = (args::int_or(args, 0, 0), args::int_or(args, 1, i64::MAX));
    if low > high {
        return Err(Fault::thrown(format!("random_int: min {low} is larger than max {high}")));
    }
    Ok(Value::Int(cx.rng.between(low, high)))
}

fn random_choice(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let items = args::sequence(cx, after_rng(args), 0)?.unwrap_or_default();
    let chosen = cx.rng.below(items.len() as u64) as usize;
    Ok(items.get(chosen).cloned().unwrap_or_default())
}

fn random_shuffle(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let place = args.len() - after_rng(args).len();
    let mut items = match args::take(args, place) {
        list @ Value::List(_) => args::items(list).unwrap_or_default(),
        other => args::sequence(cx, &[other], 0)?.unwrap_or_default().into_owned(),
    };
    cx.work(items.len());
    cx.rng.shuffle(&mut items);
    Ok(Value::list(items))
}
