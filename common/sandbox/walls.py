"""Give up, for good, what student code must not have. Needs nothing but the standard library.

The worker loads this file by its path and calls `enter` before it loads the first library. As a script it
enters the walls and becomes a command, which is how compilers get behind them:

    python -I -S walls.py POLICY COMMAND [ARGUMENT…]

A policy is a dictionary, so that it can travel as JSON; what it leaves out is not allowed. It is an argument
and no file, which the command could read.

    read            files and folders that may be read, and run where children are allowed
    write           folders in which files may be made, changed and removed
    folders         whether folders may be made and removed there too
    devices         files that may be opened for reading and writing, and asked by ioctl
    keep            descriptors that stay open beside 0, 1 and 2
    children        whether new processes and programs may be started
    threads         whether new threads may be started
    unix_sockets    whether Unix sockets may be made and listened on; none may connect by itself
    broker_connect  whether the parent is asked about each connect (connections.py) and may make it
    umask           the mode bits that new files do not get; all but the owner's when left out
    limits          resource limits by the names of the resource module, without RLIMIT_
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import resource
import signal
import stat
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Policy = dict[str, Any]

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_MM = 1, 4, 22, 24, 35
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 36, 38, 47, 4
_CAPABILITY_VERSION_3 = 0x20080522

# Landlock: rights to files, in the order of the bits, with the ABI that brought each.
_FILE_RIGHTS = (
    *(("execute", 1), ("write_file", 1), ("read_file", 1), ("read_dir", 1), ("remove_dir", 1)),
    *(("remove_file", 1), ("make_char", 1), ("make_dir", 1), ("make_reg", 1), ("make_sock", 1)),
    *(("make_fifo", 1), ("make_block", 1), ("make_sym", 1), ("refer", 2), ("truncate", 3), ("ioctl_dev", 5)),
)
_RIGHTS_OF_A_FILE = ("execute", "write_file", "read_file", "truncate", "ioctl_dev")
_READ = ("read_file", "read_dir")
_WRITE = (*_READ, "write_file", "remove_file", "make_reg", "truncate")
_FOLDERS = ("make_dir", "remove_dir", "refer")
_DEVICE = ("read_file", "write_file", "ioctl_dev")
_BIND_AND_CONNECT_TCP, _TCP_ABI = 3, 4
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS, _SCOPE_ABI = 3, 6
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same on every architecture

# seccomp: instructions of its filters, what they may look at, and what they may answer.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_ALLOW, _KILL, _ERRNO, _ASK = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
_SECCOMP_FILTER = 2
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8  # of seccomp(2), which can do more than the prctl
_X32_BIT = 0x40000000
_CLONE_THREAD, _CLONE_NAMESPACES = 0x00010000, 0x7E020080
_AF_UNIX, _SOCK_TYPE_MASK, _SOCK_STREAM, _SOCK_SEQPACKET = 1, 0xF, 1, 5
_TIOCSTI, _FIOSETOWN, _SIOCSPGRP = 0x5412, 0x8901, 0x8902
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15
# Later calls are answered "not implemented": nobody has thought about them here.
_LAST_CALL_THOUGHT_OF = 466

# System calls with their numbers on x86-64 and on aarch64 ("-" where there is none), by why they are refused.
_REFUSED = {
    # Files: changes of owner, mode, times and attributes are beyond Landlock, truncate before its ABI 3.
    "files": """
        chmod:90:- fchmod:91:52 fchmodat:268:53 fchmodat2:452:452 chown:92:- fchown:93:55 lchown:94:-
        fchownat:260:54 utime:132:- utimes:235:- futimesat:261:- utimensat:280:88 truncate:76:45
        setxattr:188:5 lsetxattr:189:6 fsetxattr:190:7 setxattrat:463:463 removexattr:197:14
        lremovexattr:198:15 fremovexattr:199:16 removexattrat:466:466 mknod:133:- mknodat:259:33
        name_to_handle_at:303:264 open_by_handle_at:304:265 fanotify_init:300:262 fanotify_mark:301:263
        inotify_init:253:- inotify_init1:294:26 inotify_add_watch:254:27""",
    # Other processes: their memory, descriptors, signals and priorities; leaving the session that is watched.
    "processes": """
        ptrace:101:117 process_vm_readv:310:270 process_vm_writev:311:271 process_madvise:440:440
        process_mrelease:448:448 kcmp:312:272 move_pages:279:239 migrate_pages:256:238 pidfd_open:434:434
        pidfd_getfd:438:438 pidfd_send_signal:424:424 tkill:200:130 rt_sigqueueinfo:129:138
        rt_tgsigqueueinfo:297:240 setsid:112:157 setpriority:141:140 ioprio_set:251:30
        sched_setscheduler:144:119 sched_setparam:142:118 sched_setattr:314:274 personality:135:92""",
    # Memory that outlives a process or that nobody counts, and messages between processes.
    "sharing": """
        shmget:29:194 shmat:30:196 shmctl:31:195 shmdt:67:197 semget:64:190 semop:65:193 semctl:66:191
        semtimedop:220:192 msgget:68:186 msgsnd:69:189 msgrcv:70:188 msgctl:71:187 mq_open:240:180
        mq_unlink:241:181 mq_timedsend:242:182 mq_timedreceive:243:183 mq_notify:244:184
        mq_getsetattr:245:185 memfd_secret:447:447 add_key:248:217 request_key:249:218 keyctl:250:219""",
    # The machine, and the parts of the kernel that have had most of its holes.
    "machine": """
        setns:308:268 unshare:272:97 chroot:161:51 pivot_root:155:41 mount:165:40 umount2:166:39
        move_mount:429:429 open_tree:428:428 fsopen:430:430 fsconfig:431:431 fsmount:432:432 fspick:433:433
        mount_setattr:442:442 bpf:321:280 perf_event_open:298:241 userfaultfd:323:282 io_uring_setup:425:425
        io_uring_enter:426:426 io_uring_register:427:427 kexec_load:246:104 kexec_file_load:320:294
        reboot:169:142 init_module:175:105 finit_module:313:273 delete_module:176:106 swapon:167:224
        swapoff:168:225 acct:163:89 quotactl:179:60 quotactl_fd:443:443 syslog:103:116 vhangup:153:58
        iopl:172:- ioperm:173:- modify_ldt:154:- lookup_dcookie:212:18 settimeofday:164:170
        clock_settime:227:112 clock_adjtime:305:266 adjtimex:159:171 sethostname:170:161
        setdomainname:171:162""",
    "connecting": "connect:42:203",
}
_REFUSED_WITHOUT = {
    "children": "fork:57:- vfork:58:- execve:59:221 execveat:322:281 setpgid:109:154",
    "unix_sockets": "bind:49:200 listen:50:201 accept:43:202 accept4:288:242",
}
# Calls whose arguments decide, and clone3, whose arguments no filter can see.
_OTHERS = """
    clone:56:220 kill:62:129 tgkill:234:131 prctl:157:167 prlimit64:302:261 sched_setaffinity:203:122
    fcntl:72:25 ioctl:16:29 socket:41:198 socketpair:53:199 clone3:435:435"""
# The column of the tables, and the name that seccomp has for the architecture.
_ARCHITECTURES = {"x86_64": (1, 0xC000003E), "aarch64": (2, 0xC00000B7)}
_SECCOMP_CALL = "seccomp:317:277"

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class WallError(OSError):
    """A wall that this kernel offers could not be put up."""


def enter(policy: Policy, hand_over: Callable[[int], None] | None = None) -> list[str]:
    """Put up every wall, for this process and all it starts. Returns what the kernel lacks, in words.

    Call it while there is one thread: others would stay outside. Raises WallError when a wall that the
    kernel offers fails: then nothing foreign may be run. With `broker_connect`, `hand_over` must send the
    descriptor it is given to the parent; it is closed here afterwards. It is not called when there is none.
    """
    os.umask(policy.get("umask", 0o077))
    _close_descriptors([0, 1, 2, *policy.get("keep", ())])
    _limit(policy.get("limits", {}))
    missing = _drop_capabilities()
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    abi = landlock_abi()
    if abi > 0:
        _restrict_files(policy, abi)
    else:
        missing.append(f"Landlock ({os.strerror(-abi)}): files can be read and written as this user can")
    problem = seccomp_problem()
    if problem is None:
        problem_asking = _filter_calls(policy, abi >= _SCOPE_ABI, hand_over)
    else:
        missing.append(f"seccomp ({problem}): sockets, processes and signals are not refused")
        problem_asking = problem
    if problem_asking is not None and policy.get("broker_connect"):
        missing.append(
            f"seccomp's notices ({problem_asking}): device memory cannot be shared with the worker"
        )
    return missing


def die_with_parent(parent: int) -> None:
    """Ask to be killed when the thread that started this process ends, and go at once if it has."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0), "the parent-death signal")
    if os.getppid() != parent:
        os._exit(1)


