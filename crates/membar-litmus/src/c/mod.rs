//! The code section of C tests: functions, statements and declarations.
//!
//! Translated as it is read, one statement after the other. Parameters point to the shared locations of the same name;
//! locals are the thread's registers. Expressions are in `expr.rs`, atomics and kernel macros in `builtin.rs`.

mod builtin;
mod expr;

use crate::asm::THREADS;
use crate::build::{Builder, Sites};
use crate::code::{Alu, Instr, Int, Operand, Place, Reg};
use crate::condition::Registers;
use crate::error::{ErrorKind, Fault, Parsed, quoted};
use crate::init::{Memory, RegName};
use crate::lex::{Lexer, Style, Tok};
use crate::types::{Type, is_type_word, parse_type};
use expr::{Item, Val};
use membar_core::{C11, Order};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A local variable.
#[derive(Clone, Copy, Debug)]
struct Local {
    reg: Reg,
    ty: Type,
}

/// The threads of a C test, with their locals by name.
pub(crate) struct Functions<'a> {
    pub(crate) threads: Vec<Builder>,
    locals: Vec<FxHashMap<&'a str, Local>>,
}

impl Registers for Functions<'_> {
    fn register(&mut self, name: &RegName<'_>) -> Parsed<(Reg, String, Int)> {
        let help = "a condition names a local variable of that thread: `0:r0`";
        let local = self.locals.get(name.thread as usize).and_then(|locals| locals.get(name.name));
        match local {
            Some(local) => Ok((local.reg, name.name.to_owned(), local.ty.value())),
            None => Err(Fault::unknown("variable", &format!("{}:{}", name.thread, name.name), help, name.span.clone())),
        }
    }
}

const STATEMENT: &str =
    "statements are declarations, `r0 = …;`, `*x = …;`, calls, `if`, `while`, `do`, `for` and blocks";

/// Reads all functions. The lexer is left at what follows them.
pub(crate) fn parse_functions<'t>(
    lexer: &mut Lexer<'t>,
    memory: &mut Memory,
    sites: &mut Sites<'t>,
) -> Parsed<Functions<'t>> {
    const HEAD: &str = "threads are functions such as `P0 (atomic_int *x) { … }`";
    let mut functions = Functions { threads: Vec::new(), locals: Vec::new() };
    lexer.style = Style::C;
    lexer.seek(lexer.last_end)?;
    loop {
        while matches!(lexer.peek().tok, Tok::Word("static" | "void")) {
            lexer.next()?;
        }
        let thread = functions.threads.len();
        match lexer.peek().tok {
            Tok::Word(word) if word.strip_prefix('P') == Some(thread.to_string().as_str()) => {}
            _ if thread == 0 => return Err(lexer.unexpected("`P0`", HEAD)),
            Tok::Word(word) if word.starts_with('P') => {
                return Err(lexer.unexpected("the next thread", "threads are P0, P1, P2, … in this order"));
            }
            _ => break,
        }
        let span = lexer.next()?.span();
        if thread == THREADS {
            return Err(Fault::new(ErrorKind::TooMany { what: "threads", limit: THREADS }, span));
        }
        let mut function = Function {
            thread: thread as u32,
            memory: &mut *memory,
            sites: &mut *sites,
            b: Builder::default(),
            params: FxHashMap::default(),
            locals: FxHashMap::default(),
            temps: Vec::new(),
            used: 0,
            target: 0,
            loops: Vec::new(),
            returns: Vec::new(),
            lexer: lexer.clone(),
        };
        function.parameters()?;
        function.lexer.expect("{", "`{`", HEAD)?;
        function.block()?;
        let end = function.b.here();
        for jump in std::mem::take(&mut function.returns) {
            function.b.patch(jump, end);
        }
        *lexer = function.lexer;
        functions.threads.push(function.b);
        functions.locals.push(function.locals);
    }
    lexer.style = Style::Litmus;
    lexer.seek(lexer.last_end)?;
    Ok(functions)
}

