def run():
    numbers = []
    seed = 42
    for _ in range(100000):
        seed = (seed * 1103515245 + 12345) % 2147483648
        numbers.append(seed)
    ordered = sorted(numbers)
    return ordered[0] + ordered[50000] + ordered[99999]
