# Every target is a line or two; what is longer is a script in scripts/.
# A part adds itself to TESTS, PROVE, BENCHES or PACKAGES in its own section.

.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := bash

PREFIX ?= /usr/local
# One profile for all that tests build, so that nothing is compiled twice.
CARGO_TEST := cargo test --locked --profile ci
TESTS :=
PROVE :=
BENCHES :=
PACKAGES :=

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.PHONY: setup
setup: ## install what is missing, or name it with its command
	@scripts/setup

.PHONY: lint
lint: ## formatting, lints, documentation, lock files
	@scripts/lint

.PHONY: install
install: ## the command and the C package, into PREFIX (default /usr/local)
	cargo build --locked --release -p leaseflake-cli
	install -D -m 755 target/release/leaseflake "$(DESTDIR)$(PREFIX)/bin/leaseflake"
	scripts/package-c tree release "$(DESTDIR)$(PREFIX)"

.PHONY: package-rust
PACKAGES += package-rust
package-rust: ## the crate and the command, into dist/
	@scripts/package-rust

.PHONY: vectors
vectors: ## compute the shared test vectors anew
	python3 tests/vectors/generate.py

.PHONY: test-core
TESTS += test-core
test-core: ## the core alone, without the AWS SDK
	python3 tests/vectors/generate.py --check
	$(CARGO_TEST) -p leaseflake

# Beside the others: built without the SDK, on loom's own atomics.
INTERLEAVINGS = RUSTFLAGS='--cfg leaseflake_loom' $(CARGO_TEST) -p leaseflake --no-default-features --lib \
	--target-dir $(abspath $(or $(CARGO_TARGET_DIR),target))/loom interleavings
.PHONY: test-interleavings
TESTS += test-interleavings
test-interleavings: ## the slot, the page and the table under every interleaving of up to two preemptions
	LOOM_MAX_PREEMPTIONS=2 $(INTERLEAVINGS)

.PHONY: prove-interleavings
PROVE += prove-interleavings
prove-interleavings: ## the same under every interleaving there is
	$(INTERLEAVINGS) -- --nocapture

.PHONY: demo
TESTS += demo
demo: ## real processes, one registry, one of them killed, and a checked union
	@scripts/demo

.PHONY: test-cli
TESTS += test-cli
test-cli: emulator ## the command, as its users run it
	$(CARGO_TEST) -p leaseflake-cli

.PHONY: test-examples
TESTS += test-examples
test-examples: ## the examples, as their users run them
	$(CARGO_TEST) -p leaseflake-example

.PHONY: test-fleet
TESTS += test-fleet
FLEET := cargo run --locked --quiet --profile ci -p leaseflake-fleet --bin leaseflake-fleet --
test-fleet: emulator ## many processes under faults, moved clocks, and the checker that finds repeats
	$(CARGO_TEST) -p leaseflake-tests --test clock_shim --test sqlite_processes
	$(CARGO_TEST) -p leaseflake-fleet
	$(FLEET) --seed 1 --minutes 0.6 --processes 12 --children 4 --target-ids 1000000
	$(FLEET) --seed 2 --minutes 0.3 --processes 12 --children 4 --target-ids 100000 --store 'sqlite:{folder}/registry.db'

.PHONY: prove-fleet
PROVE += prove-fleet
prove-fleet: emulator ## 10^8 IDs of a fleet under faults, with another script each time
	$(FLEET) --minutes 5 --processes 24 --children 8 --target-ids 100000000
	$(FLEET) --minutes 2 --processes 16 --children 0 --target-ids 1000000 --events-per-minute 900 \
		--option lease_ttl_ms=1500 --option heartbeat_interval_ms=300 --option safety_margin_ms=300
	$(FLEET) --minutes 1 --processes 24 --children 8 --target-ids 10000000 --store 'sqlite:{folder}/registry.db'

.PHONY: prove-fleet-mutants
PROVE += prove-fleet-mutants
prove-fleet-mutants: emulator ## the fleet notices when a rule that keeps IDs unique is off
	$(CARGO_TEST) -p leaseflake-fleet --features mutants --test mutants -- --nocapture

.PHONY: test-model
TESTS += test-model
test-model: ## the lease protocol, exhausted in small worlds; every dropped rule is found
	$(CARGO_TEST) -p leaseflake-model

.PHONY: prove-model
PROVE += prove-model
prove-model: ## the lease protocol, exhausted in large worlds, and what breaks the usual one
	cargo run --locked --release -p leaseflake-model

