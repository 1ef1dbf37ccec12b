//! Values: scalars unboxed, everything else immutable behind a shared pointer and updated in place when unshared.
//!
//! Nothing here can form a cycle: what changes over time (iterators, generators, channels, tasks, atomics) lives in
//! tables of the VM, and a value only holds its number. Every container knows how deep it is, so that the VM can
//! refuse values on which walking, comparing or dropping would recurse too far.

mod dict;
mod print;
mod set;
mod text;

use std::sync::Arc;

pub use dict::{Dict, Wanted};
pub use print::printed_within;
pub use set::Set;
pub use text::Text;

/// How deep a value may be nested.
pub const MAX_DEPTH: u16 = 500;

#[derive(Clone, Debug, Default)]
pub enum Value {
    #[default]
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// Milliseconds.
    Duration(i64),
    Str(Arc<Text>),
    Bytes(Arc<Vec<u8>>),
    List(Arc<List>),
    Dict(Arc<Dict>),
    Set(Arc<Set>),
    Range(Arc<Range>),
    Pair(Arc<Pair>),
    Enum(Arc<EnumValue>),
    Struct(Arc<StructValue>),
    Closure(Arc<Closure>),
    /// A builtin by its number in the registry.
    Builtin(u16),
    /// Something that lives in the VM.
    Handle(Arc<Handle>),
}

/// Items in order.
#[derive(Clone, Debug, Default)]
pub struct List {
    items: Vec<Value>,
    depth: u16,
}

/// Whole numbers from `start` on, without `end` itself. What was written is kept for printing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub start: i64,
    pub end: i64,
    pub exclusive: bool,
}

#[derive(Clone, Debug)]
pub struct Pair {
    pub first: Value,
    pub second: Value,
    depth: u16,
}

#[derive(Clone, Debug)]
pub struct EnumValue {
    pub name: Arc<str>,
    pub variant: Arc<str>,
    pub fields: Vec<Value>,
    depth: u16,
}

#[derive(Clone, Debug)]
pub struct StructValue {
    pub name: Arc<str>,
    pub fields: Dict,
}

/// A function with the values that it captured when it was made.
#[derive(Clone, Debug)]
pub struct Closure {
    /// Its number in the program.
    pub function: u32,
    pub captures: Box<[Value]>,
    /// The names of its parameters, for printing.
    pub params: Arc<[Arc<str>]>,
    depth: u16,
}

/// The number of something that lives in the VM. When the last value with this handle is gone, so is the thing.
#[derive(Debug)]
pub struct Handle {
    pub kind: HandleKind,
    pub id: u32,
    /// What its printed form shows: a channel's name, an atomic's number at the time of creation, a task's id.
    pub label: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleKind {
    Iter,
    Generator,
    Stream,
    Task,
    Channel,
    Atomic,
    Rng,
    SyncPermit,
    McpClient,
}

impl Value {
    pub fn str(text: impl Into<String>) -> Self {
        Self::Str(Arc::new(Text::new(text)))
    }

    pub fn list(items: Vec<Value>) -> Self {
        Self::List(Arc::new(List::new(items)))
    }

    pub fn dict(dict: Dict) -> Self {
        Self::Dict(Arc::new(dict))
    }

    /// A dict of known keys.
    pub fn record<const N: usize>(fields: [(&str, Value); N]) -> Self {
        Self::dict(fields.into_iter().map(|(key, value)| (Arc::new(Text::new(key)), value)).collect())
    }

    pub fn pair(first: Value, second: Value) -> Self {
        let depth = first.depth().max(second.depth()).saturating_add(1);
        Self::Pair(Arc::new(Pair { first, second, depth }))
    }

    pub fn variant(name: Arc<str>, variant: Arc<str>, fields: Vec<Value>) -> Self {
        let depth = depth_over(&fields);
        Self::Enum(Arc::new(EnumValue { name, variant, fields, depth }))
    }

    pub fn ok(value: Value) -> Self {
        Self::variant("Result".into(), "Ok".into(), vec![value])
    }

    pub fn err(value: Value) -> Self {
        Self::variant("Result".into(), "Err".into(), vec![value])
    }

    /// The payload of a `Result`, as Rust has it; none for anything else.
    pub fn as_result(&self) -> Option<Result<Value, Value>> {
        let Self::Enum(value) = self else { return None };
        let payload = || value.fields.first().cloned().unwrap_or_default();
        match (&*value.name, &*value.variant) {
            ("Result", "Ok") => Some(Ok(payload())),
            ("Result", "Err") => Some(Err(payload())),
            _ => None,
        }
    }

