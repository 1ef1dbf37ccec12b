def run():
    total = 0
    scaled = 0.0
    i = 0
    while i < 1000000:
        total = total + i * i % 7
        scaled = scaled * 0.5 + 1.0
        if i % 3 == 0:
            total = total - 1
        i = i + 1
    for n in range(500000):
        total = total + n % 5
    if scaled > 1.5:
        total = total + 1
    return total
