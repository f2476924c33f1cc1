"""Definitions of `proofs/` as functions of Python: read off the formal text, not written again.

Understood are numbers, sums, products, powers, calls, `fun`, `if` on a comparison, `let`, and
definitions by recursion on a natural number. Functions take their arguments one after the other.
"""

import math
import re

import proofs

TOKEN = re.compile(r"=>|:=|%nat|[A-Za-z_][\w'.]*|\d+|\S")
PRIMITIVES = {
    "INR": float,
    "S": lambda k: k + 1,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "tanh": math.tanh,
    "Rabs": abs,
    "Rmin": lambda a: lambda b: min(a, b),
    "Rmax": lambda a: lambda b: max(a, b),
    "Rle_dec": lambda a: lambda b: a <= b,
    "Nat.eqb": lambda a: lambda b: a == b,
    "eqb": lambda a: lambda b: a == b,
}


def functions(file, **others):
    """Return the definitions of a file and of all that it imports, by name."""
    known = PRIMITIVES | others
    for one in [*proofs.imports(file), file]:
        for sentence in proofs.definitions(one):
            name, value = definition(sentence, known)
            known[name] = value
    return known


def definition(sentence, known):
    """Return the name of a definition, and what it defines; None if that is not a formula."""
    head, _, body = sentence.partition(":=")
    name = head.split()[1]
    parameters = [p for group in re.findall(r"\(([\w' ]+) :", head) for p in group.split()]
    try:
        parser = Parser(TOKEN.findall(body))
        value = parser.abstraction(parameters)
        if parser.tokens:
            raise SyntaxError(parser.tokens)
    except SyntaxError:
        return name, None
    return name, value(known)


class Parser:
    """Turn tokens into a function of what is known."""

    def __init__(self, tokens):
        self.tokens = tokens

    def take(self, *expected):
        """Remove the next token, which must be one of these, if any are given."""
        if not self.tokens or (expected and self.tokens[0] not in expected):
            raise SyntaxError(self.tokens[:3])
        return self.tokens.pop(0)

    def next(self, *tokens):
        """Whether the next token is one of these."""
        return bool(self.tokens) and self.tokens[0] in tokens

    def abstraction(self, names):
        """Read a body that the names are arguments of."""
        if not names:
            return self.expression()
        body = self.abstraction(names[1:])
        return lambda known: lambda value: body(Scope(known, names[0], value))

    def expression(self):
        """Read a formula."""
        if self.next("fun"):
            self.take()
            names = []
            while not self.next("=>"):
                names.append(self.take())
            self.take("=>")
            return self.abstraction(names)
        if self.next("if"):
            self.take()
            condition = self.expression()
            self.take("then")
            yes = self.expression()
            self.take("else")
            no = self.expression()
            return lambda known: yes(known) if condition(known) else no(known)
        if self.next("match"):
            return self.recursion()
        return self.sum()

    def recursion(self):
        """Read `match n with | O => a | S k => b end`."""
        self.take()
        number = self.expression()
        for token in ("with", "|", "O", "=>"):
            self.take(token)
        at_zero = self.expression()
        for token in ("|", "S"):
            self.take(token)
        name = self.take()
        self.take("=>")
        above = self.expression()
        self.take("end")

        def value(known):
            n = number(known)
            return at_zero(known) if n == 0 else above(Scope(known, name, n - 1))

        return value

    def sum(self):
        """Read terms with + and - between them."""
        left = self.product()
        while self.next("+", "-"):
            sign = 1 if self.take() == "+" else -1
            left = added(left, sign, self.product())
        return left

    def product(self):
        """Read factors with * and / between them."""
        left = self.power()
        while self.next("*", "/"):
            left = multiplied(left, self.take(), self.power())
        return left

    def power(self):
        """Read a call, perhaps with a sign, an inverse or a power."""
        if self.next("-"):
            self.take()
            of = self.power()
            return lambda known: -of(known)
        if self.next("/"):
            self.take()
            of = self.power()
            return lambda known: 1 / of(known)
        base = self.call()
        if self.next("^"):
            self.take()
            exponent = self.call()
            return lambda known: base(known) ** exponent(known)
        return base

    def call(self):
        """Read a function and its arguments."""
        function = self.atom()
        while self.tokens and re.match(r"[\w(]", self.tokens[0]) and not self.next(*WORDS):
            function = applied(function, self.atom())
        return function

    def atom(self):
        """Read a number, a name, or a formula in parentheses."""
        token = self.take()
        if token == "(":
            inner = self.expression()
            self.take(")")
        elif token.isdigit():
            inner = lambda known: int(token)  # noqa: E731
        elif re.match(r"\w", token):
            inner = lambda known: known[token]  # noqa: E731
        else:
            raise SyntaxError(token)
        if self.next("%nat"):
            self.take()
        return inner


WORDS = ("then", "else", "with", "end", "in", "forall", "exists")


def added(left, sign, right):
    return lambda known: left(known) + sign * right(known)


def multiplied(left, operation, right):
    if operation == "*":
        return lambda known: left(known) * right(known)
    return lambda known: left(known) / right(known)


def applied(function, argument):
    return lambda known: function(known)(argument(known))


class Scope:
    """What is known, and one name more."""

    def __init__(self, outer, name, value):
        self.outer, self.name, self.value = outer, name, value

    def __getitem__(self, name):
        return self.value if name == self.name else self.outer[name]
