# The commands for working on this project. `make help` lists them.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
export NODE_OPTIONS := $(NODE_OPTIONS) --disable-warning=ExperimentalWarning
SHELL := /bin/bash

.DEFAULT_GOAL := help
.PHONY: help install build run demo site packages release-check release-packages release-upgrade release-artefacts release-ready test test-long conformance test-mysql test-perf bench soak flood attack fuzz prove gen lint format verify clean \
  bench-install test-install nextjs-install next-auth-4-install next-example-install browser-install runtimes-install adapters-install deploy-install site-install \
  tracing-install earlier-install gateways-install release-install bench-import bench-cleanup failover screenshots

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: node_modules/.package-lock.json ## install the dependencies in package-lock.json

# Installs the packages of a lock file, unless they are there: a checkout changes the time of the file, and not always its text. `make verify` audits them.
npm_ci = { cmp -s package-lock.json node_modules/.installed.json || \
  { npm ci --no-audit --no-fund --loglevel=error && cp package-lock.json node_modules/.installed.json; }; }

node_modules/.package-lock.json: package-lock.json
	$(npm_ci)
	@touch $@

build: install console/dist/page/index.html ## install and build
	tsc --build

console/dist/page/index.html: $(shell find console/src/page console/vite.config.js -type f) node_modules/.package-lock.json
	cd console && vite build --logLevel warn

run: build ## run Authwire on an embedded database, and print what to try next
	@exec node server/bin/authwire.js serve --dev

demo: build ## start Authwire and an Express application that signs users in through it
	@exec scripts/demo

test: build ## run all tests that can run on this machine in ten minutes; lists those that are left out
	scripts/test $(ARGS)

test-mysql: build ## run the tests on MySQL only (AUTHWIRE_TEST_MYSQL_URL, or a mysqld on the path)
	AUTHWIRE_TEST_TARGETS=mysql scripts/test $(ARGS)

test-long: build test-install deploy-install site release-packages ## run all long tests: imports, kills, browsers, other runtimes and languages, deploy/, release
	scripts/test --config jest.long.config.js $(ARGS)

conformance: build ## run the conformance suite of Connect and h2spec, and print the counts (.ci/run installs them)
	scripts/test --config jest.long.config.js test/conformance $(ARGS)

test-perf: build ## run the tests that measure durations, on an otherwise idle machine
	scripts/test --config jest.perf.config.js $(ARGS)

bench: build bench-install ## compare with other adapters, and update docs/performance.md and bench/results.md; ARGS=--quick is a trial run
	# On one CPU. With two, the result depends mostly on the CPU on which a thread of the pool wakes up.
	$(shell command -v taskset >/dev/null && echo taskset -c 1) node bench/token.ts $(ARGS)
	node bench/wire.ts $(ARGS)

bench-import: build bench-install ## measure an import of many users; ARGS="--users 1000000 --url mysql://…"
	node bench/import.ts $(ARGS)

bench-cleanup: build bench-install ## measure calls while expired sessions are deleted
	node bench/cleanup.ts $(ARGS)

failover: build bench-install ## test sign-ins while replicas and cluster members are killed; ARGS="--database-url … --command …"
	node bench/failover.ts $(ARGS)

soak: build bench-install ## test for memory leaks: ten minutes of load and 100,000 cancelled calls; ARGS="--minutes 1 --dry"
	node bench/soak.ts $(ARGS)

flood: build bench-install ## test with 20 times the sustainable load for a minute; ARGS="--seconds 5 --dry"
	node bench/flood.ts $(ARGS)
	node bench/first-chunks.ts $(ARGS)

# Attacks whose outcome is not a time: on the shares of tenants, the clock, events that nobody reads, gateways, names of other hosts,
# broken text and rows, sealed values, the readiness, checks beside writes, guesses, ends of keys, shares of the audit, and terminals.
isolation_tests = test/resource-limits/tenants test/clocks server/src/events/feed test/gateways/decisions test/transports/loopback-names \
  server/src/import/peer/broken-text server/src/store/sql/unreadable-rows server/src/store/sql/cipher server/src/store/sql/ping \
  server/src/store/sql/engine/sqlite server/src/store/sql/interleaved test/provider-tokens/failures test/security/unicode \
  server/src/rpc/interceptors/rate-limit test/auth/api-key-service server/src/logging/audit-table server/src/cli/printable \
  test/resource-limits/first-chunk

attack: build ## test with unread answers, endless messages, costly lists and other attacks; ARGS="--seconds 5 --dry"
	scripts/test $(isolation_tests)
	node bench/shares.ts $(ARGS)
	node bench/attack.ts $(ARGS)

fuzz: build ## send a million invalid inputs to a test server; ARGS="--seed 42 --inputs 1000000", ARGS="--replay FILE"
	node fuzz/main.ts $(ARGS)

prove: build ## check with porcupine that answers are consistent beside faults (needs Go); ARGS="--engine mysql --minutes 3"
	cd test/proofs && go test -count=1 ./... && go run . $(ARGS)