def landlock_abi() -> int:
    """The version of Landlock that the kernel has; 0 or a negative errno when it has none to use."""
    version = _libc.syscall(ctypes.c_long(_LANDLOCK_CREATE), None, ctypes.c_size_t(0), ctypes.c_long(1))
    return int(version) if version > 0 else -ctypes.get_errno()


def seccomp_problem() -> str | None:
    """Why system calls cannot be filtered here; None when they can."""
    if platform.machine() not in _ARCHITECTURES:
        return f"this course has no table of the system calls of {platform.machine()}"
    if struct.calcsize("P") != 8:
        return "this Python is a 32-bit program"
    # Without a filter to read, a kernel that knows of filters answers EFAULT.
    _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, None, 0, 0)
    code = ctypes.get_errno()
    return None if code == errno.EFAULT else os.strerror(code)


def _check(answer: int, what: str) -> None:
    if answer != 0:
        code = ctypes.get_errno()
        raise WallError(code, f"{what} could not be set: {os.strerror(code)}")


def _close_descriptors(keep: list[int]) -> None:
    kept = sorted(set(keep))
    for low, high in zip([-1, *kept], [*kept, 1 << 20], strict=True):
        if low + 1 < high:  # Python takes an empty range that starts at 0 for all descriptors
            os.closerange(low + 1, high)


