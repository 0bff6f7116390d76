#!/usr/bin/env python3
"""Computes the vectors that every language asserts: ids.json, layouts.json, errors.json.

Independent of the core on purpose: plain integer arithmetic on the layout's definition, the
standard library only, so that a mistake in the core cannot hide in its own expected values.

    tests/vectors/generate.py           write the three files
    tests/vectors/generate.py --check   exit 1 if a committed file differs

Numbers of 64 bits (IDs, timestamps, epochs) are strings: JSON numbers lose digits above 2^53.
"""

import json
import os
import sys
from datetime import datetime, timedelta

HERE = os.path.dirname(os.path.abspath(__file__))

DEFAULT_EPOCH_MS = 1767225600000  # 2026-01-01T00:00:00Z
MAX_ID = 2**63 - 1

# (widths timestamp-datacenter-worker-sequence, epoch in ms). All add up to 63.
LAYOUTS = [
    ((41, 5, 5, 12), DEFAULT_EPOCH_MS),  # the default
    ((41, 5, 5, 12), 0),  # counting from 1970
    ((41, 5, 5, 12), 1288834974657),  # an epoch that is no round number
    ((41, 0, 10, 12), 1288834974657),  # no datacenter
    ((41, 10, 0, 12), DEFAULT_EPOCH_MS),  # no worker
    ((42, 3, 10, 8), DEFAULT_EPOCH_MS),  # few IDs in a millisecond: a batch is smaller than 1000
    ((39, 4, 8, 12), 1577836800000),
    ((33, 5, 5, 20), DEFAULT_EPOCH_MS),  # many IDs in a millisecond
    ((41, 0, 0, 22), DEFAULT_EPOCH_MS),  # one generator alone, the longest sequence
    ((32, 10, 10, 11), DEFAULT_EPOCH_MS),  # the shortest timestamp
    ((61, 0, 1, 1), DEFAULT_EPOCH_MS),  # the longest timestamp, the shortest sequence
    ((61, 1, 0, 1), 0),
]


def text_of(widths):
    return "-".join(str(width) for width in widths)


