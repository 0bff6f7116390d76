"""Writes IDs to a file, one a line: python examples/python/count.py COUNT FILE

LEASEFLAKE_STORE names the registry.
"""

import sys

from leaseflake import IdGenerator


def main(count: int, path: str) -> None:
    with IdGenerator() as ids, open(path, "w", encoding="ascii") as file:
        while count > 0:
            batch = ids.next_strs(min(count, 1000))
            file.write("\n".join(batch) + "\n")
            count -= len(batch)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
