# Targets for people. make demo and make test are all a newcomer needs.

GO       ?= go
OUT      ?= bin
DIST     ?= dist
MLEFLOW   = $(OUT)/mleflow
# A tagged checkout says its version; any other keeps the one in the source.
VERSION  ?= $(shell git describe --tags --dirty 2>/dev/null)
LDFLAGS   = -s -w $(if $(VERSION),-X github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app.version=$(VERSION))
# The same settings for all targets, so that they share what is compiled.
export CGO_ENABLED ?= 0
FUZZTIME ?= 30s
COUNT    ?= 6
# Packages tested at a time: many tests wait more than they compute.
PARALLEL ?= 4

.PHONY: help build check test python test-root root-packages root-rest race lint cross fuzz bench bench-report coverage golden e2e demo rehearsal docs release image tools clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

# Supervisors and the first processes of sandboxes are a small program, which the program
# contains: see plugins/sandbox/executor/small. $(call small,DIR) builds it for GOOS and
# GOARCH, and DIR/overlay.json for go build -overlay.
SMALL_DIR = plugins/sandbox/executor/small
define small
@mkdir -p $(1)
$(GO) build -trimpath -buildvcs=false -ldflags '-s -w -buildid=' -o $(1)/program ./$(SMALL_DIR)/program
@echo '{"Replace": {"$(SMALL_DIR)/built/program": "$(1)/program"}}' > $(1)/overlay.json
endef

build: ## build bin/mleflow, one static binary
	$(call small,$(OUT)/small)
	$(GO) build -overlay $(OUT)/small/overlay.json -ldflags '$(LDFLAGS)' -o $(MLEFLOW) ./cmd/mleflow

# What make check leaves out is in .ci/lists/slow; a new package is in it.
SLOW = $$(grep -v '^\#' .ci/lists/slow | cut -d ' ' -f 1)
FAST = $$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}.{{slice .ImportPath 26}}{{end}}' ./... | grep -vxF "$(SLOW)")