def _limit(limits: dict[str, int]) -> None:
    for name, wanted in limits.items():
        which = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(which)
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(which, (value, value))
    # A write past the limit on file size fails with an error, where its signal would end the process.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def _drop_capabilities() -> list[str]:
    """Root without them is a user like any other, who happens to own the system's files."""
    capability = 0
    while _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    bounding_left = capability == 0 and ctypes.get_errno() == errno.EPERM and os.geteuid() == 0
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    head = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(head, bytes(24)), "an empty set of capabilities")
    # An empty bounding set is a second lock: no_new_privs alone already keeps exec from giving any back.
    return ["the bounding set of capabilities cannot be emptied here"] if bounding_left else []


def prepare(policy: Policy) -> tuple[int, int]:
    """The same walls for a program that puts them up itself: descriptors of Landlock's rules and of the
    filter of system calls, -1 for what the kernel lacks. Nothing changes for this process."""
    abi = landlock_abi()
    rules = _rules_on_files(policy, abi) if abi > 0 else -1
    if seccomp_problem() is not None:
        return rules, -1
    column, architecture = _ARCHITECTURES[platform.machine()]
    refusing = _ERRNO | errno.EPERM
    steps = _filter(policy, column, architecture, abi >= _SCOPE_ABI, connecting=refusing, me=None)
    file = os.memfd_create("walls", os.MFD_CLOEXEC)
    os.write(file, b"".join(steps))
    return rules, file


def _restrict_files(policy: Policy, abi: int) -> None:
    rules = _rules_on_files(policy, abi)
    _check(
        _libc.syscall(ctypes.c_long(_LANDLOCK_RESTRICT), ctypes.c_int(rules), ctypes.c_long(0)), "Landlock"
    )
    os.close(rules)


