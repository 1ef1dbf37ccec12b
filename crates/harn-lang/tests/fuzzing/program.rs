//! Programs made of bytes: every sequence of bytes is a program that compiles, and near ones make near programs.

/// What a value is, as far as the maker knows.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Int,
    Text,
    List,
    Dict,
    Any,
}

struct Variable {
    name: String,
    kind: Kind,
    mutable: bool,
}

struct Function {
    name: String,
    params: usize,
}

/// The program of these bytes.
pub fn program(bytes: &[u8]) -> String {
    let mut maker = Maker {
        bytes,
        at: 0,
        out: String::new(),
        indent: 0,
        names: 0,
        variables: Vec::new(),
        functions: Vec::new(),
        loops: 0,
        is_in_function: false,
    };
    let is_pipeline = maker.pick(4) == 1;
    // What comes out of it can be anything as far as the checker knows.
    maker.line("fn same(x) { return x }");
    if is_pipeline {
        maker.open("pipeline default(task) {");
    }
    while maker.at < bytes.len() && maker.out.len() < 20_000 {
        maker.guarded();
    }
    let known: Vec<String> = maker.variables.iter().map(|variable| variable.name.clone()).collect();
    for name in known {
        maker.line(&format!("println({name})"));
    }
    if is_pipeline {
        maker.close("}");
    }
    maker.out
}

struct Maker<'b> {
    bytes: &'b [u8],
    at: usize,
    out: String,
    indent: usize,
    names: usize,
    variables: Vec<Variable>,
    functions: Vec<Function>,
    loops: usize,
    is_in_function: bool,
}

