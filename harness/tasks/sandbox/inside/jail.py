"""Leaving the machine: namespaces for the whole process, then limits and an unprivileged identity for each program."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import signal
import sys
import sysconfig

__all__ = ["HIGH", "Refused", "drop", "enter_namespaces", "fresh_tmp", "seclude"]

HIGH = 64  # the first of the descriptors that stand above those that a program may open

NOBODY = 65534
FIRST_UID, UIDS = 200_000, 1_000_000  # unused ones, above those of people and services
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 4096, 16384, 1 << 18, 2
LOCKED_FLAGS = MS_NOSUID | MS_NODEV | MS_NOEXEC | 1024 | 2048 | (1 << 21)  # noatime, nodiratime, relatime
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
CAPABILITY_VERSION_3 = 0x20080522
PIVOT_ROOT = {
    "x86_64": 155, "aarch64": 41, "riscv64": 41, "loongarch64": 41, "ppc64le": 203, "s390x": 217, "armv7l": 218,
    "i686": 217,
}  # fmt: skip
MAX_FILE = 1 << 20
MAX_FILES = 32
TMP_OPTIONS = "size=8m,nr_inodes=256,mode=1777"

libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):  # noqa: N818
    """The machine does not allow what the sandbox needs."""


def enter_namespaces() -> None:
    """Namespaces of our own, with a read-only root that holds Python only. The next process forked is pid 1 in them.

    When that one ends, so does everything inside. Raises Refused where a step is not allowed.
    """
    directories = _python_directories()
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        _become_mapped_root()
    else:
        _unshare(CLONE_NEWUSER, "a user namespace")
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{NOBODY} {uid} 1")
        _write("/proc/self/gid_map", f"{NOBODY} {gid} 1")
    _unshare(
        CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS, "pid, network and mount namespaces"
    )
    with contextlib.suppress(Refused):  # no nested user namespaces, so no way back to any capability
        _write("/proc/sys/user/max_user_namespaces", "0")
    _build_root(directories)


def seclude(*, with_parent: bool = False) -> None:
    """Be nobody's to trace, to dump or to read the memory of; `with_parent` ends this process with its parent."""
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    if with_parent:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def fresh_tmp() -> None:
    """An empty /tmp again, whatever the last program left there."""
    with contextlib.suppress(OSError):
        if os.listdir("/tmp"):  # noqa: S108, PTH208
            libc.umount2(b"/tmp", MNT_DETACH)
            _mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, TMP_OPTIONS)  # noqa: S108
            os.chdir("/tmp")  # noqa: S108 (where we stood was the old one)


def drop(*, memory: int, seconds: float, files: bool, keep: int, high: int, null: int) -> None:
    """In a forked child: no capabilities, an unprivileged user, hard limits, and no descriptor but `keep`, as 3.

    `high` descriptors from `HIGH` on stay as well. Without `files` nothing can be written to any file.
    """
    os.setsid()
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.dup2(keep, 3)
    os.closerange(4, HIGH)
    os.closerange(HIGH + high, 4096)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        # without namespaces a uid for each sandbox, so that one's programs cannot signal another's
        nobody = NOBODY if files else FIRST_UID + os.getppid() % UIDS
        os.setresuid(nobody, nobody, nobody)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    libc.capset(header, (ctypes.c_uint32 * 6)())
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    limits = {
        "RLIMIT_CPU": int(seconds) + 1, "RLIMIT_AS": memory, "RLIMIT_FSIZE": MAX_FILE * files,
        "RLIMIT_NOFILE": MAX_FILES, "RLIMIT_NPROC": 0, "RLIMIT_CORE": 0, "RLIMIT_MEMLOCK": 0, "RLIMIT_MSGQUEUE": 0,
    }  # fmt: skip
    for name, value in limits.items():
        which = getattr(resource, name, None)
        if which is not None:
            hard = resource.getrlimit(which)[1]
            limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(which, (limit, limit))


# -- identity ----------------------------------------------------------------------------------------------------


