def run():
    size = 300000
    is_prime = []
    for _ in range(size):
        is_prime.append(True)
    n = 2
    while n * n < size:
        if is_prime[n]:
            m = n * n
            while m < size:
                is_prime[m] = False
                m = m + n
        n = n + 1
    total = 0
    for k in range(2, size):
        if is_prime[k]:
            total = total + k
    return total
