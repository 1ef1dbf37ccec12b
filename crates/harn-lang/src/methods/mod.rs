//! The methods of values.
//!
//! A method that only computes is a function here. One that calls functions, or makes an iterator, is written in
//! Harn, in the prelude, and is told here by its name.

mod dict;
mod list;
mod range;
mod set;
mod string;

use crate::builtins::PureFn;

/// How a method is carried out.
#[derive(Clone, Copy)]
pub enum Method {
    /// The first argument is the receiver; it may be taken, to be changed in place.
    Pure(PureFn),
    /// A function of the prelude, called with the receiver and the arguments.
    Prelude(&'static str),
}

/// The method of a type, or none: then the call gives nil.
pub fn find(type_name: &str, method: &str) -> Option<Method> {
    match type_name {
        "list" => list::find(method),
        "string" => string::find(method),
        "dict" => dict::find(method),
        "set" => set::find(method),
        "range" => range::find(method),
        "iter" => iter(method),
        "generator" | "stream" if method == "iter" => iter(method),
        _ => None,
    }
}

/// The methods of iterators, which ranges have too.
fn iter(method: &str) -> Option<Method> {
    let full = |name: &&(&'static str, _)| name.0.strip_prefix("iter_") == Some(method);
    PRELUDE.iter().find(full).map(|(name, _)| Method::Prelude(name))
}

/// What the prelude must define for the methods, and what each is to do. The first argument is the receiver.
/// Where a function is expected and something else is given, the result is nil, or false for tests; iterators throw
/// `Type error: iter.NAME: expected callable`, and `expected non-negative int` for counts.
pub static PRELUDE: &[(&str, &str)] = &[
    ("list_map", "(list, f): a list of f(item)"),
    ("list_filter", "(list, f): the items for which f(item) is truthy"),
    ("list_reduce", "(list, init, f): f(so far, item) for each item, starting with init"),
    ("list_find", "(list, f): the first item for which f(item) is truthy, or nil"),
    ("list_find_index", "(list, f): the index of the first item for which f(item) is truthy, or -1"),
    ("list_any", "(list, f): whether f(item) is truthy for some item"),
    ("list_all", "(list, f): whether f(item) is truthy for all items"),
    ("list_none", "(list, f?): whether f(item), or the item itself without f, is truthy for no item"),
    ("list_flat_map", "(list, f): a list of f(item), lists among the results taken apart"),
    (
        "list_sort_by",
        "(list, f): the items in the order of f(item), stable, f called once for each: sort pair(f(item), index)",
    ),
    ("list_partition", "(list, f): [[items for which f(item) is truthy], [the others]]"),
    ("list_group_by", "(list, f): a dict of lists of the items under the printed f(item)"),
    ("list_min_by", "(list, f): the first item with the smallest f(item), or nil"),
    ("list_max_by", "(list, f): the first item with the largest f(item), or nil"),
    ("list_iter", "(list): iter(list)"),
    ("string_iter", "(string): iter(string)"),
    ("dict_map_values", "(dict, f): the dict with f(value) for each value"),
    ("dict_map_keys", "(dict, f): the dict with the printed f(key) for each key"),
    ("dict_filter", "(dict, f): the entries for which f(value) is truthy"),
    ("dict_iter", "(dict): iter(dict)"),
    ("set_map", "(set, f): a set of f(item)"),
    ("set_filter", "(set, f): the items for which f(item) is truthy, as a set"),
    ("set_any", "(set, f): whether f(item) is truthy for some item"),
    ("set_all", "(set, f): whether f(item) is truthy for all items"),
    ("set_iter", "(set): iter(set)"),
    ("iter_iter", "(source): iter(source)"),
    ("iter_map", "(source, f): lazily f(item)"),
    ("iter_filter", "(source, f): lazily the items for which f(item) is truthy"),
    ("iter_flat_map", "(source, f): lazily the items of each f(item)"),
    ("iter_take", "(source, n): lazily the first n items"),
    ("iter_skip", "(source, n): lazily the items after the first n"),
    ("iter_take_while", "(source, f): lazily the items up to the first for which f(item) is not truthy"),
    ("iter_skip_while", "(source, f): lazily the items from the first for which f(item) is not truthy"),
    ("iter_zip", "(source, other): lazily pairs of items, as long as both have one"),
    ("iter_enumerate", "(source): lazily pairs of index and item"),
    ("iter_chain", "(source, other): lazily the items of both"),
    ("iter_chunks", "(source, n): lazily lists of n items, the last one maybe shorter"),
    ("iter_windows", "(source, n): lazily lists of n items in a row"),
    ("iter_to_list", "(source): a list of the items"),
    ("iter_to_set", "(source): a set of the items"),
    ("iter_to_dict", "(source): a dict of the items, which must be pairs"),
    ("iter_count", "(source): how many items there are"),
    ("iter_sum", "(source): the sum of the numbers"),
    ("iter_min", "(source): the first of the smallest items, or nil"),
    ("iter_max", "(source): the first of the largest items, or nil"),
    ("iter_reduce", "(source, init, f): f(so far, item) for each item, starting with init"),
    ("iter_first", "(source): the first item, or nil"),
    ("iter_last", "(source): the last item, or nil"),
    ("iter_any", "(source, f): whether f(item) is truthy for some item; stops there"),
    ("iter_all", "(source, f): whether f(item) is truthy for all items; stops at the first other"),
    ("iter_find", "(source, f): the first item for which f(item) is truthy, or nil; stops there"),
    ("iter_for_each", "(source, f): calls f(item) for each item; nil"),
];
