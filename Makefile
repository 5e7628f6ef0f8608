.DEFAULT_GOAL := help
.PHONY: help mutants setup demo up down check lint types unit unit-only unit-first unit-second test conformance test-aws verify preflight role teardown deploy-gradual faults faults-second-saga faults-commands faults-imports faults-people faults-users faults-zips bench bench-applications bench-commands bench-costs bench-import bench-imports bench-reports bench-streams bench-tasks faults-tasks replay-test load-test commands-test imports-test tasks-test webhooks-test machines actions pictures requirements clean api asl api-test released faults-stock faults-webhooks bench-stock stock-test test-browser bench-console api-fuzz corpus freeze frozen size

export PATH := $(CURDIR)/.venv/bin:$(CURDIR)/.venv-sam/bin:$(PATH)
export PYTHONPATH := $(CURDIR)/src:$(CURDIR):$(CURDIR)/functions:$(CURDIR)/layers/idempotency
export SAM_CLI_TELEMETRY := 0
# Without bytecode every run compiles all imports.
export PYTHONDONTWRITEBYTECODE :=

# The slowest tests run first, so that no process is left with them at the end.
IN_TURN = --numprocesses $(PROCESSES) --max-worker-restart 0 --dist loadfile --no-loadscope-reorder
# A quarter of the time, tests wait: a third process uses it on two cores.
PROCESSES := 3
LONGEST := tests/integration tests/load tests/emulator tests/faults

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Create the environments (every target does this when needed)
	@requirements/setup.sh

demo: ## Deploy to a temporary local stack, run real orders, show what happened
	@./stepwise demo

up: ## Start the local stack, deploy to it, seed stock, and leave it serving
	@./stepwise start

down: ## Stop what `make up` started, on any port
	@./stepwise stop --everywhere

check: lint types unit ## Lint, types, and the unit, contract and store tests that are not slow: 30 seconds on two cores, nothing started

# The parts run at once. Each prints when it has ended.
ifneq ($(filter check unit,$(if $(word 2,$(MAKECMDGOALS)),,$(MAKECMDGOALS))),)
MAKEFLAGS += --jobs=4 $(if $(filter output-sync,$(.FEATURES)),--output-sync)
endif

lint: setup .stepwise/linted
	@ruff format --check --quiet . || { echo "run 'ruff format'"; exit 1; }
	@ruff check --quiet .

# As sam validate --lint, which takes one file at a time. Unchanged files are not validated again.
.stepwise/linted: template.yaml $(wildcard stacks/*.yaml deployment/*.yaml statemachine/*.json .cfnlintrc*) requirements/sam.txt Makefile | setup
	@cfn-lint --regions us-east-1 -- template.yaml stacks/*.yaml deployment/*.yaml
	@mkdir -p $(@D) && touch $@

types: setup
	@mypy

unit: $(if $(ONLY),unit-only,unit-first unit-second) ## Unit, contract and store tests that are not slow; ONLY=ordering: all unit and contract tests of one context, or of another folder of tests/unit

unit-only: setup
	@python -m pytest -q $(or $(wildcard tests/unit/$(ONLY) tests/contract/test_$(ONLY).py tests/contract/test_$(ONLY)_*.py),tests/unit/$(ONLY))

# Two halves that take equally long. The messages of xdist would add a quarter to the time.
QUICK = python -m pytest -q -m "not slow" --hypothesis-profile check
SECOND := tests/contract tests/store tests/machines/test_mocks.py $(addprefix tests/unit/,cli console operations)

# The simulators' own tests (ONLY=local) are left to `make test`.
unit-first: setup
	@$(QUICK) $(filter-out $(SECOND) tests/unit/local tests/unit/__pycache__,$(patsubst %/,%,$(wildcard tests/unit/*/))) $(wildcard tests/unit/test_*.py)

unit-second: setup
	@$(QUICK) $(SECOND)

