#!/usr/bin/env python3
"""Writes the shared test vectors as C arrays: vectors.py OUTPUT."""

import json
import pathlib
import sys

VECTORS = pathlib.Path(__file__).resolve().parent.parent / "vectors"


def load(name):
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


def c_text(text):
    """A C literal; every byte as an octal escape, so that nothing in it can mean more than itself."""
    return '"%s"' % "".join("\\%03o" % byte for byte in text.encode("utf-8", "surrogatepass"))


def widths(text):
    return ", ".join(text.split("-"))


def array(declaration, rows):
    assert rows, declaration
    return "static const %s[] = {\n%s\n};\n" % (declaration, "\n".join("    %s," % row for row in rows))


def main():
    ids, layouts, errors = load("ids.json"), load("layouts.json"), load("errors.json")
    # A text with a NUL inside cannot reach a C function as itself.
    texts = [case["text"] for case in ids["text_failures"] if "\0" not in case["text"]]
    layout_texts = [case["text"] for case in layouts["text_failures"] if case["text"] and "\0" not in case["text"]]
    out = [
        array(
            "struct valid_id valid_ids",
            [
                "{{%s, %s}, INT64_C(%s), %s, {INT64_C(%s), %d, %d, %d}}"
                % (
                    widths(case["layout"]),
                    "INT64_C(%s)" % case["epoch_ms"],
                    case["id"],
                    c_text(case["id"]),
                    case["timestamp_ms"],
                    case["datacenter_id"],
                    case["worker_id"],
                    case["sequence"],
                )
                for case in ids["valid"]
            ],
        ),
        array("char *const bad_id_texts", [c_text(text) for text in texts]),
        array(
            "int64_t bad_ids",
            [
                "INT64_MIN" if case["number"] == str(-(2**63)) else "INT64_C(%s)" % case["number"]
                for case in ids["number_failures"]
            ],
        ),
        array(
            "leaseflake_layout_t good_layouts",
            ["{%s, INT64_C(%s)}" % (widths(case["layout"]), case["epoch_ms"]) for case in layouts["valid"]],
        ),
        array("char *const bad_layout_texts", [c_text(text) for text in layout_texts]),
        array(
            "struct widths bad_widths",
            ["{{%s}}" % ", ".join(str(width) for width in case["widths"]) for case in layouts["width_failures"]],
        ),
        array("char *const bad_epochs", [c_text(str(case["epoch_ms"])) for case in layouts["epoch_failures"]]),
        array(
            "struct code codes",
            ['{%d, "%s", %d}' % (case["code"], case["name"], case["retryable"]) for case in errors["errors"]],
        ),
    ]
    pathlib.Path(sys.argv[1]).write_text("/* Written by vectors.py. */\n" + "\n".join(out), encoding="utf-8")


if __name__ == "__main__":
    main()
