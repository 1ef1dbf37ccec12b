//! Correct programs, about which the checker has nothing to say.

use std::fs;
use std::path::Path;

use super::support::{errors, fine};

/// Those of the specification, and those that the formatter is tested with.
#[test]
fn programs_of_the_specification() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        // Nonsense that calls what is not there, and imports of modules that are not there.
        let is_nonsense =
            |message: &String| message.contains("call target") || message.contains("stdlib module");
        let found: Vec<String> = errors(&text).into_iter().filter(|message| !is_nonsense(message)).collect();
        assert_eq!(found, Vec::<String>::new(), "{}", path.display());
        count += 1;
    }
    assert!(count > 10);
}

/// The examples of the documentation; those of the page on types that show an error say which.
#[test]
fn examples_of_the_documentation() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/language");
    let mut pages: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    for page in pages.iter().filter(|page| page.extension().is_some_and(|end| end == "md")) {
        let text = fs::read_to_string(page).unwrap();
        for block in text.split("```harn").skip(1) {
            let Some((kind, rest)) = block.split_once('\n') else { continue };
            let code = rest.split("```").next().unwrap();
            let found = errors(code);
            // Elsewhere, errors may be those of a run.
            if kind == ",error" && page.ends_with("types.md") {
                let wanted = code.lines().next().unwrap().trim_start_matches("// error: ");
                assert!(found.iter().any(|message| message.contains(wanted)), "{code}\n{found:?}");
            } else if kind.is_empty() {
                let is_import =
                    |message: &&String| !message.contains("stdlib module") && !message.contains("Import");
                assert_eq!(found.iter().find(is_import), None, "{}: {code}", page.display());
            }
        }
    }
}

#[test]
fn numbers_texts_and_lists() {
    fine(&[
        "let f: float = 1\nlet g: float = f + 1\nlet n: int = 7 / 2\nlet h: float = 7.0 / 2\nprintln([f, g, n, h])",
        "let xs: list<float> = [1, 2, 3]\nlet ys: list<int | nil> = [1, nil]\nlet zs: list<string | nil> = [\"a\"]\nprintln([xs, ys, zs])",
        "let xs: list = [1, \"a\"]\nlet ys: list<int> = xs\nlet zs: list<any> = [1, nil]\nprintln([ys, zs])",
        "let grid: list<list<int>> = [[1, 2], [3, 4]]\nlet cell: int = grid[0][1]\nprintln(cell)",
        "let empty: list<string> = []\nlet d: dict<string, list<int>> = {a: [1], b: []}\nlet e: dict = {}\nprintln([empty, d, e])",
        "let row = [\"a\", 1, nil]\nlet name: string = row[0]\nlet n: int = row[1]\nprintln([name, n])",
        "let people = [{name: \"A\", age: 3}, {name: \"B\", age: 4}]\nfn names(xs: list<{name: string}>) -> list { return xs.map({ p -> p.name }) }\nprintln(names(people))",
        "let xs = [1, 2]\nfn f(xs: list<int | nil>) { return xs }\nprintln(f(xs))",
        "let words: list<string> = \"a b\".split(\" \")\nlet n: int = words.count()\nlet s: string = words.join(\"-\")\nprintln([n, s])",
        "var xs: list<int> = []\nfor i in 1 to 3 { xs = xs.push(i) }\nlet total: int = xs.sum()\nprintln(total)",
        "var out = []\nout = out.push(\"a\")\nout = out + [1]\nlet t: list<string> = out\nprintln(t)",
        "let r: range = 1 to 5\nlet xs: list<int> = r.to_list()\nlet it: iter<int> = xs.iter()\nprintln([xs, it.count()])",
        "let d = 5s\nlet e: duration = d + 3s\nsleep(e)",
        "let b: bytes = bytes_from_string(\"a\")\nlet n: int = bytes_len(b)\nprintln(n)",
        "let p: Pair<int, string> = pair(1, \"a\")\nlet q: pair = p\nprintln(q)",
        "let s: set = set(1, 2)\nlet t: set<int> = s\nprintln(t)",
        "var total = 0\nfor x in [1, 2] { total += x }\nlet n: int = total\nprintln(n)",
        "var x = 1\nx = 2.5\nlet f: float = x\nprintln(f)",
    ]);
}