test: setup ## Every test, on temporary local stacks, except the conformance tests (`make conformance`)
	@$(MAKE) --no-print-directory --jobs=2 lint types
	@python -m pytest -q -m "not conformance" $(IN_TURN) $(LONGEST) $(filter-out $(LONGEST) tests/browser tests/verify tests/__pycache__,$(patsubst %/,%,$(wildcard tests/*/)))

test-browser: setup ## The console in Chromium, on a temporary local stack: pages, buttons, attacks, accessibility; TESTS=, PICTURES=1: docs/pictures
	@requirements/setup.sh browser
	@PICTURES=$(PICTURES) .venv-browser/bin/python -m pytest -q $(or $(TESTS),tests/browser)

conformance: setup ## All conformance cases of the local engine; MiniStack alone must fail those that a patch is for
	@python -m pytest -q tests/emulator/test_conformance.py

test-aws: setup ## Integration tests on a deployed stack, alongside its data: STACK=stepwise-dev; CONNECT_INSTANCE=ID: also imports
	@python -m pytest -q -o timeout_func_only=true -p tests.kit.deployed --stack '$(STACK)' --connect-instance '$(CONNECT_INSTANCE)' \
		$(or $(TESTS),tests/integration)

# Another order of the events each time, the same in all processes.
VERIFY_SEED := $(or $(SEED),$(shell date +%s))

verify: setup ## Linters; every sample event by `sam local` in Docker. REQUIRE='docker advisories node': skip nothing; SEED=N: their order
	@requirements/setup.sh verify
	@.venv-verify/bin/cfn-lint -- template.yaml stacks/*.yaml deployment/*.yaml
	@.venv-verify/bin/checkov --file template.yaml stacks/*.yaml
	@.venv-verify/bin/bandit --quiet --recursive --configfile pyproject.toml functions layers src
	@echo "sample events in the order of SEED=$(VERIFY_SEED)"
	@REQUIRE='$(REQUIRE)' SEED='$(VERIFY_SEED)' python -m pytest -q --numprocesses 2 --max-worker-restart 0 --dist loadgroup tests/verify

preflight: setup ## Check the template against an account, deploy nothing: STACK=stepwise-dev; MAKE_BUCKET=1 or BUCKET=, ORDERS=10 a second, SKIP='roles quotas', PARAMETERS='A=1 B=2'
	@python -m stepwise.deployment.preflight '$(STACK)' $(if $(BUCKET),--bucket '$(BUCKET)') $(if $(ORDERS),--orders '$(ORDERS)') \
		$(if $(MAKE_BUCKET),--make-bucket) $(if $(SKIP),--skip '$(SKIP)') $(PARAMETERS)

role: setup ## Create the role that deploys a stack, as an administrator: STACK=stepwise-dev; PARAMETERS='PermissionsBoundaryArn=ARN'
	@name='$(STACK)'; region="$$(python -m stepwise.deployment.stages "$$name")" && \
	sam deploy --config-file '$(CURDIR)/samconfig.toml' --config-env default $${region:+--region "$$region"} --stack-name "deploy-$$name" \
		--template-file deployment/role.yaml --capabilities CAPABILITY_NAMED_IAM --no-confirm-changeset \
		--parameter-overrides "RootStackName=$$name" $$([ $${#name} -le 23 ] || printf 'ShortName=%.23s' "$$name") $(PARAMETERS)

teardown: setup ## Delete a stack and its data, for which it asks: STACK=stepwise-dev
	@python -m stepwise.deployment.teardown '$(STACK)'

deploy-gradual: setup ## Build, and deploy behind aliases: STAGE=prod; SHIFT=Linear10PercentEvery1Minute or AtOnce; STACKS='Ordering Tasks'; LEAVE=1; PARAMETERS='A=1 B=2'
	@python -m stepwise.deployment.gradual '$(STAGE)' $(if $(SHIFT),--shift '$(SHIFT)') $(if $(STACKS),--stacks '$(STACKS)') $(if $(LEAVE),--leave) $(PARAMETERS)

faults: setup ## Run the fault explorer; DYNAMODB=local: on AWS's own emulator; SCENARIO='...': replay one scenario
	@DYNAMODB=$(DYNAMODB) python -m tests.faults $(OPTIONS) $(if $(SCENARIO),'$(SCENARIO)')

faults-commands: setup ## Play 10,000 schedules of commands; OPTIONS='--schedules N --seed N': others; DYNAMODB=local
	@DYNAMODB=$(DYNAMODB) python -m tests.faults.commands $(OPTIONS) $(if $(SCENARIO),'$(SCENARIO)')

faults-imports: setup ## Play 10,000 schedules of imports; OPTIONS='--schedules N --seed N': others; DYNAMODB=local
	@DYNAMODB=$(DYNAMODB) python -m tests.faults.imports $(OPTIONS) $(if $(SCENARIO),'$(SCENARIO)')

faults-zips: setup ## Play 10,000 schedules of ZIPs; OPTIONS='--schedules N --seed N': others; DYNAMODB=local
	@DYNAMODB=$(DYNAMODB) python -m tests.faults.zips $(OPTIONS) $(if $(SCENARIO),'$(SCENARIO)')

faults-tasks: setup ## Play 10,000 schedules of tasks; OPTIONS='--schedules N --seed N': others; DYNAMODB=local
	@DYNAMODB=$(DYNAMODB) python -m tests.faults.tasks $(OPTIONS) $(if $(SCENARIO),'$(SCENARIO)')

faults-stock: setup ## Play 10,000 schedules of a hot SKU; OPTIONS='--schedules N --seed N': others; DYNAMODB=local
	@DYNAMODB=$(DYNAMODB) python -m tests.faults.stock $(OPTIONS) $(if $(SCENARIO),'$(SCENARIO)')

faults-webhooks: setup ## Play 10,000 schedules of webhooks; OPTIONS='--schedules N --seed N': others; DYNAMODB=local
	@DYNAMODB=$(DYNAMODB) python -m tests.faults.webhooks $(OPTIONS) $(if $(SCENARIO),'$(SCENARIO)')

faults-people: setup ## Play 10,000 schedules of applications and approvals; OPTIONS='--schedules N --seed N': others; DYNAMODB=local
	@DYNAMODB=$(DYNAMODB) python -m tests.faults.people $(OPTIONS) $(if $(SCENARIO),'$(SCENARIO)')

faults-users: setup ## Play 10,000 schedules of user imports; OPTIONS='--schedules N --seed N': others; DYNAMODB=local
	@DYNAMODB=$(DYNAMODB) python -m tests.faults.users $(OPTIONS) $(if $(SCENARIO),'$(SCENARIO)')

mutants: setup ## Search for every mutant of the explorers, and note what found it in tests/faults/finds.json
	@python -m tests.faults.mutate

faults-second-saga: setup ## Every single fault of the example saga in docs/second-saga.md; `make test` draws one of each kind at each state
	@EVERY_FAULT=1 python -m pytest -q tests/integration/test_second_saga.py

corpus: setup ## Import a folder of CSV and ZIP files with validate_only, and compare every cell with a second reader: FILES=folder
	@python -m tests.kit.corpus '$(FILES)'

bench: setup ## Cold starts and calls beside Powertools, sagas per second through a warm local stack
	@python -m benchmarks.cold_start
	@python -m benchmarks.calls
	@python -m benchmarks.sagas

bench-applications: setup ## Applications for an account: transitions, calls, write units and dollars of each kind; decision to resumption
	@python -m benchmarks.applications

bench-commands: setup ## Commands per second through the local stack; latency to data and to the next version
	@python -m benchmarks.commands

bench-imports: setup ## Imports of rows: speed, memory, bytes, write units, dollars; OPTIONS=--all: also 100,000 rows, --help: others
	@python -m benchmarks.imports $(OPTIONS)

bench-stock: setup ## Orders of one SKU a second by buyers and rows, on a simulated clock: latency, transactions, write units; OPTIONS=--help
	@python -m benchmarks.hot_stock $(OPTIONS)

bench-tasks: setup ## Tasks: items per second, calls, transitions, write units and dollars of an item; OPTIONS=--help
	@python -m benchmarks.tasks $(OPTIONS)

bench-console: setup ## The console: bytes and first picture with 10,000 executions, memory over 15 minutes; OPTIONS='--minutes 1'
	@requirements/setup.sh browser
	@.venv-browser/bin/python -m benchmarks.console $(OPTIONS)

bench-import: setup ## Reads, time and memory of a user import: 3 minutes
	@python -m benchmarks.user_import

bench-costs: setup ## What an order, an imported user and a command consume and cost; PRICES=FILE: with your own prices
	@python -m benchmarks.costs $(PRICES)

bench-reports: setup ## Records per second into the reports; time and memory of replays of 10,000 and 100,000 orders
	@python -m benchmarks.reports

bench-streams: setup ## Records a second through the emulator's stream mappings; executions a second, with the patches and without
	@python -m benchmarks.streams
	@python -m benchmarks.executions

replay-test: setup ## Replay 10,000 orders while new ones arrive, and compare the counters with a recount
	@ORDERS=$(or $(ORDERS),10000) python -m pytest -q --timeout 1800 tests/load/test_replay_all.py

load-test: setup ## 200 orders at once for 50 pieces, and 300 while a worker is killed every half second; `make test` places half
	@SCARCE=$(or $(SCARCE),200) WHILE_KILLED=$(or $(WHILE_KILLED),300) python -m pytest -q --timeout 1800 tests/load/test_load.py

stock-test: setup ## A sale with AWS's limits on: 300 orders for 150 pieces, 50 at once; 600 orders against a fiftieth of the quotas
	@BUYERS=$(or $(BUYERS),300) AT_ONCE=$(or $(AT_ONCE),50) BURST=$(or $(BURST),600) \
		python -m pytest -q -s --timeout 3000 tests/load/test_hot_stock.py

commands-test: setup ## 100 versions of one key by 20 publishers, and 40 keys with 4 versions each while a worker is killed every two seconds
	@VERSIONS=$(or $(VERSIONS),100) KEYS=$(or $(KEYS),40) python -m pytest -q --timeout 1800 tests/load/test_commands.py

imports-test: setup ## Import 5,000 rows while a worker is killed at 20 random moments: nothing is lost, nothing is done twice
	@ROWS=$(or $(ROWS),5000) KILLS=$(or $(KILLS),20) python -m pytest -q --timeout 3000 tests/load/test_imports.py

tasks-test: setup ## A task of 200 items while a worker is killed every two seconds: every item ends, with an honest reason
	@ITEMS=$(or $(ITEMS),200) KILLS=$(or $(KILLS),1000) python -m pytest -q --timeout 3000 tests/load/test_tasks.py

webhooks-test: setup ## 1,000 deliveries to receivers that fail, hang and lie: none is lost, none arrives under two ids
	@DELIVERIES=$(or $(DELIVERIES),1000) python -m pytest -q -s --timeout 3000 tests/load/test_webhooks.py

api: setup ## Render the API's document into stacks/api.yaml
	@python -m stepwise.deployment.openapi

asl: setup ## Format the definitions of the state machines
	@python -m stepwise.deployment.definitions

api-test: setup ## 1,000 requests to the HTTP API, 20 at a time: none is lost, none has two effects; and what it adds to a bare start
	@REQUESTS=$(or $(REQUESTS),1000) COMPARED=$(or $(COMPARED),50) python -m pytest -q -s --timeout 3000 tests/load/test_http_api.py

api-fuzz: setup ## 10,000 requests by Schemathesis, from the API's document alone
	@requirements/setup.sh verify
	@CASES=$(or $(CASES),10000) python -m pytest -q -s --timeout 9000 tests/verify/test_http_api.py

released: setup ## Keep the sample events and the resources with state of the last release in CHANGELOG.md
	@python -m tests.kit.released

machines: setup ## Every path of the state machines, on two engines, or on the one at SFN_ENDPOINT_URL
	@python -m pytest -q tests/machines

freeze: setup ## Describe what the application does, without names of modules and stacks: INTO=folder; PARTS='asl resources cli events traces'
	@python -m tests.frozen --into '$(INTO)' $(PARTS)

frozen: setup ## Compare what the application does with what `make freeze` wrote, also of another version: AGAINST=folder; PARTS=
	@python -m tests.frozen --against '$(AGAINST)' $(PARTS)

size: setup ## Count lines, modules, templates, alarms, words and duplicates; AGAINST=COMMIT: beside those of an earlier commit
	@python -m tests.kit.size $(AGAINST)

actions: setup ## Reduce AWS's reference of IAM actions to what the roles are granted
	@requirements/setup.sh verify
	@python -m tests.kit.service_authorization .venv-verify

pictures: setup ## Redraw the state machines and the tables of states and functions in the documents
	@python -m stepwise.local.pictures

requirements: setup ## Update the pins of the environments
	@for name in dev runtime browser sam bench verify; do \
		uv=$$(command -v uv || echo .venv-uv/bin/uv); \
		$$uv pip compile --quiet --upgrade --python-version 3.13 --no-header --no-annotate --no-emit-index-url \
			--no-emit-find-links requirements/$$name.in --output-file requirements/$$name.txt; \
	done
	@grep '^botocore==' requirements/dev.txt > functions/service_models.txt
	@command -v npm >/dev/null || { echo "no npm: asl-validator keeps its pins"; exit 0; }; cd requirements/asl-validator && \
		npm update --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved --no-audit --no-fund

clean: ## Remove everything that the targets created
	@[ ! -x .venv/bin/python ] || .venv/bin/python -m stepwise.cli stop --everywhere
	rm -rf .stepwise .venv .venv-sam .venv-runtime .venv-bench .venv-browser .venv-verify .venv-uv .aws-sam .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
