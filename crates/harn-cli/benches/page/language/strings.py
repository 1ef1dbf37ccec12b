def run():
    text = ""
    for i in range(200000):
        text = text + f"line {i};"
    return len(text)
