"""Running programs that a policy wrote: inputs go in, JSON scalars come out, and the comparison happens out here.

`Sandbox` starts one separate Python process that has imported neither torch nor the harness. In mode "namespaces" that
process locks itself into user, pid, network, ipc and mount namespaces with a read-only view of the standard library
and nothing else of the disk; in mode "limits" only resource limits and, where the harness runs as root, another user
id stand between a program and the machine. Programs are forked from a second process that never holds a job or a
result: what one finds in its memory is its own job. Expected outputs never enter, so a program cannot find them.
"""

from harness.tasks.sandbox.client import Job, Outcome, Sandbox, SandboxReport, probe, run_functions, same

__all__ = ["Job", "Outcome", "Sandbox", "SandboxReport", "probe", "run_functions", "same"]
