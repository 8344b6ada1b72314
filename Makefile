# Every task of the project. `make` alone lists them; CI (.ci/run) calls nothing but these targets.
# Settings are environment variables SECKILL_*, passed through as they are (docs/settings.md).

SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-builtin-rules --no-print-directory

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

# What can be changed on the command line: make test-race PKG=./internal/order TESTFLAGS='-run Rebuild -v'
PKG       ?= $(shell go list ./... | grep -v -E '^seckill/test(/|$$)')
BOX       ?= $(shell go list ./test/... | grep -v -E '^seckill/test/(browser|faults|alerts)$$')
# What make test runs without the race detector: no goroutines of its own share memory, or the work is a database's.
PLAIN     := ^seckill/(bench|deploy|examples|internal/(sqlstore|pages|testkit))(/|$$)
TESTFLAGS ?=
FUZZTIME  ?= 5s
COUNT     ?= 3
# The version before: the commit that make test-upgrade runs beside this work tree. Empty: the work tree itself.
UPGRADE_FROM ?=

# Tests that wait for processes, more at once than there are processors. Vet is one of the linters.
AT_ONCE   := -vet=off -p 4 -parallel 8

# One Redis and one MariaDB for a whole run, unless the environment names servers already.
ifeq ($(and $(SECKILL_TEST_REDIS_ADDR),$(SECKILL_TEST_MYSQL_DSN)),)
WITH_SERVICES := go run ./test/services --
else
WITH_SERVICES :=
endif

# The linter is built from the version in tools/go.mod, once per version of it and of Go (an older Go's build
# refuses newer code).
LINT_VERSION := $(shell awk '/golangci\/golangci-lint\/v2 / {print $$2; exit}' tools/go.mod)
LINT         := bin/tools/golangci-lint-$(LINT_VERSION)-$(shell go env GOVERSION)

##@ Use

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build and start the server; with nothing configured: embedded, data under ./data
	@exec ./bin/server

.PHONY: build
build: ## build ./bin/server, one static binary
	@[ -x bin/server ] || echo 'Building bin/server. The first time everything is compiled, some two minutes on two cores; later seconds.' >&2
	@CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/server ./cmd/server

.PHONY: loadgen
loadgen: ## build ./bin/loadgen, which rehearses a sale (docs/rehearsal.md)
	@CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/loadgen ./cmd/loadgen

# TARGETS=linux/amd64 for one. The same commit and the same Go make the same bytes.
.PHONY: release
release: ## build dist/: archives for Linux and macOS, what is in them, checksums: VERSION=v1.2.3
	@go run ./deploy/release -version '$(VERSION)' -out dist $(if $(TARGETS),-targets '$(TARGETS)')

.PHONY: token
token: build ## print a token for trying out: make token user=42 [role=admin], or role=till shop=1
	@./bin/server token -user '$(or $(user),42)' $(if $(role),-role '$(role)') $(if $(shop),-shop '$(shop)')

.PHONY: migrate
migrate: build ## bring the schema of SECKILL_MYSQL_DSN up to date
	@./bin/server migrate

##@ Test

.PHONY: test
test: cc ## packages, most with the race detector, then the real program from outside; not the browser, faults, alerts, upgrades
	@$(WITH_SERVICES) $(MAKE) test-packages test-box

.PHONY: test-packages
test-packages: cc
	@$(MAKE) test-race PKG='$(shell printf '%s\n' $(PKG) | grep -v -E '$(PLAIN)')'
	@$(MAKE) test-unit PKG='$(shell printf '%s\n' $(PKG) | grep -E '$(PLAIN)')'

.PHONY: test-unit
test-unit: ## the packages' tests, without the race detector
	@$(WITH_SERVICES) go test $(AT_ONCE) -timeout 20m $(TESTFLAGS) $(PKG)

.PHONY: test-race
test-race: cc ## all packages' tests, with the race detector
	@$(WITH_SERVICES) go test -race $(AT_ONCE) -timeout 40m $(TESTFLAGS) $(PKG)