bench-install: install bench/node_modules/.package-lock.json

bench/node_modules/.package-lock.json: bench/package-lock.json bench/schema.prisma
	cd bench && $(npm_ci)
	# Prisma's schema engine is a download and not needed to generate the client. Any program can take its place.
	cd bench && PRISMA_SCHEMA_ENGINE_BINARY=$$(type -P true) node_modules/.bin/prisma generate --schema schema.prisma --no-hints
	@touch $@

# Packages that only long tests need. Each has a folder of its own.
test-install: nextjs-install next-auth-4-install next-example-install browser-install runtimes-install adapters-install \
  site-install tracing-install earlier-install gateways-install release-install

nextjs-install: install test/security/nextjs/node_modules/.package-lock.json
next-auth-4-install: install test/next-auth-4/application/node_modules/.package-lock.json
next-example-install: install examples/nextjs/node_modules/.package-lock.json
browser-install: install test/browser/node_modules/.package-lock.json
runtimes-install: install test/runtimes/node_modules/.package-lock.json
site-install: install site/node_modules/.package-lock.json
tracing-install: install test/tracing/application/node_modules/.package-lock.json
adapters-install: install test/import/fixtures/node_modules/.package-lock.json

%/node_modules/.package-lock.json: %/package-lock.json
	cd $* && $(npm_ci)
	@touch $@

test/import/fixtures/node_modules/.package-lock.json: test/import/fixtures/package-lock.json $(wildcard test/import/fixtures/*/*.prisma)
	cd test/import/fixtures && $(npm_ci)
	# As for bench: the schema engine is a download and not needed.
	cd test/import/fixtures && PRISMA_SCHEMA_ENGINE_BINARY=$$(type -P true) npm run -s generate
	@touch $@

screenshots: build next-example-install browser-install ## update the screenshots of the docs
	AUTHWIRE_SCREENSHOTS=1 AUTHWIRE_TEST_TARGETS=sqlite scripts/test --config jest.long.config.js test/examples/nextjs test/console --testNamePattern 'pictures of the docs'

gateways-install: ## install Envoy for the tests (needs Python 3.10+; without it, these tests are left out)
	scripts/gateways/install || echo "no Envoy for the tests of gateways"

earlier-install: build ## build the last two releases, and pack the clients, for the tests of versions
	scripts/earlier

site: site-install earlier-install ## build the site into site/dist, with the pages of the last releases; fails on dead links
	cd site && npm run --silent build

packages: build ## pack the npm packages into build/packages, to install them in an application
	node scripts/release/pack.js build/packages

release-install: install scripts/release/node_modules/.package-lock.json

release-packages: build release-install ## pack the release, and install it in fresh projects (needs Go and Python)
	node scripts/release/check.js

release-upgrade: earlier-install ## upgrade from the last two releases under load, and pair their clients and servers with this version
	AUTHWIRE_TEST_REQUIRE=upgrade scripts/test --config jest.long.config.js test/upgrade

release-artefacts: build release-install deploy-install ## make what a release publishes, into build/release; FINAL=1 with AUTHWIRE_RELEASE_KEY
	node scripts/release/artefacts.js build/release $(FINAL:1=--final)
	node scripts/release/verify.js build/release build/release/cosign.pub

release-check: release-ready verify release-packages release-upgrade release-artefacts ## rehearse a release, besides the tests; FINAL=1 is the release (docs/releasing.md)
	node scripts/dependencies/audit.js --all $(FINAL:1=--required)
	@echo "release-check: $(if $(FINAL),build/release can be published,rehearsed; the release itself is made with FINAL=1)"

release-ready: install
	node scripts/release/ready.js $(FINAL:1=--final)

deploy-install: install ## install the checkers for deploy/: helm, kubeconform and others (needs Go)
	scripts/deploy/install

gen: install ## generate code and pages (needs Maven, Go and Python 3.10+)
	scripts/gen

lint: install ## lint the code and the schema, and check their format (needs Maven once)
	biome check --error-on-warnings
	depcruise --config .dependency-cruiser.js server/src client/src console/src token/src
	scripts/proto-deps/fetch
	buf lint

format: install ## format, and apply the linter's fixes
	biome check --write
	buf format --write proto

verify: build bench-install browser-install lint ## regenerate and compare, lint, check types, schema compatibility and dependencies
	tsc --project test
	tsc --project console/src/page
	tsc --project bench
	tsc --project fuzz
	tsc --project token/vectors --noEmit
	scripts/gen
	node bench/report.ts
	scripts/unchanged gen docs proto
	scripts/compatible
	node scripts/dependencies/licences.js
	node scripts/dependencies/audit.js

clean: ## remove build results, but not installed packages
	rm -rf build token/dist server/dist client/dist console/dist examples/express/dist examples/nextjs/.next test/security/nextjs/build test/next-auth-4/application/build site/build site/dist *.tsbuildinfo */*.tsbuildinfo examples/*/*.tsbuildinfo
