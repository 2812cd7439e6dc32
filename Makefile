# All build, test and benchmark targets. `make demo` and `make test` require only Go, make and root on Debian 12. They
# install and build everything else at pinned versions.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

MODULES := shared shared/bootstrap shared/testing agent jobset-controller jobset-controller/published appwrapper-controller elastic-operator rescheduler rescheduler/scheduler cli charts e2e tools/charts
# Modules outside the workspace, so that their dependencies do not determine the versions in all other modules.
ALONE := elastic-operator/kueue appwrapper-controller/published
BIN := $(CURDIR)/bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
STAMP := github.com/holdfast-project/holdfast/shared/version
# Go programs are static, so that an image needs no other files. The tag grpcnotrace halves the size of the agent.
BUILD := CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -ldflags "-s -w -X $(STAMP).version=$(VERSION) -X $(STAMP).commit=$(COMMIT)"
# The scheduler reports its version of Kubernetes, with a suffix for Holdfast. Feature gates depend on that version.
KUBERNETES := $(shell awk '$$1 == "k8s.io/kubernetes" {print $$2}' rescheduler/scheduler/go.mod)
BUILD_SCHEDULER := CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$(KUBERNETES)+holdfast.$(VERSION) -X k8s.io/component-base/version.gitCommit=$(COMMIT)"
TESTBED := go run ./e2e/cmd/testbed
TESTFLAGS ?=
# Builds, linters and tests without the race detector compile with the same settings, so that they share the build cache. The race detector needs cgo.
export CGO_ENABLED := 0
export GOFLAGS := $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath
# All packages of the workspace, for a single command. A command for each module would load shared packages once per module.
PACKAGES := $(MODULES:%=./%/...)
# make lint runs more vet checks than go test does.
RACE := CGO_ENABLED=1 go test -race -vet=off -tags envtest -timeout 30m

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-27s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: build-jobset build-appwrapper build-elastic build-rescheduler ## Build all programs into bin/
	cd cli && $(BUILD) -o $(BIN)/ ./cmd/kubectl-holdfast

# The tests give each program the account and the roles of its chart.
.PHONY: build-accounts
build-accounts:
	go run ./tools/charts/manifests -output $(BIN)/manifests -registry localhost/holdfast -tag dev

# Separate targets, so that tests and benchmarks build only the programs that they need.
.PHONY: build-jobset
build-jobset: build-accounts
	cd agent && $(BUILD) -o $(BIN)/ ./cmd/agent ./cmd/holdfast-exec
	cd jobset-controller && $(BUILD) -o $(BIN)/ ./cmd/manager ./cmd/orchestrator
	cd e2e && $(BUILD) -o $(BIN)/worker ./images/worker && $(BUILD) -o $(BIN)/step ./images/step

.PHONY: build-appwrapper
build-appwrapper: build-accounts
	cd appwrapper-controller && $(BUILD) -o $(BIN)/appwrapper-manager ./cmd/manager

.PHONY: build-elastic
build-elastic: build-accounts
	cd elastic-operator && $(BUILD) -o $(BIN)/elastic-manager ./cmd/manager && $(BUILD) -o $(BIN)/rendezvous ./cmd/rendezvous
	cd elastic-operator/kueue && GOWORK=off $(BUILD) -o $(BIN)/elastic-kueue ./cmd/manager

.PHONY: build-rescheduler
build-rescheduler: build-accounts
	cd rescheduler && $(BUILD) -o $(BIN)/rescheduler-manager ./cmd/manager
	cd rescheduler/scheduler && $(BUILD_SCHEDULER) -o $(BIN)/rescheduler-scheduler ./cmd/scheduler

REGISTRY ?=
KEY ?=
ARCHITECTURES ?= amd64,arm64
IMAGE_TAG ?= $(VERSION)
# A commit without a tag is a snapshot. The g prevents SemVer from reading the commit as a number.
RELEASE ?= $(or $(shell git describe --tags --exact-match --match 'v*' 2>/dev/null),v0.0.0-snapshot.g$(shell git rev-parse --short HEAD 2>/dev/null))
MAKE_RELEASE = rm -rf $(BIN)/release && go run ./tools/charts/release -output $(BIN)/release -architectures $(ARCHITECTURES)

