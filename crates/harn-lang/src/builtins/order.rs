//! Stable sorting by an order that need not be one.

use std::cmp::Ordering;

use crate::value::{Value, compare};

/// In the order of `compare`, equals in the order in which they were.
pub fn sort(items: Vec<Value>) -> Vec<Value> {
    if !have_an_order(&items) {
        return sort_by(items, compare);
    }
    let mut items = items;
    items.sort_by(compare);
    items
}

/// The places of keys in their order, equals in the order in which they were.
pub fn places(keys: &[Value]) -> Vec<usize> {
    if let Some(numbers) = keys.iter().map(Value::as_int).collect() {
        return places_of::<i64>(numbers);
    }
    if let Some(texts) = keys.iter().map(Value::as_str).collect() {
        return places_of::<&str>(texts);
    }
    let mut places: Vec<usize> = (0..keys.len()).collect();
    let order = |a: &usize, b: &usize| compare(&keys[*a], &keys[*b]);
    if !have_an_order(keys) {
        return sort_by(places, order);
    }
    places.sort_by(order);
    places
}

/// Each key is next to its place, so that comparing them looks nowhere else.
fn places_of<K: Ord>(keys: Vec<K>) -> Vec<usize> {
    let mut keys: Vec<(K, usize)> = keys.into_iter().zip(0..).collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, place)| place).collect()
}

/// Whether they are all of one kind between which there is an order.
fn have_an_order(items: &[Value]) -> bool {
    let all = |is: fn(&Value) -> bool| items.iter().all(is);
    all(|item| matches!(item, Value::Int(_)))
        || all(|item| matches!(item, Value::Str(_)))
        || all(|item| matches!(item, Value::Float(number) if !number.is_nan()))
}

/// How many items are put in order one by one before larger parts are merged.
const RUN: usize = 16;

/// A merge sort. The one of the standard library may panic when `a < b`, `b < c` and `c < a`, which holds for
/// some values of mixed types.
pub fn sort_by<T>(items: Vec<T>, order: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut runs: Vec<Vec<T>> = Vec::with_capacity(items.len() / RUN + 1);
    for item in items {
        match runs.last_mut().filter(|run| run.len() < RUN) {
            Some(run) => {
                let at = run.iter().rposition(|known| order(&item, known) != Ordering::Less);
                run.insert(at.map_or(0, |at| at + 1), item);
            }
            None => runs.push(vec![item]),
        }
    }
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(left) = pairs.next() {
            merged.push(match pairs.next() {
                Some(right) => merge(left, right, &order),
                None => left,
            });
        }
        runs = merged;
    }
    runs.pop().unwrap_or_default()
}

fn merge<T>(left: Vec<T>, right: Vec<T>, order: &impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        let next = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if order(b, a) == Ordering::Less => right.next(),
            (Some(_), _) => left.next(),
            (None, _) => right.next(),
        };
        match next {
            Some(item) => merged.push(item),
            None => return merged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_keep_their_order_and_nonsense_does_no_harm() {
        let many: Vec<(i64, i64)> = (0..1000).map(|n| (n * 7919 % 10, n)).collect();
        let mut expected = many.clone();
        expected.sort();
        assert_eq!(sort_by(many, |a, b| a.0.cmp(&b.0)), expected);
        let pairs = vec![(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd'), (0, 'e')];
        let sorted = sort_by(pairs, |a, b| a.0.cmp(&b.0));
        assert_eq!(sorted, [(0, 'e'), (1, 'b'), (1, 'd'), (2, 'a'), (2, 'c')]);
        let mixed: Vec<Value> = (0..200)
            .map(|n: i64| match n % 4 {
                0 => Value::Int(n * 7 % 13),
                1 => Value::str(n.to_string()),
                2 => Value::Float(f64::NAN),
                _ => Value::Float((n * 5 % 11) as f64),
            })
            .collect();
        assert_eq!(sort(mixed).len(), 200);
    }
}