#[test]
fn shapes_dicts_and_aliases() {
    fine(&[
        "type User = {name: string, age?: int}\nlet u: User = {name: \"A\"}\nlet v: User = {name: \"B\", age: 3, extra: true}\nlet w: User = {name: \"C\", age: nil}\nprintln([u, v, w])",
        "type User = {name: string}\nlet d: dict = {name: \"A\"}\nlet u: User = d\nlet e: dict = u\nlet f: dict<string, string> = {a: \"b\"}\nlet g: User = f\nprintln([u, e, g])",
        "fn make() { return {name: \"A\"} }\nlet u: {name: string, age: int} = make()\nprintln(u)",
        "let u: {name: string} = json_parse(\"{}\")\nlet name: string = u.name\nprintln(name)",
        "let base = {a: 1}\nlet both: {a: int, b: int} = {...base, b: 2}\nprintln(both)",
        "let key = \"a\"\nlet d: {a: int} = {[key]: 1}\nprintln(d)",
        "type Option<T> = {some: T} | {none: bool}\nlet a: Option<int> = {some: 1}\nlet b: Option<string> = {none: true}\nprintln([a, b])",
        "type Box<T> = {value: T}\nlet a: Box<int | string> = {value: 1}\nlet b: Box<int | string> = {value: \"a\"}\nprintln([a, b])",
        "type Both<T> = {a: T, b: T}\nlet x: Both<int | string> = {a: 1, b: \"x\"}\nprintln(x)",
        "type Id = string | int\nfn show(id: Id) -> string { return \"${id}\" }\nprintln(show(1) + show(\"a\"))",
        "type Level = \"low\" | \"high\"\nlet l: Level = \"low\"\nfn f(l: Level) { return l }\nlet s = \"hi\" + \"gh\"\nprintln([f(\"high\"), f(s), f(l)])",
        "type Config = {retries: int, nested: {on: bool, tags: list<string>}}\nlet c: Config = {retries: 1, nested: {on: true, tags: [\"a\", \"b\"]}}\nlet {retries, nested} = c\nlet n: int = retries\nprintln([n, nested.on])",
        "type Handler = fn(string) -> nil\nlet h: Handler = { s -> println(s) }\nh(\"a\")",
        "type Tree = {value: int, kids: list<Tree>}\nfn sum(t: Tree) -> int {\n  var total = t.value\n  for kid in t.kids { total = total + sum(kid) }\n  return total\n}\nprintln(sum({value: 1, kids: [{value: 2, kids: []}]}))",
        "type Json = nil | bool | int | float | string | list<Json> | dict<string, Json>\nlet j: Json = {a: [1, \"x\", nil, {b: true}]}\nprintln(j)",
        "var d = {count: 0}\nd.count = d.count + 1\nd.name = \"x\"\nlet s: string = d.name\nprintln(s)",
        "var user: {name: string, tags?: list<string>} = {name: \"a\"}\nuser.tags = [\"x\"]\nprintln(user.tags ?? [])",
        "let opts: {n?: int} = {}\nlet n: int = opts.n ?? 3\nlet m: int = opts?.n ?? 4\nprintln(n + m)",
        "pipeline default(task) {\n  type Row = {id: int}\n  fn ids(rows: list<Row>) -> list<int> { return rows.map({ r -> r.id }) }\n  println(ids([{id: 1}]))\n}",
        "type A = {kind: \"a\", x: int}\ntype B = {kind: \"b\", y: string}\ntype AB = A | B\nfn make(n: int) -> AB {\n  if n > 0 { return {kind: \"a\", x: n} }\n  return {kind: \"b\", y: \"z\"}\n}\nprintln(make(1))",
        "let settings = {deep: {list: [1, 2]}}\nlet xs: list<int> = settings.deep.list\nprintln(xs)",
        "let handlers = {greet: { name -> \"hi ${name}\" }}\nlet s: string = handlers.greet(\"a\")\nprintln(s)",
        "let x: any = 5\nlet s: string = x\nlet u: unknown = s\nlet v: unknown = u\nprintln(v)",
    ]);
}