.PHONY: images
images: ## Build all images for amd64 and arm64 and push them, without docker: REGISTRY=registry.example/holdfast IMAGE_TAG=v0.1.0
	@test -n "$(REGISTRY)" || { echo "set REGISTRY to your registry: make images REGISTRY=registry.example/holdfast"; exit 1; }
	$(MAKE_RELEASE) -only-images -push -registry $(REGISTRY) -version $(IMAGE_TAG)

.PHONY: release-snapshot
release-snapshot: ## Build all files of a release in bin/release, signed with a throwaway key; publishes nothing
	$(MAKE_RELEASE) -registry localhost/holdfast -version $(RELEASE)

.PHONY: release
release: ## Build a release from the tag of this commit, and push images and charts: REGISTRY=registry.example/holdfast KEY=key.pem
	@test -n "$(REGISTRY)" -a -n "$(KEY)" || { echo "set REGISTRY to your registry and KEY to the file of the signing key"; exit 1; }
	@git describe --tags --exact-match --match 'v*' >/dev/null && test -z "$$(git status --porcelain)" || { echo "check out a tag, without local changes"; exit 1; }
	$(MAKE_RELEASE) -push -registry $(REGISTRY) -version $(RELEASE) -key $(abspath $(KEY))

.PHONY: release-test
release-test: ## Build a release twice and check its contents: programs, images, charts, SBOMs, checksums, signature
	go test -tags release -count=1 -timeout 60m -v -run '^TestRelease' ./tools/charts/release

.PHONY: prerequisites
prerequisites: # Install Debian packages and build the API server for tests, unless they exist
	./hack/install-debian.sh prometheus
	$(TESTBED) build --only kube-apiserver
	$(TESTBED) build --only kube-controller-manager

.PHONY: test
test: prerequisites verify ## Unit tests, the store contract on real Valkey 8.1 and Redis 7.0, API tests on a real kube-apiserver
	$(RACE) $(TESTFLAGS) $(PACKAGES)
	for module in $(ALONE); do (cd $$module && echo "== $$module" && GOWORK=off $(RACE) $(TESTFLAGS) ./...); done
	cd shared && echo "== the store contract on redis-server" && HOLDFAST_STORE=redis-server go test -timeout 30m $(TESTFLAGS) ./coordination/valkey
	$(MAKE) --no-print-directory wheel

# Packages and tests that need a store server, promtool or root.
NOT_UNIT := /shared/coordination/valkey$$|/agent/cmd/holdfast-exec$$|/agent/internal/store$$|/holdfast/charts$$|/holdfast/e2e/

.PHONY: test-unit
test-unit: ## Unit tests that need nothing but Go: no root, no packages, no cluster
	go test -vet=off -timeout 5m -skip '^TestGroupOnARealServer$$' $(TESTFLAGS) $$(go list $(PACKAGES) | grep -vE '$(NOT_UNIT)')

RECORD := go run ./e2e/cmd/compatibility record
# The version of a module in a go.mod: $(call pinned,FOLDER,MODULE).
pinned = $$(awk '$$1 == "$(2)" {sub(/^v/, "", $$2); print $$2}' $(1)/go.mod)

.PHONY: test-stores
test-stores: ## The store contract on Valkey and on Redis; writes docs/compatibility.md
	./hack/install-debian.sh
	for store in valkey-server redis-server; do \
	  (cd shared && HOLDFAST_STORE=$$store go test -count=1 -timeout 30m $(TESTFLAGS) ./coordination/valkey) || exit 1; \
	  name=$${store%-server}; version=$$($$store --version | sed -E 's/.* v=([0-9.]+) .*/\1/'); \
	  $(RECORD) "$${name^}" "$$version" 'store contract (`make test-stores`)'; \
	done

MINORS ?= 1.33 1.34 1.35 1.36
CACHE := $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/holdfast/bin

# Sets the module, folder and version for one iteration over MINORS. The names for the newest minor version do not contain it.
VERSIONED = module=tools/kubernetes-$$minor folder=$(CACHE)/$$minor; [ -d $$module ] || { module=tools/kubernetes; folder=$(CACHE); }; \
  version=$(call pinned,$$module,k8s.io/kubernetes)