# -count=1: the program under test is no import of these tests, so Go would call an old result current.
.PHONY: test-box
test-box: cc ## black-box tests: the built program, alone and three of it, killed and restarted
	@CGO_ENABLED=0 go build -o /dev/null ./cmd/server # else each package compiles it at the same time
	@$(WITH_SERVICES) go test -count=1 $(AT_ONCE) -timeout 40m -skip '^TestUpgrade$$' $(TESTFLAGS) $(BOX)

.PHONY: test-browser
test-browser: ## the pages as people use them, in Chromium
	@$(WITH_SERVICES) go test -count=1 -vet=off -parallel 4 -timeout 30m ./test/browser $(TESTFLAGS)

# All that are taken are in bin/pictures: docs/images has those that documents show.
.PHONY: pictures
pictures: ## the same, taking pictures of the pages into bin/pictures; those that docs/images has are renewed
	@rm -rf bin/pictures
	@$(MAKE) test-browser TESTFLAGS="$(TESTFLAGS) -pictures $(CURDIR)/bin/pictures"
	@for old in docs/images/*.png; do \
		new="bin/pictures/$${old##*/}"; if [ -e "$$new" ]; then cp "$$new" "$$old"; else echo "not taken: $$old" >&2; fi; \
	done

# With UPGRADE_FROM it needs the history: that version is built from it.
.PHONY: test-upgrade
test-upgrade: ## two versions side by side through a sale, there and back: UPGRADE_FROM and this one
	@$(WITH_SERVICES) env SECKILL_TEST_UPGRADE_FROM='$(UPGRADE_FROM)' \
		go test -count=1 -timeout 10m -run '^TestUpgrade$$' -v $(TESTFLAGS) ./test/upgrade

# make test-faults RUN=F13 SEED=42 replays one; UPDATE=1 writes its row into the document all the same.
.PHONY: test-faults
test-faults: ## every fault scenario, or RUN=F13 [SEED=42]; all of them write docs/reliability.md
	@SECKILL_TEST_FAULTS=all SECKILL_TEST_SEED='$(SEED)' \
		SECKILL_TEST_REPORT='$(if $(or $(UPDATE),$(if $(RUN),,all)),write)' \
		go test -count=1 -v -timeout 60m -run '^TestFaults$$$(if $(RUN),/^$(RUN))' $(TESTFLAGS) ./test/faults

.PHONY: test-faults-quick
test-faults-quick: ## the fault scenarios that take seconds
	@SECKILL_TEST_SEED='$(SEED)' go test -count=1 -vet=off -v -parallel 4 -timeout 60m -skip '^TestCluster$$' $(TESTFLAGS) ./test/faults

.PHONY: test-crowds
test-crowds: ## the attacks of F42 with as many connections as the limit of open files allows
	@SECKILL_TEST_CROWDS=full go test -count=1 -v -timeout 30m -run '^TestFaults$$/^F42' $(TESTFLAGS) ./test/faults

.PHONY: test-faults-full
test-faults-full: ## F39 with 5,000 ended sales and F40 with 1,000 sales and a backlog of 100,000, minutes each; RUN=F39 for one
	@SECKILL_TEST_FAULTS=all SECKILL_TEST_FULL=1 SECKILL_TEST_SEED='$(SEED)' \
		go test -count=1 -v -timeout 60m -run '^TestFaults$$/^($(or $(RUN),F39|F40))$$' $(TESTFLAGS) ./test/faults

.PHONY: webhooks-outage
webhooks-outage: ## a webhook receiver is down for OUTAGE, ten real minutes, while orders go on
	@SECKILL_TEST_OUTAGE='$(or $(OUTAGE),10m)' $(WITH_SERVICES) go test -count=1 -v -timeout 60m -run '^TestReceiverIsDown$$' $(TESTFLAGS) ./test/webhooks

# Not in CI: alerts wait for minutes before they fire. CLEAN=30m for half an hour of the sale that fires none.
.PHONY: test-alerts
test-alerts: ## real faults, and which alerts Prometheus fires for them; a clean sale that fires none, of two minutes or CLEAN=30m
	@$(WITH_SERVICES) env SECKILL_TEST_CLEAN='$(CLEAN)' go test -count=1 -v -parallel 8 -timeout 90m $(if $(RUN),-run '$(RUN)') $(TESTFLAGS) ./test/alerts

