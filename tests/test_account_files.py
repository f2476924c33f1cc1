"""Accounts in files: whole or refused, one spender at a time, on the disk before a release."""

import datetime as dt
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import uuid
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from test_names import KINDS, UTC, key

from pdpbook.guarantees import BudgetAccount, GaussianDP, PureDP, ZeroConcentratedDP, account_files
from pdpbook.noise import ProductLaw
from pdpbook.personalized import PDPRidge
from pdpbook.user_level import WeightedMean

ROOT = Path(__file__).resolve().parents[1]
USER = {"neighbors": "user"}
ZERO = {"neighbors": "zero-out", "kind": GaussianDP}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "club.json"


def club(path):
    account = BudgetAccount({"Ana": 0.5, "Ben": 1.0}, **USER)
    account.save(path)
    return account


def written(path):
    """The file, its content and when it was written: reading it may change when it was read."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, path.read_bytes()


# ------------------------------------------------------------------ what comes back
def test_what_was_spent_is_there_on_another_day(path):
    account = club(path)
    account.spend(PureDP([0.1, 0.3], **USER))
    again = BudgetAccount.open(path, **USER)
    assert again.people == ("Ana", "Ben")
    assert_array_equal(again.remaining, [0.4, 0.7])
    again.spend(PureDP([0.4, 0.7], **USER))
    assert_array_equal(account.remaining, 0)  # the first one sees it, too
    with pytest.raises(ValueError, match=r"^release refused, nothing recorded: person 'Ana' asks"):
        account.spend(PureDP(1e-9, **USER))
    exhausted = BudgetAccount.open(path, **USER)
    assert_array_equal(exhausted.spent, [0.5, 1.0])
    with pytest.raises(ValueError, match=r"^release refused, nothing recorded: person 'Ana' asks"):
        exhausted.spend(PureDP(1e-9, **USER))


@pytest.mark.parametrize("kind", [PureDP, GaussianDP, ZeroConcentratedDP])
@pytest.mark.parametrize("budget", [1.0, [0.3, 0.0, 7e-300], {1: 0.1, "x": 1e200}])
def test_every_account_comes_back_to_the_last_digit(path, kind, budget):
    account = BudgetAccount(budget, neighbors="zero-out", kind=kind, leave_out=budget != 1.0)
    account.spend(kind(account.remaining / 3, neighbors="zero-out"))
    account.save(path)
    again = BudgetAccount.open(path, neighbors="zero-out", kind=kind)
    assert again._spent == account._spent
    assert again._limit == account._limit
    assert (again.people, again.leave_out) == (account.people, account.leave_out)


@given(st.data(), st.sampled_from(sorted(KINDS)))
def test_names_of_every_kind_come_back(tmp_path_factory, data, kind):
    index = KINDS[kind](data.draw(st.lists(st.integers(0, 5), min_size=1, unique=True)))
    names = list(dict.fromkeys(map(key, index)))
    if len(names) < len(index):
        return
    path = tmp_path_factory.mktemp("names") / "account.json"
    account = BudgetAccount(pd.Series(1.0, index=index), **USER)
    account.save(path)
    again = BudgetAccount.open(path, **USER)
    assert list(map(key, again.people)) == list(map(key, account.people))
    again.spend(PureDP(0.5, **USER), people=index)
    assert_array_equal(account.spent, 0.5)


ODD = {
    "": 0.1,
    "é\u0000\ud800\n": 0.2,
    10**300: 0.3,
    float("inf"): 0.4,
    -0.0: 0.5,
    dt.date(1, 1, 1): 0.6,
    dt.timedelta(days=-1, microseconds=1): 0.7,
    pd.Timestamp("2020-01-01 00:00:00.000000001"): 0.8,
    UTC: 0.9,
    (1, ("a", UTC)): 1.0,
    pd.Interval(pd.Timestamp("2020"), pd.Timestamp("2021"), closed="both"): 1.1,
    pd.Period("2020Q4", freq="Q-JAN"): 1.2,
    pd.Period("2020-01-01", freq="W"): 1.6,
    pd.Interval(np.float64(0.5), np.int64(1)): 1.7,
    pd.Timestamp(1, tz="Asia/Tokyo"): 1.8,
    True: 1.3,
    ',\n"private": true': 1.4,
    ',\n"sha256": "': 1.5,
}


def test_odd_names_come_back(path):
    BudgetAccount(ODD, **USER).save(path)
    again = BudgetAccount.open(path, **USER)
    assert list(map(key, again.people)) == list(map(key, ODD))
    again.spend(PureDP(list(ODD.values()), **USER), people=list(ODD))
    assert_array_equal(BudgetAccount.open(path, **USER).remaining, 0)


@pytest.mark.parametrize(
    "name", [uuid.UUID(int=1), b"a", frozenset(["a"]), Fraction(1, 3), ("a", uuid.UUID(int=1))]
)
def test_names_that_cannot_be_written_are_refused_and_no_file_is_left(path, name):
    account = BudgetAccount({"Ana": 1.0, name: 1.0}, **USER)
    with pytest.raises(TypeError, match=r"written to a file: text, numbers, .*, of type"):
        account.save(path)
    assert not list(path.parent.iterdir())
    account.spend(PureDP(1.0, **USER))


def test_an_account_of_private_amounts_stays_private(path):
    account = BudgetAccount([0.5, 0.5], **ZERO)
    account.save(path)
    other = BudgetAccount.open(path, **ZERO)
    assert_array_equal(account.admit([0.5, 0.2]), [True, True])
    assert_array_equal(other.admit([0.1, 0.2]), [False, True])
    for one in (account, other, BudgetAccount.open(path, **ZERO)):
        with pytest.raises(ValueError, match=r"^account must hold public amounts"):
            one.spend(GaussianDP(0.1, neighbors="zero-out"))


def test_fits_on_two_days_share_one_budget(path):
    X = pd.DataFrame(np.random.default_rng(1).random((40, 2)), index=[f"p{k}" for k in range(40)])
    own = pd.Series(np.where(np.arange(40) < 20, 0.5, 1.0), index=X.index)
    BudgetAccount(own, neighbors="replace-one", leave_out=True).save(path)
    promised = []
    for day in range(2):
        account = BudgetAccount.open(path, neighbors="replace-one")
        model = PDPRidge(random_state=day).fit(X, np.zeros(40), epsilon=0.4, account=account)
        promised.append(np.broadcast_to(model.guarantee_.epsilon, 40)[[0, -1]].tolist())
    assert promised == [[0.4, 0.4], [0.0, 0.4]]
    with pytest.raises(ValueError, match=r"^release refused"):
        PDPRidge().fit(X, np.zeros(40), epsilon=0.4, account=account)
    assert_array_equal(account.remaining, np.where(np.arange(40) < 20, 0.1, 0.2))


# ------------------------------------------------------------------ before anything is released
def test_a_spend_that_cannot_be_written_is_refused_and_nothing_drawn(path, monkeypatch):
    account = club(path)
    before, rng = path.read_bytes(), np.random.default_rng(1)
    state = rng.bit_generator.state

    def full(handle, content):
        os.write(handle, content[: len(content) // 2])
        os.close(handle)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(account_files, "_write", full)
    model = WeightedMean(random_state=rng)
    with pytest.raises(OSError, match="No space left"):
        model.fit(np.zeros((2, 1)), [0.1, 0.2], users=["Ana", "Ben"], epsilon=0.1, account=account)
    assert rng.bit_generator.state == state
    assert not hasattr(model, "mean_")
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["club.json"]
    monkeypatch.undo()
    assert_array_equal(account.spent, 0)
    account.spend(PureDP(0.5, **USER))
    assert_array_equal(account.remaining, [0.0, 0.5])


@pytest.mark.parametrize("step", ["_write", "_sync_folder"])
def test_a_file_that_cannot_be_made_is_not_left(path, monkeypatch, step):
    """It would be a copy of an account that goes on without it."""

    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(account_files, step, full)
    account = BudgetAccount(1.0, **USER)
    with pytest.raises(OSError, match="No space left"):
        account.save(path)
    assert not path.exists()
    account.spend(PureDP(1.0, **USER))
    monkeypatch.undo()
    account.save(path)
    assert BudgetAccount.open(path, **USER).remaining == 0


def test_the_file_has_the_charge_before_the_draw(path):
    account = club(path)
    seen = []

    class WatchedLaw(ProductLaw):
        def sample(self, size=None, *, rng):
            seen.append(BudgetAccount.open(path, **USER).spent.tolist())
            return super().sample(size, rng=rng)

    class Watched(WeightedMean):
        def law(self, people, plan):
            return WatchedLaw(**vars(super().law(people, plan)))

    users = {"users": ["Ana", "Ben"], "epsilon": {"Ana": 0.5, "Ben": 0.25}}
    Watched().fit(np.zeros((2, 1)), [0.1, 0.2], account=account, **users)
    assert seen == [[0.5, 0.25]]


def test_a_refused_spend_writes_nothing(path):
    account = club(path)
    before = written(path)
    with pytest.raises(ValueError, match=r"^release refused"):
        account.spend(PureDP(0.7, **USER))
    assert written(path) == before
    assert [one.name for one in path.parent.iterdir()] == ["club.json"]


# ------------------------------------------------------------------ files that are refused
def test_every_cut_and_every_changed_byte_is_refused(path):
    club(path).spend(PureDP(0.1, **USER))
    content = path.read_bytes()
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(ValueError, match=r"^path must be a file"):
            BudgetAccount.open(path, **USER)
    for at in range(len(content)):
        for wrong in (content[at] ^ 1, 0, ord("9")):
            if wrong != content[at]:
                path.write_bytes(content[:at] + bytes([wrong]) + content[at + 1 :])
                with pytest.raises(ValueError, match=r"^path must be a file"):
                    BudgetAccount.open(path, **USER)
    for more in (content + b"\n", b" " + content, content.replace(b"\n", b"\r\n"), content * 2):
        path.write_bytes(more)
        with pytest.raises(ValueError, match=r"^path must be a file"):
            BudgetAccount.open(path, **USER)
    path.write_bytes(content)
    assert_array_equal(BudgetAccount.open(path, **USER).spent, 0.1)


def test_a_cut_file_says_so_and_another_kind_of_file_too(path):
    club(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="was cut or changed"):
        BudgetAccount.open(path, **USER)
    for other in (b"", b"{}", b"[1]", b"name,epsilon\nAna,1\n", bytes(range(256)), b'"text"'):
        path.write_bytes(other)
        with pytest.raises(ValueError, match=r"a file that BudgetAccount.save wrote; .* is none"):
            BudgetAccount.open(path, **USER)


def test_a_later_version_is_refused(path):
    club(path)
    path.write_text(path.read_text().replace('"form": 1', '"form": 2'))
    with pytest.raises(ValueError, match=r"file of form 1 or before; .* has form 2, of pdpbook \d"):
        BudgetAccount.open(path, **USER)


def test_other_neighbors_and_another_kind_are_refused(path):
    club(path)
    with pytest.raises(ValueError, match=r"^neighbors must be those of .*, user; got add-remove"):
        BudgetAccount.open(path, neighbors="add-remove")
    with pytest.raises(ValueError, match=r"^kind must be those of .*, PureDP; got GaussianDP"):
        BudgetAccount.open(path, kind=GaussianDP, **USER)


def test_other_people_are_refused_by_name(path):
    club(path)
    account = BudgetAccount.open(path, **USER)
    with pytest.raises(ValueError, match=r"^account must be of the people .* no budget for 'Zoe'"):
        WeightedMean().fit(np.zeros((2, 1)), [0, 0], users=["Ana", "Zoe"], account=account)
    by_position = path.with_name("positions.json")
    BudgetAccount([1.0, 1.0], neighbors="replace-one").save(by_position)
    account = BudgetAccount.open(by_position, neighbors="replace-one")
    with pytest.raises(ValueError, match=r"^account must be of the people .* got 2 for 3 people"):
        PDPRidge().fit(np.zeros((3, 1)), np.zeros(3), account=account)


def test_there_is_one_file_of_an_account(path):
    account = club(path)
    with pytest.raises(FileExistsError, match=r"^path must be new"):
        BudgetAccount([1.0], **USER).save(path)
    with pytest.raises(ValueError, match=r"^account must not be in a file yet"):
        account.save(path.with_name("second.json"))
    with pytest.raises(FileNotFoundError, match=r"^path must be an account file; .*none.json does"):
        BudgetAccount.open(path.with_name("none.json"), **USER)
    with pytest.raises(ValueError, match=r"^path must be a file of one name"):
        BudgetAccount.open(path.parent, **USER)
    os.mkfifo(path.with_name("pipe"))
    with pytest.raises(ValueError, match=r"^path must be a file of one name"):
        BudgetAccount.open(path.with_name("pipe"), **USER)


def test_a_link_leads_to_the_same_budget_and_a_second_name_is_refused(path):
    account = club(path)
    link = path.with_name("link.json")
    link.symlink_to(path)
    other = BudgetAccount.open(link, **USER)
    other.spend(PureDP(0.3, **USER))
    assert link.is_symlink()
    assert_array_equal(account.spent, 0.3)
    path.with_name("hard.json").hardlink_to(path)  # it would keep what was spent before
    with pytest.raises(ValueError, match="has hard links"):
        account.spend(PureDP(0.1, **USER))


def test_an_older_copy_and_another_account_in_its_place_are_noticed(path):
    account = club(path)
    old = path.read_bytes()
    account.spend(PureDP(0.3, **USER))
    path.write_bytes(old)
    with pytest.raises(ValueError, match=r"^account must keep its file; in .* less was spent"):
        account.spend(PureDP(0.3, **USER))
    path.unlink()
    with pytest.raises(FileNotFoundError, match="does not exist"):
        account.spend(PureDP(0.1, **USER))
    BudgetAccount({"Ana": 9.0, "Ben": 9.0}, **USER).save(path)
    with pytest.raises(ValueError, match=r"is now another account's"):
        account.spend(PureDP(0.1, **USER))


def test_accounts_of_the_same_people_and_budgets_are_not_taken_for_each_other(path):
    """Where more was spent from the other one, their files could be swapped without notice."""
    account, second = club(path), path.with_name("second.json")
    other = club(second)
    account.spend(PureDP(0.1, **USER))
    other.spend(PureDP(0.3, **USER))
    again = BudgetAccount.open(path, **USER)
    os.replace(second, path)
    for one in (account, again):
        with pytest.raises(ValueError, match=r"is now another account's"):
            one.spend(PureDP(0.1, **USER))
        with pytest.raises(ValueError, match=r"is now another account's"):
            _ = one.remaining
    assert_array_equal(BudgetAccount.open(path, **USER).spent, 0.3)


def test_a_spend_leaves_all_other_files_alone(path):
    """What was being written was once in `club.json.new`, which may be the file of an account."""
    account, beside = club(path), path.with_name("club.json.new")
    other = club(beside)
    other.spend(PureDP(0.5, **USER))
    account.spend(PureDP(0.1, **USER))
    assert_array_equal(BudgetAccount.open(beside, **USER).spent, 0.5)
    other.spend(PureDP([0.0, 0.1], **USER))
    assert sorted(one.name for one in path.parent.iterdir()) == ["club.json", "club.json.new"]


def test_what_a_killed_spender_left_is_not_written_to(path):
    """It may be another name of a file, or a link."""
    account, other = club(path), path.with_name("other")
    other.write_bytes(b"kept")
    left = path.with_name(f"club.json.{account._id}.new")
    for make in (left.hardlink_to, left.symlink_to):
        make(other)
        account.spend(PureDP(0.1, **USER))
        assert other.read_bytes() == b"kept"
        assert not left.exists()


def test_a_file_without_an_id_is_refused(path):
    account = club(path)
    for wrong in ("", "../club", account._id[1:], account._id.upper() + "x"):
        head = account._head.replace(account._id, wrong)
        path.write_bytes(account_files.content_of(head, account._spent, False))
        with pytest.raises(ValueError, match="was cut or changed"):
            BudgetAccount.open(path, **USER)


def test_the_mode_of_the_file_stays_and_a_new_one_is_the_owners(path):
    account = club(path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    account.spend(PureDP(0.1, **USER))
    assert path.stat().st_mode & 0o777 == 0o640


def test_without_locks_there_are_no_files(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(OSError, match="needs the locks of Linux or macOS"):
        club(path)
    assert not path.exists()


def test_the_file_can_be_read_without_the_package(path):
    club(path).spend(PureDP([0.1, 0.7], **USER))
    found = json.loads(path.read_text())
    assert dict(zip(found["people"], found["spent"], strict=True)) == {"Ana": "1/10", "Ben": "7/10"}
    assert found["budget"] == [0.5, 1.0]


# ------------------------------------------------------------------ several spenders
def test_threads_and_several_accounts_of_one_file_never_overspend(path):
    BudgetAccount(1.0, **USER).save(path)
    accounts = [BudgetAccount.open(path, **USER) for _ in range(3)]
    granted = []

    def spends(account):
        for _ in range(10):
            try:
                account.spend(PureDP(0.1, **USER))
            except ValueError:
                continue
            granted.append(0.1)

    threads = [threading.Thread(target=spends, args=(a,)) for a in accounts for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 10
    assert BudgetAccount.open(path, **USER).remaining == 0


SPENDER = """
import os, signal, sys, time
from pdpbook.guarantees import BudgetAccount, PureDP, account_files

