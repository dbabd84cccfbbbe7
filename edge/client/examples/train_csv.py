"""
Trains a model on CSV files of a folder that the service may read, and draws how good it is next to the other candidates:

    SHORTLIST_EDGE=https://… SHORTLIST_KEY=rk_… python3 train_csv.py shop clicks.csv --items products.csv --plot quality.svg

The files have the columns user_id, item_id, created_at and label, or the ones that the options name.
"""

import argparse
import os
import sys
from html import escape
from pathlib import Path

from shortlist import Shortlist

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("model")
parser.add_argument("interactions", type=Path)
parser.add_argument("--items", type=Path, help="a CSV file of item attributes")
parser.add_argument("--user", default="user_id")
parser.add_argument("--item", default="item_id")
parser.add_argument("--time", default="created_at")
parser.add_argument("--label", default="label")
parser.add_argument("--plot", type=Path, default=Path("quality.svg"))
options = parser.parse_args()


def source(path: Path) -> dict:
    return {"connector_id": path.stem, "query": f'SELECT * FROM "{path.stem}"'}


spec: dict = {
    "model_name": options.model,
    "connector_configs": [
        {"id": path.stem, "type": "File", "location": str(path)}
        for path in (options.interactions, options.items)
        if path
    ],
    "schema": {
        "user": {"id": options.user},
        "item": {"id": options.item, **({"source": source(options.items)} if options.items else {})},
        "interaction": {
            "created_at": options.time,
            "label": {"type": "Binary", "name": options.label},
            "source": source(options.interactions),
        },
    },
}

client = Shortlist(os.environ["SHORTLIST_EDGE"], os.environ["SHORTLIST_KEY"])
checked = client.dry_run(spec)
for problem in checked["problems"]:
    print(f"{problem['severity']}: {problem['message']}")
if not checked["ok"]:
    sys.exit("Nothing was created.")

client.create_model(spec)
client.wait_for_training(options.model, on_record=lambda record: print(record["training"]["state"].lower(), flush=True))
report = client.view_evaluation(options.model)
metric = report["chosen_by"]

# The best candidate of each method that was measured to the end, and popularity.
bars = {"popularity": report["popularity"]["metrics"][metric]}
for candidate in report["candidates"]:
    measured = candidate["metrics"].get(metric)
    if candidate["outcome"] in ("chosen", "lost") and measured and measured["value"] is not None:
        best = bars.get(candidate["method"])
        if best is None or measured["value"] > best["value"]:
            bars[candidate["method"]] = measured
ordered = sorted(bars.items(), key=lambda bar: -(bar[1]["value"] or 0))

top = max((bar["high"] or bar["value"] or 0) for bar in bars.values()) or 1
rows = []
for place, (method, bar) in enumerate(ordered):
    value, low, high = (round(420 * (bar[end] or 0) / top) for end in ("value", "low", "high"))
    color = "#2a7" if method == report["chosen"]["method"] else "#89a"
    rows.append(
        f'<g transform="translate(170 {40 + 26 * place})"><text x="-8" y="14" text-anchor="end">{escape(method)}</text>'
        f'<rect width="{value}" height="18" fill="{color}"/><path d="M{low} 9H{high}" stroke="#000"/>'
        f'<text x="{high + 6}" y="14">{bar["value"] or 0:.4f}</text></g>'
    )
options.plot.write_text(
    f'<svg xmlns="http://www.w3.org/2000/svg" width="660" height="{60 + 26 * len(rows)}" font-family="sans-serif" font-size="13">'
    f'<text x="8" y="20">{escape(metric)} with 95 % intervals, on interactions that no candidate had learnt from</text>'
    f"{''.join(rows)}</svg>\n"
)
print(
    f"{report['chosen']['method']} was chosen. {options.plot} shows why. Popular items: {client.rank(options.model, limit=5)}"
)