.PHONY: test-kubernetes
test-kubernetes: ## API tests of all controllers, including JobSet's conformance tests, on the API servers of MINORS (1.33 1.34 1.35 1.36); writes docs/compatibility.md
	./hack/install-debian.sh
	for minor in $(MINORS); do \
	  $(VERSIONED); export HOLDFAST_ENVTEST_ASSETS=$$folder; \
	  $(TESTBED) build --kubernetes $$minor --only kube-apiserver,kube-controller-manager || exit 1; \
	  go test -vet=off -count=1 -tags envtest -timeout 30m $(TESTFLAGS) $(API_TESTS) || exit 1; \
	  $(RECORD) Kubernetes "$$version" 'API tests of all controllers (`make test-kubernetes`)'; \
	done
	$(RECORD) JobSet "$(call pinned,tools/jobset,sigs.k8s.io/jobset)" 'its client, its messages, and replacing its controller and back (`make test-kubernetes`)'

API_TESTS := ./jobset-controller/internal/controller/... ./jobset-controller/internal/app ./jobset-controller/internal/orchestrator/... ./jobset-controller/published/... \
  ./appwrapper-controller/internal/... ./elastic-operator/internal/... ./rescheduler/internal/app
# For each minor version. The tests of the scheduler plugin are skipped, because the scheduler is built only for the newest one.
E2E_DRIVERS := ^(TestAFailedWorkerRestartsAllInPlace|TestADeletedPodIsReplacedAndTheOthersRestartInPlace|TestThePluginShowsARestart|TestAnOrderedStartRestartsInPlace)$$
E2E_PLUGIN := TestTheSecondScheduler|TestARejectedPodIsReplacedOnAnotherNode/with_the_plugin

.PHONY: e2e-versions
e2e-versions: ## Test both drivers, each controller and all charts on real nodes of MINORS (root), about 10 minutes for each; writes docs/compatibility.md
	./hack/install-debian.sh
	$(MAKE) build
	for minor in $(MINORS); do \
	  $(VERSIONED); export HOLDFAST_KUBERNETES=$$minor; \
	  $(TESTBED) down; \
	  (cd e2e && go test -vet=off -tags e2e -count=1 -timeout 40m -run '$(E2E_DRIVERS)' ./suites/inplace) || exit 1; \
	  (cd e2e && go test -vet=off -tags e2e -count=1 -timeout 40m -p 1 -skip '$(E2E_PLUGIN)' ./suites/jobset ./suites/appwrapper ./suites/rescheduler) || exit 1; \
	  $(RECORD) Kubernetes "$$version" 'on a node: both restart drivers, JobSets, AppWrappers, rescheduler with affinity (`make e2e-versions`)'; \
	  (cd e2e && go test -vet=off -tags e2e -count=1 -timeout 40m -p 1 ./suites/elastic ./suites/charts) || exit 1; \
	  $(RECORD) Kubernetes "$$version" 'on a node: ElasticJobs, all charts (`make e2e-versions`)'; \
	done

.PHONY: wheel
wheel: ## Build the Python package into bin/, after its tests
	cd agent/python && python3 -m unittest discover -s tests && python3 wheel.py $(BIN)

.PHONY: test-python
test-python: ## The Python package and warm starts, on the Python of this host (3.11 on Debian 12) and on the 3.13 of Debian 13 (root)
	./hack/install-torch-2.6.sh
	for path in "$$PATH" "$(CURDIR)/hack/debian13:$$PATH"; do \
	  export PATH="$$path"; python3 --version; \
	  (cd agent/python && python3 -m unittest discover -s tests) || exit 1; \
	  (cd agent && go test -count=1 -run 'Warm|Template|AModule' ./internal/process ./cmd/holdfast-exec) || exit 1; \
	done

.PHONY: update
update: ## Update Go modules and Debian packages to the newest versions that are compatible with those pinned in hack/update.sh
	./hack/update.sh

FUZZTIME ?= 1m

.PHONY: fuzz
fuzz: ## Run every Fuzz function in turn, each for FUZZTIME (1m, or 100000x for a count); inputs that fail are saved in testdata/fuzz
	FUZZTIME=$(FUZZTIME) ./hack/fuzz.sh $(MODULES) $(ALONE)

