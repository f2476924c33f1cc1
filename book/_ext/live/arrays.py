"""The part of NumPy that the live cells of the book use, on plain lists, for MicroPython.

`tests/test_live.py` derives what that part is from the cells, and holds it against NumPy. The file
runs in CPython, too. Whatever is not here is refused by name, with what to use in its place.
"""

import math

INSTEAD = {
    "sort": "sorted(x)",
    "unique": "sorted(set(x))",
    "std": "np.sqrt(((x - x.mean())**2).mean())",
    "var": "((x - x.mean())**2).mean()",
    "prod": "a loop",
    "linspace": "a + (b - a) * np.arange(n) / (n - 1)",
    "ones": "np.repeat(1.0, n)",
    "zeros": "np.repeat(0.0, n)",
    "max": "x.max()",
    "min": "min(x)",
    "abs": "abs(x)",
    "clip": "np.minimum(high, x)",
    "e": "np.exp(1)",
    "pi": "3.141592653589793",
    "tile": "a loop",
    "normal": "a + b * rng.standard_normal(n)",
    "uniform": "low + (high - low) * rng.random(n)",
    "exponential": "scale * rng.gamma(1, 1, n)",
    "standard_gamma": "rng.gamma(k, 1)",
    "choice": "rng.integers(0, n)",
    "permutation": "np.argsort(rng.random(n))",
    "inv": "np.linalg.solve(A, b)",
    "append": "np.array(list(x) + [more])",
    "seed": "np.random.default_rng(seed)",
    "astype": "x * 1 or x * 1.0",
    "copy": "x + 0",
}
ELSEWHERE = "NumPy itself runs in JupyterLab, see `make lab`"


def missing(what, name):
    """The error for a name that is not here."""
    instead = INSTEAD.get(name)
    hint = "use {}. ".format(instead) if instead else ""
    return AttributeError(
        "{}.{} does not run in the page: {}{}".format(what, name, hint, ELSEWHERE)
    )


def size_of(shape):
    size = 1
    for length in shape:
        size *= length
    return size


def as_tuple(shape):
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


