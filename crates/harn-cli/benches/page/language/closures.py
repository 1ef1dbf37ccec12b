from functools import reduce
from itertools import islice


def run():
    factor = 3
    numbers = list(range(200000))
    mapped = list(map(lambda n: n * factor, numbers))
    eager = reduce(lambda total, n: total + n, list(filter(lambda n: n % 2 == 0, mapped)), 0)
    lazy = sum(islice(filter(lambda n: n % 3 == 0, map(lambda n: n + factor, numbers)), 60000))
    return eager + lazy
