import asyncio


async def main():
    requests = asyncio.Queue(64)
    replies = asyncio.Queue(64)

    async def worker():
        for _ in range(5):
            number = await requests.get()
            await replies.put(number * 2)

    async def feed():
        for i in range(50000):
            await requests.put(i)

    tasks = []
    for _ in range(10000):
        tasks.append(asyncio.create_task(worker()))
    feeder = asyncio.create_task(feed())
    total = 0
    for _ in range(50000):
        total = total + await replies.get()
    await feeder
    for task in tasks:
        await task
    return total


def run():
    return asyncio.run(main())