class ndarray:
    """Numbers in a flat list, with a shape."""

    def __init__(self, data, shape):
        self.data, self.shape = data, shape

    def __getattr__(self, name):
        raise missing("array", name)

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return iter(self.data if len(self.shape) == 1 else [self[i] for i in range(len(self))])

    def tolist(self):
        if not self.shape:
            return self.data[0]
        if len(self.shape) == 1:
            return list(self.data)
        return [row.tolist() for row in self]

    # Reading and writing parts.

    def __getitem__(self, key):
        if len(self.shape) == 1 and isinstance(key, int):
            return self.data[key]
        if isinstance(key, (list, ndarray)):
            return self.rows(positions(key, len(self)))
        keys = key if isinstance(key, tuple) else (key,)
        asked = [one for one in keys if one is not None]
        if len(asked) > len(self.shape):
            raise IndexError("too many indices for an array of shape {}".format(self.shape))
        places, shape, axis = [0], [], 0
        for one in keys:
            if one is None:
                shape.append(1)
                continue
            length, step = self.shape[axis], size_of(self.shape[axis + 1 :])
            taken = list(range(length))[one]  # a number, or those of a slice
            if isinstance(taken, list):
                shape.append(len(taken))
            else:
                taken = [taken]
            places = [place + step * index for place in places for index in taken]
            axis += 1
        rest = self.shape[axis:]
        size = size_of(rest)
        data = [self.data[place + k] for place in places for k in range(size)]
        shape = tuple(shape) + rest
        return ndarray(data, shape) if shape else data[0]

    def rows(self, chosen):
        size = size_of(self.shape[1:])
        data = [self.data[size * i + k] for i in chosen for k in range(size)]
        return ndarray(data, (len(chosen),) + self.shape[1:])

    def __setitem__(self, key, value):
        if len(self.shape) > 1:
            raise missing("array", "__setitem__ of several axes")
        chosen = (
            positions(key, len(self)) if isinstance(key, (list, ndarray)) else range(len(self))[key]
        )
        if isinstance(chosen, int):
            chosen = [chosen]
        values = spread(array(value), (len(chosen),))
        for place, one in zip(chosen, values):
            self.data[place] = one

    # Arithmetic, entry by entry.

    def __add__(self, other):
        return each(lambda a, b: a + b, self, other)

    def __sub__(self, other):
        return each(lambda a, b: a - b, self, other)

    def __rsub__(self, other):
        return each(lambda a, b: b - a, self, other)

    def __mul__(self, other):
        return each(lambda a, b: a * b, self, other)

    def __truediv__(self, other):
        return each(divide, self, other)

    def __rtruediv__(self, other):
        return each(lambda a, b: divide(b, a), self, other)

    def __floordiv__(self, other):
        return each(lambda a, b: a // b, self, other)

    def __mod__(self, other):
        return each(lambda a, b: a % b, self, other)

    def __pow__(self, other):
        return each(lambda a, b: a**b, self, other)

    def __rpow__(self, other):
        return each(lambda a, b: b**a, self, other)

    def __lt__(self, other):
        return each(lambda a, b: a < b, self, other)

    def __le__(self, other):
        return each(lambda a, b: a <= b, self, other)

    def __gt__(self, other):
        return each(lambda a, b: a > b, self, other)

    def __ge__(self, other):
        return each(lambda a, b: a >= b, self, other)

    def __eq__(self, other):
        return each(lambda a, b: a == b, self, other)

    def __ne__(self, other):
        return each(lambda a, b: a != b, self, other)

    def __and__(self, other):
        return each(lambda a, b: a & b, self, other)

    def __or__(self, other):
        return each(lambda a, b: a | b, self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return ndarray([-a for a in self.data], self.shape)

    def __invert__(self):
        return ndarray([not a if isinstance(a, bool) else ~a for a in self.data], self.shape)

    def __abs__(self):
        return ndarray([abs(a) for a in self.data], self.shape)

    def __matmul__(self, other):
        return dot(self, other)

    def __rmatmul__(self, other):
        return dot(other, self)

    def __bool__(self):
        if len(self.data) == 1:
            return bool(self.data[0])
        raise ValueError("an array of several entries is neither true nor false")

    # What a whole array is.

    @property
    def T(self):
        if len(self.shape) == 1:
            return self
        rows, columns = self.shape
        data = [self.data[i * columns + j] for j in range(columns) for i in range(rows)]
        return ndarray(data, (columns, rows))

    def sum(self):
        return pairwise(self.data, 0, len(self.data))

    def mean(self):
        return self.sum() / len(self.data)

    def max(self):
        return max(self.data)

    def round(self, digits=0):
        return ndarray([rounded(a, digits) for a in self.data], self.shape)

    def __str__(self):
        if not self.shape:
            return str(self.data[0])
        words = column(self.data)
        if len(self.shape) == 1:
            return wrapped(words, 1)
        size = self.shape[-1]
        lines = [wrapped(words[k : k + size], 2) for k in range(0, len(words), size)]
        return "[" + "\n ".join(lines) + "]"

    def __repr__(self):
        return "array({})".format(self.tolist())


def wrapped(words, depth):
    """One line of an array, broken where NumPy breaks it; so many brackets are open."""
    lines, line = [], " " * depth
    for word in words:
        if len(line) > depth and len(line) + len(word) > 75 - depth:
            lines.append(line.rstrip())
            line = " " * depth
        line += word + " "
    text = "\n".join(lines + [line[:-1]])
    return "[" + text[depth:] + "]"


def column(data):
    """Numbers as NumPy prints those of one array: eight digits, as wide as the widest."""
    if not any(isinstance(a, float) for a in data):
        words = [str(a) for a in data]
        width = max([len(word) for word in words] + [0])
        return [" " * (width - len(word)) + word for word in words]
    finite = [abs(a) for a in data if math.isfinite(a) and a != 0]
    far = finite and (max(finite) >= 1e8 or min(finite) < 1e-4 or max(finite) / min(finite) > 1e3)
    parts = [in_parts(a, far) for a in data]
    before = max(len(part[0]) for part in parts)
    after = max(len(part[1]) for part in parts)
    return [
        " " * (before - len(head))
        + head
        + tail
        + ("0" if power else " ") * (after - len(tail))
        + power
        for head, tail, power in parts
    ]


def in_parts(a, with_power):
    """What stands before the digits after the point, these digits, and the power of ten."""
    if not math.isfinite(a):
        return str(a), "", ""
    if with_power:
        digits, power = "{:.8e}".format(a).split("e")
        sign, power = power[0], power[1:].lstrip("0")
        power = "e" + sign + "0" * (2 - len(power)) + power
    else:
        digits, power = "{:.8f}".format(a), ""
    head, tail = digits.split(".")
    return head + ".", tail.rstrip("0"), power


def rounded(a, digits):
    scale = 10**digits
    nearest = round(a * scale)  # to even, as NumPy
    return nearest / scale if isinstance(a, float) else a


def pairwise(data, first, last):
    """The sum in NumPy's order: eight sums of a block, then halves."""
    size = last - first
    if size < 8:
        total = 0
        for k in range(first, last):
            total += data[k]
        return total
    if size <= 128:
        r = list(data[first : first + 8])
        whole = first + size - size % 8
        for k in range(first + 8, whole, 8):
            for j in range(8):
                r[j] += data[k + j]
        total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
        for k in range(whole, last):
            total += data[k]
        return total
    half = size // 2
    half -= half % 8
    return pairwise(data, first, first + half) + pairwise(data, first + half, last)


def divide(a, b):
    if b != 0:
        return a / b
    return math.nan if a == 0 or a != a else math.inf if a > 0 else -math.inf


def positions(key, length):
    """The places that a list of numbers, or of yes and no, chooses."""
    key = array(key)
    if key.data and isinstance(key.data[0], bool):
        if len(key) != length:
            raise IndexError("{} yes or no for {} rows".format(len(key), length))
        return [i for i in range(length) if key.data[i]]
    return key.data


def array(values):
    """A copy of nested lists, or of an array; one number among floats becomes one."""
    if isinstance(values, ndarray):
        return ndarray(list(values.data), values.shape)
    if not isinstance(values, (list, tuple, range)):
        return values  # one number
    rows = [array(one) for one in values]
    if not rows or not isinstance(rows[0], ndarray):
        if any(isinstance(one, float) for one in rows):
            rows = [float(one) for one in rows]
        return ndarray(rows, (len(rows),))
    shape = rows[0].shape
    if any(row.shape != shape for row in rows):
        raise ValueError("the rows of an array must be of one length")
    data = array([a for row in rows for a in row.data]).data
    return ndarray(data, (len(rows),) + shape)


def spread(a, shape):
    """The numbers of an array, or one number, repeated to a shape."""
    if not isinstance(a, ndarray):
        return [a] * size_of(shape)
    if a.shape == shape:
        return a.data
    own = (1,) * (len(shape) - len(a.shape)) + a.shape
    places = [0]
    for axis in range(len(shape)):
        step = 0 if own[axis] == 1 else size_of(own[axis + 1 :])
        places = [place + step * k for place in places for k in range(shape[axis])]
    return [a.data[place] for place in places]


def common(one, other):
    """The shape to which two arrays are repeated."""
    length = max(len(one), len(other))
    pairs = zip((1,) * (length - len(one)) + one, (1,) * (length - len(other)) + other)
    shape = []
    for a, b in pairs:
        if a != b and 1 not in (a, b):
            raise ValueError("shapes {} and {} do not fit".format(one, other))
        shape.append(b if a == 1 else a)
    return tuple(shape)


def each(rule, one, other):
    """A rule for two numbers, applied entry by entry."""
    one = one if isinstance(one, ndarray) else array(one)
    if not isinstance(other, (ndarray, list, tuple, range)):
        return number_or_array([rule(a, other) for a in one.data], one.shape)
    other = array(other) if not isinstance(other, ndarray) else other
    shape = common(one.shape, other.shape)
    pairs = zip(spread(one, shape), spread(other, shape))
    return number_or_array([rule(a, b) for a, b in pairs], shape)


def number_or_array(data, shape):
    return ndarray(data, shape) if shape else data[0]


def mapped(rule):
    def function(x):
        x = x if isinstance(x, ndarray) else array(x)
        if not isinstance(x, ndarray):
            return rule(x)
        return number_or_array([rule(a) for a in x.data], x.shape)

    return function


def real_log(a):
    return math.log(a) if a > 0 else -math.inf if a == 0 else math.nan


def real_sqrt(a):
    return math.sqrt(a) if a >= 0 else math.nan


exp, log, sqrt, tanh = (mapped(rule) for rule in (math.exp, real_log, real_sqrt, math.tanh))


def picked(rule):
    """`min` or `max` of two, entry by entry."""

    def function(one, other):
        if isinstance(other, ndarray) and not isinstance(one, ndarray):
            one, other = other, one
        return each(rule, one, other) if isinstance(one, ndarray) else rule(one, other)

    return function


def asarray(values, dtype=None):
    """An array, of one number, too; of `float`, if that is asked for."""
    values = array(values)
    if not isinstance(values, ndarray):
        values = ndarray([values], ())
    return ndarray([float(a) for a in values.data], values.shape) if dtype is float else values


def where(condition, yes, no):
    condition, yes, no = array(condition), array(yes), array(no)
    shape = condition.shape
    for part in (yes, no):
        if isinstance(part, ndarray):
            shape = common(shape, part.shape)
    rows = zip(spread(condition, shape), spread(yes, shape), spread(no, shape))
    return array(ndarray([b if a else c for a, b, c in rows], shape))


def arange(*ends):
    if any(isinstance(end, float) for end in ends):
        raise TypeError("np.arange takes whole numbers here: n, or first and last, and a step")
    return array(range(*ends))


def repeat(values, times):
    values = array(values)
    if not isinstance(values, ndarray):
        return ndarray([values] * times, (times,))
    times = spread(array(times), values.shape)
    data = [a for a, count in zip(values.data, times) for _ in range(count)]
    return ndarray(data, (len(data),))


def eye(d):
    return ndarray([1.0 if i == j else 0.0 for i in range(d) for j in range(d)], (d, d))


def delete(values, place):
    values = array(values)
    place = range(len(values))[place]
    return values.rows([i for i in range(len(values)) if i != place])


def argsort(values):
    data = array(values).data
    order = sorted(range(len(data)), key=lambda i: data[i])
    return ndarray(order, (len(order),))


def cumsum(values):
    total, sums = 0, []
    for a in array(values).data:
        total += a
        sums.append(total)
    return ndarray(sums, (len(sums),))


def bincount(owner):
    data = array(owner).data
    counts = [0] * (max(data) + 1)
    for one in data:
        counts[one] += 1
    return ndarray(counts, (len(counts),))


def dot(one, other):
    one, other = array(one), array(other)
    if one.shape[-1] != other.shape[0]:
        raise ValueError("shapes {} and {} do not fit".format(one.shape, other.shape))
    length = other.shape[0]
    rows = one.data if len(one.shape) == 1 else None
    tall = 1 if rows else one.shape[0]
    wide = 1 if len(other.shape) == 1 else other.shape[1]
    data = []
    for i in range(tall):
        for j in range(wide):
            total = 0
            for k in range(length):
                total += one.data[i * length + k] * other.data[k * wide + j]
            data.append(total)
    shape = one.shape[:-1] + other.shape[1:]
    return ndarray(data, shape) if shape else data[0]


def solve(A, b):
    """Gauss, with the largest entry of a column as pivot."""
    A, b = array(A), array(b)
    d = len(b)
    rows = [[float(a) for a in row] + [float(v)] for row, v in zip(A.tolist(), b.data)]
    for k in range(d):
        pivot = max(range(k, d), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        if rows[k][k] == 0:
            raise ValueError("a singular matrix")
        for i in range(k + 1, d):
            factor = rows[i][k] / rows[k][k]
            for j in range(k, d + 1):
                rows[i][j] -= factor * rows[k][j]
    x = [0.0] * d
    for k in range(d - 1, -1, -1):
        known = sum(rows[k][j] * x[j] for j in range(k + 1, d))
        x[k] = (rows[k][d] - known) / rows[k][k]
    return ndarray(x, (d,))


def norm(x):
    return math.sqrt(sum(a * a for a in array(x).data))


def below_one(state):
    """Uniform numbers of 53 bits, by a generator of Marsaglia's: xorshift64*."""
    mask = (1 << 64) - 1
    while True:
        state ^= state >> 12
        state = (state ^ (state << 25)) & mask
        state ^= state >> 27
        yield ((state * 0x2545F4914F6CDD1D & mask) >> 11) / 9007199254740992


class Generator:
    """Draws, each made of numbers between 0 and 1 that come one after the other."""

    def __init__(self, uniforms):
        self.uniforms = uniforms

    def __getattr__(self, name):
        raise missing("rng", name)

    def draws(self, one, size):
        if size is None:
            return one()
        shape = as_tuple(size)
        return ndarray([one() for _ in range(size_of(shape))], shape)

    def random(self, size=None):
        return self.draws(lambda: next(self.uniforms), size)

    def integers(self, low, high, size=None):
        return self.draws(lambda: low + int((high - low) * next(self.uniforms)), size)

    def binomial(self, n, p, size=None):
        return self.draws(lambda: sum(int(next(self.uniforms) < p) for _ in range(n)), size)

    def geometric(self, p, size=None):
        def one():
            # 1 - u is never 0
            return max(1, math.ceil(math.log(1 - next(self.uniforms)) / math.log(1 - p)))

        return self.draws(one, size)

    def laplace(self, center, scale, size=None):
        def one():
            u = next(self.uniforms) - 0.5
            side = -1 if u < 0 else 1
            return center - side * scale * math.log(max(1 - 2 * abs(u), 1e-300))

        return self.draws(one, size)

    def standard_normal(self, size=None):
        def one():  # Box and Muller
            radius = math.sqrt(-2 * math.log(1 - next(self.uniforms)))
            return radius * math.cos(2 * math.pi * next(self.uniforms))

        return self.draws(one, size)

    def gamma(self, shape, scale, size=None):
        if int(shape) != shape:
            raise ValueError("rng.gamma takes a whole shape here: " + ELSEWHERE)

        def one():  # a sum of exponential draws
            return sum(-scale * math.log(1 - next(self.uniforms)) for _ in range(int(shape)))

        return self.draws(one, size)


def default_rng(seed=0):
    state = (seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & ((1 << 64) - 1)
    uniforms = below_one(state or 1)
    for _ in range(8):  # seeds that are alike part
        next(uniforms)
    return Generator(uniforms)


class Names:
    """What stands behind a dot, and an error for everything else."""

    def __init__(self, what, **names):
        self.what = what
        for name in names:
            setattr(self, name, names[name])

    def __getattr__(self, name):
        raise missing(self.what, name)


np = Names(
    "np",
    arange=arange,
    argsort=argsort,
    array=array,
    asarray=asarray,
    bincount=bincount,
    cumsum=cumsum,
    delete=delete,
    dot=dot,
    exp=exp,
    eye=eye,
    full=lambda n, value: repeat(value, n),
    linalg=Names("np.linalg", norm=norm, solve=solve),
    log=log,
    maximum=picked(max),
    mean=lambda x: array(x).mean(),
    minimum=picked(min),
    random=Names("np.random", default_rng=default_rng),
    repeat=repeat,
    round=lambda x, digits=0: array(x).round(digits),
    sqrt=sqrt,
    sum=lambda x: array(x).sum(),
    tanh=tanh,
    where=where,
)
