# Every task of users and contributors. `make` alone lists them; those of the lab (benchmarks, faults, histories, mutants)
# are in lab/Makefile. CI (.ci/run) calls nothing but targets of the two.
# Settings are environment variables SECKILL_*, passed through as they are (docs/operations.md#settings).

SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-builtin-rules --no-print-directory

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

# Everything but the race detector is compiled alike, so that build, tests, linters and the servers that tests start share
# Go's cache: each library once, not once for each way.
export CGO_ENABLED := 0
export GOFLAGS     := -trimpath $(filter-out -trimpath,$(shell go env GOFLAGS))

# The modules that have code, which are linted and held tidy. All but the first need what is none of the service's business.
MODULES := . lab clients/go deploy/kubernetes/check test/apart providers/stripe

# What can be changed on the command line: make test-race PKG=./internal/order TESTFLAGS='-run Rebuild -v'
PKG       ?= $(shell go list ./... | grep -v -E '^seckill/test(/|$$)')
BOX       ?= $(shell go list ./test/...)
# What make test runs without the race detector, which CI runs on all each week: no goroutines of its own share memory, or
# the work is a database's.
PLAIN     := seckill/deploy/% seckill/examples/% seckill/migrations seckill/scripts \
	$(addprefix seckill/internal/,checker config feature features order sandbox sqlstore sqlstore/% testkit testkit/%) \
	$(addprefix seckill/internal/,feature/guard/ticket feature/report feature/template httpapi/jsonbody httpapi/param) \
	$(addprefix seckill/internal/kit/,cmdline day dialguard idempotency invalid moment pages) \
	$(addprefix seckill/internal/,voucher voucher/guards)
TESTFLAGS ?=
FUZZTIME  ?= 5s

# Tests that wait for processes, more at once than there are processors. Vet is one of the linters; go test would run it
# on every library first.
AT_ONCE   := -vet=off -p 4 -parallel 8

# The race detector needs cgo. It is kept out of SQLite in Go, C that was translated: slow with it, and no code of ours.
# SQLite in C, which a driver of GORM names, is compiled though nobody calls it: so not optimized.
RACE      := CGO_ENABLED=1 CGO_CFLAGS=-O0 go test -race -gcflags=modernc.org/...=-race=false

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
	@go build -ldflags '$(LDFLAGS)' -o bin/server ./cmd/server

.PHONY: loadgen
loadgen: ## build ./bin/loadgen, which rehearses a sale (docs/operations.md#rehearsing-a-sale)
	@go build -ldflags '$(LDFLAGS)' -o bin/loadgen ./cmd/loadgen

.PHONY: stripe
stripe: ## build ./bin/seckill-stripe, which takes money through Stripe (docs/stripe.md)
	@go build -C providers/stripe -ldflags '-s -w -X main.version=$(VERSION)' -o '$(CURDIR)/bin/seckill-stripe' .

# TARGETS=linux/amd64 for one. The same commit and the same Go make the same bytes.
.PHONY: release
release: ## build dist/: archives for Linux and macOS, what is in them, the npm package, checksums: VERSION=v1.2.3
	@go run ./deploy/release -version '$(VERSION)' -out dist $(if $(TARGETS),-targets '$(TARGETS)')

# The Go tool fetches modules by their path. Look at git diff before you commit.
.PHONY: rename
rename: ## give all modules the path of your repository: MODULE=github.com/you/seckill
	@go run ./deploy/rename '$(MODULE)'

.PHONY: token
token: build ## print a token for trying out: make token user=42 [role=admin], or role=till shop=1
	@./bin/server token -user '$(or $(user),42)' $(if $(role),-role '$(role)') $(if $(shop),-shop '$(shop)')

.PHONY: migrate
migrate: build ## bring the schema of SECKILL_MYSQL_DSN up to date
	@./bin/server migrate

##@ Test

.PHONY: test
test: cc ## packages, most with the race detector, then the real program from outside; not the browser, not the lab
	@$(WITH_SERVICES) $(MAKE) test-packages test-box test-files

.PHONY: test-packages
test-packages: cc
	@$(MAKE) test-race PKG='$(filter-out $(PLAIN),$(PKG))'
	@$(MAKE) test-unit PKG='$(filter $(PLAIN),$(PKG))'