/// Where `break` and `continue` jump from.
#[derive(Default)]
struct Loop {
    breaks: Vec<usize>,
    continues: Vec<usize>,
}

struct Function<'a, 't> {
    thread: u32,
    lexer: Lexer<'t>,
    memory: &'a mut Memory,
    sites: &'a mut Sites<'t>,
    b: Builder,
    /// Pointers to shared locations.
    params: FxHashMap<&'t str, Val>,
    locals: FxHashMap<&'t str, Local>,
    /// Registers for intermediate values, of which the first `used` are in use; a statement gives back what it took.
    temps: Vec<Reg>,
    used: usize,
    /// The last instruction that a jump goes to, so far.
    target: u32,
    loops: Vec<Loop>,
    returns: Vec<usize>,
}

impl<'t> Function<'_, 't> {
    fn parameters(&mut self) -> Parsed<()> {
        const HELP: &str = "parameters point to shared locations: `(atomic_int *x, int *y)`";
        self.lexer.expect("(", "`(`", HELP)?;
        while !self.lexer.take(")")? {
            let ty = parse_type(&mut self.lexer)?;
            if ty == Type::INT && self.lexer.take(")")? {
                return Ok(()); // (void)
            }
            let (name, span) = self.lexer.word("the name of a parameter", HELP)?;
            let Some(target) = ty.target() else {
                let found = format!("`{}`", quoted(name));
                return Err(Fault::new(ErrorKind::Syntax { expected: "a pointer", found, help: HELP }, span));
            };
            let symbol = self.memory.symbol(name, span.clone())?;
            for cell in symbol.first..symbol.first + symbol.len {
                match self.memory.width(cell) {
                    Some(has) if has != target.value().bits => {
                        let kind = ErrorKind::MixedSize { cell: name.into(), has, access: target.value().bits };
                        return Err(Fault::new(kind, span));
                    }
                    _ => self.memory.suggest(cell, target),
                }
            }
            let pointer = Val { op: Operand::Value(self.memory.pointer(symbol.first)), ty, temp: false };
            if self.params.insert(name, pointer).is_some() {
                return Err(Fault::new(ErrorKind::Twice { what: "parameter", name: name.to_owned() }, span));
            }
            if !self.lexer.take(",")? && !self.lexer.is(")") {
                return Err(self.lexer.unexpected("`,` or `)`", HELP));
            }
        }
        Ok(())
    }

    /// Up to the `}`, which is taken.
    fn block(&mut self) -> Parsed<()> {
        while !self.lexer.take("}")? {
            self.statement()?;
        }
        Ok(())
    }

    fn statement(&mut self) -> Parsed<()> {
        self.lexer.enter()?;
        let used = self.used;
        let result = self.any_statement();
        self.used = used;
        self.lexer.leave();
        result
    }

    fn semicolon(&mut self) -> Parsed<()> {
        self.lexer.expect(";", "`;`", STATEMENT)
    }

    fn any_statement(&mut self) -> Parsed<()> {
        let token = self.lexer.peek();
        match token.tok {
            Tok::Sign("{") => {
                self.lexer.next()?;
                self.block()
            }
            Tok::Sign(";") => self.semicolon(),
            Tok::Word("if") => {
                self.lexer.next()?;
                let skip = self.unless_condition()?;
                self.statement()?;
                if self.lexer.is_word("else") {
                    self.lexer.next()?;
                    let done = self.b.jump();
                    self.patch(skip);
                    self.statement()?;
                    self.patch(done);
                } else {
                    self.patch(skip);
                }
                Ok(())
            }
            Tok::Word("while") => {
                self.lexer.next()?;
                let top = self.label();
                let out = self.unless_condition()?;
                self.body()?;
                let again = self.b.jump();
                self.b.patch(again, top);
                self.patch(out);
                self.end_loop(top);
                Ok(())
            }
            Tok::Word("do") => {
                self.lexer.next()?;
                let top = self.label();
                self.body()?;
                if !self.lexer.is_word("while") {
                    return Err(self.lexer.unexpected("`while`", "a loop is written `do { … } while (…);`"));
                }
                self.lexer.next()?;
                let check = self.label();
                let out = self.unless_condition()?;
                let again = self.b.jump();
                self.b.patch(again, top);
                self.patch(out);
                self.end_loop(check);
                self.semicolon()
            }
            Tok::Word("for") => self.for_loop(),
            Tok::Word(word @ ("break" | "continue")) => {
                self.lexer.next()?;
                let jump = self.b.jump();
                let Some(inner) = self.loops.last_mut() else {
                    return Err(Fault::unsupported("statement", word, "it belongs in a loop", token.span()));
                };
                if word == "break" {
                    inner.breaks.push(jump)
                } else {
                    inner.continues.push(jump)
                }
                self.semicolon()
            }
            Tok::Word("return") => {
                self.lexer.next()?;
                if !self.lexer.is(";") {
                    let item = self.item()?;
                    self.value(item)?;
                }
                let jump = self.b.jump();
                self.returns.push(jump);
                self.semicolon()
            }
            Tok::Word(word @ ("goto" | "switch" | "struct" | "typedef")) => {
                Err(Fault::unsupported("statement", word, STATEMENT, token.span()))
            }
            Tok::Word(word) if is_type_word(word) => {
                self.declaration()?;
                self.semicolon()
            }
            _ => {
                self.simple()?;
                self.semicolon()
            }
        }
    }

    /// `(condition)`, and a jump if it does not hold.
    fn unless_condition(&mut self) -> Parsed<usize> {
        const HELP: &str = "conditions stand in parentheses: `if (r0 == 1)`";
        self.lexer.expect("(", "`(`", HELP)?;
        let item = self.item()?;
        let value = self.value(item)?;
        self.lexer.expect(")", "`)`", HELP)?;
        Ok(self.b.branch(value.op, true))
    }

    fn body(&mut self) -> Parsed<()> {
        self.loops.push(Loop::default());
        self.statement()
    }

    /// Lets the innermost loop's `break`s come here and its `continue`s go to `top`.
    fn end_loop(&mut self, top: u32) {
        let inner = self.loops.pop().expect("a loop began");
        inner.breaks.into_iter().for_each(|jump| self.patch(jump));
        inner.continues.into_iter().for_each(|jump| self.b.patch(jump, top));
    }

    fn for_loop(&mut self) -> Parsed<()> {
        const HELP: &str = "a loop is written `for (int i = 0; i < 3; i++) …`";
        self.lexer.next()?;
        self.lexer.expect("(", "`(`", HELP)?;
        if !self.lexer.is(";") {
            match self.lexer.peek().tok {
                Tok::Word(word) if is_type_word(word) => self.declaration()?,
                _ => self.simple()?,
            }
        }
        self.semicolon()?;
        let top = self.label();
        let mut out = None;
        if !self.lexer.is(";") {
            let item = self.item()?;
            let value = self.value(item)?;
            out = Some(self.b.branch(value.op, true));
        }
        self.semicolon()?;
        // The step is translated after the body: come back for it.
        let step = self.lexer.clone();
        let mut depth = 0usize;
        loop {
            match self.lexer.peek().tok {
                Tok::Sign("(") => depth += 1,
                Tok::Sign(")") if depth == 0 => break,
                Tok::Sign(")") => depth -= 1,
                Tok::End | Tok::Sign(";" | "{" | "}") => return Err(self.lexer.unexpected("`)`", HELP)),
                _ => {}
            }
            self.lexer.next()?;
        }
        self.lexer.next()?;
        self.body()?;
        let after = std::mem::replace(&mut self.lexer, step);
        let next = self.label();
        if !self.lexer.is(")") {
            self.simple()?;
        }
        if !self.lexer.is(")") {
            return Err(self.lexer.unexpected("`)`", HELP));
        }
        self.lexer = after;
        let again = self.b.jump();
        self.b.patch(again, top);
        if let Some(out) = out {
            self.patch(out);
        }
        self.end_loop(next);
        Ok(())
    }

    /// `int r0 = …, *p`, without the semicolon.
    fn declaration(&mut self) -> Parsed<()> {
        let mut ty = parse_type(&mut self.lexer)?;
        let base = Type { stars: 0, ..ty };
        loop {
            let (name, span) = self.lexer.word("the name of a variable", STATEMENT)?;
            if self.params.contains_key(name) || self.locals.contains_key(name) {
                return Err(Fault::new(ErrorKind::Twice { what: "variable", name: name.to_owned() }, span));
            }
            let local = Local { reg: self.b.reg(&span)?, ty };
            let mut value = None;
            if self.lexer.take("=")? {
                let item = self.item()?;
                value = Some(self.value(item)?);
            } else if self.lexer.is("[") {
                return Err(Fault::unsupported("array", name, "arrays are declared in the first section", span));
            }
            self.locals.insert(name, local);
            if let Some(value) = value {
                self.set_local(local, value)?;
            } else if !self.loops.is_empty() {
                // Declared again each time round.
                self.b.emit(Instr::Set { dst: local.reg, src: Operand::Value(0) });
            }
            if !self.lexer.take(",")? {
                return Ok(());
            }
            ty = base;
            while self.lexer.take("*")? {
                ty = ty.pointer();
            }
        }
    }

    /// An assignment or a call, without the semicolon.
    fn simple(&mut self) -> Parsed<()> {
        let start = self.lexer.peek().start;
        if self.lexer.is("++") || self.lexer.is("--") {
            let op = if self.lexer.next()?.tok == Tok::Sign("++") { Alu::Add } else { Alu::Sub };
            let item = self.unary()?;
            let span = start..self.lexer.last_end;
            return self.update(item, op, Val::int(1), span);
        }
        // `r0 = …` also declares.
        if let Tok::Word(name) = self.lexer.peek().tok
            && !self.locals.contains_key(name)
            && !self.params.contains_key(name)
        {
            let mut after = self.lexer.clone();
            let span = after.next()?.span();
            if after.take("=")? {
                self.lexer = after;
                let item = self.item()?;
                let value = self.value(item)?;
                let local = Local { reg: self.b.reg(&span)?, ty: value.ty };
                self.locals.insert(name, local);
                return self.set_local(local, value);
            }
        }
        let item = self.item()?;
        let Tok::Sign(sign) = self.lexer.peek().tok else {
            return self.value(item).map(drop);
        };
        let op = match sign {
            "=" => None,
            "+=" | "++" => Some(Alu::Add),
            "-=" | "--" => Some(Alu::Sub),
            "&=" => Some(Alu::And),
            "|=" => Some(Alu::Or),
            "^=" => Some(Alu::Xor),
            "*=" => Some(Alu::Mul),
            _ => return self.value(item).map(drop),
        };
        if let Item::Value(_) | Item::Address(_) = item {
            return Err(self.lexer.unexpected("`;`", "only variables and locations such as `*x` can be assigned to"));
        }
        self.lexer.next()?;
        let value = if matches!(sign, "++" | "--") {
            Val::int(1)
        } else {
            let item = self.item()?;
            self.value(item)?
        };
        let span = start..self.lexer.last_end;
        if self.lexer.is("=") {
            return Err(self.lexer.unexpected("`;`", "one assignment a statement"));
        }
        match (op, item) {
            (Some(op), item) => self.update(item, op, value, span),
            (None, Item::Local(local)) => self.set_local(local, value),
            (None, Item::Deref(pointer, _)) => self.store(pointer, value, Order::Plain, &span),
            (None, Item::Value(_) | Item::Address(_)) => unreachable!("refused above"),
        }
    }

    /// `item := op(item, value)`: for a location a load, then a store.
    fn update(&mut self, item: Item, op: Alu, value: Val, span: Range<usize>) -> Parsed<()> {
        match item {
            Item::Local(local) => {
                let old = Val { op: Operand::Reg(local.reg), ty: local.ty, temp: false };
                let new = self.arithmetic(op, old, value, &span)?;
                self.set_local(local, new)
            }
            Item::Deref(pointer, _) => {
                let old = self.load(pointer, Order::Plain, &span)?;
                let new = self.arithmetic(op, old, value, &span)?;
                self.store(pointer, new, Order::Plain, &span)
            }
            Item::Value(_) | Item::Address(_) => {
                let help = "only variables and locations such as `*x` can be changed";
                Err(Fault::new(ErrorKind::Operands { text: quoted(&self.sites.text[span.clone()]), help }, span))
            }
        }
    }

    fn set_local(&mut self, local: Local, value: Val) -> Parsed<()> {
        let value = self.convert(value, local.ty)?;
        // If the value has just been computed, it is computed where it belongs.
        if let (Operand::Reg(from), true) = (value.op, value.temp)
            && self.target < self.b.here()
            && let Some(
                Instr::Load { dst, .. } | Instr::Rmw { dst, .. } | Instr::Alu { dst, .. } | Instr::Set { dst, .. },
            ) = self.b.code.instrs.last_mut()
            && *dst == from
        {
            *dst = local.reg;
            return Ok(());
        }
        self.b.emit(Instr::Set { dst: local.reg, src: value.op });
        Ok(())
    }

    /// Lets a jump come here.
    fn patch(&mut self, jump: usize) {
        let here = self.label();
        self.b.patch(jump, here);
    }

    /// Here, as a place to jump to.
    fn label(&mut self) -> u32 {
        self.target = self.b.here();
        self.target
    }

    fn temp(&mut self, span: &Range<usize>) -> Parsed<Reg> {
        if self.used == self.temps.len() {
            let reg = self.b.temp(span)?;
            self.temps.push(reg);
        }
        self.used += 1;
        Ok(self.temps[self.used - 1])
    }

    /// The place that a pointer points to, and its type.
    fn place(&mut self, pointer: Val, span: &Range<usize>) -> Parsed<(Place, Type)> {
        // An integer is taken for a pointer to int, as herd does.
        let mut ty = pointer.ty.target().unwrap_or(Type::INT);
        let place = match pointer.op {
            Operand::Reg(reg) => Place::At(reg),
            Operand::Value(value) => match self.memory.at(value) {
                Some(cell) => {
                    ty = self.memory.declared(cell).unwrap_or(ty);
                    self.memory.access(cell, ty.value().bits, span)?;
                    Place::Cell(cell)
                }
                None => {
                    let help = "this points to no location";
                    let text = quoted(&self.sites.text[span.clone()]);
                    return Err(Fault::new(ErrorKind::Operands { text, help }, span.clone()));
                }
            },
        };
        Ok((self.b.place(place, ty.value().bits), ty))
    }

    fn load(&mut self, pointer: Val, order: Order, span: &Range<usize>) -> Parsed<Val> {
        let (from, ty) = self.place(pointer, span)?;
        let dst = self.temp(span)?;
        let site = self.sites.add(self.thread, span, C11::new(order));
        self.b.emit(Instr::Load { dst, from, ty: ty.value(), site });
        Ok(Val { op: Operand::Reg(dst), ty, temp: true })
    }

    fn store(&mut self, pointer: Val, value: Val, order: Order, span: &Range<usize>) -> Parsed<()> {
        let (to, ty) = self.place(pointer, span)?;
        let site = self.sites.add(self.thread, span, C11::new(order));
        // Memory is kept signed.
        self.b.emit(Instr::Store { to, value: value.op, ty: Int { signed: true, ..ty.value() }, site });
        Ok(())
    }
}
