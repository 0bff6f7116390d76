"""A few IDs, and what is in them: python examples/python/quickstart.py"""

from leaseflake import IdGenerator


def main() -> None:
    with IdGenerator(store="sqlite:ids.db") as ids:
        number = ids.next_id()
        parts = ids.decode(number)
        print(f"{number} was made at {parts.timestamp.isoformat()}")
        print(f"by worker ID {parts.datacenter_id}/{parts.worker_id}, sequence {parts.sequence}")

        batch = ids.next_batch(100)
        print(f"{len(batch)} more, from {batch[0]} to {batch[-1]}")


if __name__ == "__main__":
    main()