.PHONY: test-unit
test-unit: ## the packages' tests, without the race detector
	@$(WITH_SERVICES) go test $(AT_ONCE) -timeout 20m $(TESTFLAGS) $(PKG)

.PHONY: test-race
test-race: cc ## all packages' tests, with the race detector
	@$(WITH_SERVICES) env $(RACE) $(AT_ONCE) -timeout 40m $(TESTFLAGS) $(PKG)

# -count=1: the program under test is no import of these tests, so Go would call an old result current.
.PHONY: test-box
test-box: cc ## black-box tests: the built program, alone and three of it, killed and restarted
	@go build -o /dev/null ./cmd/server # else each package compiles it at the same time
	@$(WITH_SERVICES) go test -count=1 $(AT_ONCE) -timeout 40m $(TESTFLAGS) $(BOX)

# -count=1 here too: Go does not see that a file outside of the tests' module has changed.
.PHONY: test-files
test-files: ## what no program reads in a test: the files of Compose and of the deployment, documents and their links, workflows
	@go test -C test/apart -count=1 -vet=off -timeout 20m $(TESTFLAGS) ./compose

# Apart from the service's: its own tests, stripe-mock with every request that it sends, then both programs as processes.
.PHONY: test-stripe
test-stripe: ## seckill-stripe: its tests, the conformance run, and a day of money with both programs killed
	@go test -C providers/stripe -vet=off -timeout 15m $(TESTFLAGS) ./...
	@go test -C test/apart -count=1 -vet=off -timeout 15m $(TESTFLAGS) ./stripe

# All pictures that are taken are in bin/pictures; those that docs/images has are renewed.
.PHONY: test-browser
test-browser: ## the pages as people use them, in Chromium; PICTURES=1 takes pictures of them into bin/pictures
	@$(if $(PICTURES),rm -rf bin/pictures)
	@$(WITH_SERVICES) go test -C test/apart -count=1 -vet=off -parallel 4 -timeout 30m ./browser $(TESTFLAGS) $(if $(PICTURES),-pictures '$(CURDIR)/bin/pictures')
	@for old in $(if $(PICTURES),docs/images/*.png); do \
		new="bin/pictures/$${old##*/}"; if [ -e "$$new" ]; then cp "$$new" "$$old"; else echo "not taken: $$old" >&2; fi; \
	done

# As root on Debian: it installs Docker's engine, Compose and buildx where they are missing, and images of Debian's packages
# stand in for those that registries have. IPv6, ports and containers of this machine are not touched.
.PHONY: test-compose
test-compose: ## the compose stacks on an engine of their own, with servers killed and everything stopped and started: RUN=galera for some
	@go run ./test/engine $(if $(RUN),-run '$(RUN)')

.PHONY: test-compose-quick
test-compose-quick: ## of them only this: the single stack up, one coupon sold and paid, down
	@go run ./test/engine -quick

.PHONY: fixture
fixture: ## write what this version leaves in its stores, for later versions to read, into test/testdata: RELEASE=1.1
	@[ -n '$(RELEASE)' ] || { echo 'Which version? make fixture RELEASE=1.1' >&2; exit 2; }
	@$(WITH_SERVICES) go test -count=1 -vet=off -timeout 10m -run '^TestWriteRelease$$' ./test $(TESTFLAGS) -release '$(RELEASE)'

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME
	@grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do \
		sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$file" | while read -r name; do \
			echo "$$name in $$(dirname "$$file")"; \
			cd "$(CURDIR)/$$(dirname "$$file")"; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) .; \
		done; \
	done

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

##@ Check

.PHONY: lint
lint: $(LINT) ## run the linters of .golangci.yml on all modules; FIX=1 fixes what can be fixed
	@$(LINT) config verify
	@wrong=0; for module in $(MODULES); do (cd "$$module" && $(CURDIR)/$(LINT) run $(if $(FIX),--fix)) || wrong=1; done; exit $$wrong

# It asks vuln.go.dev, and fails where the program calls something that is known to be vulnerable.
.PHONY: vulnerabilities
vulnerabilities: ## look for known vulnerabilities in what the programs call
	@go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./cmd/...

.PHONY: fmt
fmt: $(LINT) ## format all Go code
	@for module in $(MODULES); do (cd "$$module" && $(CURDIR)/$(LINT) fmt); done