.PHONY: prove-sim
PROVE += prove-sim
prove-sim: emulator ## a thousand simulated days of 32 processes under faults, on the real code; hours of want, and over other stores
	LEASEFLAKE_SIM_SEEDS=1000 cargo test --locked --release -p leaseflake --lib sim_of_32 -- --nocapture
	LEASEFLAKE_SIM_SEEDS=200 cargo test --locked --release -p leaseflake --lib sim_of_too_few -- --nocapture
	LEASEFLAKE_SIM_SEEDS_SQLITE=20 LEASEFLAKE_SIM_SEEDS_DYNAMODB=20 \
		tests/emulators/with-dynoxide $(CARGO_TEST) -p leaseflake --features dynamodb --lib sim_of_an_hour -- --nocapture

.PHONY: test-mutants
TESTS += test-mutants
test-mutants: ## the tests of single cases notice when a rule that keeps IDs unique is off
	scripts/mutants cases

.PHONY: prove-mutants
PROVE += prove-mutants
prove-mutants: ## the same, and which of them the simulation finds as well
	scripts/mutants

.PHONY: test-fuzz
TESTS += test-fuzz
test-fuzz: ## the parsers of outside input: their seeds, and some thousands of mutations of these
	$(CARGO_TEST) -p leaseflake-fuzzing

.PHONY: prove-fuzz
PROVE += prove-fuzz
prove-fuzz: ## a minute of fuzzing for each parser of outside input
	scripts/fuzz

.PHONY: bench-core
BENCHES += bench-core
bench-core: ## the core's part of the budget table: bench/results/core.json
	cargo run --locked --release --manifest-path bench/Cargo.toml

.PHONY: test-c
TESTS += test-c
ABI_WORK := $(abspath $(or $(CARGO_TARGET_DIR),target))/abi
# Beside the package: the library without the AWS SDK, with calls that can be told to panic, for sanitizers and faults.
test-c: emulator ## the C ABI, its headers and its package, from the side of C and C++ programs; in the fleet
	cargo run --quiet --locked --profile ci -p leaseflake-header -- --check
	$(CARGO_TEST) -p leaseflake-ffi
	rm -rf $(ABI_WORK) && scripts/package-c tree ci $(ABI_WORK)/prefix
	cargo build --locked --profile ci --target-dir $(ABI_WORK)-plain -p leaseflake-ffi --no-default-features --features faults
	install -D $(ABI_WORK)-plain/ci/libleaseflake_ffi.so $(ABI_WORK)/plain/libleaseflake.so.1
	ln -s libleaseflake.so.1 $(ABI_WORK)/plain/libleaseflake.so
	tests/abi/run.py $(ABI_WORK)
	$(MAKE) --no-print-directory -C tests/fleet/c PREFIX=$(ABI_WORK)/prefix OUT=$(ABI_WORK)/fleet-c
	$(FLEET) --seed 4 --minutes 0.3 --processes 6 --children 2 --target-ids 100000 --program $(ABI_WORK)/fleet-c

.PHONY: bench-c
BENCHES += bench-c
bench-c: ## the C library measured, also beside Rust: a table, and bench/results/c.json
	bench/c/run

.PHONY: header
header: ## write include/leaseflake.h and ffi/symbols.txt from ffi/src
	cargo run --quiet --locked --profile ci -p leaseflake-header

.PHONY: package-c
PACKAGES += package-c
package-c: ## dist/leaseflake-<version>-<target>.tar.gz: headers, libraries, pkg-config, CMake
	@scripts/package-c tarball

.PHONY: emulator
emulator: ## build the DynamoDB emulator of the tests: tests/emulators/target/ci/leaseflake-emulator
	cargo build --locked --profile ci --manifest-path tests/emulators/Cargo.toml

.PHONY: test-dynamodb
DYNAMODB_SUITES := $(CARGO_TEST) -p leaseflake-tests --features emulator --test 'dynamodb_*'
TESTS += test-dynamodb
test-dynamodb: emulator ## the registry of a fleet, on two emulators; the templates of deploy/aws
	tests/emulators/with-dynoxide $(CARGO_TEST) -p leaseflake --features dynamodb --lib dynamodb
	cargo build --locked --profile ci -p leaseflake-cli
	$(DYNAMODB_SUITES) --no-run
	scripts/side-by-side "$(DYNAMODB_SUITES)" "tests/emulators/with-ministack $(DYNAMODB_SUITES)"
	deploy/aws/lint

