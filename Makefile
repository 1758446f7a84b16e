# `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
PKG       ?= ./...
COUNT     ?= 6
BENCH     ?= .
BASE      ?= bench.base.out
FUZZTIME  ?= 10s
SEED      ?= 1
CASES     ?=
BUDGET    ?= 200s
VERDICTS  ?= 100000
ONLY      ?=
SAMPLE    ?=
EXPLAIN   ?= team-batch/monolith-0
SCHEDULER ?= berth
RUN       ?= .
KEY       ?=
FUZZPKG   ?= %
RACE      ?=
SIZE      ?= 1
EACH      ?=
TARGETS   ?= true
SOAK      ?= 5m
HOSTILE   ?=

# One set of flags everywhere, tests included, so that no package is compiled twice.
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath

# Tests are run by internal/runtests. -v names what is compiled, so that something is printed.
RUNTESTS := go build -v -o "$(CURDIR)/bin/runtests" ./internal/runtests && "$(CURDIR)/bin/runtests"
# $(call RUNTESTS_IN,test) does so in the module in a folder.
RUNTESTS_IN = go build -v -o "$(CURDIR)/bin/runtests" ./internal/runtests && cd $(1) && "$(CURDIR)/bin/runtests"

# Tests of these names are slow, and left out of make test.
REST := ^TestRest[A-Z]

# Tools run at pinned versions and are no part of go.mod.
GOLANGCI  := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
BENCHSTAT := go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

MODULE := github.com/berth-scheduler/berth
DEMO   := cmd/berth/demo

# $(call packages-with,Benchmark): the folders whose tests have such functions, as package patterns.
packages-with = $(shell grep -rlE --include='*_test.go' '^func $(1)[A-Z_]' abi runtime hostplugins cmd wasm-examples 2>/dev/null | xargs -rn1 dirname | sort -u | sed 's|^|./|')

.PHONY: example
example: ## build cmd/app/example, a scheduler with a plugin compiled in, and run the commands of docs/library.md
	@$(call RUNTESTS_IN,cmd/app/example) -- -count=1

.PHONY: help build binaries demo examples test test-rest test-all test-random test-race test-arm64 release reproducible e2e skew chart market catalogue screenshots cosign pauses race race-plugins tenants soak prices bench bench-report bench-compare fuzz rewrite generate fmt lint vet laws mod check clean sdk-rust sdk-c sdk-assemblyscript fgd

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9.-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/berth
	go build -ldflags '-X main.version=$(VERSION)' -o bin/berth ./cmd/berth

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
binaries: ## build berth for Linux, macOS and Windows on amd64 and arm64 into dist/, as deploy/Dockerfile does, and print the sizes
	@mkdir -p dist
	@for platform in $(PLATFORMS); do \
		os=$${platform%/*} arch=$${platform#*/} suffix=; \
		[ $$os != windows ] || suffix=.exe; \
		file=dist/berth-$$os-$$arch$$suffix; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' -o $$file ./cmd/berth; \
		printf '%-30s %4d MiB, %3d MiB compressed\n' $$file $$(($$(wc -c <$$file) >> 20)) $$(($$(gzip -c $$file | wc -c) >> 20)); \
	done

# Where the archives of a release are served, for Krew.
RELEASE_URL ?= https://github.com/berth-scheduler/berth/releases/download/$(VERSION)
release: build ## build berth for PLATFORMS into dist/ with SBOMs, archives, a manifest for Krew and SHA256SUMS, which the private key in the file KEY signs
	rm -rf dist
	$(MAKE) binaries
	@for file in dist/berth-*; do bin/berth plugin sbom $$file --version $(VERSION) -o $$file.cdx.json; done
	@for platform in $(subst /,-,$(PLATFORMS)); do \
		suffix=; case $$platform in windows-*) suffix=.exe;; esac; \
		tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=755 --transform "s/^berth-.*/berth$$suffix/" \
			-cf - -C dist berth-$$platform$$suffix -C .. LICENSE | gzip -n > dist/berth-$$platform.tar.gz || exit 1; \
	done
	.ci/krew $(VERSION) $(RELEASE_URL) > dist/berth.yaml
	cd dist && sha256sum berth-* berth.yaml > SHA256SUMS
	$(if $(KEY),bin/berth plugin sign dist/SHA256SUMS --key $(KEY),@echo "dist/SHA256SUMS is not signed: name the private key with KEY=FILE")

