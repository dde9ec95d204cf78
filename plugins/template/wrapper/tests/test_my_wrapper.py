from harness.conformance import conformance_tests

test_conformance = conformance_tests("my-wrapper")