check: ## the inner loop, two minutes on two cores or seconds after a small change: gofmt, vet, most tests
	@unformatted="$$(gofmt -l $$(git ls-files '*.go'))"; test -z "$$unformatted" || { echo "not formatted: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) test -short $(FAST)
	@echo "left out, for make test:" $(SLOW)

# The packages named first wait longest: the others run meanwhile.
test: ## run all tests
	$(GO) vet ./...
	$(GO) test -vet=off -p $(PARALLEL) -timeout 40m ./plugins/cluster/slurm ./steps/agentrun ./cmd/mleflow/internal/dev/e2e/... ./...

python: build ## test the Python packages and docs/notebook.ipynb, in a virtual environment of bin/python
	sh .ci/python $(MLEFLOW) $(OUT)/python

# The packages whose tests depend on the user: permissions, mounts, containers. What
# takes long in cache/disk are histories, which do not; and of the scripts those depend
# on the user that change permissions or look for a runtime.
PRIVILEGED = ./steps/agentrun ./cmd/mleflow/internal/dev/e2e/sandbox ./plugins/sandbox/executor/... ./cache/tree ./cache/leaf/wholefile ./engine/sched ./steps/exec ./steps/image ./cmd/mleflow/internal/host/machine ./cmd/mleflow/internal/dev/e2e/aide
SCRIPTS    = $$(paste -s -d '|' .ci/lists/root-scripts)

# What those have that waits long, whoever the user is.
SAME       = ^Test(PauseClock|ModelResume|ModelResumeDamaged|ModelBudget|Stalled|NotStalled|OnStall|Phases|Snapshots|CodeSnapshots|TornSnapshot|Fork|ForkLost|OpenFlood|ClientHasNoCompetitions)$$

test-root: root-packages root-rest ## as root, run the tests that depend on the user, also after make test as another

root-packages:
	$(GO) test -vet=off -count 1 -p $(PARALLEL) -timeout 40m -skip '$(SAME)' $(PRIVILEGED)

root-rest:
	$(GO) test -vet=off -count 1 -short -timeout 40m ./cache/disk
	$(GO) test -vet=off -count 1 -timeout 40m -run "^TestScript$$/^($(SCRIPTS))$$" ./cmd/mleflow
	$(GO) test -vet=off -count 1 -timeout 40m -run 'Demo|FullDisk|ReadOnlyCache|Hostile|Live|Team|Thief|DataFolder|RemoveOfOthers' ./cmd/mleflow/internal/dev/e2e

race: ## run the tests of what is concurrent with the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -vet=off -p $(PARALLEL) -short -timeout 40m ./steps/agentrun $$(cat .ci/lists/race)

lint: ## golangci-lint where it is installed (make tools), else go vet and staticcheck
	@unformatted="$$(gofmt -l $$(git ls-files '*.go'))"; test -z "$$unformatted" || { echo "not formatted: $$unformatted"; exit 1; }
	@PATH="$(abspath $(OUT)):$$PATH"; if command -v golangci-lint >/dev/null; then \
	  set -ex; golangci-lint run ./...; \
	else \
	  set -ex; $(GO) vet ./...; $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...; \
	fi

# What CI cannot run it can compile, and look at: macOS, and the arithmetic of arm64.
cross: ## build for macOS on arm64; no product is fused with a sum there
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	MLEFLOW_DETERMINISM=cross $(GO) test ./cmd/mleflow/internal/dev/archtest -run 'TestNothingIsFused'

fuzz: ## run every fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

bench: ## run the benchmarks COUNT times, for benchstat
	$(GO) test -run '^$$' -bench . -benchmem -count $(COUNT) ./...

bench-report: ## run the benchmarks (TABLES="engine …" for some, FULL=1 for the full sizes) and write BENCHMARKS.md and docs/benchmarks.md
	$(GO) run ./cmd/mleflow/internal/dev/benchreport $(if $(FULL),-full) $(TABLES)

coverage: ## simulate how often intervals hold and tests err, and write the tables of docs/leaderboard.md (minutes)
	UPDATE_GOLDEN=1 MLEFLOW_SIMULATIONS=$(or $(N),2000) $(GO) test -count 1 -timeout 2h ./competitions/board -run TestCoverage

golden: docs ## rewrite the golden files, to be read in review
	UPDATE_GOLDEN=1 $(GO) test ./cmd/...

e2e: build ## run the command-line scripts and apply the demo twice
	$(GO) test -count 1 ./cmd/mleflow
	sh .ci/e2e $(MLEFLOW)

demo: build ## run the demonstration and write its page to demo.html
	$(MLEFLOW) demo

rehearsal: ## draw the data of rehearsals again
	$(GO) run ./competitions/rehearsal/make -o competitions/shipped

docs: ## write the reference pages, schemas and the map in docs again
	$(GO) run ./cmd/mleflow/internal/dev/docgen -o docs
	UPDATE_GOLDEN=1 $(GO) test -count 1 ./cmd/mleflow/internal/dev/archtest -run TestMap

# No version control in the build information, no paths, one version: the same
# source and Go give the same bytes.
PLATFORMS       ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
RELEASE_VERSION ?= $(or $(VERSION),v0.1.0-dev)
release: $(foreach p,$(PLATFORMS),release-$(subst /,-,$(p))) ## build archives, wheels, packages for Debian, a formula and sums for PLATFORMS in DIST
	rm -rf $(DIST)
	$(GO) run ./cmd/mleflow/internal/dev/release -o $(DIST) -version $(RELEASE_VERSION) $(foreach p,$(PLATFORMS),$(OUT)/release/mleflow-$(subst /,-,$(p)))

release-%: export GOOS = $(word 1,$(subst -, ,$*))
release-%: export GOARCH = $(word 2,$(subst -, ,$*))
release-%: export GOAMD64 = v1
release-%: export GOARM64 = v8.0
release-%: export CGO_ENABLED = 0
release-%:
	$(call small,$(OUT)/small/$*)
	$(GO) build -overlay $(OUT)/small/$*/overlay.json -trimpath -buildvcs=false \
	  -ldflags '-s -w -buildid= -X github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app.version=$(RELEASE_VERSION)' \
	  -o $(OUT)/release/mleflow-$(GOOS)-$(GOARCH) ./cmd/mleflow

image: build ## make an OCI image of mleflow with mleflow, in DIST
	$(MLEFLOW) apply pipelines/image.hcl -var program=$(abspath $(MLEFLOW))
	mkdir -p $(DIST)
	rm -rf $(DIST)/oci
	$(MLEFLOW) get latest step.image.mleflow.image -o $(DIST)/oci

tools: ## install golangci-lint to bin (takes minutes)
	GOBIN=$(abspath $(OUT)) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

clean: ## remove what was built
	rm -rf $(OUT) $(DIST) demo.html