path, stage, when = sys.argv[1], sys.argv[2], int(sys.argv[3])
account = BudgetAccount.open(path, neighbors="user")
print("ready", flush=True)
sys.stdin.readline()
count = 0

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def dying_write(handle, content):
    global count
    count += 1
    if count == when:
        os.write(handle, content[: len(content) // 2])
        if stage == "half":
            die()
        os.write(handle, content[len(content) // 2 :])
        if stage == "whole":
            die()
        os.close(handle)
    else:
        write(handle, content)

def dying_sync(path):
    if stage == "replaced" and count == when:
        die()
    sync(path)

write, account_files._write = account_files._write, dying_write
sync, account_files._sync_folder = account_files._sync_folder, dying_sync
for k in range(200):
    try:
        account.spend(PureDP(0.01, neighbors="user"))
    except ValueError as refused:
        assert str(refused).startswith("release refused"), refused
    else:
        print("granted", flush=True)
    time.sleep(0.002)  # the other one's turn
"""


def spender(path, stage="never", when=0):
    return subprocess.Popen(
        [sys.executable, "-c", SPENDER, str(path), stage, str(when)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def granted(*processes):
    """Start all at once, and count what each was granted."""
    for one in processes:
        assert one.stdout.readline() == "ready\n"
    for one in processes:
        one.stdin.write("go\n")
        one.stdin.flush()
    return [one.communicate()[0].count("granted") for one in processes]


@pytest.mark.parametrize("stage", ["half", "whole", "replaced"])
def test_two_processes_never_overspend_though_one_is_killed_while_it_writes(path, stage):
    BudgetAccount(1.0, **USER).save(path)
    killed, other = spender(path, stage, 20), spender(path)
    counts = granted(killed, other)
    assert killed.returncode == -signal.SIGKILL
    assert other.returncode == 0
    assert counts[0] == 19  # the one it was killed in was not granted
    charged = 19 + (stage == "replaced") + counts[1]  # perhaps it was charged
    assert charged == 100
    account = BudgetAccount.open(path, **USER)
    assert account._spent == [(Fraction(charged, 100),)]
    assert account.remaining == 0


def test_two_processes_are_granted_a_hundred_of_400(path):
    BudgetAccount(1.0, **USER).save(path)
    both = [spender(path), spender(path)]
    counts = granted(*both)
    assert [one.returncode for one in both] == [0, 0]
    assert sum(counts) == 100
    assert BudgetAccount.open(path, **USER).remaining == 0


def test_a_file_that_is_replaced_while_one_waits_for_its_lock_is_read_anew(path, monkeypatch):
    BudgetAccount(1.0, **USER).save(path)
    one, other = (BudgetAccount.open(path, **USER) for _ in range(2))
    flock, spent = fcntl.flock, []

    def late(handle, operation):
        if not spent:  # the file is open, its lock not held yet
            spent.append(0.7)
            other.spend(PureDP(0.7, **USER))
        return flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(ValueError, match=r"^release refused, .* has 0\.3 left"):
        one.spend(PureDP(0.7, **USER))
    assert BudgetAccount.open(path, **USER).spent == 0.7


def test_content_is_on_the_disk_before_it_takes_the_place_and_then_its_name(path, monkeypatch):
    account, calls = club(path), []

    def noted(name, call):
        def noting(*given):
            kind = "" if name == "replace" else stat.filemode(os.fstat(given[0]).st_mode)[0]
            calls.append(f"{name} {kind}".strip())
            return call(*given)

        monkeypatch.setattr(os, name, noting)

    noted("fsync", os.fsync)
    noted("replace", os.replace)
    account.spend(PureDP(0.1, **USER))
    assert calls == ["fsync -", "replace", "fsync d"]


HOLDER = """
import sys, time
from pdpbook.guarantees import account_files
with account_files.locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_is_waited_for_and_ends_with_its_owner(path, monkeypatch):
    account = club(path)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert holder.stdout.readline() == "held\n"
    monkeypatch.setattr(account_files, "WAIT", 0.2)
    with pytest.raises(TimeoutError, match=r"^account must not be in use by another process"):
        account.spend(PureDP(0.1, **USER))
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert_array_equal(account.spent, 0)
    account.spend(PureDP(0.1, **USER))
    assert_array_equal(account.spent, 0.1)


def test_a_fork_opens_the_file_itself(path):
    account = club(path)
    child = os.fork()
    if child == 0:
        try:
            account.spend(PureDP(0.1, **USER))
        except RuntimeError:
            BudgetAccount.open(path, **USER).spend(PureDP(0.1, **USER))
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert_array_equal(account.spent, 0.1)


def test_a_save_that_is_cut_short_leaves_nothing(tmp_path, monkeypatch):
    account = BudgetAccount([1.0, 1.0], neighbors="add-remove")

    def half(handle, content):
        os.write(handle, content[: len(content) // 2])
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(account_files, "_write", half)
        with pytest.raises(KeyboardInterrupt):
            account.save(tmp_path / "a.json")
    assert [*tmp_path.iterdir()] == []
    account.save(os.fsencode(tmp_path / "a.json"))  # a path in bytes
    account.spend(PureDP(0.5, neighbors="add-remove"))
    assert_array_equal(
        BudgetAccount.open(tmp_path / "a.json", neighbors="add-remove").spent, [0.5, 0.5]
    )


def test_what_the_next_one_writes_is_not_removed(tmp_path, monkeypatch):
    """Somebody else may have the lock as soon as a file is in its place, and write beside it."""
    path = tmp_path / "club.json"
    account = BudgetAccount(1.0, neighbors="user")
    account.save(path)
    beside = tmp_path / f"club.json.{account._id}.new"
    move = os.replace

    def moved_and_the_next_one_writes(old, new):
        move(old, new)
        beside.write_text("of the next one")

    monkeypatch.setattr(
        "pdpbook.guarantees.account_files.os.replace", moved_and_the_next_one_writes
    )
    account.spend(PureDP(0.1, **USER))
    assert beside.read_text() == "of the next one"