# Not in CI: it unpacks MySQL 9 from Debian unstable (60 MB, once), installs Galera's library, and fails where they cannot be had.
# SEED=42 replays one; UPDATE=1 writes the rows into the document; make test-sales STORES=galera sells on one kind of stores only.
.PHONY: test-stores
test-stores: ## other stores: the ledger's tests on MySQL 9; kills on Galera and MySQL 9 (F45, F46); sales on all, in 1 and 4 partitions
	@go run ./test/services -mysql9 -- go test -count=1 -timeout 20m $(TESTFLAGS) ./internal/sqlstore
	@SECKILL_TEST_FAULTS=stores SECKILL_TEST_SEED='$(SEED)' SECKILL_TEST_REPORT='$(if $(UPDATE),write)' \
		go test -count=1 -v -timeout 20m -run '^TestFaults$$$(if $(RUN),/^$(RUN))' $(TESTFLAGS) ./test/faults
	@$(MAKE) test-sales

.PHONY: test-sales
test-sales: ## of them only the sales: single Redis, Sentinel, Cluster, MySQL 9, Galera; STORES=galera for one
	@SECKILL_TEST_STORES=all SECKILL_TEST_SEED='$(SEED)' \
		go test -count=1 -v -timeout 40m -run '^TestStores$$$(if $(STORES),/^$(STORES)$$)' $(TESTFLAGS) ./test/faults

# make test-cluster RUN=F07 SEED=42 replays one; PARTITIONS=4 has the sale in one of four partitions; UPDATE=1 writes the rows into the document. The clusters' configuration is deploy/cluster's.
.PHONY: test-cluster
test-cluster: ## F01-F08 on a Redis Cluster of 3+3 while its slot moves and a Galera cluster of 3, then nodes killed for good
	@SECKILL_TEST_CLUSTER=all SECKILL_TEST_SEED='$(SEED)' SECKILL_TEST_PARTITIONS='$(PARTITIONS)' SECKILL_TEST_REPORT='$(if $(UPDATE),write)' \
		go test -count=1 -v -timeout 20m -run '^TestCluster$$$(if $(RUN),/^$(RUN))' $(TESTFLAGS) ./test/faults

.PHONY: test-cluster-quick
test-cluster-quick: ## those of them that take seconds
	@SECKILL_TEST_SEED='$(SEED)' SECKILL_TEST_PARTITIONS='$(PARTITIONS)' go test -count=1 -v -timeout 30m -run '^TestCluster$$' $(TESTFLAGS) ./test/faults

# A seed that failed is replayed with make test-faults RUN=F34 SEED=<seed>.
.PHONY: test-faults-mix
test-faults-mix: ## COUNT mixes of three faults that seeds choose
	@SECKILL_TEST_FAULTS=all go test -count=$(COUNT) -v -timeout 60m -run '^TestFaults$$/^F34$$' $(TESTFLAGS) ./test/faults

.PHONY: test-long
test-long: cc ## everything COUNT times on one, two and four processors, then longer fuzzing
	@$(WITH_SERVICES) go test -race -timeout 60m -count=$(COUNT) -cpu 1,2,4 $(TESTFLAGS) $(PKG)
	@$(WITH_SERVICES) go test -p 1 -timeout 60m -count=$(COUNT) -skip '^TestCluster$$' $(TESTFLAGS) $(BOX) ./test/faults
	@$(MAKE) fuzz FUZZTIME=60s

.PHONY: races
races: ## 64 tills at one code 1,000 times; refund, reservation and lapse against redemption 10,000 times each
	@SECKILL_TEST_RACES=many $(WITH_SERVICES) go test -count=1 -v -timeout 60m -run '^Test(ManyTillsRedeemOneCode|CouponRaces)$$' $(TESTFLAGS) ./internal/sqlstore