#[test]
fn functions_and_generics() {
    fine(&[
        "fn map_all<T, U>(xs: list<T>, f: fn(T) -> U) -> list<U> {\n  var out: list<U> = []\n  for x in xs { out = out.push(f(x)) }\n  return out\n}\nlet ys: list<string> = map_all([1, 2], { n: int -> \"${n}\" })\nprintln(ys)",
        "fn first<T>(xs: list<T>, default: T) -> T { return xs[0] ?? default }\nlet n: int = first([1], 0)\nlet s: string = first([], \"a\")\nprintln([n, s])",
        "fn id<T>(x: T) -> T { return x }\nlet n: int = id(1)\nlet s: string = id(\"a\")\nlet m: int = id<int>(2)\nlet t: {a: int} = id({a: 1})\nprintln([n, s, m, t])",
        "fn pick<T>(a: T, b: T) -> T { return a }\nprintln([pick(1, 2.5), pick(nil, 1), pick({a: 1}, {b: 2}), pick([1], [\"a\"])])",
        "fn swap<A, B>(p: {a: A, b: B}) -> {a: B, b: A} { return {a: p.b, b: p.a} }\nlet q: {a: string, b: int} = swap({a: 1, b: \"x\"})\nprintln(q)",
        "fn compose<A, B, C>(f: fn(A) -> B, g: fn(B) -> C) -> fn(A) -> C { return { x -> g(f(x)) } }\nlet h = compose({ x -> x + 1 }, { x -> x * 2 })\nprintln(h(1))",
        "fn keys_of<V>(d: dict<string, V>) -> list<string> { return d.keys() }\nprintln(keys_of({a: 1, b: \"x\"}))",
        "fn apply(f: fn(int) -> int, x: int) -> int { return f(x) }\nfn twice(n: int) -> int { return n * 2 }\nprintln([apply(twice, 2), apply({ n -> n + 1 }, 2), apply(fn(n) { return n }, 3)])",
        "fn make(n: int) -> fn(int) -> int { return { x: int -> x + n } }\nlet f = make(1)\nlet n: int = f(2)\nprintln(n)",
        "fn opt(a: int, b: string = \"x\", ...rest) -> list { return [a, b, rest] }\nprintln([opt(1), opt(1, \"y\"), opt(1, \"y\", 2, 3)])",
        "fn config(options: dict = nil) -> int { return options?.n ?? 1 }\nprintln([config(), config({n: 2})])",
        "fn f(x: int | string) -> string {\n  return match type_of(x) {\n    \"int\" -> { \"number\" }\n    \"string\" -> { x.trim() }\n  }\n}\nprintln(f(1) + f(\"a\"))",
        "fn g(n: int) -> Result<int, string> {\n  if n < 0 { return Err(\"negative\") }\n  return Ok(n)\n}\nfn h(n: int) -> Result<int, string> {\n  let v: int = g(n)?\n  return Ok(v + 1)\n}\nlet r = h(1)\nprintln(match r {\n  Result.Ok(v) -> { v + 1 }\n  Result.Err(e) -> { e }\n})",
        "fn never_returns(msg: string) -> never { throw msg }\nfn f(x: int | nil) -> int {\n  if x == nil { never_returns(\"no\") }\n  return x\n}\nprintln(f(1))",
        "fn count() -> Generator<int> {\n  yield 1\n  yield 2\n}\nlet g: Generator<int> = count()\nfor x in g { let n: int = x }\ngen fn s() -> Stream<string> { emit \"a\" }\nlet t: Stream<string> = s()\nfor x in t { println(x.upper()) }",
        "fn log(msg: string) -> nil { println(\"mine ${msg}\") }\nlog(\"a\")",
        "let add = fn(a: int, b: int) { return a + b }\nlet n: int = add(1, 2)\nprintln(n)",
        "let f: closure = { x -> x }\nlet g: fn(int) -> int = f\nlet k: closure = println\nk(g(1))",
        "fn run(steps: list<fn(int) -> int>, start: int) -> int { return steps.reduce(start, { acc, step -> step(acc) }) }\nprintln(run([{ x -> x + 1 }, { x -> x * 2 }], 1))",
        "fn validate<T>(value: unknown, schema: Schema<T>) -> T { return schema_expect(value, schema) }\ntype U = {n: int}\nlet u: U = validate({n: 1}, schema_of(U))\nlet v: U = validate({n: 1}, U)\nprintln([u, v])",
        "fn outer() {\n  fn inner(n: int) -> int { return n == 0 ? base : inner(n - 1) }\n  let base = 3\n  return inner(2)\n}\nprintln(outer())",
        "tool search(query: string, limit: int = 3) -> list<string> {\n  description \"Searches\"\n  return [query]\n}\nprintln(search)",
        "let xs = [3, 1, 2]\nlet sorted: list<int> = xs.sort()\nlet top = xs |> { ys -> ys[0] }\nlet biggest: int = xs.max()\nprintln([sorted, top, biggest, 5 |> max(_, 3)])",
    ]);
}

