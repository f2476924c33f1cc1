"""Printed numbers of Acharya et al. beside those in their result files.

The files are not part of this project: where their folder is missing, the comparison is tried on
files made of the committed table.
"""

from pathlib import Path

import pandas as pd
import pytest

from lab import pdpop_files, published

RUNS = Path(__file__).resolve().parents[2] / "shared" / "published" / "runs"
needs_files = pytest.mark.skipif(not RUNS.is_dir(), reason="the result files are not here")


@pytest.fixture(scope="module")
def committed():
    return pdpop_files.read()


@pytest.mark.parametrize(
    ("printed", "in_file", "said"),
    [
        ("8.54e2", "853.95280259", "equal"),
        ("8.54e2", "854.5", "last digit"),  # half rounds up
        ("8.54e2", "854.4999", "equal"),
        ("1.14e2", "114.73177", "last digit"),
        ("9.89e-1", "0.98769", "last digit"),
        ("9.89e-1", "0.98669", "other number"),
        ("8.54e4", "853.95280259", "other number"),
        ("1.20", "1.204", "equal"),
        ("1.20", "1.2051", "last digit"),
        ("1.20", "3.2249", "other number"),
        ("1.20", "-1.20", "other number"),
        ("1.20", "nan", "other number"),
        ("1.20", "inf", "other number"),
        ("1.20", "", "not in the file"),
    ],
)
def test_verdicts_by_hand(printed, in_file, said):
    assert pdpop_files.verdict(printed, in_file) == said


def test_every_printed_number_has_its_row(committed):
    printed = published.table("pdpop")
    assert tuple(committed) == pdpop_files.COLUMNS
    for column in (*pdpop_files.KEYS, "printed"):
        assert list(committed[column]) == list(printed[column])
    places = [pdpop_files.PLACES[table].file for table in committed["table"]]
    assert list(committed["file"]) == [file.name for file in places]
    assert list(committed["commit"]) == [file.commit for file in places]


def test_the_committed_verdicts_are_those_of_its_numbers(committed):
    pairs = zip(committed["printed"], committed["in_file"], strict=True)
    assert list(committed["verdict"]) == [pdpop_files.verdict(*pair) for pair in pairs]
    assert committed["verdict"].value_counts().to_dict() == {
        "equal": 738,
        "other number": 9,
        "last digit": 3,
    }


def test_the_other_numbers_are_the_misprints_and_the_file_has_the_likely_ones(committed):
    printed = published.table("pdpop")
    assert list(committed["verdict"] == "other number") == list(printed["flag"])
    wrong = committed[printed["flag"]]
    likely = printed.loc[printed["flag"], "likely_value"]
    in_file = wrong["in_file"].astype(float)
    assert ((likely / in_file - 1).abs() < 5e-3).all()  # three digits


@needs_files
def test_the_committed_table_is_made_of_the_files(committed):
    pd.testing.assert_frame_equal(pdpop_files.compare(RUNS), committed)


@needs_files
def test_the_command_writes_the_committed_table(tmp_path, monkeypatch, capsys):
    record = pdpop_files.RECORD.read_bytes()
    monkeypatch.setattr(pdpop_files, "RECORD", tmp_path / "pdpop_files.csv")
    assert pdpop_files.main([str(RUNS), "--write"]) == 0
    assert pdpop_files.RECORD.read_bytes() == record
    assert pdpop_files.main([str(RUNS)]) == 0
    assert "0 of 750 cells differ" in capsys.readouterr().out


# --- planted differences --------------------------------------------------------------------------


def written(folder, committed, counted=False):
    """Files with the rows and columns that the committed table speaks of."""
    rows = {}
    for cell in committed.to_dict("records"):
        place = pdpop_files.PLACES[cell["table"]]
        share = float(cell["row_value"])
        if counted and place.people > 1:
            names = {**place.fixed, pdpop_files.COUNTED: round(share * place.people)}
        else:
            names = {**place.fixed, place.swept: share}
        row = rows.setdefault(place.file.name, {}).setdefault(tuple(sorted(names.items())), names)
        row[pdpop_files._column(cell["method"], cell["metric"])] = cell["in_file"]
    for name, found in rows.items():
        pd.DataFrame(found.values()).to_csv(folder / name, index=False)
    return folder


@pytest.fixture
def folder(tmp_path, committed):
    return written(tmp_path, committed)


@pytest.mark.parametrize("counted", [False, True])
def test_files_of_the_same_numbers_differ_nowhere(tmp_path, committed, counted):
    new = pdpop_files.compare(written(tmp_path, committed, counted))
    assert pdpop_files.changed(committed, new).empty
    assert list(new["verdict"]) == list(committed["verdict"])
    assert set(new["commit"]) == {""}  # the numbers of the commits, and not their files


def edit(folder, name, change):
    path = next(folder.glob(f"*{name}*"))
    change(pd.read_csv(path, dtype=str)).to_csv(path, index=False)


def differing(folder, committed):
    """Tables and rows of the cells that differ, and what is said of them now."""
    found = pdpop_files.changed(committed, pdpop_files.compare(folder))
    cells = {(row.table, row.row_value, row.method) for row in found.itertuples()}
    return cells, set(found["verdict_new"])