# The suites of the short run, in this order.
E2E := ./testbed ./suites/testbed ./suites/charts/jobset ./suites/inplace ./suites/jobset ./suites/appwrapper ./suites/rescheduler ./suites/elastic ./suites/metrics ./suites/charts ./suites/docs

.PHONY: e2e
e2e: ## End-to-end tests on a real node (root): pods are killed, and the store is stopped, emptied and corrupted
	./hack/install-debian.sh prometheus
	$(MAKE) build
	$(TESTBED) down
	cd e2e && go test -vet=off -tags e2e -count=1 -timeout 60m -p 1 $(E2E)

.PHONY: e2e-all
e2e-all: ## All of make e2e, and longer tests: each failure when idle and in the middle of a restart, Kueue, real PyTorch (root)
	./hack/install-debian.sh prometheus
	$(MAKE) build
	$(TESTBED) down
	rm -rf e2e/results/rbac
	cd e2e && go test -tags e2e,e2e_all -count=1 -timeout 120m -p 1 $(E2E) ./suites/placement ./suites/inplace/failures ./suites/inplace/nodes ./suites/ladder ./suites/inplace/soak ./suites/beside
	cd e2e && go test -tags e2e,e2e_all -count=1 ./suites/permissions
	$(RECORD) Kueue "$(call pinned,tools/kueue,sigs.k8s.io/kueue)" 'its manager with JobSets, AppWrappers and ElasticJobs (`make e2e-all`)'
	$(RECORD) "Valkey of the JobSet chart" "$$(valkey-server --version | sed -E 's/.* v=([0-9.]+) .*/\1/')" 'TLS, ACL users, a volume (`suites/charts/jobset`)'
	$(MAKE) test-python e2e-rendezvous e2e-torch

.PHONY: e2e-beside
e2e-beside: ## In-place restarts by the chart holdfast-inplace alongside the real managers of JobSet, Kubeflow Trainer and LeaderWorkerSet (root)
	./hack/install-debian.sh
	$(MAKE) build
	$(TESTBED) down
	$(TESTBED) build --only kube-apiserver,kube-controller-manager,lws,trainer
	cd jobset-controller/published && go test -vet=off -tags envtest,neighbors -count=1 -v -run '^TestTheReal' .
	cd e2e && go test -vet=off -tags e2e -count=1 -timeout 60m -v ./suites/beside
	$(RECORD) LeaderWorkerSet "$(call pinned,tools/lws,sigs.k8s.io/lws)" 'its manager, with in-place restarts of replicas (`make e2e-beside`)'
	$(RECORD) "Kubeflow Trainer" "$(call pinned,tools/trainer,github.com/kubeflow/trainer/v2)" 'its manager, with in-place restarts of TrainJobs (`make e2e-beside`)'

.PHONY: e2e-rendezvous
e2e-rendezvous: ## Real torchrun of PyTorch 1.13 and 2.6 on this host against the managed rendezvous (root)
	./hack/install-debian.sh torch
	./hack/install-torch-2.6.sh
	$(MAKE) build-elastic
	cd e2e && go test -tags e2e -count=1 -timeout 40m -p 1 -v ./framework/torch ./suites/pytorch/rendezvous
	for version in "$$(dpkg-query -W -f '$${Version}' python3-torch)" "$$(sed -n 's/^version=//p' hack/install-torch-2.6.sh)"; do \
	  $(RECORD) PyTorch "$${version%%[+-]*}" 'torchrun at the managed rendezvous (`make e2e-rendezvous`)'; \
	done

.PHONY: e2e-torch
e2e-torch: ## Train with PyTorch 1.13 and 2.6 on a real node (root): ElasticJobs through every failure, and a JobSet that restarts in place
	./hack/install-debian.sh torch
	./hack/install-torch-2.6.sh
	$(MAKE) build
	$(TESTBED) down
	cd e2e && go test -tags e2e,e2e_all -count=1 -timeout 90m -p 1 -v ./suites/pytorch/elastic ./suites/pytorch/jobset