    /// Nothing on the heap.
    #[inline(always)]
    pub fn is_scalar(&self) -> bool {
        matches!(self, Self::Nil | Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Duration(_))
    }

    /// As an assignment, but a scalar that was there is not dropped, which would look at all types.
    #[inline(always)]
    pub fn put(&mut self, value: Self) {
        if self.is_scalar() {
            std::mem::forget(std::mem::replace(self, value));
        } else {
            *self = value;
        }
    }

    /// Numbers are written into the place where a number is, without a value that is made first and then moved.
    #[inline(always)]
    pub fn put_int(&mut self, number: i64) {
        match self {
            Self::Int(place) => *place = number,
            Self::Nil => std::mem::forget(std::mem::replace(self, Self::Int(number))),
            other => other.become_int(number),
        }
    }

    #[inline(always)]
    pub fn put_float(&mut self, number: f64) {
        match self {
            Self::Float(place) => *place = number,
            other => other.become_float(number),
        }
    }

    #[inline(never)]
    fn become_int(&mut self, number: i64) {
        self.put(Self::Int(number));
    }

    #[inline(never)]
    fn become_float(&mut self, number: f64) {
        self.put(Self::Float(number));
    }

    /// What `type_of` answers.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Duration(_) => "duration",
            Self::Str(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Dict(_) => "dict",
            Self::Set(_) => "set",
            Self::Range(_) => "range",
            Self::Pair(_) => "pair",
            Self::Enum(_) => "enum",
            Self::Struct(_) => "struct",
            Self::Closure(_) => "closure",
            Self::Builtin(_) => "builtin",
            Self::Handle(handle) => handle.kind.type_name(),
        }
    }

    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Int(value) | Self::Duration(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Str(text) => !text.as_str().is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(list) => !list.items.is_empty(),
            Self::Dict(dict) => !dict.is_empty(),
            Self::Set(set) => !set.is_empty(),
            _ => true,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text.as_str()),
            _ => None,
        }
    }

    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(list) => Some(&list.items),
            _ => None,
        }
    }

    pub fn as_dict(&self) -> Option<&Dict> {
        match self {
            Self::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// An int or a float.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The printed form for people to read, cut off when it is very long; a string is its own.
    pub fn display(&self) -> String {
        print::shown(self)
    }

    /// 0 for what holds no values.
    pub fn depth(&self) -> u16 {
        match self {
            Self::List(list) => list.depth,
            Self::Dict(dict) => dict.depth(),
            Self::Set(set) => set.depth(),
            Self::Pair(pair) => pair.depth,
            Self::Enum(value) => value.depth,
            Self::Struct(value) => value.fields.depth(),
            Self::Closure(closure) => closure.depth,
            _ => 0,
        }
    }

    /// Roughly the bytes that it takes by itself, without the values that it holds.
    pub fn own_size(&self) -> usize {
        const HEAD: usize = 48;
        match self {
            Self::Str(text) => HEAD + text.as_str().len(),
            Self::Bytes(bytes) => HEAD + bytes.len(),
            Self::List(list) => HEAD + list.items.len() * 16,
            Self::Dict(dict) => HEAD + dict.len() * 40,
            Self::Set(set) => HEAD + set.len() * 32,
            Self::Enum(value) => HEAD + value.fields.len() * 16,
            Self::Struct(value) => HEAD + value.fields.len() * 40,
            Self::Closure(closure) => HEAD + closure.captures.len() * 16,
            Self::Pair(_) | Self::Range(_) | Self::Handle(_) => HEAD,
            _ => 0,
        }
    }
}

impl HandleKind {
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Iter => "iter",
            Self::Generator => "generator",
            Self::Stream => "stream",
            Self::Task => "task_handle",
            Self::Channel => "channel",
            Self::Atomic => "atomic",
            Self::Rng => "rng",
            Self::SyncPermit => "sync_permit",
            Self::McpClient => "mcp_client",
        }
    }
}

fn depth_over(values: &[Value]) -> u16 {
    values.iter().map(Value::depth).max().unwrap_or(0).saturating_add(1)
}

impl List {
    pub fn new(items: Vec<Value>) -> Self {
        let depth = depth_over(&items);
        Self { items, depth }
    }

    pub fn push(&mut self, value: Value) {
        self.depth = self.depth.max(value.depth().saturating_add(1));
        self.items.push(value);
    }

    /// The items, to be changed in ways that do not make them deeper.
    pub fn items_mut(&mut self) -> &mut Vec<Value> {
        &mut self.items
    }

