import json


def run():
    records = []
    for i in range(2000):
        records.append(
            {"id": i, "name": f"record {i}", "tags": ["a", "b", "c"], "score": i * 0.5, "nested": {"ok": True, "none": None}}
        )
    total = 0
    for _ in range(5):
        text = json.dumps(records)
        records = json.loads(text)
        total = total + len(records)
    return total + records[1999]["id"]
