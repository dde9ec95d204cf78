from harness.conformance import task_tests

test_conformance = task_tests("my-task")