    pub fn set(&mut self, index: usize, value: Value) {
        self.depth = self.depth.max(value.depth().saturating_add(1));
        if let Some(place) = self.items.get_mut(index) {
            *place = value;
        }
    }

    /// An item, to be changed into something that is at most so deep.
    pub fn item_mut(&mut self, index: usize, depth: u16) -> &mut Value {
        self.depth = self.depth.max(depth.saturating_add(1));
        &mut self.items[index]
    }

    pub fn into_items(self) -> Vec<Value> {
        self.items
    }
}

impl std::ops::Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}

impl Range {
    pub fn len(&self) -> u64 {
        let end = i128::from(self.end) + i128::from(!self.exclusive);
        u64::try_from((end - i128::from(self.start)).max(0)).unwrap_or(u64::MAX)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn contains(&self, value: i64) -> bool {
        value >= self.start && if self.exclusive { value < self.end } else { value <= self.end }
    }
}

impl Closure {
    pub fn new(function: u32, captures: Box<[Value]>, params: Arc<[Arc<str>]>) -> Self {
        let depth = depth_over(&captures);
        Self { function, captures, params, depth }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::str(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::str(text)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::list(items)
    }
}

/// Structural equality, as `==` has it: numbers by value, sets without order, closures, durations and most handles
/// never equal.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        let mut parts = u64::MAX;
        self.equals_within(other, &mut parts).unwrap_or(false)
    }
}

impl Value {
    /// Whether two values are equal; none if that takes a look at more parts than are left. A value that holds another
    /// one many times has far more parts than it takes memory.
    pub fn equals_within(&self, other: &Self, parts: &mut u64) -> Option<bool> {
        *parts = parts.checked_sub(1)?;
        Some(match (self, other) {
            (Self::Nil, Self::Nil) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Int(a), Self::Float(b)) | (Self::Float(b), Self::Int(a)) => *a as f64 == *b,
            (Self::Float(a), Self::Float(b)) => a == b,
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::List(a), Self::List(b)) => all_equal(a, b, parts)?,
            (Self::Dict(a), Self::Dict(b)) => a.equals_within(b, parts)?,
            (Self::Set(a), Self::Set(b)) => a.equals_within(b, parts)?,
            (Self::Range(a), Self::Range(b)) => a == b,
            (Self::Pair(a), Self::Pair(b)) => {
                a.first.equals_within(&b.first, parts)? && a.second.equals_within(&b.second, parts)?
            }
            (Self::Enum(a), Self::Enum(b)) => {
                a.name == b.name && a.variant == b.variant && all_equal(&a.fields, &b.fields, parts)?
            }
            (Self::Struct(a), Self::Struct(b)) => {
                a.name == b.name && a.fields.equals_within(&b.fields, parts)?
            }
            (Self::Handle(a), Self::Handle(b)) => {
                a.kind == HandleKind::Task && b.kind == HandleKind::Task && a.id == b.id
            }
            _ => false,
        })
    }
}

fn all_equal(a: &[Value], b: &[Value], parts: &mut u64) -> Option<bool> {
    if a.len() != b.len() {
        return Some(false);
    }
    for (a, b) in a.iter().zip(b) {
        if !a.equals_within(b, parts)? {
            return Some(false);
        }
    }
    Some(true)
}

/// How many parts of two pairs are compared. Beyond them pairs count as equal: pairs that hold others many times have
/// more parts than anybody can look at.
const COMPARED_PARTS: u32 = 4096;

/// The order of `<`, sorting, `min` and `max`. Things that have none between them count as equal.
pub fn compare(a: &Value, b: &Value) -> std::cmp::Ordering {
    match (a, b) {
        (Value::Pair(_), Value::Pair(_)) => compare_within(a, b, &mut { COMPARED_PARTS }),
        _ => compare_scalars(a, b),
    }
}

fn compare_within(a: &Value, b: &Value, parts: &mut u32) -> std::cmp::Ordering {
    let (Value::Pair(first), Value::Pair(second)) = (a, b) else { return compare_scalars(a, b) };
    if *parts == 0 || Arc::ptr_eq(first, second) {
        return std::cmp::Ordering::Equal;
    }
    *parts -= 1;
    compare_within(&first.first, &second.first, parts)
        .then_with(|| compare_within(&first.second, &second.second, parts))
}

fn compare_scalars(a: &Value, b: &Value) -> std::cmp::Ordering {
    use std::cmp::Ordering::Equal;
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Str(a), Value::Str(b)) => a.as_str().cmp(b.as_str()),
        (a, b) => match (a.as_number(), b.as_number()) {
            (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or(Equal),
            _ => Equal,
        },
    }
}