def _become_mapped_root() -> None:
    """Root of a user namespace that knows two users: root, who builds the jail, and nobody, who runs programs in it.

    A map of two users must be written from outside the namespace, so a helper does it.
    """
    parent = os.getpid()
    ready, go = os.pipe()
    helper = os.fork()
    if helper == 0:
        status = 1
        with contextlib.suppress(BaseException):
            os.close(go)
            os.read(ready, 1)
            for name in ("uid_map", "gid_map"):
                _write(f"/proc/{parent}/{name}", f"0 0 1\n{NOBODY} {NOBODY} 1\n")
            status = 0
        os._exit(status)
    try:
        _unshare(CLONE_NEWUSER, "a user namespace")
    finally:
        os.close(ready)
        os.close(go)
        _, status = os.waitpid(helper, 0)
    if status:
        raise Refused("user ids could not be mapped into a user namespace")
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def _unshare(flags: int, what: str) -> None:
    try:
        _check(libc.unshare(flags))
    except OSError as error:
        raise Refused(f"{what}: {error.strerror}") from None


def _write(path: str, text: str) -> None:
    try:
        fd = os.open(path, os.O_WRONLY)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None


# -- the file system ---------------------------------------------------------------------------------------------


def _python_directories() -> list[str]:
    """Where the standard library and the shared objects in use live."""
    wanted = {path for path in sys.path if os.path.isdir(path)}  # noqa: PTH112
    wanted |= {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    wanted.discard(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    with open("/proc/self/maps") as maps:  # noqa: PTH123
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            if ".so" in path:
                wanted.add(os.path.dirname("/" + path))  # noqa: PTH120
    existing = sorted(path for path in wanted if os.path.isdir(path))  # noqa: PTH112
    return [path for path in existing if not any(path.startswith(other + "/") for other in existing)]


def _build_root(directories: list[str]) -> None:
    """A small tmpfs with the directories bound read-only, made the root; what was the root is gone."""
    pivot = PIVOT_ROOT.get(platform.machine())
    if pivot is None:
        raise Refused(f"no pivot_root known for {platform.machine()}")
    try:
        _mount(None, "/", None, MS_REC | MS_PRIVATE, None)
        sources = {path: os.open(path, os.O_PATH | os.O_DIRECTORY) for path in directories}
        _mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=4096,mode=755")  # noqa: S108
        for path, fd in sources.items():
            _show(f"/proc/self/fd/{fd}", "/tmp" + path)  # noqa: S108
            os.close(fd)
        for name in ("lib", "lib64", "lib32"):  # the loader looks through these links where /usr is merged
            if os.path.islink(f"/{name}") and not os.path.lexists(f"/tmp/{name}"):  # noqa: PTH114, S108
                os.symlink(os.readlink(f"/{name}"), f"/tmp/{name}")  # noqa: PTH115, PTH211, S108
        os.makedirs("/tmp/tmp", exist_ok=True)  # noqa: PTH103, S108
        os.mkdir("/tmp/old")  # noqa: PTH102, S108
        os.chdir("/tmp")  # noqa: S108
        _check(libc.syscall(pivot, b".", b"old"))
        os.chdir("/")
        _check(libc.umount2(b"/old", MNT_DETACH))
        os.rmdir("/old")  # noqa: PTH106
        _mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, TMP_OPTIONS)  # noqa: S108
        _mount(None, "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, None)
        os.chdir("/tmp")  # noqa: S108
    except OSError as error:
        raise Refused(f"a private file system: {error.strerror}") from None


def _show(source: str, target: str) -> None:
    """`source` at `target`, read-only, without installed packages (the harness may be one of them)."""
    os.makedirs(target, exist_ok=True)  # noqa: PTH103
    _mount(source, target, None, MS_BIND, None)
    locked = os.statvfs(target).f_flag & LOCKED_FLAGS
    _mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | locked | MS_NOSUID | MS_NODEV, None)
    here = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for name in ("", "python3/", f"{here}/"):
        for packages in ("site-packages", "dist-packages"):
            hidden = f"{target}/{name}{packages}"
            if os.path.isdir(hidden):  # noqa: PTH112
                _mount("tmpfs", hidden, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,mode=755")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None) -> None:
    def encode(text: str | None) -> bytes | None:
        return None if text is None else os.fsencode(text)

    _check(libc.mount(encode(source), encode(target), encode(kind), ctypes.c_ulong(flags), encode(data)))


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
