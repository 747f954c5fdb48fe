# make test    vet and all tests, with -race, on real databases (see .ci/install)
# make lint    golangci-lint, a pinned version, on both modules
# make bench   benchmarks, package by package; BENCH=regexp chooses
# make dist    static binaries for Linux in dist/, with checksums

GO ?= go
BENCH ?= .
COUNT ?= 1
BENCHTIME ?= 3s
LINT := $(CURDIR)/bin/golangci-lint-v2.15.0
WITH := bin/with
SHELL := /bin/bash

.PHONY: test lint bench dist setup with clean

# The root module is tested alone first: inside the workspace a stray import of
# a third party would compile.
test: setup with
	GOWORK=off $(GO) vet ./...
	GOWORK=off $(GO) test -timeout 10m ./...
	$(GO) vet ./... ./cmd/...
	$(WITH) -- $(GO) test -race -count=1 -timeout 20m ./... ./cmd/...

lint: $(LINT)
	@status=0; for module in . cmd; do \
		echo "golangci-lint in $$module"; \
		(cd $$module && $(LINT) run --allow-parallel-runners ./...) || status=1; \
	done; exit $$status

# One package after the other (-p 1), so that none slows another down. Ends with
# the ratios; COUNT=5 makes them medians of five.
bench: setup with
	set -o pipefail; $(WITH) -- $(GO) test -p 1 -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -count $(COUNT) -timeout 60m \
		$$(grep -rl --include='*_test.go' '^func Benchmark' . | xargs -n1 dirname | sort -u) \
		| $(GO) run ./cmd/internal/bench/table

dist:
	rm -rf dist
	for arch in amd64 arm64; do \
		CGO_ENABLED=0 GOOS=linux GOARCH=$$arch $(GO) build -trimpath -ldflags '-s -w' \
			-o dist/nebis-linux-$$arch ./cmd/nebis || exit 1; \
	done
	cd dist && sha256sum nebis-* >SHA256SUMS && cat SHA256SUMS

setup:
	.ci/install

# Built rather than run by `go run`, which would not pass SIGTERM on.
with:
	$(GO) build -buildvcs=false -o $(WITH) ./cmd/internal/dbtest/with

$(LINT):
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(patsubst golangci-lint-%,%,$(notdir $@))
	mv bin/golangci-lint $@

clean:
	rm -rf bin dist
