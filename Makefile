# Everything a person types. `make help` lists it.
.DEFAULT_GOAL := help
.PHONY: help demo run setup setup-dev test lint format bench

bin := .venv/bin

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

demo: setup  ## set everything up, start the dashboard and a real training run
	@exec $(bin)/python wsgi.py --demo

run: setup  ## the same without the run
	@exec $(bin)/python wsgi.py

test: setup-dev lint  ## set everything up and pass every check and test, the browser ones included
	$(bin)/pytest -n 3 --dist loadfile --no-loadscope-reorder

lint: setup-dev  ## format, style, types, import contracts, migrations
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/mypy
	$(bin)/lint-imports
	$(bin)/python -m alembic -c migrations/alembic.ini check

format: setup-dev  ## put the code into shape
	$(bin)/ruff check --fix .
	$(bin)/ruff format .

bench: setup-dev  ## measure; results go to benchmarks/results
	$(bin)/python -m benchmarks

setup:
	@scripts/setup.sh

setup-dev:
	@scripts/setup.sh --dev