.PHONY: test-node
TESTS += test-node
test-node: emulator ## the Node.js package: its packed tarballs, installed into an empty folder; in the fleet
	bindings/node/scripts/test
	$(FLEET) --seed 3 --minutes 0.3 --processes 6 --target-ids 100000 \
		--program 'node tests/fleet/node/member.mjs $(or $(CARGO_TARGET_DIR),target)/node/consumer'

.PHONY: bench-node
BENCHES += bench-node
bench-node: ## the Node.js package measured, beside others: a table, and bench/results/node.json
	bench/node/run

.PHONY: package-node
PACKAGES += package-node
package-node: ## the npm packages, for the platform of this machine: dist/
	bindings/node/scripts/build release dist

.PHONY: test-python
TESTS += test-python
test-python: emulator ## the Python package: its built wheel, in empty environments; in the fleet
	bindings/python/scripts/test
	$(FLEET) --seed 4 --minutes 0.3 --processes 6 --children 2 --target-ids 100000 \
		--program '.venv/python/bin/python -P tests/fleet/python/member.py'

.PHONY: bench-python
BENCHES += bench-python
bench-python: ## the Python package measured, beside others: a table, and bench/results/python.json
	bench/python/run

.PHONY: package-python
PACKAGES += package-python
package-python: ## the Python wheel for this machine, and the sdist: dist/
	bindings/python/scripts/build wheel release dist
	bindings/python/scripts/build sdist release dist

.PHONY: test-java
TESTS += test-java
JAVA_WORK := $(abspath $(or $(CARGO_TARGET_DIR),target))/java
JAVA_VERSION = $(shell sed -nE "/^\[workspace.package\]/,/^version/s/^version = \"(.*)\"/\1/p" Cargo.toml)
test-java: emulator ## the Java library: its JAR, on the oldest and the newest JDK here, in a project of its own
	bindings/java/scripts/test
	tests/fleet/java/build $(JAVA_WORK)/leaseflake-$(JAVA_VERSION).jar $(JAVA_WORK)/fleet
	$(FLEET) --seed 5 --minutes 0.3 --processes 6 --target-ids 100000 --program $(JAVA_WORK)/fleet/member

.PHONY: bench-java
BENCHES += bench-java
bench-java: ## the Java library measured, beside others: a table, and bench/results/java.json
	bench/java/run

.PHONY: package-java
PACKAGES += package-java
package-java: ## the JARs, with the library of this machine: dist/
	bindings/java/scripts/build release dist

.PHONY: test-server
TESTS += test-server
test-server: emulator ## the gRPC service: over the wire, as processes, by its clients; in the fleet; what deploys it
	$(CARGO_TEST) -p leaseflake-proto
	$(CARGO_TEST) -p leaseflake-server
	cargo build --locked --profile ci -p leaseflake-cli -p leaseflake-fleet
	$(CARGO_TEST) -p leaseflake-tests --test 'server_*'
	examples/grpc/test
	$(FLEET) --seed 6 --minutes 0.3 --processes 6 --target-ids 50000 \
		--program $(or $(CARGO_TARGET_DIR),target)/ci/leaseflake-fleet-grpc
	deploy/kubernetes/lint

.PHONY: proto
proto: ## write server/src/generated from server/proto
	LEASEFLAKE_WRITE_GENERATED=1 $(CARGO_TEST) -p leaseflake-proto

.PHONY: prove
prove: setup ## the long evidence behind docs/safety.md
	@scripts/run-parts $(PROVE)

.PHONY: bench-server
BENCHES += bench-server
bench-server: ## the gRPC service measured, beside an echo service: a table, and bench/results/server.json
	cargo run --locked --release --manifest-path bench/server/Cargo.toml --target-dir bench/target

.PHONY: bench
bench: ## the budget table, measured, in every language: text, and JSON in bench/results
	@GO_ON=yes scripts/run-parts $(BENCHES)

.PHONY: package
package: ## everything that users install, into dist/
	@scripts/run-parts $(PACKAGES)

.PHONY: test
# They wait more than they compute: three at once, and those that take longest not last.
LONGEST := test-server test-python test-dynamodb test-c
# The demo by itself: what it builds without the AWS SDK lies where others look for theirs with it.
test: setup lint ## everything
	@scripts/run-parts demo
	@PARTS_AT_ONCE=3 scripts/run-parts $(LONGEST) $(filter-out demo $(LONGEST),$(TESTS))