def test_a_last_digit_is_noticed(folder, committed):
    def change(frame):
        frame.loc[frame["lamb"].astype(float) == 0.6, "unreg_jorg_max_test_mean"] = "0.9887"
        return frame

    edit(folder, "impact_lambda", change)
    assert differing(folder, committed) == ({("12", "0.60", "jorgensen-max")}, {"equal"})


def test_a_number_is_noticed_in_each_table_that_prints_it(folder, committed):
    def change(frame):
        frame.loc[frame["lamb"].astype(float) == 3, "reg_pp_test_mean"] = "383.1"
        return frame

    edit(folder, "plevel_34_43_23_result", change)
    cells = {(table, "3.00", "PDP-OP") for table in ("1", "11")}
    assert differing(folder, committed) == (cells, {"last digit"})


def test_a_number_at_another_fixed_value_is_no_difference(folder, committed):
    def change(frame):
        return pd.concat([frame, frame.assign(lamb="50", reg_pp_test_mean="7")])

    edit(folder, "specific_30_100_eps_c_eps_m", change)
    assert differing(folder, committed) == (set(), set())


def test_a_missing_row_is_noticed(folder, committed):
    edit(folder, "specific_30_100_impact_fc", lambda f: f[f["fc"].astype(float) != 0.2])
    cells = {("7", "0.2", method) for method in ("PDP-OP", "non-personalized")}
    assert differing(folder, committed) == (cells, {"not in the file"})


def test_a_missing_column_is_noticed(folder, committed):
    edit(folder, "insurance_data_impact_fc", lambda f: f.drop(columns="reg_pp_test_mean"))
    cells = {("8", f"0.{k}", "PDP-OP") for k in range(1, 7)}
    assert differing(folder, committed) == (cells, {"not in the file"})


def test_a_file_without_the_rows_of_the_table_is_noticed(folder, committed):
    edit(folder, "specific_30_100_impact_fc", lambda f: f.rename(columns={"fc": "share"}))
    cells, said = differing(folder, committed)
    assert {table for table, _, _ in cells} == {"7"}
    assert len(cells) == 12
    assert said == {"not in the file"}


def test_the_file_of_another_commit_is_said_with_its_cells(folder, committed, capsys):
    edit(folder, "specific_30_100_impact_n", lambda f: f.assign(reg_pp_test_mean="1.5"))
    assert pdpop_files.main([str(folder)]) == 1
    said = capsys.readouterr().out
    assert "forplots_specific_30_100_impact_n.csv is not the file of the commit" in said
    assert "10 of 750 cells differ from pdpop_files.csv" in said


def test_the_file_with_the_commit_in_its_name_goes_first(folder, committed):
    plain = folder / "forplots_specific_30_100_impact_n.csv"
    older = folder / "older"
    older.mkdir()
    (older / "forplots_specific_30_100_impact_n.at_51fb29c.csv").write_bytes(plain.read_bytes())
    edit(folder, "specific_30_100_impact_n.csv", lambda f: f.assign(reg_pp_test_mean="1.5"))
    assert differing(folder, committed) == (set(), set())


@needs_files
def test_the_newest_file_on_numbers_of_people_is_not_that_of_table_9(tmp_path, committed):
    for path in RUNS.glob("forplots_*.csv"):
        if ".at_" not in path.name:
            (tmp_path / path.name).write_bytes(path.read_bytes())
    new = pdpop_files.compare(tmp_path)
    assert set(new.loc[new["commit"] == "", "table"]) == {"9"}
    found = pdpop_files.changed(committed, new)
    assert list(found["table"]) == ["9"] * 40
    assert set(found["verdict_new"]) == {"other number"}


# --- bad input ------------------------------------------------------------------------------------


def test_a_missing_file_is_named(folder):
    next(folder.glob("*impact_fc_affine*")).unlink()
    with pytest.raises(ValueError, match=r"forplots_insurance_data_impact_fc_affine\.csv must be"):
        pdpop_files.compare(folder)


def test_two_files_of_one_name_are_refused(folder):
    (folder / "again").mkdir()
    path = next(folder.glob("*impact_fc_affine*"))
    (folder / "again" / path.name).write_bytes(path.read_bytes())
    with pytest.raises(ValueError, match=r"affine\.csv must be in .* once; got .*again"):
        pdpop_files.compare(folder)


def test_two_rows_for_one_printed_row_are_refused(folder):
    edit(folder, "insurance_data_impact_fc", lambda f: pd.concat([f, f[:1]]))
    with pytest.raises(ValueError, match=r"must have one row f_c = 0\.1; got 2"):
        pdpop_files.compare(folder)


@pytest.mark.parametrize("options", [[], ["--write"]])
def test_the_command_refuses_without_a_trace(tmp_path, options, capsys):
    with pytest.raises(SystemExit):
        pdpop_files.main([str(tmp_path), *options])
    assert "must be in" in capsys.readouterr().err


def test_only_files_of_the_commits_are_written(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pdpop_files, "RECORD", tmp_path / "pdpop_files.csv")
    with pytest.raises(SystemExit):
        pdpop_files.main([str(folder), "--write"])
    assert "files of the named commits only" in capsys.readouterr().err
    assert not pdpop_files.RECORD.exists()


def test_a_file_is_named_as_git_names_it(tmp_path):
    (tmp_path / "a").write_bytes(b"hello\n")  # git hash-object
    assert pdpop_files.blob(tmp_path / "a") == "ce013625030ba8dba906f756967f9e9ca394464a"