.PHONY: picture
picture: ## Draw the reliability dashboard of all programs, and the recovery levels of one workload, on a real node (root): docs/pictures
	./hack/install-debian.sh prometheus
	$(MAKE) build
	$(TESTBED) down
	mkdir -p docs/pictures
	cd e2e && HOLDFAST_PICTURE=$(CURDIR)/docs/pictures/reliability.svg go test -tags e2e -count=1 -timeout 40m -v ./suites/metrics
	cd e2e && HOLDFAST_LADDER=$(CURDIR)/docs/pictures/ladder.svg go test -tags e2e,e2e_all -count=1 -timeout 40m -v -run '^TestTheLadder$$' ./suites/ladder

.PHONY: soak
soak: ## Five minutes of random failures on a real node (root), after which all counts of restarts must agree; HOLDFAST_SOAK=2m is shorter
	./hack/install-debian.sh
	$(MAKE) build-jobset
	$(TESTBED) down
	cd e2e && go test -tags e2e,e2e_all -count=1 -timeout 60m -v ./suites/inplace/soak

.PHONY: demo
demo: demo-local demo-cluster ## Restart a group of processes on this host, then JobSets on a real cluster of one node (root)

# step prints one line for a command, with its duration in seconds: $(call step,WHAT,COMMAND).
step = printf '  building %-36s' '$(1)'; begin=$$SECONDS; $(2); echo "$$((SECONDS - begin)) s"

.PHONY: demo-local
demo-local: ## Kill one of eight worker processes on this host and watch the group restart; needs no cluster
	@command -v redis-server >/dev/null || ./hack/install-debian.sh store
	@mkdir -p $(BIN)
	@echo '== Part 1: eight processes on this host, no cluster. With empty caches, the build takes about a minute'
	@$(call step,the supervisor,(cd agent && $(BUILD) -o $(BIN)/ ./cmd/holdfast-exec))
	@$(call step,the worker,(cd e2e && $(BUILD) -o $(BIN)/worker ./images/worker))
	@$(call step,the demo,(cd e2e && $(BUILD) -o $(BIN)/ ./cmd/demo-local))
	@$(BIN)/demo-local -programs $(BIN)

.PHONY: demo-cluster
demo-cluster: ## Kill a worker on a real node (root): the JobSet restarts in place, in two ways, and then by recreation
	@echo; echo '== Part 2: the same in pods, on a real single-node cluster that is built here'
	@./hack/install-debian.sh
	@$(call step,the agents,(cd agent && $(BUILD) -o $(BIN)/ ./cmd/agent ./cmd/holdfast-exec))
	@$(call step,the JobSet controller,(cd jobset-controller && $(BUILD) -o $(BIN)/ ./cmd/manager))
	@$(call step,the orchestrator,(cd jobset-controller && $(BUILD) -o $(BIN)/ ./cmd/orchestrator))
	@$(call step,the accounts,(go run ./tools/charts/manifests -output $(BIN)/manifests -registry localhost/holdfast -tag dev))
	@$(call step,the workers,(cd e2e && $(BUILD) -o $(BIN)/worker ./images/worker && $(BUILD) -o $(BIN)/step ./images/step))
	@$(call step,the demo,(cd e2e && $(BUILD) -o $(BIN)/ ./cmd/demo))
	@$(BIN)/demo

.PHONY: bench
bench: bench-restart bench-train bench-jobset bench-appwrapper bench-rescheduler bench-elastic bench-rendezvous bench-scale bench-capacity ## All benchmarks

.PHONY: bench-restart
bench-restart: ## Measure restarts on the real node (root) in every recovery mode; writes docs/benchmarks/restart.md; then measures coordination alone
	./hack/install-debian.sh
	$(MAKE) --no-print-directory build-jobset
	go run ./e2e/benchmarks/restart -report docs/benchmarks/restart.md $(RESTARTFLAGS)
	$(TESTBED) down
	go run ./e2e/benchmarks/coordination

# Sizes of bench-coordination; r: with relays, s: the store is restarted, too.
CROWDS ?= 5000s,5000rs,10000s,10000rs,20000rs,40000rs

.PHONY: bench-coordination
bench-coordination: ## Measure large groups of simulated members in several processes, with and without relays: restarts, and a restart of the store
	go run ./e2e/benchmarks/coordination -crowds $(CROWDS)

.PHONY: bench-train
bench-train: ## Measure the time from the failure of a rank to the next training step of PyTorch 2.6 on the real node (root), with eight ways to recover; writes docs/benchmarks/train.md
	./hack/install-debian.sh
	./hack/install-torch-2.6.sh
	$(MAKE) --no-print-directory build-jobset
	go run ./e2e/benchmarks/train -report docs/benchmarks/train.md $(TRAINFLAGS)
	$(TESTBED) down

