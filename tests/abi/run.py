#!/usr/bin/env python3
"""The C ABI and its package, from a C programmer's side: builds and runs everything in this folder.

    run.py FOLDER   FOLDER holds `prefix` (the package, laid out) and `plain` (a library without the AWS SDK, with faults)

Without names all steps run; with names (after FOLDER) only those.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = pathlib.Path(sys.argv[1]).resolve()
PREFIX = WORK / "prefix"
LIB = PREFIX / "lib"
BUILD = WORK / "build"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# Generous: the machine may be slow and busy. Nothing here waits for time to pass.
DEADLINE = 900


class Failed(Exception):
    pass


def run(*command, **options):
    """Runs a command; gives its output, or fails with it."""
    command = [str(part) for part in command]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE,
        errors="replace",
        **options,
    )
    if done.returncode != 0:
        raise Failed("%s\ngave %d:\n%s" % (" ".join(command), done.returncode, done.stdout))
    return done.stdout


def environment(**more):
    """No options of the generator from outside."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LEASEFLAKE_")}
    return {**kept, "RUST_BACKTRACE": "0", **{name: str(value) for name, value in more.items()}}


def compilers(language):
    names = {"c": ["gcc", "clang"], "c++": ["g++", "clang++"]}[language]
    found = [[name] for name in names if shutil.which(name)]
    for newer in range(25, 16, -1):  # A library that has std::format.
        if language == "c++" and shutil.which("clang++-%d" % newer):
            probe = subprocess.run(
                ["clang++-%d" % newer, "-stdlib=libc++", "-std=c++20", "-x", "c++", "-E", "-"],
                input="#include <format>\n",
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            if probe.returncode == 0:
                found.append(["clang++-%d" % newer, "-stdlib=libc++"])
                break
    if len(found) < len(names):
        print("   skipped: not both of %s are here" % " and ".join(names))
        if os.environ.get("CI") == "true":
            raise Failed("CI needs both of %s" % " and ".join(names))
    return found


def compile_program(source, out, libraries, *more, compiler=None):
    language = "c++" if source.suffix == ".cpp" else "c"
    compiler = compiler or (["c++", "-std=c++17"] if language == "c++" else ["cc", "-std=gnu11"])
    run(
        *compiler,
        "-g",
        "-O1",
        *WARNINGS,
        "-I",
        PREFIX / "include",
        "-I",
        BUILD,
        "-o",
        out,
        source,
        *libraries,
        *more,
        "-lpthread",
        "-ldl",
        "-lm",
    )
    return out


SHARED = ["-L", LIB, "-lleaseflake", "-Wl,-rpath,%s" % LIB]
STATIC = [LIB / "libleaseflake.a"]
PLAIN = ["-L", WORK / "plain", "-lleaseflake", "-Wl,-rpath,%s" % (WORK / "plain")]


def run_program(program, *arguments, before=(), **variables):
    with tempfile.TemporaryDirectory() as folder:
        return run(*before, program, *arguments, env=environment(ABI_TMP=folder, **variables), cwd=folder)


def headers_alone():
    """Each header alone and twice, in every standard, under every compiler."""
    twice = '#include "%s"\n#include "%s"\nint main(void) { return 0; }\n'
    count = 0
    for language, header, standards in (
        ("c", "leaseflake.h", ["c99", "c11", "c17"]),
        ("c++", "leaseflake.h", ["c++11", "c++17", "c++20"]),
        ("c++", "leaseflake.hpp", ["c++17", "c++20"]),
    ):
        for compiler in compilers(language):
            for standard in standards:
                run(
                    *compiler,
                    "-std=" + standard,
                    *WARNINGS,
                    "-Wshadow",
                    "-Wconversion",
                    "-I",
                    ROOT / "include",
                    "-fsyntax-only",
                    "-x",
                    language,
                    "-",
                    input=twice % (header, header),
                )
                count += 1
    # What a header says it needs is said, not a screen of errors.
    old = subprocess.run(
        ["c++", "-std=c++14", "-I", ROOT / "include", "-fsyntax-only", "-x", "c++", "-"],
        input='#include "leaseflake.hpp"\n',
        stderr=subprocess.PIPE,
        text=True,
    )
    if old.returncode == 0 or "needs C++17" not in old.stderr:
        raise Failed("leaseflake.hpp does not say that it needs C++17")
    # A code that nobody looks at is warned of.
    for compiler in compilers("c"):
        careless = subprocess.run(
            [*compiler, "-Werror", "-I", ROOT / "include", "-c", "-o", os.devnull, "-x", "c", "-"],
            input='#include "leaseflake.h"\nvoid f(leaseflake_generator_t *g, int64_t *i) { leaseflake_next_id(g, i); }\n',
            stderr=subprocess.PIPE,
            text=True,
        )
        if careless.returncode == 0 or "unused" not in careless.stderr:
            raise Failed("a code of leaseflake_next_id() that is dropped is not warned of")
    return "%d compilations" % count


def exported(*command):
    symbols = sorted({line.split()[-1] for line in run(*command).splitlines() if len(line.split()) >= 3})
    expected = (ROOT / "ffi/symbols.txt").read_text().split()
    if symbols != expected:
        raise Failed(
            "%s exports %s beyond ffi/symbols.txt and lacks %s"
            % (command[-1], sorted(set(symbols) - set(expected))[:20], sorted(set(expected) - set(symbols)))
        )
    return len(symbols)


def symbols():
    """What both libraries export is the committed list; the shared one has its soname and stays loaded."""
    shared = next(LIB.glob("libleaseflake.so.*.*"))
    count = exported("nm", "-D", "--defined-only", shared)
    exported("nm", "-g", "--defined-only", LIB / "libleaseflake.a")
    declared = re.findall(r"^(?:[\w ]+[ *])?(leaseflake_\w+)\(", (ROOT / "include/leaseflake.h").read_text(), re.M)
    if sorted(declared) != (ROOT / "ffi/symbols.txt").read_text().split():
        raise Failed("the header declares %s" % sorted(declared))
    abi = re.search(r"#define LEASEFLAKE_ABI_VERSION (\d+)", (ROOT / "include/leaseflake.h").read_text()).group(1)
    dynamic = run("readelf", "-d", shared)
    for wanted in ("soname: [libleaseflake.so.%s]" % abi, "NODELETE"):
        if wanted not in dynamic:
            raise Failed("%s has no %s:\n%s" % (shared.name, wanted, dynamic))
    return "%d symbols" % count


def vectors():
    """The shared vectors."""
    run(sys.executable, HERE / "vectors.py", BUILD / "vectors.h")
    run_program(compile_program(HERE / "vectors.c", BUILD / "vectors", SHARED))


def programs():
    """Basics, threads, forks and allocations, on the shared and on the static library."""
    for name in ("basics", "threads", "fork", "alloc"):
        for kind, libraries in (("shared", SHARED), ("static", STATIC)):
            run_program(compile_program(HERE / (name + ".c"), BUILD / ("%s-%s" % (name, kind)), libraries))


def wrapper():
    """The C++ wrapper, in C++17 and C++20, under every compiler."""
    formats = 0
    for compiler in compilers("c++"):
        for standard in ("c++17", "c++20"):
            out = BUILD / ("wrapper-%s-%s" % (compiler[0], standard))
            compile_program(HERE / "wrapper.cpp", out, SHARED, compiler=[*compiler, "-std=" + standard])
            formats += "std::format: tested" in run_program(out)
    return "std::format in %d of them" % formats


def every_code():
    """Every code of the table provoked, and every function told to panic."""
    run("cc", "-shared", "-fPIC", "-O2", "-o", BUILD / "clockshim.so", ROOT / "tests/shim/clockshim.c", "-ldl")
    clock = BUILD / "clock"
    clock.write_bytes(bytes(8))
    program = compile_program(HERE / "faults.c", BUILD / "faults", PLAIN, "-lsqlite3")
    run_program(program, LD_PRELOAD=BUILD / "clockshim.so", CLOCKSHIM_FILE=clock)


def own_sqlite():
    """A program that links the static library and the system's SQLite gets the system's."""
    program = compile_program(HERE / "own_sqlite.c", BUILD / "own_sqlite", [*STATIC, "-lsqlite3"])
    if "libsqlite3" not in run("ldd", program):
        raise Failed("the program does not use the system's SQLite")
    run_program(program)
    run_program(compile_program(HERE / "own_sqlite.c", BUILD / "own_sqlite_first", ["-lsqlite3", *STATIC]))


def beside_rust():
    """The static library beside another one that was made by Rust."""
    (BUILD / "other.rs").write_text(
        '#[unsafe(no_mangle)]\npub extern "C" fn other_sum(n: u32) -> u32 {\n'
        "    std::panic::catch_unwind(|| (0..n).map(|x| x.to_string()).collect::<Vec<_>>().len() as u32).unwrap_or(0)\n}\n"
    )
    (BUILD / "beside.c").write_text(
        '#include "%s/check.h"\nextern uint32_t other_sum(uint32_t);\nint main(void) {\n    int64_t id = 0;\n'
        '    leaseflake_generator_t *ids = open_with("memory:beside");\n    CHECK(other_sum(5) == 5);\n'
        "    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(ids, &id));\n    leaseflake_free(ids);\n    return 0;\n}\n"
        % HERE
    )
    run("rustc", "--edition", "2024", "--crate-type", "staticlib", "-O", "-o", BUILD / "libother.a", BUILD / "other.rs")
    for order in ([*STATIC, BUILD / "libother.a"], [BUILD / "libother.a", *STATIC]):
        run_program(compile_program(BUILD / "beside.c", BUILD / "beside", order))


def dynamic():
    """Loaded with dlopen, used, unloaded."""
    program = BUILD / "dynamic"
    run("cc", "-std=gnu11", "-g", *WARNINGS, "-I", PREFIX / "include", "-o", program, HERE / "dynamic.c", "-ldl")
    run_program(program, LIB / "libleaseflake.so")


def exit_gives_back():
    """A program that ends without closing gives its worker ID back.

    It tries for 300 ms, which a busy machine may need for itself: one of three times it has to succeed.
    """
    program = compile_program(HERE / "exit_open.c", BUILD / "exit_open", SHARED)
    for left in (2, 1, 0):
        with tempfile.TemporaryDirectory() as folder:
            try:
                runs = [run(program, "sqlite:%s/ids.db" % folder, env=environment()).split() for _ in range(3)]
                break
            except Failed:
                if left == 0:
                    raise
    epochs, ids = [int(epoch) for epoch, _ in runs], [int(number) for _, number in runs]
    if epochs != [1, 2, 3] or ids != sorted(set(ids)):
        raise Failed("fencing epochs %s, IDs %s" % (epochs, ids))


def address_sanitizer():
    """AddressSanitizer with its search for leaks, over 1,000 opens and closes."""
    flags = ["-fsanitize=address", "-fno-omit-frame-pointer"]
    # Not fork.c: many versions of it have no allocator for a child that was forked while another thread allocated.
    for source, arguments in (("leaks.c", ["1000"]), ("basics.c", []), ("threads.c", []), ("wrapper.cpp", [])):
        program = compile_program(HERE / source, BUILD / (pathlib.Path(source).stem + "-asan"), PLAIN, *flags)
        run_program(program, *arguments, ASAN_OPTIONS="detect_leaks=1:exitcode=23")


def valgrind():
    """Valgrind: no invalid access, in forked children either; nothing lost over 1,000 opens and closes."""
    if not shutil.which("valgrind"):
        if os.environ.get("CI") == "true":
            raise Failed("CI needs valgrind")
        return "skipped: no valgrind"
    checker = ["valgrind", "--quiet", "--error-exitcode=24", "--fair-sched=yes"]
    leaks = ["--leak-check=full", "--show-leak-kinds=definite,indirect", "--errors-for-leak-kinds=definite,indirect"]
    # A forked child has copies of what its parent's other threads alone refer to: no leak of anybody's.
    for name, arguments, options in (("leaks", ["1000"], leaks), ("basics", [], leaks), ("fork", [], [])):
        program = compile_program(HERE / (name + ".c"), BUILD / (name + "-valgrind"), PLAIN)
        run_program(program, *arguments, before=[*checker, *options])
    return None


def examples():
    """The examples, built by pkg-config and by CMake against the package after it was moved; then run."""
    moved = WORK / "moved"
    shutil.rmtree(moved, ignore_errors=True)
    shutil.copytree(PREFIX, moved, symlinks=True)
    pkg = environment(PKG_CONFIG_PATH=moved / "lib/pkgconfig")
    flags = run("pkg-config", "--cflags", "--libs", "leaseflake", env=pkg).split()
    static = [
        flag
        for flag in run("pkg-config", "--static", "--libs-only-l", "leaseflake", env=pkg).split()
        if flag != "-lleaseflake"
    ]
    for language, compiler, source in (("c", ["cc", "-std=c99"], "main.c"), ("cpp", ["c++", "-std=c++17"], "main.cpp")):
        folder = ROOT / "examples" / language
        programs = [BUILD / ("example-" + language), BUILD / ("example-static-" + language)]
        run(*compiler, *WARNINGS, "-o", programs[0], folder / source, *flags, "-Wl,-rpath,%s" % (moved / "lib"))
        run(
            *compiler,
            *WARNINGS,
            "-o",
            programs[1],
            folder / source,
            "-I",
            moved / "include",
            moved / "lib/libleaseflake.a",
            *static,
        )
        cmake = BUILD / ("cmake-" + language)
        shutil.rmtree(cmake, ignore_errors=True)
        run("cmake", "-S", folder, "-B", cmake, "-DCMAKE_PREFIX_PATH=%s" % moved)
        run("cmake", "--build", cmake)
        programs += [cmake / "ids", cmake / "ids-static"]
        for program in programs:
            linked = "libleaseflake" in run("ldd", program)
            if linked == ("static" in program.name):
                raise Failed("%s: linked to the shared library: %s" % (program, linked))
            with tempfile.TemporaryDirectory() as registry:
                out = run(program, "5", env=environment(LEASEFLAKE_STORE="sqlite:%s/ids.db" % registry))
            made = [int(line.split()[0]) for line in out.splitlines()]
            if len(made) != 5 or made != sorted(set(made)):
                raise Failed("%s printed %s" % (program, out))
            without = subprocess.run([str(program)], env=environment(), capture_output=True, text=True)
            if without.returncode != 1 or "INVALID_ARGUMENT" not in without.stderr or "store" not in without.stderr:
                raise Failed("%s without a store: %d %s" % (program, without.returncode, without.stderr))
    return "8 programs"


STEPS = [
    headers_alone,
    symbols,
    vectors,
    programs,
    wrapper,
    every_code,
    own_sqlite,
    beside_rust,
    dynamic,
    exit_gives_back,
    examples,
    address_sanitizer,
    valgrind,
]


def main():
    BUILD.mkdir(parents=True, exist_ok=True)
    names = sys.argv[2:]
    unknown = set(names) - {step.__name__ for step in STEPS}
    if unknown:
        sys.exit("no such step: %s" % ", ".join(sorted(unknown)))
    for step in STEPS:
        if names and step.__name__ not in names:
            continue
        print("-- %s: %s" % (step.__name__, step.__doc__), flush=True)
        began = time.monotonic()
        try:
            note = step()
        except (Failed, subprocess.TimeoutExpired) as failure:
            sys.exit("%s failed: %s" % (step.__name__, failure))
        print("   passed in %.1f s%s" % (time.monotonic() - began, ": " + note if note else ""), flush=True)


if __name__ == "__main__":
    main()
