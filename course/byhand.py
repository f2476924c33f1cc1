"""A page on which questions by hand are marked: every answer by its rubric, a choice for each line.

It reads nothing and sends nothing: *save* gives the table that stands in `marks`, filled in. An
answer of which some lines have no choice is named, and nothing is saved.
"""

import html
import json
from pathlib import Path

import pandas as pd

from course.arguments import rubrics
from course.cuts import split

PAGE = """\
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>body {{ font: 1rem/1.5 sans-serif; max-width: 55rem; margin: 2rem auto; padding: 0 1rem }}
blockquote {{ white-space: pre-wrap; background: #f4f4f4; padding: .5rem 1rem; margin: .5rem 0 }}
.model {{ white-space: pre-line }}
label {{ display: block }} button {{ font: inherit; padding: .25rem 1rem }}</style>
<h1>{title}</h1>
<p>Choose 1 or 0 for each line. <button id="save">Save {file}</button>
<output id="said"></output></p>
{questions}
<script type="application/json" id="table">{table}</script>
<script>
document.getElementById("save").onclick = () => {{
  const rows = JSON.parse(document.getElementById("table").textContent);
  const half = [];
  for (const row of rows) {{
    const found = document.querySelectorAll(`select[data-row="${{row.number}}"]`);
    if (!found.length) continue;
    const marks = [...found].map(one => one.value);
    const given = marks.filter(one => one).length;
    if (given === marks.length) row.points = marks.join(" ");
    else if (given) half.push(`${{row.student}}, ${{row.exercise}}`);
  }}
  const said = document.getElementById("said");
  if (half.length) {{ said.textContent = "not filled in: " + half.join("; "); return; }}
  const lines = rows.map(one => [one.student, one.exercise, one.points, one.out_of].join(","));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(
    [["student,exercise,points,out_of", ...lines].join("\\n") + "\\n"], {{type: "text/csv"}}));
  link.download = "{file}";
  link.click();
  said.textContent = "saved; put it into marks, and export";
}};
</script></html>
"""


def write(folder: Path, name: str, table: pd.DataFrame) -> None:
    """Write the page, if anything is asked by hand; points that there are stay chosen."""
    rows = [{"number": k} | row for k, row in enumerate(table.to_dict("records"))]
    if not rows:
        return
    parts, known = [], rubrics(split(name)[0])
    for exercise in dict.fromkeys(row["exercise"] for row in rows):
        one = known[exercise]
        parts.append(f"<h2>{html.escape(exercise)}</h2>")
        for head, words in (
            ("", one.ask),
            ("Right:", one.right),
            ("Wrong:", one.wrong),
            ("What it misses:", one.misses),
        ):
            if words:
                parts.append(f"<p class='model'><b>{head}</b> {html.escape(words)}</p>")
        for row in rows:
            if row["exercise"] == exercise:
                parts.append(_answer(folder, name, row, one.rubric))
    page = PAGE.format(
        title=html.escape(f"{name}: by hand"),
        file=html.escape(f"{name}-by-hand.csv"),
        questions="\n".join(parts),
        table=json.dumps(rows).replace("<", "\\u003c"),
    )
    (folder / "marks" / f"{name}-by-hand.html").write_text(page, encoding="utf-8")


def _answer(folder: Path, name: str, row: dict[str, str], rubric: tuple[str, ...]) -> str:
    """What a student wrote, and a choice for each line of the rubric."""
    text = html.escape(answer(folder, name, row["student"], row["exercise"]) or "nothing")
    given = row["points"].split() if row["points"] else []
    lines = []
    for k, line in enumerate(rubric):
        chosen = given[k] if k < len(given) else ""
        options = "".join(
            f"<option{' selected' if one == chosen else ''}>{one}</option>"
            for one in ("", "1", "0")
        )
        choice = f'<select data-row="{row["number"]}">{options}</select>'
        lines.append(f"<label>{choice} {k + 1}. {html.escape(line)}</label>")
    return f"<h3>{html.escape(row['student'])}</h3><blockquote>{text}</blockquote>{''.join(lines)}"


def answer(folder: Path, name: str, student: str, exercise: str) -> str:
    """The cell in which a student answered; empty if there is none."""
    for file in (folder / "collected" / name / student).glob("[!.]*"):
        try:
            cells = json.loads(file.read_text(encoding="utf-8-sig"))["cells"]
            for cell in cells:
                role = cell.get("metadata", {}).get("nbgrader", {}).get("grade_id")
                if exercise in (role, cell.get("id")):
                    return "".join(cell["source"]).encode(errors="replace").decode().strip()
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return ""
    return ""