def _rules_on_files(policy: Policy, abi: int) -> int:
    bits = {name: 1 << bit for bit, (name, since) in enumerate(_FILE_RIGHTS) if abi >= since}
    network = _BIND_AND_CONNECT_TCP if abi >= _TCP_ABI else 0
    scope = _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS if abi >= _SCOPE_ABI else 0
    # Older kernels take a longer structure as long as what they do not know is zero.
    handled = struct.pack("=QQQ", sum(bits.values()), network, scope)
    flags = ctypes.c_long(0)
    rules = _libc.syscall(ctypes.c_long(_LANDLOCK_CREATE), handled, ctypes.c_size_t(len(handled)), flags)
    _check(min(rules, 0), "a Landlock ruleset")
    running = ("execute",) if policy.get("children") else ()
    writing = (*_WRITE, *(_FOLDERS if policy.get("folders") else ()))
    for key, rights in (("read", (*_READ, *running)), ("write", writing), ("devices", _DEVICE)):
        for path in policy.get(key, ()):
            _allow_path(rules, path, bits, rights)
    return int(rules)


def _allow_path(rules: int, path: str, bits: dict[str, int], rights: tuple[str, ...]) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there, or cannot be reached, needs no permission
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            rights = tuple(right for right in rights if right in _RIGHTS_OF_A_FILE)
        rule = struct.pack("=Qi", sum(bits.get(right, 0) for right in rights), handle)
        path_beneath, flags = ctypes.c_int(1), ctypes.c_long(0)
        added = _libc.syscall(ctypes.c_long(_LANDLOCK_ADD), ctypes.c_int(rules), path_beneath, rule, flags)
        _check(added, f"permission for {path}")
    finally:
        os.close(handle)


def _filter_calls(
    policy: Policy, signals_scoped: bool, hand_over: Callable[[int], None] | None
) -> str | None:
    """Filter calls from here on. Returns why the parent is not asked about any, None when it is."""
    column, architecture = _ARCHITECTURES[platform.machine()]
    problem = "nobody to ask"
    if policy.get("broker_connect") and hand_over is not None:
        asking = _filter(policy, column, architecture, signals_scoped, connecting=_ASK, me=os.getpid())
        (call,) = _numbers(_SECCOMP_CALL, column).values()
        operation, flags = ctypes.c_long(_SET_MODE_FILTER), ctypes.c_long(_NEW_LISTENER)
        with _program(asking) as program:
            listener = _libc.syscall(ctypes.c_long(call), operation, flags, program)
        if listener >= 0:
            try:
                hand_over(listener)
            finally:
                os.close(listener)
            return None
        # A kernel before 5.0, or another listener around this process: then every connect is refused.
        problem = os.strerror(ctypes.get_errno())
    refused = _ERRNO | errno.EPERM
    refusing = _filter(policy, column, architecture, signals_scoped, connecting=refused, me=os.getpid())
    with _program(refusing) as program:
        _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, program, 0, 0), "a filter on system calls")
    return problem


@contextmanager
def _program(steps: list[bytes]) -> Iterator[bytes]:
    """What points the kernel to the instructions, which stay where they are for so long."""
    text = ctypes.create_string_buffer(b"".join(steps), 8 * len(steps))
    yield struct.pack("HxxxxxxP", len(steps), ctypes.addressof(text))


