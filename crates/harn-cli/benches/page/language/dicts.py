def run():
    names = []
    for n in range(1000):
        names.append(f"word{n}")
    counts = {}
    state = {"seen": 0, "inner": {"last": 0}}
    at = 1
    for _ in range(300000):
        at = (at * 421 + 1663) % 7919
        name = names[at % 1000]
        counts[name] = counts.get(name, 0) + 1
        state["seen"] = state["seen"] + 1
        state["inner"]["last"] = at
    total = 0
    for name in names:
        total = total + counts.get(name, 0) * len(name)
    return total + state["seen"] + state["inner"]["last"]