#[test]
fn structs_enums_and_interfaces() {
    fine(&[
        "struct Point { x: int, y: int, label?: string }\nimpl Point {\n  fn plus(self, other: Point) -> Point { return Point {x: self.x + other.x, y: self.y + other.y} }\n  fn name(self) -> string { return self.label ?? \"none\" }\n}\nlet p: Point = Point {x: 1, y: 2}.plus(Point({x: 3, y: 4}))\nlet s: string = p.name()\nprintln([p.x + p.y, s])",
        "struct Stack<T> { items: list<T> }\nimpl Stack {\n  fn push(self, item: T) -> Stack<T> { return Stack {items: self.items.push(item)} }\n  fn top(self) -> T | nil { return self.items.last }\n}\nlet s: Stack<int> = Stack {items: []}\nlet t = s.push(1)\nlet n: int | nil = t.top()\nprintln(n)",
        "enum Shape { Circle(r: float), Rect(w: float, h: float), Empty }\nimpl Shape {\n  fn area(self) -> float {\n    return match self {\n      Shape.Circle(r) -> { 3.14 * r * r }\n      Shape.Rect(w, h) -> { w * h }\n      Shape.Empty -> { 0.0 }\n    }\n  }\n}\nlet shapes: list<Shape> = [Shape.Circle(1), Shape.Rect(2.0, 3), Shape.Empty]\nfor s in shapes { println(s.area()) }",
        "enum Option<T> { Some(value: T), None }\nfn get(n: int) -> Option<int> {\n  if n > 0 { return Option.Some(n) }\n  return Option.None\n}\nlet v = match get(1) {\n  Option.Some(x) -> { x + 1 }\n  Option.None -> { 0 }\n}\nprintln(v)",
        "enum Tree { Leaf, Node(left: Tree, value: int, right: Tree) }\nfn sum(t: Tree) -> int {\n  return match t {\n    Tree.Leaf -> { 0 }\n    Tree.Node(l, v, r) -> { sum(l) + v + sum(r) }\n  }\n}\nprintln(sum(Tree.Node(Tree.Leaf, 1, Tree.Leaf)))",
        "interface Named {\n  fn name(self) -> string\n}\nstruct Dog { n: string }\nimpl Dog {\n  fn name(self) -> string { return self.n }\n  fn bark(self) { return \"w\" }\n}\nfn greet<T>(x: T) -> string where T: Named { return x.name() }\nfn show(x: Named) -> string { return x.name() }\nlet d = Dog {n: \"R\"}\nprintln(greet(d) + show(d))",
        "interface Container {\n  type Item\n  fn get(self) -> Item\n  fn put(self, x: Item) -> nil\n}\nstruct Ints { xs: list<int> }\nimpl Ints {\n  fn get(self) -> int { return self.xs[0] }\n  fn put(self, x: int) -> nil { return nil }\n}\nfn use_it<C>(c: C) where C: Container { return c.get() }\nprintln(use_it(Ints {xs: [1]}))",
        "interface Source<out T> {\n  fn next(self) -> T\n}\nstruct One { x: int }\nimpl One {\n  fn next(self) -> int { return self.x }\n}\nfn take(s: Source<int>) -> int { return s.next() }\nprintln(take(One {x: 1}))",
        "interface Eq {\n  fn same(self, other) -> bool\n}\nstruct P { x: int }\nimpl P {\n  fn same(self, other: P) -> bool { return self.x == other.x }\n}\nfn check<T>(a: T, b: T) -> bool where T: Eq { return a.same(b) }\nprintln(check(P {x: 1}, P {x: 2}))",
        "interface Any {\n}\nfn f<T>(x: T) where T: Any { return x }\nprintln([f(1), f({a: 1})])",
        "struct P { x: int }\nfn f(p: {x: int}) -> int { return p.x }\nfn g(p: dict) { return p }\nlet p = P {x: 1}\nprintln([f(p), g(p)])",
        "struct P { x: int }\nlet p: P = {x: 1}\nlet d: dict = {x: 1}\nlet q: P = d\nprintln([p, q])",
        "struct Node { value: int, next: Node | nil }\nfn total(list: Node | nil) -> int {\n  var sum = 0\n  var at: Node | nil = list\n  while at != nil {\n    sum = sum + at.value\n    at = at.next\n  }\n  return sum\n}\nprintln(total(Node {value: 1, next: nil}))",
        "enum AppError { NotFound(what: string), Denied }\nfn f() -> int {\n  try { throw AppError.NotFound(\"x\") } catch (e: AppError) {\n    return match e {\n      AppError.NotFound(w) -> { w.count() }\n      AppError.Denied -> { 0 }\n    }\n  }\n}\nprintln(f())",
        "enum State { On, Off }\nvar s: State = State.On\nif s == State.On { s = State.Off }\nlet v: string = s.variant\nlet fs: list = s.fields\nprintln([v, fs])",
        "pipeline default(task) {\n  enum Local { A, B }\n  struct S { l: Local }\n  let s = S {l: Local.A}\n  println(match s.l {\n    Local.A -> { 1 }\n    Local.B -> { 2 }\n  })\n}",
        "struct Pair2<A, B> { a: A, b: B }\nlet p: Pair2<int, string> = Pair2 {a: 1, b: \"x\"}\nlet n: int = p.a\nlet q: Pair2<float, string | nil> = Pair2 {a: 1, b: nil}\nprintln([n, q])",
    ]);
}