$(LINT): tools/go.mod tools/go.sum
	@echo "building golangci-lint $(LINT_VERSION) (minutes, once)"
	@cd tools && go build -o '$(CURDIR)/$@' github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

# Modules of their own: neither the generator nor what its code needs is part of the service's.
GENERATED := clients/go/seckill.gen.go clients/typescript/schema.d.ts

.PHONY: clients
clients: ## generate clients/ from web/openapi.yaml
	@cd tools/clients && go tool oapi-codegen -config go.yaml ../../web/openapi.yaml
	@cd tools/clients && { [ -x node_modules/.bin/openapi-typescript ] || npm ci --no-audit --no-fund --loglevel=error; } && \
		node_modules/.bin/openapi-typescript ../../web/openapi.yaml -o ../../clients/typescript/schema.d.ts >/dev/null

# The type checker is fetched once. It checks the clients, and the types in the comments of the pages' JavaScript.
.PHONY: clients-check
clients-check: ## fail when clients/ is not what make clients makes; lint web/openapi.yaml, check types, try the clients
	@cd tools/clients && { [ -d node_modules/@redocly/openapi-core ] || npm ci --no-audit --no-fund --loglevel=error; } && node lint.mjs ../../web/openapi.yaml
	@before=$$(sha256sum $(GENERATED)); $(MAKE) clients; \
	if [ "$$before" != "$$(sha256sum $(GENERATED))" ]; then echo 'clients/ was not what web/openapi.yaml makes; commit what make clients has made' >&2; exit 1; fi
	@cd clients/go && go test -count=1 -vet=off -timeout 15m $(TESTFLAGS) ./...
	@cd tools/types && { [ -x node_modules/.bin/tsc ] || npm ci --no-audit --no-fund --loglevel=error; } && \
		node_modules/.bin/tsc -p . && node_modules/.bin/tsc -p ../../clients/typescript
	@cd clients/typescript && node --test

# go mod verify takes the folder that replaces the service for a download without a hash, so it leaves out what needs one.
.PHONY: tidy-check
tidy-check: ## fail when a go.mod or go.sum is not tidy
	@for module in $(MODULES); do (cd "$$module" && go mod tidy -diff && { grep -q "^replace" go.mod || go mod verify; }); done

# A module of its own: kustomize and the types of Kubernetes are no part of the service's.
.PHONY: kubernetes-check
kubernetes-check: ## render deploy/kubernetes with kustomize and decode it strictly; no cluster needed
	@cd deploy/kubernetes/check && go test -count=1 -vet=off $(TESTFLAGS) ./...

# What is compared, and every link that is followed, is part of make test too.
DOCUMENTS := ./internal/config ./internal/features ./internal/lock ./internal/redisstore

.PHONY: docs
docs: ## write what is generated into the documents; CHECK=1 compares it instead, with what they name, every link and anchor
	@go test -count=1 -vet=off $(if $(CHECK),-run 'Readme|TestDocument|TestNamed' $(DOCUMENTS) ./internal/testkit/contract,-run TestDocument $(DOCUMENTS) -update)
	@$(if $(CHECK),$(MAKE) test-files TESTFLAGS='-run "Readme|TestDocument|TestNamed"')
	@$(if $(CHECK),cd lab && go test -count=1 -vet=off -run 'Readme|TestDocument' ./durability ./bench/report)

##@ Containers

# The containers' users are others than the one who checked out, under whatever umask.
.PHONY: env
env: ## write .env for docker compose, with fresh secrets; keeps one that is there
	@[ ! -d deploy ] || chmod -R go+rX deploy
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
	@docker build --build-arg VERSION='$(VERSION)' --build-arg REVISION="$$(git rev-parse HEAD 2>/dev/null)" -t 'seckill:$(VERSION)' .

.PHONY: up
up: compose env ## start the whole stack with docker compose; entry at http://localhost:8080
	@VERSION='$(VERSION)' deploy/up.sh

# One after the other, so that one always sells.
.PHONY: replace
replace: compose ## replace the stack's instances by those of the work tree and of .env, while it sells
	@VERSION='$(VERSION)' docker compose build server-1
	@for instance in server-1 server-2; do docker compose up --detach --wait --no-deps --no-build --force-recreate "$$instance"; done

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
