//! Statistics of lists of numbers.

use super::args::{self, at};
use super::{Cx, Value};
use crate::fault::Fault;

type Answer = Result<Value, Fault>;

fn numbers(cx: &mut Cx<'_>, args: &[Value], name: &str) -> Result<Vec<f64>, Fault> {
    let Some(items) = args::sequence(cx, args, 0)? else {
        return Err(Fault::thrown(format!("{name}: items must be a list, got {}", at(args, 0).type_name())));
    };
    if items.is_empty() {
        return Err(Fault::thrown(format!("{name}: items must not be empty")));
    }
    cx.work(items.len());
    cx.charge(items.len().saturating_mul(8))?;
    let number = |item: &Value| {
        item.as_number()
            .ok_or_else(|| Fault::thrown(format!("{name}: items must be numbers, got {}", item.type_name())))
    };
    items.iter().map(number).collect()
}

fn average(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

pub fn mean(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(Value::Float(average(&numbers(cx, args, "mean")?)))
}

pub fn median(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let mut numbers = numbers(cx, args, "median")?;
    numbers.sort_by(f64::total_cmp);
    Ok(Value::Float(between(&numbers, 0.5)))
}

pub fn percentile(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let mut numbers = numbers(cx, args, "percentile")?;
    let p = at(args, 1).as_number().unwrap_or(f64::NAN);
    if !(0.0..=100.0).contains(&p) {
        return Err(Fault::thrown("percentile: percentile must be between 0 and 100"));
    }
    numbers.sort_by(f64::total_cmp);
    Ok(Value::Float(between(&numbers, p / 100.0)))
}

/// The number at a part of the way through sorted numbers, linearly between its neighbours.
fn between(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

fn spread(cx: &mut Cx<'_>, args: &[Value], name: &str) -> Result<f64, Fault> {
    let numbers = numbers(cx, args, name)?;
    let is_sample = at(args, 1).is_truthy();
    if is_sample && numbers.len() < 2 {
        return Err(Fault::thrown(format!("{name}: sample {name} requires at least 2 values")));
    }
    let mean = average(&numbers);
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    Ok(squares / (numbers.len() - usize::from(is_sample)) as f64)
}

pub fn variance(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(Value::Float(spread(cx, args, "variance")?))
}

pub fn stddev(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(Value::Float(spread(cx, args, "stddev")?.sqrt()))
}