.PHONY: life
life: ## CHECKS random histories of orders, against real stores, with crashes and lost calls
	@$(WITH_SERVICES) go test -count=1 -timeout 60m ./test/life -rapid.checks=$(or $(CHECKS),1000) $(TESTFLAGS)

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME
	@grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do \
		sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$file" | while read -r name; do \
			echo "$$name in $$(dirname "$$file")"; \
			go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")"; \
		done; \
	done

.PHONY: fuzz-token
fuzz-token: ## make up tokens for an hour (FUZZTIME=1h) and hold the check of tokens against the JWT library
	@go test -run '^$$' -fuzz '^FuzzVerify$$' -fuzztime $(if $(filter 5s,$(FUZZTIME)),1h,$(FUZZTIME)) ./internal/authtoken

.PHONY: compare-tokens
compare-tokens: ## the same with N tokens of a generator, from SEED, without instrumentation
	@go test -count=1 -v -timeout 24h -run '^TestCompare$$' ./internal/authtoken -tokens.n='$(or $(N),10000000)' -tokens.seed='$(or $(SEED),1)'

.PHONY: mutants
mutants: ## break the service on purpose, by name, and see fault scenarios and tests fail: ONLY=MAXLEN for one
	@go run ./test/mutants $(if $(ONLY),"$(ONLY)")

.PHONY: mutants-locks
mutants-locks: ## break the locks on purpose, by name, and see their suite fail: ONLY=watchdog for those
	@go run ./internal/lock/mutants $(if $(ONLY),"$(ONLY)")

.PHONY: torture-locks
torture-locks: ## processes take all kinds of locks under one fault after the other, ten minutes each: LOCK_TORTURE=1m for less
	@go run ./test/services -- go test -tags torture -count=1 -timeout 3h -v -run TestTorture ./internal/lock

.PHONY: compose-check
compose-check: ## check docker-compose.yml, the alerts (with promtool) and their runbook; no engine needed
	@go test $(TESTFLAGS) ./test/compose

# A module of its own: kustomize and the types of Kubernetes are no part of the service's.
.PHONY: kubernetes-check
kubernetes-check: ## render deploy/kubernetes with kustomize and decode it strictly; no cluster needed
	@cd deploy/kubernetes/check && go test $(TESTFLAGS) ./...

.PHONY: docs-check
docs-check: ## check what is generated into the documents, what they name, and every link and anchor
	@go test -count=1 -run 'Readme|TestDocument|TestNamed' ./internal/config ./internal/httpapi ./internal/lock ./internal/redisstore ./internal/testkit/contract ./test/compose ./test/durability

.PHONY: docs
docs: ## write what is generated into the documents
	@go test -count=1 -run TestDocument ./internal/config ./internal/httpapi ./internal/lock ./internal/redisstore ./internal/testkit/contract -update

# The race detector needs a C compiler. Check that before minutes of building; as root on Debian, install one.
.PHONY: cc
cc:
	@compiler() { set -- $$(go env CC); command -v "$$1"; }; \
	if compiler >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing gcc, which the race detector needs"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null; \
	fi; \
	if ! compiler >/dev/null; then \
		echo "The race detector needs a C compiler ($$(go env CC)): install gcc, or run make test-unit test-box." >&2; exit 1; \
	fi

##@ Measure

.PHONY: bench
bench: ## compare the service with simpler designs, about 15 minutes; writes docs/benchmarks
	@$(WITH_SERVICES) go run ./bench

# make bench-before BEFORE=649a67a: all targets with the service of that commit and with this one, in one run.
.PHONY: bench-before
bench-before: ## the same, and beside it with the service of BEFORE=<commit>, in turn, about 22 minutes
	@$(if $(BEFORE),,echo 'make bench-before BEFORE=<commit>' >&2; exit 2;) $(WITH_SERVICES) go run ./bench -before '$(BEFORE)'

.PHONY: bench-quick
bench-quick: ## the same in under three minutes, nothing written
	@$(WITH_SERVICES) go run ./bench -quick

.PHONY: bench-limits
bench-limits: ## thousands of connections, all at once, a sale of a million buyers; writes docs/benchmarks
	@$(WITH_SERVICES) go run ./bench -limits