impl Maker<'_> {
    /// One of so many choices; the first one when the bytes are used up, which is always the simplest.
    fn pick(&mut self, choices: usize) -> usize {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % choices
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.pick(of.len())]
    }

    fn fresh(&mut self, word: &str) -> String {
        self.names += 1;
        format!("{word}{}", self.names)
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(&"  ".repeat(self.indent));
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn open(&mut self, text: &str) {
        self.line(text);
        self.indent += 1;
    }

    fn close(&mut self, text: &str) {
        self.indent -= 1;
        self.line(text);
    }

    /// A few statements of their own scope, between lines that are already there.
    fn block(&mut self, variables: &[(&str, Kind)]) {
        let known = (self.variables.len(), self.functions.len());
        for (name, kind) in variables {
            self.variables.push(Variable { name: (*name).into(), kind: *kind, mutable: false });
        }
        let count = if self.indent > 6 { 1 } else { 1 + self.pick(3) };
        for _ in 0..count {
            if self.indent > 6 { self.simple() } else { self.statement() }
        }
        self.variables.truncate(known.0);
        self.functions.truncate(known.1);
    }

    /// A block that is entered and left from elsewhere: no `break` reaches out of it, and `return` ends only it.
    fn body(&mut self, variables: &[(&str, Kind)]) {
        let outer = (std::mem::take(&mut self.loops), std::mem::replace(&mut self.is_in_function, true));
        self.block(variables);
        (self.loops, self.is_in_function) = outer;
    }

    fn simple(&mut self) {
        let value = self.expr(Kind::Any, 2);
        self.line(&format!("println({value})"));
    }

    fn declare(&mut self) {
        let kind = self.kind();
        let value = self.expr(kind, 3);
        let mutable = self.pick(2) == 1;
        let name = self.fresh("v");
        self.line(&format!("{} {name} = same({value})", if mutable { "var" } else { "let" }));
        self.variables.push(Variable { name, kind, mutable });
    }

    fn assign(&mut self) {
        let mutable: Vec<usize> =
            (0..self.variables.len()).filter(|at| self.variables[*at].mutable).collect();
        if mutable.is_empty() {
            return self.declare();
        }
        let at = mutable[self.pick(mutable.len())];
        let (name, kind) = (self.variables[at].name.clone(), self.variables[at].kind);
        let line = match (kind, self.pick(3)) {
            (Kind::Int, 0) => format!("{name} {} {}", self.one(&["+=", "-=", "*="]), self.expr(Kind::Int, 2)),
            (Kind::Text | Kind::List, 0) => format!("{name} += {}", self.expr(kind, 2)),
            (Kind::List, 1) => format!("{name}[{}] = {}", self.pick(4), self.expr(Kind::Any, 2)),
            (Kind::Dict, 0) => format!("{name}.{} = {}", self.one(KEYS), self.expr(Kind::Any, 2)),
            (Kind::Dict, 1) => format!("{name}[{}] = {}", self.expr(Kind::Text, 1), self.expr(Kind::Any, 2)),
            _ => format!("{name} = {}", self.expr(kind, 3)),
        };
        self.line(&line);
    }

    fn kind(&mut self) -> Kind {
        [Kind::Int, Kind::Text, Kind::List, Kind::Dict, Kind::Any][self.pick(5)]
    }

    /// Declarations as they are; anything else so that its errors do not end the program.
    fn guarded(&mut self) {
        match self.pick(3) {
            0 => self.declare(),
            1 if self.pick(2) == 0 => self.function(),
            _ => {
                self.open("try {");
                self.block(&[]);
                self.close("} catch (error) { println(error) }");
            }
        }
    }

    fn statement(&mut self) {
        match self.pick(24) {
            0 => self.simple(),
            1 | 2 => self.declare(),
            3 | 4 => self.assign(),
            5 => {
                let condition = self.condition();
                self.open(&format!("if {condition} {{"));
                self.block(&[]);
                if self.pick(2) == 1 {
                    self.close("} else {");
                    self.indent += 1;
                    self.block(&[]);
                }
                self.close("}");
            }
            6 | 7 => self.repeat(),
            8 => self.attempt(),
            9 => self.function(),
            10 => {
                let (value, condition) = (self.expr(Kind::Any, 2), self.condition());
                self.line(&format!("if {condition} {{ throw {value} }}"));
            }
            11 => {
                let word = self.one(&["break", "continue"]);
                let condition = self.condition();
                if self.loops > 0 {
                    self.line(&format!("if {condition} {{ {word} }}"));
                }
            }
            12 if self.is_in_function => {
                let (value, condition) = (self.expr(Kind::Any, 2), self.condition());
                self.line(&format!("if {condition} {{ return {value} }}"));
            }
            13 => self.task(),
            14 => self.exchange(),
            15 => {
                self.open("defer {");
                self.body(&[]);
                self.close("}");
            }
            16 => self.choose(),
            17 => {
                let limit = self.one(&["1ms", "5ms", "50ms"]);
                self.open("try {");
                self.open(&format!("deadline {limit} {{"));
                self.block(&[]);
                self.close("}");
                self.close("} catch (late) { println(late) }");
            }
            18 => {
                self.open("mutex {");
                self.block(&[]);
                self.close("}");
            }
            19 => {
                let ms = self.pick(9);
                self.line(&format!("sleep({ms})"));
            }
            20 => {
                let count = self.pick(4);
                self.open(&format!("retry {count} {{"));
                self.block(&[]);
                self.close("}");
            }
            21 => {
                let condition = self.condition();
                let message = self.expr(Kind::Text, 1);
                self.line(&format!("require {condition}, {message}"));
            }
            22 => {
                let value = self.expr(Kind::List, 2);
                let (a, b, rest) = (self.fresh("p"), self.fresh("p"), self.fresh("p"));
                self.line(&format!("let [{a} = 1, {b}, ...{rest}] = {value}"));
                self.variables.push(Variable { name: a, kind: Kind::Any, mutable: false });
                self.variables.push(Variable { name: rest, kind: Kind::List, mutable: false });
            }
            _ => self.generator(),
        }
    }

    fn repeat(&mut self) {
        let item = self.fresh("i");
        match self.pick(4) {
            0 => {
                let limit = self.pick(7);
                self.open(&format!("for {item} in 0 to {limit} {{"));
            }
            1 => {
                let list = self.expr(Kind::List, 2);
                self.open(&format!("for {item} in {list} {{"));
            }
            2 => {
                let dict = self.expr(Kind::Dict, 2);
                self.open(&format!("for {item} in {dict} {{"));
            }
            _ => {
                let limit = self.pick(7);
                self.line(&format!("var {item} = 0"));
                self.open(&format!("while {item} < {limit} {{"));
                self.line(&format!("{item} += 1"));
            }
        }
        self.loops += 1;
        self.block(&[(&item, Kind::Any)]);
        self.loops -= 1;
        self.close("}");
    }

    fn attempt(&mut self) {
        let error = self.fresh("e");
        self.open("try {");
        self.block(&[]);
        self.close(&format!("}} catch ({error}) {{"));
        self.indent += 1;
        self.block(&[(&error, Kind::Any)]);
        if self.pick(2) == 1 {
            self.close("} finally {");
            self.indent += 1;
            let loops = std::mem::take(&mut self.loops);
            let outer = std::mem::take(&mut self.is_in_function);
            self.block(&[]);
            (self.loops, self.is_in_function) = (loops, outer);
        }
        self.close("}");
    }

    fn function(&mut self) {
        let params = self.pick(3);
        let name = self.fresh("f");
        let names: Vec<String> = (0..params).map(|_| self.fresh("a")).collect();
        self.open(&format!("fn {name}({}) {{", names.join(", ")));
        let variables: Vec<(&str, Kind)> = names.iter().map(|name| (name.as_str(), Kind::Any)).collect();
        self.body(&variables);
        let value = self.expr(Kind::Any, 1);
        self.line(&format!("return {value}"));
        self.close("}");
        self.functions.push(Function { name, params });
    }

    fn task(&mut self) {
        let name = self.fresh("t");
        match self.pick(4) {
            0 => {
                self.open(&format!("let {name} = spawn {{"));
                self.body(&[]);
                self.close("}");
                let after =
                    self.one(&["println(await({}))", "cancel({})", "println(is_err(try { await({}) }))"]);
                self.line(&after.replace("{}", &name));
            }
            1 => {
                let count = self.pick(5);
                let item = self.fresh("n");
                self.open(&format!("let {name} = parallel {count} {{ {item} ->"));
                self.body(&[(&item, Kind::Int)]);
                self.close("}");
            }
            2 => {
                let list = self.expr(Kind::List, 2);
                let item = self.fresh("n");
                self.open(&format!(
                    "let {name} = parallel each {list} with {{ max_concurrent: 2 }} {{ {item} ->"
                ));
                self.body(&[(&item, Kind::Any)]);
                self.close("}");
            }
            _ => {
                let list = self.expr(Kind::List, 2);
                let item = self.fresh("n");
                self.open(&format!("let {name} = parallel settle {list} {{ {item} ->"));
                self.body(&[(&item, Kind::Any)]);
                self.close("}");
            }
        }
        self.variables.push(Variable { name, kind: Kind::Any, mutable: false });
    }

    /// Two tasks and a channel between them.
    fn exchange(&mut self) {
        let (channel, item) = (self.fresh("c"), self.fresh("x"));
        let (room, count, pause) = (1 + self.pick(3), self.pick(6), self.pick(3));
        self.line(&format!("let {channel} = channel(\"{channel}\", {room})"));
        self.open("spawn {");
        self.line(&format!("for {item} in 0 to {count} {{"));
        self.line(&format!("  if {item} % 3 == {pause} {{ sleep({pause}) }}"));
        self.line(&format!("  send({channel}, {item})"));
        self.line("}");
        self.line(&format!("close_channel({channel})"));
        self.close("}");
        if self.pick(2) == 0 {
            self.open(&format!("for {item} in {channel} {{"));
            self.loops += 1;
            self.block(&[(&item, Kind::Int)]);
            self.loops -= 1;
            self.close("}");
        } else {
            self.open("select {");
            self.open(&format!("{item} from {channel} {{"));
            self.block(&[(&item, Kind::Int)]);
            self.close("}");
            self.line("timeout 2ms { println(\"late\") }");
            self.close("}");
        }
    }

    fn choose(&mut self) {
        let value = self.expr(Kind::Any, 2);
        let bound = self.fresh("m");
        self.open(&format!("match {value} {{"));
        self.open("0 | 1 -> {");
        self.block(&[]);
        self.close("}");
        self.open(&format!("[{bound}, _] -> {{"));
        self.block(&[(&bound, Kind::Any)]);
        self.close("}");
        self.open(&format!("{{a: {bound}}} -> {{"));
        self.block(&[(&bound, Kind::Any)]);
        self.close("}");
        let guard = self.pick(3);
        self.open(&format!("{bound} if len({bound}) > {guard} -> {{"));
        self.block(&[(&bound, Kind::Any)]);
        self.close("}");
        if self.pick(3) > 0 {
            self.line("_ -> { println(\"other\") }");
        }
        self.close("}");
    }

    fn generator(&mut self) {
        let (name, count) = (self.fresh("g"), self.pick(5));
        self.open(&format!("fn {name}() {{"));
        let item = self.fresh("i");
        self.open(&format!("for {item} in 0 to {count} {{"));
        let value = self.expr(Kind::Any, 1);
        self.line(&format!("yield {value}"));
        if self.pick(3) == 1 {
            self.line(&format!("sleep({item})"));
        }
        self.close("}");
        self.close("}");
        let take = self.pick(4);
        self.line(&format!("println(iter({name}()).take({take}).to_list())"));
    }

    fn condition(&mut self) -> String {
        let operator = self.one(&["==", "<", ">", "!=", "<=", "in"]);
        match self.pick(3) {
            0 => format!("{} {operator} {}", self.expr(Kind::Int, 1), self.expr(Kind::Int, 1)),
            1 => format!("!({} {operator} {})", self.expr(Kind::Any, 1), self.expr(Kind::Any, 1)),
            _ => format!("({}) && len({}) > 1", self.expr(Kind::Any, 1), self.expr(Kind::Any, 1)),
        }
    }

    fn expr(&mut self, kind: Kind, depth: usize) -> String {
        let kind = if kind == Kind::Any { self.kind() } else { kind };
        let known: Vec<usize> = (0..self.variables.len())
            .filter(|at| self.variables[*at].kind == kind || kind == Kind::Any)
            .collect();
        if !known.is_empty() && (depth == 0 || self.pick(3) == 0) {
            let at = known[self.pick(known.len())];
            return self.variables[at].name.clone();
        }
        if depth == 0 {
            return self.literal(kind);
        }
        let depth = depth - 1;
        match kind {
            Kind::Int => self.number(depth),
            Kind::Text => self.text(depth),
            Kind::List => self.list(depth),
            Kind::Dict => self.dict(depth),
            Kind::Any => self.anything(depth),
        }
    }

    fn literal(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Int => self.pick(10).to_string(),
            Kind::Text => self.one(&["\"\"", "\"a\"", "\"bé c\"", "\"12\"", "r\"\\d\""]).into(),
            Kind::List => self.one(&["[]", "[3, 1, 2]", "[\"b\", \"a\"]", "[[1], [2, 3]]", "[nil]"]).into(),
            Kind::Dict => self.one(&["{}", "{a: 1}", "{b: [1], a: \"x\"}", "{c: {a: 2}}"]).into(),
            Kind::Any => {
                self.one(&["nil", "true", "1.5", "2s", "1 to 3", "set([1, 1])", "pair(1, 2)"]).into()
            }
        }
    }

    fn number(&mut self, depth: usize) -> String {
        match self.pick(7) {
            0 => self.literal(Kind::Int),
            1 | 2 => {
                let operator = self.one(&["+", "-", "*", "%", "/", "**"]);
                format!("({} {operator} {})", self.expr(Kind::Int, depth), self.expr(Kind::Int, depth))
            }
            3 => format!("len({})", self.expr(Kind::Any, depth)),
            4 => format!("same({}.sum())", self.list(depth)),
            5 => format!("same({} ?? 7)", self.expr(Kind::Any, depth)),
            _ => format!("same(if {} {{ {} }} else {{ 0 }})", self.condition(), self.expr(Kind::Int, depth)),
        }
    }

    fn text(&mut self, depth: usize) -> String {
        match self.pick(6) {
            0 => self.literal(Kind::Text),
            1 => format!("to_string({})", self.expr(Kind::Any, depth)),
            2 => format!("({} + {})", self.expr(Kind::Text, depth), self.expr(Kind::Text, depth)),
            3 => format!("{}.join(\"-\")", self.list(depth)),
            4 => format!("({} * 3)", self.expr(Kind::Text, depth)),
            _ => {
                let method =
                    self.one(&["upper()", "reverse()", "trim()", "chars()", "replace(\"a\", \"bb\")"]);
                format!("same(({}).{method})", self.expr(Kind::Text, depth))
            }
        }
    }

    fn list(&mut self, depth: usize) -> String {
        let item = self.fresh("x");
        match self.pick(8) {
            0 => self.literal(Kind::List),
            1 => format!("[{}, {}]", self.expr(Kind::Any, depth), self.expr(Kind::Any, depth)),
            2 => format!("({} + {})", self.expr(Kind::List, depth), self.literal(Kind::List)),
            3 => {
                let method = self.one(&["map", "filter", "flat_map", "sort_by", "group_by", "partition"]);
                let list = self.expr(Kind::List, depth);
                self.variables.push(Variable { name: item.clone(), kind: Kind::Int, mutable: false });
                let value = self.expr(Kind::Any, depth);
                self.variables.pop();
                format!("same({list}.{method}({{ {item} -> {value} }}))")
            }
            4 => {
                let method =
                    self.one(&["sort()", "reverse()", "unique()", "push(1)", "flatten()", "compact()"]);
                format!("{}.{method}", self.expr(Kind::List, depth))
            }
            5 => format!("{}[{}:]", self.expr(Kind::List, depth), self.pick(3)),
            6 => format!("[...{}, {}]", self.expr(Kind::List, depth), self.expr(Kind::Any, depth)),
            _ => format!("iter(0 to {}).map({{ {item} -> {item} * 2 }}).to_list()", self.pick(9)),
        }
    }

    fn dict(&mut self, depth: usize) -> String {
        match self.pick(4) {
            0 => self.literal(Kind::Dict),
            1 => format!("{{{}: {}, ...{}}}", self.one(KEYS), self.expr(Kind::Any, depth), self.dict(depth)),
            2 if depth > 0 => format!("{}.merge({})", self.dict(depth - 1), self.literal(Kind::Dict)),
            _ => format!("{{a: {}, \"b\": {}}}", self.expr(Kind::Any, depth), self.expr(Kind::Any, depth)),
        }
    }

    fn anything(&mut self, depth: usize) -> String {
        match self.pick(7) {
            0 => self.literal(Kind::Any),
            1 if !self.functions.is_empty() => {
                let at = self.pick(self.functions.len());
                let (name, params) = (self.functions[at].name.clone(), self.functions[at].params);
                let args: Vec<String> = (0..params).map(|_| self.expr(Kind::Any, depth)).collect();
                format!("{name}({})", args.join(", "))
            }
            2 => format!("({})?.{}", self.expr(Kind::Dict, depth), self.one(KEYS)),
            3 => format!("{}[{}]", self.expr(Kind::List, depth), self.expr(Kind::Int, depth)),
            4 => format!("(try {{ {} }})", self.expr(Kind::Any, depth)),
            5 => format!("(try {{ {} }} catch (e) {{ e }})", self.expr(Kind::Any, depth)),
            _ => format!("json_stringify({})", self.expr(Kind::Any, depth)),
        }
    }
}

const KEYS: &[&str] = &["a", "b", "c"];