reproducible: ## make the release of HEAD for one platform in two clones, and compare the digests (FRESH=1 compiles all anew)
	.ci/reproducible

demo: demo-says examples ## schedule the bundled cluster through two WASM plugins and explain a pod that stays pending (EXPLAIN=namespace/pod)
	bin/berth simulate --cluster $(DEMO)/cluster --config $(DEMO)/scheduler-wasm.yaml --explain $(EXPLAIN)

.PHONY: demo-says
demo-says:
	@echo "building bin/berth and the example plugins, then scheduling $(DEMO)/cluster (the first build takes some minutes)"

examples: build ## compile the example plugins into bin/plugins
	@mkdir -p bin/plugins
	@for dir in wasm-examples/*/guest wasm-examples/fgd/*/guest wasm-examples/catalogue/*/guest; do \
		manifest=$$(dirname $$dir)/manifest.json; \
		bin/berth plugin build $$dir --manifest $$manifest -o bin/plugins/$$(sed -n 's/^  "name": "\(.*\)",$$/\1/p' $$manifest).wasm || exit 1; \
	done

# Test programs collect garbage less often, which was a fifth of their CPU time. Linkers gain nothing by it.
LESS_GC := -exec='env GOGC=$(or $(GOGC),400)'

# Without vet, which make check runs: it takes a fifth of the CPU time of a test program that only links and starts.
test: ## run the tests but the slow ones, with a summary at the end (PKG=./runtime/queue for one package)
	@$(RUNTESTS) -packages '$(PKG)' -except internal/laws -- -vet=off $(LESS_GC) -skip='$(REST)'

test-rest: ## run the slow tests, which make test leaves out
	@$(RUNTESTS) -packages '$(call packages-with,TestRest)' -- -vet=off -run='$(REST)'

test-all: test test-rest ## run all tests

# What strangers reach, by test: generated bombs for each reader, hostile registries and indexes, recordings, and floods of tenants
# beside a quiet one. make test runs the same tests, so CI has no step for it.
PERIMETER := Bombs ProtobufBombs ReadmeBombs LayoutBombs Attacks ManifestAttacks Bounds Depth ManyTwice HostileCounts ManyMistakes \
	HugeFiles Files TooLarge Room ManyCopies KubeconfigBombs SlowQuestion Pipes PipesThatStay KubeconfigOfPipe ServerEndless \
	HostileRegistry HostileTarballs HostileIndex Hostile HostilePages LyingReferrers EndlessTags Guard Redirect ServerRedirects \
	LyingIndex HostileAttachments AttachedByStrangers YankedElsewhere \
	Hole Damaged DamagedSize Endless Stranger StrangersExtender \
	Flood RefusedConfigurations LargeConfigurations ManyNamespaces ServerThatNeverAnswers ManyOfAServer ServerNames GrantsInTurn Turns \
	EndsLookAtFew LargeIsNotStarved LargeModules QuietTenant SeriesGoWithTheirPlugin MetadataOfPlugins
OUTSIDE := internal/bounded abi/schema abi/wire cmd/app runtime/internal/strictyaml $(addprefix runtime/,module record replay whatif market tenancy sim/input \
	kube extender debughttp telemetry)
empty :=
.PHONY: perimeter
perimeter: ## hold what strangers reach against its bounds: bombs, hostile registries and recordings, floods of tenants
	@for name in $(PERIMETER); do \
		grep -rqE --include='*_test.go' "^func Test$$name\(" $(OUTSIDE) || { echo "perimeter: no package of OUTSIDE has Test$$name" >&2; exit 1; }; \
	done
	@names='$(subst $(empty) ,|,$(strip $(PERIMETER)))'; \
	$(RUNTESTS) -packages "$$(grep -rlE --include='*_test.go' "^func Test($$names)\(" $(OUTSIDE) | xargs -n1 dirname | sort -u | sed 's|^|./|')" \
		-- -vet=off $(LESS_GC) -run="^Test($$names)$$"

# Files with tests that draw what they test.
DRAWING := grep -rl --include='*_test.go' 'berth/internal/seeded"' abi internal runtime hostplugins cmd wasm-examples
test-random: ## run the tests that draw cases with a new seed, and print it (BERTH_TEST_SEED=n repeats one)
	@export BERTH_TEST_SEED=$${BERTH_TEST_SEED:-random}; \
	$(RUNTESTS) -packages "$$($(DRAWING) | xargs -n1 dirname | sort -u | sed 's|^|./|')" -- -vet=off -count=1 -skip='$(REST)' \
		-run="^($$($(DRAWING) | xargs grep -ohE '^func Test\w+' | cut -c6- | sort -u | paste -sd '|'))$$"

test-race: ## run all tests under the race detector (needs a C compiler)
	@$(RUNTESTS) -packages '$(PKG)' -except internal/laws -cpu 60m -- -race

# Left out: the child that compiles, which would be executed again without qemu, simulations of whole clusters, which take
# qemu long, and what a unit of fuel takes, which is qemu's time.
# Recordings that were made on amd64 must repeat.
ON_ARM64 = GOARCH=arm64 CGO_ENABLED=0 go test -timeout 60m -exec 'env -u GOARCH $(if $(filter arm64,$(shell go env GOHOSTARCH)),,qemu-aarch64-static)'
test-arm64: ## run the tests of guests, and replays, as arm64 programs, under qemu-aarch64-static if this machine is another (20 minutes)
	@command -v qemu-aarch64-static > /dev/null || [ "$$(go env GOHOSTARCH)" = arm64 ] || { echo "qemu-aarch64-static is missing: apt-get install qemu-user-static" >&2; exit 1; }
	$(ON_ARM64) -run '^(TestSmall|TestDifferent|TestSwap)$$' ./runtime/replay
	$(ON_ARM64) -skip '^(FuzzModules|TestRestModules|TestRestDevices|TestRestFGD.*)$$' \
		./runtime/wasm ./runtime/wasm/meter ./runtime/wasm/tck ./abi/sdk/go/... ./wasm-examples/internal/hosttest

e2e: ## run berth against a real API server and etcd, which are built the first time (SCHEDULER=kube-scheduler for that one, RUN=pattern)
	@$(call RUNTESTS_IN,test) -each -again 2 -cpu 60m -packages ./e2e -- -count=1 -run='$(RUN)' -scheduler=$(SCHEDULER)

# Placing and binding, the change of leaders, every way to install with its rights, plugins; but what is about kube-scheduler itself.
SKEWED    := ^(TestUpstream|TestMixed|TestFailover|TestPausedLeader|TestBerth)$$
UNSKEWED  := ^TestBerth$$/^(flags|takeover|alerts|serves)$$
# Extended resources from devices are off by default in v1.35.
UNSKEWED_v1.35 := ^(TestBerth|TestUpstream)$$/^(flags|takeover|alerts|serves|devices_extended)$$
SKEW      := v1.35 v1.36
skew: $(SKEW:%=skew-%) ## run the main end-to-end tests against the API servers of older minor versions, which test/skew pins (built the first time; SKEW=v1.36 for one)
skew-%:
	cd test/skew/$* && go mod tidy -diff
	@$(call RUNTESTS_IN,test) -each -cpu 60m -packages ./e2e -- -count=1 -run='$(SKEWED)' -skip='$(or $(UNSKEWED_$*),$(UNSKEWED))' -skew=$*

chart: ## test deploy/chart with Helm's library: that it installs what kustomize does, and what its values change
	cd test/chart && go mod tidy -diff && go vet .
	@$(call RUNTESTS_IN,test/chart) -packages . -- -count=1

.PHONY: robustness-real
robustness-real: BUDGET = 20m
robustness-real: ## kill, pause and cut off Berth and kube-scheduler, the API server and etcd, with the same seed (BUDGET=20m for each scheduler), and print the seconds without a binding
	cd test && go run ./robustness -budget $(BUDGET)

market: examples ## test the market's pages and the console in Chromium, and docs/market.md against another project's registry
	cd test/market && go mod tidy -diff && go vet .
	@$(call RUNTESTS_IN,test/market) -packages . -- -count=1

catalogue: ## build, sign and index the plugins of wasm-examples/catalogue, hold them against the conformance kit, install each, and simulate through all: bin/catalogue
	@rm -rf bin/catalogue && mkdir -p bin/catalogue
	@export BERTH_CATALOGUE="$(CURDIR)/bin/catalogue" BERTH_REQUIRE_C=1 BERTH_REQUIRE_RUST=1 BERTH_REQUIRE_ASSEMBLYSCRIPT=1; \
		$(RUNTESTS) -packages ./cmd/app -- -count=1 -run '^TestRestCatalogue$$'

screenshots: examples ## make the pictures of docs/console.md, with Chromium
	@dir=$$(mktemp -d) && trap 'rm -r "$$dir"' EXIT && \
	(cd test/market && BERTH_REQUIRE_CHROMIUM=1 BERTH_SCREENSHOTS=$$dir go test -count=1 -run '^TestConsoleScreens$$' .) && \
	cp $$dir/console-queue-1280-light.png docs/console-queue.png && cp $$dir/console-decision-1280-light.png docs/console-decision.png && \
	cp $$dir/console-nodes-1280-dark.png docs/console-nodes.png

cosign: build ## hold images and signatures against cosign and another registry, both ways (cosign is built the first time: 10 minutes)
	cd test/cosign && go mod tidy -diff
	@$(call RUNTESTS_IN,test/cosign) -packages . -- -count=1

pauses: ## stop the leader for 30 s under load, 20 times, and read back from etcd that it writes nothing afterwards (15 minutes)
	cd test && go test ./e2e -count=1 -v -timeout 60m -run '^TestPausedLeader$$' -pauses 20 -pause 30s

race: ## measure berth and kube-scheduler side by side on a real API server, into race.out (RACE='-workloads basic -repetitions 1')
	cd test && go run ./cmd/race -out ../race.out $(RACE)

race-plugins: examples ## measure berth run with two plugins and without, in ten interleaved pairs on 5,000 nodes, into race-plugins.out (RACE='-repetitions 2 -pods 500')
	@mkdir -p bin/race && echo '{"podsPerTenant": 1000, "noisyPods": 2000, "noisyMilliCPU": 64000}' > bin/race/noisy-neighbour.json && \
		echo '{"zones": {"zone-0": 10, "zone-1": 12.5, "zone-2": 30}}' > bin/race/zone-cost.json
	cd test && go run ./cmd/race -out ../race-plugins.out -workloads basic,mixed -nodes 5000 -schedulers berth,berth+plugins -repetitions 10 \
		-plugins '$(CURDIR)/bin/plugins/noisy-neighbour.wasm?config=$(CURDIR)/bin/race/noisy-neighbour.json $(CURDIR)/bin/plugins/zone-cost.wasm?config=$(CURDIR)/bin/race/zone-cost.json' $(RACE)

tenants: examples ## measure what 200 plugins of 50 tenants cost on 1,000 nodes (a minute); what hostile tenants and trials do to the p99 of one (TENANTS=-beside)
	cd test && go run ./cmd/tenants $(TENANTS)

soak: ## change plugins that fail at every point while pods come and go on 1,000 nodes, for SOAK=time
	go test ./runtime/assembly -run '^TestRestSoak$$' -v -count=1 -timeout 0 -soak $(SOAK)

prices: ## measure what a unit of fuel takes at worst, by kind of instruction and function of the host; fails above 32 times that of a plain loop
	go test ./runtime/wasm/meter -run '^$$' -bench '^BenchmarkWorst$$' -benchtime 2x -timeout 30m
	go test ./runtime/wasm -run '^$$' -bench '^BenchmarkHostCallTime$$' -benchtime 1x -timeout 30m

bench: ## run the benchmarks COUNT times into bench.out (BENCH=pattern)
	@pkgs="$(call packages-with,Benchmark)"; \
	if [ -z "$$pkgs" ]; then echo "no package has benchmarks"; exit 0; fi; \
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) $$pkgs | tee bench.out

bench-report: examples ## measure what it costs to place a pod in memory, with kube-scheduler's engine beside it, into docs/scale.md (15 minutes alone on two CPUs, and 8 GiB)
	@mkdir -p bin/scale && cp bin/plugins/noisy-neighbour.wasm bin/scale/noisy-neighbour-go.wasm && cp bin/plugins/zone-cost.wasm bin/scale/zone-cost-go.wasm && cp bin/plugins/tenant-pool.wasm bin/scale/tenant-pool-go.wasm
	@for language in rust c assemblyscript; do \
		bin/berth plugin build wasm-examples/noisyneighbour/$$language -o bin/scale/noisy-neighbour-$$language.wasm || echo "left out: noisy-neighbour in $$language"; \
	done
	cd test && go run ./cmd/scale $(SCALE)

bench-compare: ## compare bench.out with an earlier one (BASE=bench.base.out)
	@for f in $(BASE) bench.out; do [ -f "$$f" ] || { echo "$$f is missing: run make bench, before the change keep bench.out as $(BASE)" >&2; exit 1; }; done
	$(BENCHSTAT) $(BASE) bench.out

fuzz: ## run every fuzz target for FUZZTIME (FUZZPKG=./runtime/market/% for some packages; FUZZTIME=1000000x for a million executions)
	@for pkg in $(filter $(FUZZPKG),$(call packages-with,Fuzz)); do \
		for target in $$(go test -list '^Fuzz' "$$pkg" | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$pkg"; \
		done; \
	done

rewrite: ## rewrite the expected output of scenario and golden files (PKG=…); read the diff before you commit it
	@flagged=$$(grep -rlE --include='*_test.go' 'internal/(golden|scenario)"' abi runtime hostplugins cmd wasm-examples | xargs -rn1 dirname | sort -u | sed 's|^|$(MODULE)/|'); \
	pkgs=$$(go list $(PKG) | grep -Fx "$$flagged" || true); \
	if [ -z "$$pkgs" ]; then echo "no package has golden files"; exit 0; fi; \
	go test $$pkgs -rewrite

generate: ## rewrite generated files
	go generate ./...

fmt: ## format the Go files
	$(GOLANGCI) fmt
	cd test && $(GOLANGCI) fmt
	cd cmd/app/example && $(GOLANGCI) fmt

lint: ## run the linters and the format check
	$(GOLANGCI) run
	cd test && $(GOLANGCI) run
	cd cmd/app/example && $(GOLANGCI) run

vet: ## go vet, for the host and for guest packages
	go vet ./...
	GOOS=wasip1 GOARCH=wasm go vet ./abi/sdk/go/... ./wasm-examples/...
	cd test && go vet ./...
	cd cmd/app/example && go vet ./...

laws: ## test the laws of the repository: layers, package comments, file sizes, links, Kubernetes version
	@$(RUNTESTS) -packages ./internal/laws -- -vet=off
	@.ci/commits

sdk-rust: ## test the Rust SDK and the plugins in Rust, natively and in the host (needs Rust: abi/sdk/rust/README.md)
	.ci/sdk-rust
	export BERTH_REQUIRE_RUST=1; $(RUNTESTS) -packages './abi/sdk/rust/...' --
	export BERTH_REQUIRE_RUST=1; $(RUNTESTS) -packages './cmd/app ./wasm-examples/internal/hosttest' -- -run '^TestRestPlugin(BuildLanguages|TestLanguages|New)$$/^rust|^TestRestRust|^TestRest(Points|ReferenceWorkload)$$/^rust'

sdk-c: ## test the C SDK and the plugins in C, natively and in the host (needs clang: abi/sdk/c/README.md)
	export BERTH_REQUIRE_C=1; $(RUNTESTS) -packages './abi/sdk/c/...' --
	export BERTH_REQUIRE_C=1; $(RUNTESTS) -packages './abi/conformance' -- -run '^TestRestCheckPassesRawGuests$$'
	export BERTH_REQUIRE_C=1; $(RUNTESTS) -packages './cmd/app ./wasm-examples/internal/hosttest' -- -run '^TestRestPlugin(BuildLanguages|TestLanguages|New)$$/^c|^TestRestC|^TestRestFGD(Fuel|Refuses)$$/^c|^TestRest(FGDTwins|GPUTwinsToTheBit)$$/./^c|^TestRest(Points|ReferenceWorkload)$$/^c'
	.ci/conformance c

sdk-assemblyscript: ## test the AssemblyScript SDK and the plugins in it (needs Node.js: abi/sdk/assemblyscript/README.md)
	export BERTH_REQUIRE_ASSEMBLYSCRIPT=1; $(RUNTESTS) -packages './abi/sdk/assemblyscript/...' --
	export BERTH_REQUIRE_ASSEMBLYSCRIPT=1; $(RUNTESTS) -packages './cmd/app ./wasm-examples/internal/hosttest' -- -run '^TestRestPlugin(BuildLanguages|TestLanguages|New)$$/^assemblyscript|^TestRestAssemblyScript|^TestRest(Points|ReferenceWorkload)$$/^assemblyscript'
	.ci/conformance assemblyscript

OPENB := $(or $(BERTH_OPENB_DIR),../shared/data/openb)
PUBLISHED_SEEDS := 42 43 44 45 46 47 48 49 50 51
SEEDS ?= $(PUBLISHED_SEEDS)
fgd: examples ## run the published FGD experiment on the openb trace in BERTH_OPENB_DIR, ten seeds of three policies, and draw it (docs/fgd.md)
	@[ -f $(OPENB)/openb_pod_list_default.csv ] || { echo "set BERTH_OPENB_DIR to the folder of the openb trace (docs/fgd.md says where it is)" >&2; exit 1; }
	@mkdir -p bin/fgd && rm -f bin/fgd/*.csv
	bin/berth trace typical --pods $(OPENB)/openb_pod_list_default.csv > bin/fgd/fgd.json
	echo '{}' | tee bin/fgd/best-fit.json > bin/fgd/random-fit.json
	@for policy in fgd:. best-fit:bestfit random-fit:random; do \
		name=$${policy%%:*}; \
		bin/berth plugin build wasm-examples/fgd/$${policy##*:}/c -o bin/fgd/$$name.wasm || { echo "instead the module in Go, which decides the same"; cp bin/plugins/$$name.wasm bin/fgd/; }; \
		for seed in $(SEEDS); do \
			printf '%-10s seed %s: ' $$name $$seed; \
			bin/berth simulate --trace openb --nodes $(OPENB)/openb_node_list_gpu_node.csv --pods $(OPENB)/openb_pod_list_default.csv \
				--inflate 1.3 --shuffle --attempts 1 --tie-break first --seed $$seed --config wasm-examples/fgd/scheduler.yaml \
				--plugin "bin/fgd/$$name.wasm?config=bin/fgd/$$name.json" --report bin/fgd/$$name-$$seed.csv 2>bin/fgd/log | sed -n 1p; \
			[ -s bin/fgd/$$name-$$seed.csv ] || { cat bin/fgd/log >&2; exit 1; }; \
		done; \
	done
	go run ./wasm-examples/fgd/curves -svg $(if $(filter-out $(SEEDS),$(PUBLISHED_SEEDS)),bin/fgd,docs)/fgd.svg bin/fgd/*.csv

mod: ## check go.mod and the downloaded modules
	go mod tidy -diff
	go mod verify
	cd test && go mod tidy -diff
	cd cmd/app/example && go mod tidy -diff
	cd test && go mod verify

.PHONY: oracle
oracle: ## compare with kube-scheduler v1.37 on drawn cases (SEED=n; BUDGET=time, or CASES=n of each; ONLY=subject,…): docs/oracle.md
	cd test && go build -o ../bin/oracle ./cmd/oracle
	cd test && ../bin/oracle -seed $(SEED) $(if $(ONLY),-only '$(ONLY)') $(if $(CASES),-count $(CASES),-budget $(BUDGET) -least $(VERDICTS))

.PHONY: upstream
upstream: ## run kube-scheduler's own integration tests against SCHEDULER, and compare with test/cmd/upstream/expected.txt (ONLY=package,…; RECORD=1 writes it)
	cd test && go build -o ../bin/run-upstream ./cmd/upstream && exec ../bin/run-upstream -scheduler $(SCHEDULER) $(if $(ONLY),-only '$(ONLY)') $(if $(filter-out .,$(RUN)),-run '$(RUN)') $(if $(RECORD),-record)

.PHONY: scheduler-perf
scheduler-perf: ## run upstream's benchmarks with kube-scheduler and berth (ONLY=misc/SchedulingBasic,…; SIZE=0.1 of the nodes and pods; EACH=1 for one workload of each test case; TARGETS=false; RECORD=1 writes docs/scheduler-perf.md)
	cd test && go build -o ../bin/run-scheduler-perf ./cmd/schedulerperf && exec ../bin/run-scheduler-perf -scale $(SIZE) -targets=$(TARGETS) $(if $(EACH),-one-of-each) $(if $(ONLY),-only '$(ONLY)') $(if $(RECORD),-out ../docs/scheduler-perf.md)

.PHONY: oracle-test
oracle-test: ## test the oracle: that it finds mistakes, makes cases small, and measures like with like
	@$(call RUNTESTS_IN,test) -packages './internal/... ./cmd/mutants ./cmd/kitmutants' --

.PHONY: alike
alike: ## hold decisions with kept answers and with trials against those without, for about a million attempts (12 minutes)
	go test ./runtime/cycle -run '^TestAlike$$' -rapid.checks 40000 -timeout 60m
	go test ./hostplugins ./runtime/sim -run '^TestReuse' -rapid.checks 2000 -timeout 60m
	go test ./runtime/sim -run '^TestShadowChangesNothing$$' -rapid.checks 10000 -timeout 60m

.PHONY: oracle-mutants
oracle-mutants: ## put one mistake after the other into the plugins and the engine, and see that the oracle finds it (ONLY=subject,…; LIST=plugins.yaml for more)
	cd test && go run ./cmd/mutants $(if $(ONLY),-only '$(ONLY)') $(if $(LIST),-list '$(LIST)' -count 0 -tests)

.PHONY: kit-mutants
kit-mutants: build ## put one mistake after the other into plugins, SDKs and the host, and see that the conformance kit finds it (an hour; ONLY=subject,…; SAMPLE=time for what SEED draws)
	cd test && go run ./cmd/kitmutants $(if $(ONLY),-only '$(ONLY)') $(if $(SAMPLE),-budget $(SAMPLE) -seed $(SEED))

.PHONY: oracle-bench
oracle-bench: ## measure plugins beside those of kube-scheduler in one process, COUNT times, into bench.oracle.out (BENCH=pattern)
	cd test && go test -run '^$$' -bench '$(BENCH)' -benchtime 200ms -count $(COUNT) ./internal/bench | tee ../bench.oracle.out

.PHONY: abi-1.0
abi-1.0: ## build the modules of ABI 1.0 in Go from the commit that made them, and hold this host against all modules that are kept
	.ci/kept-go

.PHONY: hostile
# The whole of it begins with tests that draw tenants' guests; what -only, -beside and -budget choose does not.
hostile: build ## run all hostile guests against bin/berth and hold what becomes of them against the bounds of docs/sandbox.md (HOSTILE='-only names', or '-beside')
	$(if $(filter -only% --only% -beside% --beside% -budget% --budget%,$(HOSTILE)),,go test ./runtime/scheduler ./runtime/wasm -run '^TestRest(DrawnNeighbours|Tenants|DrawnStarts|DrawnBytes|Modules)$$' -count 1 -v)
	cd test && go build -o ../bin/hostile ./cmd/hostile
	cd test && ../bin/hostile $(HOSTILE)

check: ## everything but the tests that a change must pass; ends on a clean git diff
	@git=$$(git rev-parse --is-inside-work-tree 2>/dev/null || true); \
	untracked() { [ -z "$$git" ] || git ls-files --others --exclude-standard; }; \
	before=$$(untracked); \
	$(MAKE) generate mod vet laws lint; \
	if [ -z "$$git" ]; then echo "check: not a git checkout, so there is no diff to look at"; exit 0; fi; \
	git --no-pager diff --exit-code || { echo "check: generated files changed, or there are edits that are not staged" >&2; exit 1; }; \
	new=$$(comm -13 <(sort <<<"$$before") <(untracked | sort)); \
	if [ -n "$$new" ]; then printf 'check: files were made that git does not know:\n%s\n' "$$new" >&2; exit 1; fi

clean: ## remove what the other targets made
	rm -rf bin dist bench.out bench.oracle.out race.out race-plugins.out