.PHONY: bench-sale
bench-sale: ## of them only the sale of a million buyers, with its report held to the ledger; QUICK=1 for a tenth
	@$(WITH_SERVICES) go run ./bench -sale $(if $(QUICK),-quick)

# What the compiler can optimise for (go help build, -pgo). None is kept: it brought nothing (docs/benchmarks.md).
.PHONY: profile
profile: ## take cmd/server/default.pgo, for a try: a minute of purchases and refusals
	@$(WITH_SERVICES) go run ./bench -duration 1m -profile cmd/server/default.pgo

# Read it with: go tool trace bin/trace/half-load.trace, perf sched timehist -i bin/trace/half-load.sched.
.PHONY: bench-trace
bench-trace: ## record Go's runtime and the kernel's scheduler (perf) at full and half load, into bin/trace
	@$(WITH_SERVICES) go run ./bench -trace bin/trace

.PHONY: bench-rebuild
bench-rebuild: ## how long a sale with 100,000 orders is stopped when Redis has lost it
	@$(WITH_SERVICES) go test -run '^$$' -bench Rebuild -benchtime 5x $(TESTFLAGS) ./test/rebuild

.PHONY: bench-partitions
bench-partitions: ## what an order costs Redis masters with several partitions, in turn, ROUNDS=5: docs/benchmarks.md
	@go test -run '^$$' -bench '^BenchmarkPartitions$$' -benchtime 1x -count $(or $(ROUNDS),5) -timeout 30m $(TESTFLAGS) ./internal/redisstore

.PHONY: bench-rehearsal
bench-rehearsal: ## ROUNDS rehearsals and then their sales, slow and fast, with what was forecast beside what came: docs/rehearsal.md
	@go test -run '^$$' -bench '^BenchmarkRehearsal$$' -benchtime $(or $(ROUNDS),5)x -timeout 1h $(TESTFLAGS) ./test

.PHONY: split-brain
split-brain: ## a master cut off with its clients, under each setting: orders that are lost; writes the table of docs/durability.md
	@SECKILL_TEST_SPLIT='$(or $(DURING),12s)' SECKILL_TEST_REPORT=write go test -count=1 -v -timeout 15m -run '^TestSplitBrain$$' $(TESTFLAGS) ./test/faults

.PHONY: durability
durability: cc ## what Redis loses at each level of durability, about three minutes; writes the table of docs/durability.md
	@SECKILL_TEST_REPORT=write go test -count=1 -v -timeout 20m -run '^TestDurability$$' $(TESTFLAGS) ./test/durability

.PHONY: bench-smoke
bench-smoke: ## check only that the benchmarks run and their counts add up; their figures mean nothing
	@$(WITH_SERVICES) go run ./bench -smoke

# make bench-versus OLD=0aba59a [NEW=commit] [ROUNDS=12] [WRITE=1]; OLD=X NEW=X shows what it can tell apart.
.PHONY: bench-versus
bench-versus: ## what a purchase costs in OLD=<commit> and in the work tree, run in turn
	@$(if $(OLD),,echo 'make bench-versus OLD=<commit>' >&2; exit 2;) \
	$(WITH_SERVICES) go run ./bench/versus -old '$(OLD)' $(if $(NEW),-new '$(NEW)') $(if $(ROUNDS),-rounds '$(ROUNDS)') \
		$(if $(QUICK),-quick) $(if $(WRITE),-out docs/benchmarks)

.PHONY: bench-versus-smoke
bench-versus-smoke: ## check only that the comparison runs: the work tree against itself, in seconds
	@$(WITH_SERVICES) go run ./bench/versus -smoke

# make bench-locks BEFORE=d903821: beside them the locks as they were at that commit, in turn.
.PHONY: bench-locks
bench-locks: ## compare the locks with three other libraries; writes docs/benchmarks/locks.*
	@cd bench/locks && go run . -out ../../docs/benchmarks/locks $(if $(BEFORE),-before '$(BEFORE)')

##@ Check

.PHONY: lint
lint: $(LINT) ## run the linters of .golangci.yml
	@$(LINT) config verify
	@$(LINT) run
	@cd bench/locks && ../../$(LINT) run

