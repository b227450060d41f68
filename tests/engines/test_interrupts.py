"""Ctrl-C: a pass ends at once, nothing works on behind it, and the next pass is as ever."""

from __future__ import annotations

import os

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals as POSIX does")

INTERRUPTED = """
running, lock = 0, threading.Lock()

def slow(block):
    global running
    with lock:
        running += 1
    try:
        time.sleep(seconds(block.start))
        return total(block)
    finally:
        with lock:
            running -= 1

def interrupted(work):
    # Sends this process what Ctrl-C sends, half a second into the work.
    sent = []
    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(0.5, send)
    timer.start()
    try:
        work()
    except KeyboardInterrupt:
        still, took = running, time.monotonic() - sent[0]
        timer.join()
        return {"interrupted": True, "soon": took < 5, "still running": still,
                "blas": sorted(blas_threads()), "next": [is_right(n) for n in (1, 2, 4)]}
    return {"interrupted": False}

"""

EXPECTED = {
    "interrupted": True,
    "soon": True,
    "still running": 0,
    "blas": [3],
    "next": [True, True, True],
}


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param("0.001", id="short"),
        pytest.param("0.3", id="long", marks=pytest.mark.long),
        pytest.param("0.3 if number < 8 else 0", id="one long run"),
    ],
)
def test_a_pass_over_endless_rows(child, seconds):
    answers = child(
        f"seconds = lambda number: {seconds}"
        + INTERRUPTED
        + """
answers = []
for n_jobs in (1, 2, 4):
    answers.append(interrupted(lambda: reduce(Count(None), slow, n_jobs)))
print(json.dumps(answers))
"""
    )
    assert answers == [EXPECTED] * 3


def test_a_pass_that_waits_for_its_reading(child):
    answers = child(
        "seconds = lambda number: 0.001"
        + INTERRUPTED
        + """
answers = []
for n_jobs in (1, 2):
    source = Count(None, read=lambda: time.sleep(0.2))
    answers.append(interrupted(lambda: map_rows(source, lambda b: slow(b).values[0], n_jobs)))
print(json.dumps(answers))
"""
    )
    assert answers == [EXPECTED] * 2
