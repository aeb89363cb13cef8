# Everything one does with this project; `make help` lists it.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
export NODE_OPTIONS := $(NODE_OPTIONS) --disable-warning=ExperimentalWarning
SHELL := /bin/bash

.DEFAULT_GOAL := help
.PHONY: help install build run demo test test-mysql test-perf bench soak flood attack fuzz bench-install nextjs-install gen lint format verify clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: node_modules/.package-lock.json ## install the dependencies that package-lock.json names

node_modules/.package-lock.json: package-lock.json
	npm install --no-save --loglevel=error
	@touch $@

build: install ## install and build
	tsc --build

run: build ## serve on an embedded database, and say what to try next
	@exec node server/bin/authwire.js serve --dev

demo: build ## start Authwire and an Express application that signs people in through it
	@exec scripts/demo

test: build nextjs-install ## run every test that this machine can run; names what it leaves out
	scripts/test $(ARGS)

test-mysql: build nextjs-install ## run the tests on MySQL only (AUTHWIRE_TEST_MYSQL_URL, or a mysqld on the path)
	AUTHWIRE_TEST_TARGETS=mysql scripts/test $(ARGS)

test-perf: build ## run the tests that measure how long something takes, on a machine that does nothing else
	scripts/test --config jest.perf.config.js $(ARGS)

bench: build bench-install ## measure against peers and write docs/performance.md; ARGS=--quick only tries everything out
	# On one CPU: between two, where a thread of the pool wakes up decides more than what is measured.
	$(shell command -v taskset >/dev/null && echo taskset -c 1) node bench/token.ts $(ARGS)
	node bench/wire.ts $(ARGS)

soak: build bench-install ## ten minutes of load and 100,000 cancelled calls: does memory stay flat? ARGS="--minutes 1 --dry"
	node bench/soak.ts $(ARGS)

flood: build bench-install ## a minute of 20 times the calls that can be answered: who still is? ARGS="--seconds 5 --dry"
	node bench/flood.ts $(ARGS)

attack: build ## answers not taken, messages that never end and the like: does it hold? ARGS="--seconds 5 --dry"
	node bench/attack.ts $(ARGS)

fuzz: build ## send a million broken inputs to a server of its own; ARGS="--seed 42 --inputs 1000000", ARGS="--replay FILE"
	node fuzz/main.ts $(ARGS)

bench-install: install bench/node_modules/.package-lock.json

bench/node_modules/.package-lock.json: bench/package-lock.json bench/schema.prisma
	cd bench && npm install --no-save --loglevel=error
	# Its engine for changing tables is a download, and not needed to generate the client: anything may stand for it.
	cd bench && PRISMA_SCHEMA_ENGINE_BINARY=$$(type -P true) node_modules/.bin/prisma generate --schema schema.prisma --no-hints
	@touch $@

nextjs-install: install test/security/nextjs/node_modules/.package-lock.json

test/security/nextjs/node_modules/.package-lock.json: test/security/nextjs/package-lock.json
	cd test/security/nextjs && npm install --no-save --loglevel=error
	@touch $@

gen: install ## write generated code and pages (needs Maven, Go and Python 3.10+)
	scripts/gen

lint: install ## lint and check the format, of the code and of the schema
	biome check --error-on-warnings
	scripts/proto-deps/fetch
	buf lint

format: install ## format, and mend what the linter can
	biome check --write
	buf format --write proto

verify: build bench-install lint ## regenerate and compare, lint, check types, the schema's compatibility and dependencies
	tsc --project test
	tsc --project bench
	tsc --project fuzz
	tsc --project token/vectors --noEmit
	scripts/gen
	node bench/report.ts
	scripts/unchanged gen docs proto
	scripts/compatible
	node scripts/dependencies/licences.js
	node scripts/dependencies/audit.js

clean: ## remove what was built, not what was installed
	rm -rf build server/dist client/dist examples/express/dist test/security/nextjs/build *.tsbuildinfo */*.tsbuildinfo
