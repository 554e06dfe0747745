# `make demo` and `make test` set up what they need on a Debian machine with Go and network.
GO       ?= go
PIPELINE := bin/pipeline
SOURCES  := $(shell find pipeline stages builder templates -name '*.go' -o -name '*.tmpl' -o -name '*.yaml' -o -name '*.yml' 2>/dev/null)

.PHONY: demo test build vet fuzz torture bench bench-driver selfcheck docs install-demo install-test clean

build: $(PIPELINE)

$(PIPELINE): go.mod go.sum $(SOURCES)
	$(GO) build -o $@ ./pipeline

# The main job, end to end: fetch a source, build it, apply two configs, load once, measure, compare, judge.
demo: install-demo $(PIPELINE)
	$(PIPELINE) run experiments/quickstart.yaml

# Everything that CI checks. Ends with Go's own summary.
test: install-test vet fuzz
	$(GO) test -race -timeout 50m ./...

vet:
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# A few seconds for each fuzz target; `go test -fuzz NAME PACKAGE` runs one for longer.
fuzz:
	.ci/fuzz 5s

# Faults injected into the real tool, and what became of them: TORTURE=2m make torture. `make test` has a short form.
torture: export TORTURE ?= 10m
torture: install-test
	$(GO) test -v -count 1 -timeout 60m -run 'TestTorture' ./pipeline
	$(GO) test -v -count 1 -run 'TestKilled|TestEveryChangeFails|TestPowerFailure|TestSmallDisk' ./pipeline/internal/store -kills 500

bench:
	$(GO) test -run '^$$' -bench . -benchtime 1s ./pipeline/... ./stages/... ./builder/...

# Our client, sysbench and pgbench in turn on one server: QPS and client CPU per query.
bench-driver: install-test
	$(GO) build -o bin/benchdriver ./stages/driver/benchdriver # "go run" leaves out the symbols that the profile names
	bin/benchdriver

selfcheck:
	$(GO) run ./pipeline/gate/selfcheck

# What is generated from the structs: the schema that editors use, the references of all stages and of the formats of reports.
docs: $(PIPELINE)
	$(PIPELINE) schema > experiments/experiment.schema.json
	$(PIPELINE) stages --markdown > docs/stages.md
	$(PIPELINE) report --formats > docs/formats.md

install-demo:
	@.ci/install demo

install-test:
	@.ci/install test

clean:
	rm -rf bin