GROWTH := e2e/results/jobset-growth.txt

.PHONY: bench-jobset
bench-jobset: ## Measure our JobSet manager alongside the published one with many Jobs (root), phase by phase; writes docs/benchmarks/jobset.md
	./hack/install-debian.sh
	$(MAKE) --no-print-directory build-jobset
	mkdir -p $(dir $(GROWTH))
	cd jobset-controller && go test -run '^$$' -bench BenchmarkReconcile -benchtime 20x ./internal/controller/jobset | tee ../$(GROWTH)
	go run ./e2e/benchmarks/jobset -growth $(GROWTH)
	$(TESTBED) down

.PHONY: bench-appwrapper
bench-appwrapper: ## 500 AppWrappers on simulated nodes (root), 50 failures at once, then 5,000 with 50,000 pods; writes docs/benchmarks/appwrapper.md
	./hack/install-debian.sh
	$(MAKE) --no-print-directory build-appwrapper
	go run ./e2e/benchmarks/appwrapper
	$(TESTBED) down

.PHONY: bench-rescheduler
bench-rescheduler: bench-rescheduler-scheduler ## Measure the time from the rejection of a pod to its replacement on another node, one by one and 500 at once; writes docs/benchmarks/rescheduler.md
	./hack/install-debian.sh
	$(MAKE) --no-print-directory build-rescheduler
	$(TESTBED) build
	go run ./e2e/benchmarks/rescheduler -report docs/benchmarks/rescheduler.md

.PHONY: bench-rescheduler-scheduler
bench-rescheduler-scheduler: ## Measure what PodRescheduling costs the scheduler at 1,000 and 5,000 nodes; writes docs/benchmarks/rescheduler-scheduler.md
	$(TESTBED) build --only kube-apiserver
	go run ./rescheduler/scheduler/cmd/bench-throughput -report docs/benchmarks/rescheduler-scheduler.md

SIZES ?= 500 1000 5000

.PHONY: bench-scale
bench-scale: ## SIZES workers on simulated nodes (root): recovery in every way, repeated failures, idle groups, many JobSets; writes docs/benchmarks/scale.md
	./hack/install-debian.sh
	$(MAKE) --no-print-directory build
	for size in $(SIZES); do go run ./e2e/benchmarks/scale -workers $$size $(SCALEFLAGS); $(TESTBED) down; done
	for kubelet in default period-1s; do \
		go run ./e2e/benchmarks/scale -workers $(lastword $(SIZES)) -scenarios repeat -ways exec,cri -kubelet $$kubelet $(SCALEFLAGS); $(TESTBED) down; done
	go run ./e2e/benchmarks/scale -workers $(lastword $(SIZES)) -scenarios failure,pod -ways cri -kubelet evented $(SCALEFLAGS); $(TESTBED) down
	go run ./e2e/benchmarks/scale -workers 5000 -scenarios failure,pod,ten,rack -ways exec $(SCALEFLAGS); $(TESTBED) down
	go run ./e2e/benchmarks/scale -workers 10000 -scenarios failure -ways exec -runs 3 $(SCALEFLAGS); $(TESTBED) down
	go run ./e2e/benchmarks/scale -workers 5000 -scenarios many -ways exec,cri $(SCALEFLAGS); $(TESTBED) down
	go run ./e2e/benchmarks/scale -workers 5000 -scenarios failure,pod -ways spares $(SCALEFLAGS); $(TESTBED) down

.PHONY: bench-capacity
bench-capacity: ## JobSet manager and orchestrator with 10,000 and 50,000 running pods (root): memory, idle use, a start; writes docs/benchmarks/capacity.md
	./hack/install-debian.sh
	$(MAKE) --no-print-directory build-jobset
	go run ./e2e/benchmarks/capacity
	$(TESTBED) down

.PHONY: bench-elastic
bench-elastic: ## One ElasticJob of 500 workers on simulated nodes (root): until all run, then 50 lost at once; CPU, memory, API calls per worker
	./hack/install-debian.sh
	$(MAKE) --no-print-directory build-elastic
	go run ./e2e/benchmarks/elastic
	$(TESTBED) down