def _filter(
    policy: Policy, column: int, architecture: int, signals_scoped: bool, *, connecting: int, me: int | None
) -> list[bytes]:
    """The filter's instructions. Every block either answers or leaves the call's number to the next. `me` is
    the process that it is for, where that is known."""
    refused = list(_REFUSED.values())
    refused += [names for key, names in _REFUSED_WITHOUT.items() if not policy.get(key)]
    numbers = {name: n for text in refused for name, n in _numbers(text, column).items()}
    decided = {name: [_answer(errno.EPERM)] for name in numbers}
    decided["connect"] = [_step(_RETURN, connecting)]
    decided["clone3"] = [_answer(errno.ENOSYS)]  # the C library then falls back to clone
    decided |= _decided_by_arguments(policy, signals_scoped, me)
    numbers |= _numbers(_OTHERS, column)
    program = [_step(_LOAD, _ARCHITECTURE_AT), _step(_EQUAL, architecture, 1, 0), _step(_RETURN, _KILL)]
    program += [_step(_LOAD, _NUMBER_AT)]
    program += [_step(_AT_LEAST, _X32_BIT, 0, 1), _step(_RETURN, _KILL)]
    program += [_step(_AT_LEAST, _LAST_CALL_THOUGHT_OF + 1, 0, 1), _answer(errno.ENOSYS)]
    for name, block in decided.items():
        program += [_step(_EQUAL, numbers[name], 0, len(block)), *block]
    return [*program, _step(_RETURN, _ALLOW)]


def _decided_by_arguments(policy: Policy, signals_scoped: bool, me: int | None) -> dict[str, list[bytes]]:
    refuse, allow = _answer(errno.EPERM), _step(_RETURN, _ALLOW)
    itself = () if me is None else (me,)
    # With children a process may signal its own: Landlock knows which those are, and a filter does not.
    signalling = _only_if_first_is(*itself)
    if policy.get("children"):
        signalling = [allow if signals_scoped else refuse]
    thread = allow if policy.get("threads") else refuse
    process = [refuse]
    if policy.get("children"):
        process = [_step(_ANY_BIT, _CLONE_NAMESPACES, 0, 1), refuse, allow]
    socket = [refuse]
    if policy.get("unix_sockets"):
        # Datagrams can be sent to an address without connecting, and a raw Unix socket is one for datagrams.
        socket = [_argument(0), _step(_EQUAL, _AF_UNIX, 1, 0), refuse, _argument(1)]
        socket += [_step(_AND, _SOCK_TYPE_MASK), _step(_EQUAL, _SOCK_STREAM, 0, 1), allow]
        socket += [_step(_EQUAL, _SOCK_SEQPACKET, 0, 1), allow, refuse]
    kept = (_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_MM, _PR_SET_CHILD_SUBREAPER)
    prctl = [_argument(0)]
    for option in kept:
        prctl += [_step(_EQUAL, option, 0, 1), refuse]
    return {
        "clone": [_argument(0), _step(_ANY_BIT, _CLONE_THREAD, 0, 1), thread, *process],
        "kill": signalling,
        "tgkill": signalling,
        "prctl": [*prctl, allow],
        "prlimit64": _only_if_first_is(0, *itself),
        "sched_setaffinity": _only_if_first_is(0, *itself),
        # Whoever owns a descriptor gets a signal when something happens on it.
        "fcntl": _unless_second_is(_F_SETOWN, _F_SETSIG, _F_SETOWN_EX),
        "ioctl": _unless_second_is(_TIOCSTI, _FIOSETOWN, _SIOCSPGRP),
        "socket": socket,
        "socketpair": socket,
    }


def _unless_second_is(*values: int) -> list[bytes]:
    block = [_argument(1)]
    for value in values:
        block += [_step(_EQUAL, value, 0, 1), _answer(errno.EPERM)]
    return [*block, _step(_RETURN, _ALLOW)]


def _only_if_first_is(*values: int) -> list[bytes]:
    block = [_argument(0)]
    for value in values:
        block += [_step(_EQUAL, value, 0, 1), _step(_RETURN, _ALLOW)]
    return [*block, _answer(errno.EPERM)]


def _argument(index: int) -> bytes:
    """Load the low half of an argument, which is all that the kernel reads of an int."""
    return _step(_LOAD, _ARGUMENTS_AT + 8 * index)


def _answer(code: int) -> bytes:
    return _step(_RETURN, _ERRNO | code)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _numbers(text: str, column: int) -> dict[str, int]:
    words = (word.split(":") for word in text.split())
    return {parts[0]: int(parts[column]) for parts in words if parts[column] != "-"}


def main() -> None:
    enter(json.loads(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
