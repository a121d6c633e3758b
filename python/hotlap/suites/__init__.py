"""The names of benchmark suites, measured by the hotlap program: a module for each suite."""