.PHONY: bench-rendezvous
bench-rendezvous: ## 1,000 agents at once at the managed rendezvous: times, requests, the server's CPU and memory
	$(MAKE) --no-print-directory build-elastic
	cd elastic-operator && go run ./cmd/bench-rendezvous --server $(BIN)/rendezvous --out ../e2e/results/rendezvous.json

SEEDS ?= 1000000

.PHONY: bench-simulation
bench-simulation: ## Simulate SEEDS (1,000,000) seeded histories of the group protocol, and print the rate and the result
	cd shared && go run ./coordination/simulation/cmd/simulate -seeds $(SEEDS)

.PHONY: demo-clean
demo-clean: testbed-down ## Remove everything that the demo has left running

.PHONY: testbed-up
testbed-up: ## Start the real cluster (root) and print how to use it
	./hack/install-debian.sh
	$(TESTBED) up

.PHONY: testbed-down
testbed-down: ## Stop the real cluster and remove everything that it left on this machine
	$(TESTBED) down

HELM_DOCS := GOWORK=off go tool -modfile=../tools/helm-docs/go.mod helm-docs --log-level error --sort-values-order file

.PHONY: generate
generate: ## Regenerate code, the generated files of the charts, and the reference pages
	for module in jobset-controller appwrapper-controller rescheduler elastic-operator; do (cd $$module && go generate ./...); done
	cd elastic-operator/kueue && GOWORK=off go generate ./...
	go run ./tools/charts/generate
	cd charts && $(HELM_DOCS) --template-files ./README.md.gotmpl
	cd charts && { cat values.md.head; for chart in */values.yaml; do echo; $(HELM_DOCS) --template-files ./values.md.gotmpl --dry-run --chart-to-generate $${chart%/*}; done; } > ../docs/reference/values.md

.PHONY: manifests
manifests: ## Write plain manifests for kubectl into config/: REGISTRY=registry.example/holdfast IMAGE_TAG=v0.1.0
	go run ./tools/charts/manifests -output $(CURDIR)/config -registry "$(REGISTRY)" -tag "$(IMAGE_TAG)"

.PHONY: lint
lint: ## Formatting, vet, static analysis and the repository's own rules
	@unformatted=$$(gofmt -l $(MODULES) tools); test -z "$$unformatted" || { echo "not formatted: $$unformatted"; exit 1; }
	GOWORK=off go run -C tools/rules . $(CURDIR)
	GOBIN=$(BIN) GOWORK=off go install -C tools/lint tool
	$(BIN)/golangci-lint run $(PACKAGES)
	for module in $(ALONE); do (cd $$module && GOWORK=off $(BIN)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: prose
prose: ## Check the prose of the pages, flags, alerts, events and conditions with Vale, as configured in .vale.ini
	CGO_ENABLED=1 GOBIN=$(BIN) GOWORK=off go install -C tools/vale tool
	hack/prose.sh bin/prose
	$(BIN)/vale --output=line README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs bin/prose

.PHONY: docs
docs: ## Build the documentation as a site in bin/site
	./hack/install-debian.sh docs
	mkdocs build --quiet

.PHONY: docs-test
docs-test: docs ## Open every page of the site in a headless browser: links, pictures, search
	python3 hack/site/check.py $(BIN)/site

.PHONY: size
size: ## Count the lines of shipped Go by module, without tests, generated code, e2e, tools, benchmarks and the simulation
	@git ls-files '*.go' | grep -vE '_test\.go$$|/zz_generated|^e2e/|^tools/|/bench-|^shared/testing/|/internal/testing/|^shared/coordination/simulation/' | \
	  xargs wc -l | awk '$$2 != "total" {split($$2, path, "/"); lines[path[1]] += $$1; all += $$1} \
	    END {for (module in lines) printf "%7d  %s\n", lines[module], module | "sort -k2"; close("sort -k2"); printf "%7d  in all\n", all}'

.PHONY: verify
verify: lint prose ## Run lint and prose, build each module by itself, and check that generated files are up to date
	for module in $(MODULES) $(ALONE); do (cd $$module && GOWORK=off go build ./... && GOWORK=off go mod tidy -diff); done
	./hack/verify-generated.sh
