"""What a program in the sandbox can see and touch: Python, and nothing else of the machine."""
# ruff: noqa: PTH100, PTH101, PTH120

import os

from harness.tasks.sandbox import Job
from tests.tasks.sandboxed import outcome, program, value


def test_the_process_never_imported_torch_or_the_harness(box):
    body = "import sys\nreturn ' '.join(m for m in ('torch', 'harness', 'numpy', 'inside.client') if m in sys.modules)"
    assert value(box, body) == ""


def test_nothing_of_the_environment_enters(box, monkeypatch):
    assert "PATH" not in value(box, "import os\nreturn ' '.join(os.environ)")


def test_programs_run_as_nobody_without_capabilities(namespaces):
    assert value(namespaces, "import os\nreturn os.getuid()") == 65534
    refused = """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        calls = [libc.unshare(0x10000000), libc.mount(b'a', b'/tmp', b'tmpfs', 0, None), libc.umount(b'/tmp'),
                 libc.sethostname(b'a', 1), libc.ptrace(16, 1, 0, 0), libc.setuid(0), libc.chroot(b'/tmp')]
        return all(call == -1 for call in calls)
    """
    assert value(namespaces, refused) is True


def test_the_disk_holds_python_and_an_empty_tmp_and_nothing_else(namespaces):
    here = os.path.dirname(os.path.abspath(__file__))
    body = f"""
        import os
        outside = ({here!r}, '/proc/1', '/proc/self', '/etc/passwd', '/home', '/dev/null')
        seen = [p for p in outside if os.path.exists(p)]
        packages = [p for base, names, _ in os.walk('/') for p in names if p in ('torch', 'harness', 'policy_harness')]
        return repr((seen, packages, os.listdir('/tmp')))
    """
    assert value(namespaces, body) == "([], [], [])"


def test_no_network(namespaces):
    body = "import socket\ns = socket.socket()\ns.settimeout(1)\ns.connect(('127.0.0.1', 1))"
    assert "Error" in outcome(namespaces, body).error
    assert value(namespaces, "import socket\nreturn ' '.join(n for _, n in socket.if_nameindex())") in ("lo", "")


def test_files_do_not_survive_a_program(namespaces):
    write = Job(program("open('/tmp/a', 'w').write('hint')\nimport os\nreturn len(os.listdir('/tmp'))"), [[1]])
    read = Job(program("import os\nreturn len(os.listdir('/tmp'))"), [[1]])
    assert [o.values[0] for o in namespaces.run([write, read])] == [1, 0]


def test_disk_use_is_limited(namespaces):
    assert outcome(namespaces, "with open('/tmp/a', 'wb') as f:\n    f.write(b'a' * (1 << 24))").error
    body = "for i in range(400):\n    with open(f'/tmp/{i}', 'wb') as f:\n        f.write(b'a' * 1000000)"
    assert outcome(namespaces, body).error


def test_limits_mode_writes_no_file(limits, tmp_path):
    os.chmod(tmp_path, 0o777)
    assert outcome(limits, f"with open('{tmp_path}/a', 'w') as f:\n    f.write('a')").error