def utc(ms):
    """ISO 8601 with milliseconds, or None where a four-digit year does not reach."""
    if not 0 <= ms < 253402300800000:
        return None
    moment = datetime(1970, 1, 1) + timedelta(days=ms // 86400000, milliseconds=ms % 86400000)
    return "%s.%03dZ" % (moment.strftime("%Y-%m-%dT%H:%M:%S"), ms % 1000)


def random_numbers(seed):
    """SplitMix64: the same numbers on every machine and in every Python."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        mixed = state
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
        yield mixed ^ (mixed >> 31)


def vector(why, widths, epoch_ms, since, datacenter, worker, sequence):
    t, d, w, s = widths
    assert 0 <= since < 2**t and 0 <= datacenter < 2**d and 0 <= worker < 2**w and 0 <= sequence < 2**s
    number = ((since * 2**d + datacenter) * 2**w + worker) * 2**s + sequence
    assert 1 <= number <= MAX_ID
    return {
        "why": why,
        "layout": text_of(widths),
        "epoch_ms": str(epoch_ms),
        "id": str(number),
        "timestamp_ms": str(epoch_ms + since),
        "utc": utc(epoch_ms + since),
        "datacenter_id": datacenter,
        "worker_id": worker,
        "sequence": sequence,
    }


def valid_ids():
    found = []
    numbers = random_numbers(20260101)
    for widths, epoch_ms in LAYOUTS:
        t, d, w, s = widths
        most = (2**t - 1, 2**d - 1, 2**w - 1, 2**s - 1)

        def add(why, since, datacenter, worker, sequence):
            found.append(vector(why, widths, epoch_ms, since, datacenter, worker, sequence))  # noqa: B023 (called in its turn)

        add("the smallest ID", 0, 0, 0, 1)
        add("every field at its maximum", *most)
        add("the epoch itself", 0, 0, 0, most[3])
        add("one millisecond after the epoch", 1, 0, 0, 0)
        add("the last millisecond, other fields zero", most[0], 0, 0, 0)
        add("only the sequence at its maximum", 1, 0, 0, most[3])
        if d > 0:
            add("only the datacenter at its maximum", 0, most[1], 0, 0)
            add("the lowest bit of the datacenter", 1, 1, 0, 0)
        if w > 0:
            add("only the worker at its maximum", 0, 0, most[2], 0)
            add("the lowest bit of the worker", 1, 0, 1, 0)
        for bit in (0, t // 2, t - 1):
            add("bit %d of the timestamp alone" % bit, 2**bit, 0, 0, 0)
        for _ in range(6):
            fields = [next(numbers) % (field + 1) for field in most]
            fields[0] = max(fields[0], 1)
            add("random fields", *fields)

    default = LAYOUTS[0]
    for why, ms in [
        ("the last millisecond of 2026", 1798761599999),
        ("a leap day", 1835395200000),
        ("the last second that fits in 31 bits", 2147483647000),
        ("the last whole second before the field ends", 3966248855000),
    ]:
        found.append(vector(why, default[0], default[1], ms - default[1], 1, 4, 0))
    for why, number in [
        ("the largest number that a double holds exactly", 2**53 - 1),
        ("the first number that a double rounds", 2**53 + 1),
        ("the largest 32-bit number", 2**32 - 1),
        ("the largest ID of all", MAX_ID),
    ]:
        t, d, w, s = default[0]
        found.append(
            vector(
                why,
                default[0],
                default[1],
                number // 2 ** (d + w + s),
                number // 2 ** (w + s) % 2**d,
                number // 2**s % 2**w,
                number % 2**s,
            )
        )
    return found


# Every text is refused as an ID with INVALID_ARGUMENT.
ID_TEXT_FAILURES = [
    ("empty", ""),
    ("zero", "0"),
    ("zeros", "000"),
    ("a leading zero", "01"),
    ("leading zeros up to 19 digits", "0000000000000000001"),
    ("a plus sign", "+1"),
    ("a minus sign", "-1"),
    ("a sign alone", "-"),
    ("minus zero", "-0"),
    ("a leading blank", " 1"),
    ("a trailing blank", "1 "),
    ("a blank inside", "1 2"),
    ("a trailing line feed", "1\n"),
    ("a trailing carriage return", "1\r"),
    ("a leading tab", "\t1"),
    ("blanks alone", "   "),
    ("a no-break space", "\u00a01"),
    ("a byte order mark", "\ufeff1"),
    ("2^63", str(2**63)),
    ("2^63 + 1", str(2**63 + 1)),
    ("the largest 19 digits", "9999999999999999999"),
    ("2^64 - 1", str(2**64 - 1)),
    ("2^64 + 1, which wraps to 1", str(2**64 + 1)),
    ("20 digits", "10000000000000000000"),
    ("30 digits", "1" * 30),
    ("1000 digits", "9" * 1000),
    ("letters", "abc"),
    ("a letter after digits", "12x"),
    ("a letter before digits", "x12"),
    ("hexadecimal", "0x10"),
    ("an underscore between digits", "1_000"),
    ("a comma between digits", "1,000"),
    ("an apostrophe between digits", "1'000"),
    ("a fraction", "1.0"),
    ("a point at the end", "1."),
    ("an exponent", "1e3"),
    ("a suffix of a language", "1n"),
    ("another suffix of a language", "1L"),
    ("not a number", "NaN"),
    ("infinity", "Infinity"),
    ("quotes", '"1"'),
    ("NUL after a digit", "1\u0000"),
    ("NUL before a digit", "\u00001"),
    ("NUL alone", "\u0000"),
    ("Arabic-Indic digits", "\u0661\u0662\u0663"),
    ("Devanagari digits", "\u0967\u0968\u0969"),
    ("full-width digits", "\uff11\uff12\uff13"),
    ("a superscript digit", "\u00b2"),
    ("a mathematical digit outside the basic plane", "\U0001d7cf"),
    ("a digit with a combining mark", "1\u0301"),
    ("a terminal escape", "\u001b[31m1"),
]


def id_number_failures():
    return [
        {"why": why, "number": str(number)}
        for why, number in [
            ("zero", 0),
            ("minus one", -1),
            ("a negative default ID", -4194304000000),
            ("the smallest 64-bit number", -(2**63)),
        ]
    ]


def encode_failures():
    found = []

    def add(why, code, widths, epoch_ms, timestamp_ms, datacenter, worker, sequence):
        found.append(
            {
                "why": why,
                "layout": text_of(widths),
                "epoch_ms": str(epoch_ms),
                "timestamp_ms": str(timestamp_ms),
                "datacenter_id": datacenter,
                "worker_id": worker,
                "sequence": sequence,
                "code": code,
            }
        )

    for widths, epoch_ms in LAYOUTS:
        t, d, w, s = widths
        add("every field zero: an ID is greater than zero", 1, widths, epoch_ms, epoch_ms, 0, 0, 0)
        add("one millisecond before the epoch", 22, widths, epoch_ms, epoch_ms - 1, 0, 0, 1)
        add("one millisecond past the field", 22, widths, epoch_ms, epoch_ms + 2**t, 0, 0, 1)
        add("a datacenter one too large", 1, widths, epoch_ms, epoch_ms + 1, 2**d, 0, 0)
        add("a worker one too large", 1, widths, epoch_ms, epoch_ms + 1, 0, 2**w, 0)
        add("a sequence one too large", 1, widths, epoch_ms, epoch_ms + 1, 0, 0, 2**s)
    widths, epoch_ms = LAYOUTS[0]
    largest = 2**32 - 1
    add("the largest 64-bit timestamp", 22, widths, epoch_ms, 2**63 - 1, 0, 0, 1)
    add("the smallest 64-bit timestamp", 22, widths, epoch_ms, -(2**63), 0, 0, 1)
    add("1970", 22, widths, epoch_ms, 0, 0, 0, 1)
    add("the largest 32-bit datacenter", 1, widths, epoch_ms, epoch_ms + 1, largest, 0, 0)
    add("the largest 32-bit worker", 1, widths, epoch_ms, epoch_ms + 1, 0, largest, 0)
    add("the largest 32-bit sequence", 1, widths, epoch_ms, epoch_ms + 1, 0, 0, largest)
    add("a datacenter that a shift would wrap into the timestamp", 1, widths, epoch_ms, epoch_ms + 1, 32, 31, 4095)
    return found


def valid_layouts():
    found = []
    for widths, epoch_ms in LAYOUTS:
        t, d, w, s = widths
        assert sum(widths) == 63
        found.append(
            {
                "layout": text_of(widths),
                "timestamp_bits": t,
                "datacenter_bits": d,
                "worker_bits": w,
                "sequence_bits": s,
                "epoch_ms": str(epoch_ms),
                "max_timestamp": str(2**t - 1),
                "last_ms": str(epoch_ms + 2**t - 1),
                "last_utc": utc(epoch_ms + 2**t - 1),
                "max_datacenter_id": 2**d - 1,
                "max_worker_id": 2**w - 1,
                "max_sequence": 2**s - 1,
                "ids_per_second": 2**s * 1000,
                "max_batch": min(1000, 2**s),
            }
        )
    return found


# Every text is refused as a layout with INVALID_ARGUMENT.
LAYOUT_TEXT_FAILURES = [
    ("empty", ""),
    ("one width", "63"),
    ("three widths", "41-10-12"),
    ("five widths", "41-5-5-6-6"),
    ("widths that add up to 62", "41-5-5-11"),
    ("widths that add up to 64", "41-5-5-13"),
    ("widths that add up to 63 only when they wrap in 8 bits", "41-5-5-268"),
    ("a timestamp too short", "31-10-10-12"),
    ("a timestamp too long", "62-0-0-1"),
    ("a datacenter too long", "33-11-7-12"),
    ("a worker too long", "33-7-11-12"),
    ("no sequence", "53-5-5-0"),
    ("a sequence too long", "34-3-3-23"),
    ("all in the timestamp", "63-0-0-0"),
    ("a width above 255", "297-5-5-12"),
    ("a width of 40 digits", "1" * 40 + "-5-5-12"),
    ("a negative width", "41--5-15-12"),
    ("a plus sign", "+41-5-5-12"),
    ("a leading zero", "041-5-5-12"),
    ("a doubled zero", "41-00-10-12"),
    ("a leading blank", " 41-5-5-12"),
    ("a trailing blank", "41-5-5-12 "),
    ("blanks around the dashes", "41 - 5 - 5 - 12"),
    ("a trailing line feed", "41-5-5-12\n"),
    ("a trailing dash", "41-5-5-12-"),
    ("a leading dash", "-41-5-5-12"),
    ("an empty width", "41--10-12"),
    ("dashes alone", "---"),
    ("commas", "41,5,5,12"),
    ("an en dash", "41\u20135\u20135\u201312"),
    ("letters", "a-b-c-d"),
    ("full-width digits", "\uff14\uff11-5-5-12"),
    ("NUL at the end", "41-5-5-12\u0000"),
]

# Widths as numbers, for surfaces that take them so. Every one is refused with INVALID_ARGUMENT.
LAYOUT_WIDTH_FAILURES = [
    ("all zero", (0, 0, 0, 0)),
    ("one bit short", (41, 5, 5, 11)),
    ("one bit too many", (41, 5, 5, 13)),
    ("a sum that wraps to 63 in 8 bits", (255, 10, 10, 44)),
    ("all 255", (255, 255, 255, 255)),
    ("no sequence", (53, 5, 5, 0)),
    ("a timestamp of 31", (31, 10, 10, 12)),
    ("a timestamp of 62", (62, 0, 0, 1)),
]

# Refused with INVALID_ARGUMENT, whatever the layout.
EPOCH_FAILURES = [
    ("before 1970", -1),
    ("the smallest 64-bit number", -(2**63)),
    ("the year 2100, in the future", 4102444800000),
    ("microseconds instead of milliseconds", DEFAULT_EPOCH_MS * 1000),
    ("the largest 64-bit number", 2**63 - 1),
]

# code, name, retryable, status of a gRPC answer. Numbers are frozen.
ERRORS = [
    (0, "OK", False, "OK"),
    (1, "INVALID_ARGUMENT", False, "INVALID_ARGUMENT"),
    (10, "STORE_UNAVAILABLE", True, "UNAVAILABLE"),
    (11, "STORE_REJECTED", False, "FAILED_PRECONDITION"),
    (12, "LAYOUT_MISMATCH", False, "FAILED_PRECONDITION"),
    (13, "NO_WORKER_ID", True, "UNAVAILABLE"),
    (14, "LEASE_SUSPENDED", True, "UNAVAILABLE"),
    (15, "LEASE_LOST", True, "UNAVAILABLE"),
    (20, "CLOCK_BACKWARDS", True, "UNAVAILABLE"),
    (21, "CLOCK_UNTRUSTED", True, "UNAVAILABLE"),
    (22, "TIMESTAMP_OUT_OF_RANGE", False, "OUT_OF_RANGE"),
    (23, "SEQUENCE_EXHAUSTED", True, "RESOURCE_EXHAUSTED"),
    (30, "CLOSED", False, "UNAVAILABLE"),
    (99, "INTERNAL", False, "INTERNAL"),
]


def texts(pairs):
    return [{"why": why, "text": text} for why, text in pairs]


def files():
    note = "Written by generate.py; do not edit. 64-bit numbers are strings."
    return {
        "ids.json": {
            "note": note,
            "valid": valid_ids(),
            "text_failures": texts(ID_TEXT_FAILURES),
            "number_failures": id_number_failures(),
            "encode_failures": encode_failures(),
        },
        "layouts.json": {
            "note": note,
            "default": {"layout": text_of(LAYOUTS[0][0]), "epoch_ms": str(DEFAULT_EPOCH_MS)},
            "valid": valid_layouts(),
            "text_failures": texts(LAYOUT_TEXT_FAILURES),
            "width_failures": [{"why": why, "widths": list(widths)} for why, widths in LAYOUT_WIDTH_FAILURES],
            "epoch_failures": [{"why": why, "epoch_ms": str(epoch_ms)} for why, epoch_ms in EPOCH_FAILURES],
        },
        "errors.json": {
            "note": note,
            "errors": [
                {"code": code, "name": name, "retryable": retryable, "grpc": grpc}
                for code, name, retryable, grpc in ERRORS
            ],
        },
    }


def render(content):
    """Each vector on a line of its own, so that a difference reads well."""
    parts = []
    for key, value in content.items():
        if isinstance(value, list):
            lines = ",\n".join("    " + json.dumps(item) for item in value)
            parts.append("  %s: [\n%s\n  ]" % (json.dumps(key), lines))
        else:
            parts.append("  %s: %s" % (json.dumps(key), json.dumps(value)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit("usage: generate.py [--check]")
    stale = []
    for name, content in files().items():
        path = os.path.join(HERE, name)
        expected = render(content)
        if not arguments:
            with open(path, "w", encoding="ascii", newline="\n") as file:
                file.write(expected)
            continue
        try:
            with open(path, encoding="ascii", newline="") as file:
                same = file.read() == expected
        except (OSError, UnicodeDecodeError):
            same = False
        if not same:
            stale.append(name)
    if stale:
        sys.exit(
            "tests/vectors: %s differ from what generate.py computes; run tests/vectors/generate.py "
            "and look at the difference" % ", ".join(stale)
        )


if __name__ == "__main__":
    main(sys.argv[1:])
