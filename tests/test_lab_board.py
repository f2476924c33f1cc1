"""The board of a paper's verdicts: tiles side by side, as wide as the board, words in them."""

import matplotlib.pyplot as plt
import pytest

from lab.board import HIGH, HOLDS, LOW, NOT, WIDTH, Board


@pytest.fixture
def board():
    yield Board(100)
    plt.close("all")


def boxes(board):
    """Left, top, right and bottom of every tile."""
    return [
        (*path.get_extents().min, *path.get_extents().max)
        for ground in board.ax.collections
        for path in ground.get_paths()
    ]


def test_a_row_fills_the_board_from_left_to_right(board):
    board.row(10, [("one", HOLDS), ("two", NOT), ("three", HOLDS)])
    found = boxes(board)
    assert [box[0] for box in found] == [0, 100, 200]
    assert all(box[2] - box[0] == WIDTH / 3 - 2 for box in found)
    assert all((box[1], box[3]) == (10, 10 + LOW - 2) for box in found)
    assert [text.get_text() for text in board.ax.texts] == ["one", "two", "three"]


def test_a_row_is_as_high_as_its_words_need(board):
    board.row(10, [("one", HOLDS), ("two\nlines", NOT)], left=50, right=150)
    assert [box[0] for box in boxes(board)] == [50, 100]
    assert all(box[3] - box[1] == HIGH - 2 for box in boxes(board))


def test_words_stand_in_the_middle_and_are_small_on_a_narrow_tile(board):
    board.tile(20, 10, 32, "0.321", HOLDS)
    board.tile(60, 10, 100, "wide", HOLDS)
    narrow, wide = board.ax.texts
    assert narrow.get_position() == (20 + 15, 10 + (LOW - 2) / 2)
    assert narrow.get_size() < wide.get_size()


def test_words_on_the_right_end_where_they_are_said_to(board):
    board.say(300, 10, "holds", HOLDS)
    board.say(0, 10, "Proved")
    assert [text.get_ha() for text in board.ax.texts] == ["right", "left"]
