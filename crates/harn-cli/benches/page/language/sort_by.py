def run():
    people = []
    seed = 42
    for i in range(50000):
        seed = (seed * 1103515245 + 12345) % 2147483648
        people.append({"name": f"n{seed % 1000}", "age": seed % 100000, "id": i})
    ordered = sorted(people, key=lambda person: person["age"])
    return ordered[0]["id"] + ordered[25000]["id"] * 3 + ordered[49999]["id"] * 7