#[test]
fn flow_tasks_and_errors() {
    fine(&[
        "let n: int = try { to_int(\"5\") } catch (e) { 0 }\nlet r = try { 5 }\nlet ok: bool = is_ok(r)\nprintln([n, unwrap(r), ok])",
        "fn f(x) -> string {\n  try {\n    if x { return \"a\" }\n    throw \"b\"\n  } catch (e) { return \"c\" } finally { println(\"f\") }\n}\nprintln(f(true))",
        "var last: string | nil = nil\nfor line in [\"a\", \"b\"] {\n  if last != nil && last == line { continue }\n  last = line\n}\nprintln(last ?? \"\")",
        "var found = nil\nfor x in [1, 2] {\n  if x == 2 { found = x }\n}\nif found != nil { println(found + 1) }",
        "var state = \"start\"\nwhile state != \"end\" {\n  state = match state {\n    \"start\" -> { \"middle\" }\n    _ -> { \"end\" }\n  }\n}\nprintln(state)",
        "let out: list<int> = parallel each [1, 2] with { max_concurrent: 2 } { x -> x * 2 }\nlet all: dict = parallel settle [1] { x -> x }\nlet n: int = all.succeeded\nprintln([out, n])",
        "let h = spawn { 5 }\nlet n: int = await(h)\nlet ch = channel(\"a\")\nsend(ch, n)\nlet v: int = receive(ch)\nprintln(v)",
        "let d: int = deadline 5s { 5 }\nlet r = retry 3 { 1 }\nmutex { println(d) }\nprintln(r)",
        "let kind = if 1 > 2 { \"a\" } else if 2 > 1 { \"b\" } else { \"c\" }\nlet s: string = kind\nprintln(s)",
        "let v: int = match 5 {\n  1 -> { 1 }\n  n if n > 3 -> { n }\n  _ -> { throw \"no\" }\n}\nprintln(v)",
        "let label = env(\"X\") ?? \"none\"\nlet s: string = label\nlet t: string = env_or(\"Y\", \"z\")\nprintln(s + t)",
        "fn f(x: int | nil, y: int | nil) -> int {\n  guard x != nil && y != nil else { return 0 }\n  return x + y\n}\nprintln(f(1, 2))",
        "fn f(v: unknown) -> int {\n  if type_of(v) == \"int\" { return v }\n  if type_of(v) == \"string\" { return to_int(v) ?? 0 }\n  if type_of(v) == \"list\" { return len(v) }\n  return 0\n}\nprintln(f(1))",
        "type Event = {type: \"add\", id: int} | {type: \"remove\", id: int, why?: string} | {type: \"clear\"}\nfn apply(e: Event, ids: list<int>) -> list<int> {\n  return match e.type {\n    \"add\" -> { ids.push(e.id) }\n    \"remove\" -> { ids.filter({ i -> i != e.id }) }\n    \"clear\" -> { [] }\n  }\n}\nprintln(apply({type: \"add\", id: 1}, []))",
        "let text: string = llm_call(\"hi\").text\nlet res = http_get(\"x\")\nlet status: int = res.status\nprintln([text, status])",
        "fn fib(n: int) -> int {\n  if n < 2 { return n }\n  return fib(n - 1) + fib(n - 2)\n}\nlet memo: dict<string, int> = {}\nprintln([fib(5), memo[\"a\"] ?? 0])",
        "fn process(items: list<dict>) -> dict {\n  var out = {}\n  for item in items {\n    let key: string = item.key\n    out = out.merge({[key]: item.value})\n  }\n  return out\n}\nprintln(process([{key: \"a\", value: 1}]))",
        "skill triage {\n  description: \"Sorts\",\n  when_to_use: \"always\",\n}\nprintln(triage)",
        "let x: int | nil = nil\nlet y = x?.foo\nlet z: string = x == nil ? \"none\" : \"some\"\nprintln([y, z])",
        "fn handle(msg: {role: \"user\" | \"assistant\", content: string | list<dict>}) -> string {\n  if type_of(msg.content) == \"string\" { return msg.content }\n  return \"${len(msg.content)}\"\n}\nprintln(handle({role: \"user\", content: \"a\"}))",
        "fn compute() { return \"a\" }\nfn need(s: string) { return s }\nvar x: string | nil = nil\nif x == nil { x = compute() }\nprintln(need(x))",
        "enum Result { Ok(v: int), Err(e: string) }\nfn f(n: int) -> Result {\n  if n > 0 { return Ok(n) }\n  return Result.Err(\"x\")\n}\nprintln(match f(1) {\n  Result.Ok(v) -> { v }\n  Result.Err(e) -> { e }\n})",
        "fn each(xs: list<unknown>, f: fn(int) -> nil) { return xs.map(f) }\nlet xs: list<int> = [1]\nprintln(each(xs, { x: int -> x + 1 }))",
        "@test\npipeline test_it(task) {\n  assert_eq(1, 1)\n  assert(true, \"m\")\n}",
        "var best: {score: int, name: string} | nil = nil\nfor c in [{score: 1, name: \"a\"}, {score: 2, name: \"b\"}] {\n  if best == nil || c.score > best.score { best = c }\n}\nprintln(best?.name ?? \"none\")",
        "select {\n  v from channel(\"a\") { println(v) }\n  timeout 1ms { println(\"late\") }\n}",
    ]);
}