.PHONY: lint-fix
lint-fix: $(LINT) ## the same, fixing what can be fixed
	@$(LINT) run --fix
	@cd bench/locks && ../../$(LINT) run --fix

.PHONY: fmt
fmt: $(LINT) ## format all Go code
	@$(LINT) fmt

$(LINT): tools/go.mod tools/go.sum
	@echo "building golangci-lint $(LINT_VERSION) (minutes, once)"
	@cd tools && CGO_ENABLED=0 go build -trimpath -o '$(CURDIR)/$@' github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

# Fetches the type checker once. Browsers get the files as they are.
.PHONY: types
types: ## check the types in the buyer's page and in what all pages share
	@cd tools/types && { [ -x node_modules/.bin/tsc ] || npm ci --no-audit --no-fund --loglevel=error; } && node_modules/.bin/tsc -p .

# Modules of their own: neither the generator nor what its code needs is part of the service's.
GENERATED := clients/go/seckill.gen.go clients/typescript/schema.d.ts

.PHONY: clients
clients: ## generate clients/ from web/openapi.yaml
	@cd tools/clients && go tool oapi-codegen -config go.yaml ../../web/openapi.yaml
	@cd tools/clients && { [ -x node_modules/.bin/openapi-typescript ] || npm ci --no-audit --no-fund --loglevel=error; } && \
		node_modules/.bin/openapi-typescript ../../web/openapi.yaml -o ../../clients/typescript/schema.d.ts >/dev/null

.PHONY: openapi-lint
openapi-lint: ## lint web/openapi.yaml: neither errors nor warnings
	@cd tools/clients && { [ -d node_modules/@redocly/openapi-core ] || npm ci --no-audit --no-fund --loglevel=error; } && node lint.mjs ../../web/openapi.yaml

.PHONY: clients-check
clients-check: openapi-lint ## fail when clients/ is not what make clients makes, and try the clients on the real service
	@before=$$(sha256sum $(GENERATED)); $(MAKE) clients; \
	if [ "$$before" != "$$(sha256sum $(GENERATED))" ]; then echo 'clients/ was not what web/openapi.yaml makes; commit what make clients has made' >&2; exit 1; fi
	@cd clients/go && go vet ./... && go test -count=1 -timeout 15m $(TESTFLAGS) ./...
	@cd tools/types && { [ -x node_modules/.bin/tsc ] || npm ci --no-audit --no-fund --loglevel=error; } && node_modules/.bin/tsc -p ../../clients/typescript
	@cd clients/typescript && node --test

.PHONY: tidy-check
tidy-check: ## fail when go.mod or go.sum is not tidy
	@go mod tidy -diff
	@go mod verify

##@ Containers

.PHONY: env
env: ## write .env for docker compose, with fresh secrets; keeps one that is there
	@if [ -e .env ]; then echo ".env is there already; it is left as it is"; exit 0; fi; \
	umask 077; trap 'rm -f .env.part' EXIT; \
	secret() { head -c 32 /dev/urandom | od -An -vtx1 | tr -d ' \n'; }; \
	while IFS= read -r line; do \
		case "$$line" in *=) value=$$(secret); line=$$line$$value;; esac; \
		printf '%s\n' "$$line"; \
	done < .env.example > .env.part; \
	mv .env.part .env; echo "wrote .env (mode 0600)"

.PHONY: docker
docker: ## build the container image seckill:VERSION
	@docker build --build-arg VERSION='$(VERSION)' -t 'seckill:$(VERSION)' .

.PHONY: up
up: compose env ## start the whole stack with docker compose; entry at http://localhost:8080
	@VERSION='$(VERSION)' docker compose up --build --detach --wait

# Docker alone says "unknown flag: --build".
.PHONY: compose
compose:
	@docker compose version >/dev/null 2>&1 || { echo 'This needs Docker with its plugin Compose: https://docs.docker.com/compose/install/' >&2; exit 1; }

.PHONY: down
down: compose ## stop the stack; the data stay in its volumes
	@docker compose down

##@ Tidy

.PHONY: clean
clean: ## remove what was built, bin/ and dist/; ./data stays
	@rm -rf bin dist
