"""Writes ../profile/profile.json: what the reference's graders answer to hostile submissions, with several versions of their libraries.

Run once in an environment of each column, which keeps the answers of the others:
    python profile.py COLUMN REFERENCE GOLDEN
where COLUMN is one of COLUMNS, REFERENCE a checkout of openai/mle-bench at commit 783b15af77404fbaffe7255b0c4a934b46153389
and GOLDEN a folder of the golden cases, unpacked. A submission is a golden one with edits, which the Go test makes too.
"""
import csv
import importlib.metadata
import io
import json
import logging
import pathlib
import platform
import signal
import sys
import tempfile
import warnings

COLUMNS = ["reference", "pandas-2.3", "pandas-3"]
LIBRARIES = ["pandas", "numpy", "scipy", "scikit-learn", "levenshtein", "pycocotools", "shapely", "pyquaternion"]
CASES = []


def case(rule, competition, *edits, of="gold", ours="", why=""):
    """A submission: edits are [column, rows or None for all, values in turn], or the name of an edit of the file."""
    CASES.append({"rule": rule, "competition": competition, "submission": of + ".csv", "edits": [e if isinstance(e, str) else {"column": e[0], "rows": e[1], "values": e[2:]} for e in edits],
                  **({"ours": ours} if ours else {}), **({"why": why} if why else {}), "answers": {}})


BIG, BIGGER, HUGE = "9223372036854775808", "18446744073709551616", "1e400"

rule = "Text in a column of class numbers"
for c, column in [("cassava-leaf-disease-classification", "label"), ("cdiscount-image-classification-challenge", "category_id"), ("iwildcam-2020-fgvc7", "Category"),
                  ("ml2021spring-hw2", "ClassId"), ("movie-review-sentiment-analysis-kernels-only", "Sentiment"), ("spaceship-titanic", "Transported"),
                  ("tabular-playground-series-dec-2021", "Cover_Type")]:
    case(rule, c, [column, [0], "x"])
rule = "Numbers in a column of class names"
case(rule, "paddy-disease-classification", ["label", None, "3"])
case(rule, "tensorflow-speech-recognition-challenge", ["label", None, "3"])
case("A submission as it should be", "vinbigdata-chest-xray-abnormalities-detection")
case("A submission as it should be", "tgs-salt-identification-challenge")
rule = "A negative value above -1 under a logarithm"
case(rule, "nomad2018-predict-transparent-conductors", ["bandgap_energy_ev", [0], "-0.5"])
case("Booleans under a logarithm", "nomad2018-predict-transparent-conductors", ["bandgap_energy_ev", None, "True", "False"])
case("A column of booleans among columns of floats", "leaf-classification", ["Acer_Mono", None, "False"], of="gold-floats", ours="0.0",
     why="The golden cases, made with pandas 1.5, score such columns, and so do later versions; pandas 2.2 with numpy 1.26 raises. The same holds for dog-breed-identification and spooky-author-identification.")
rule = "Booleans as degrees"
case(rule, "smartphone-decimeter-2022", ["LongitudeDegrees", None, "True"])
case(rule, "smartphone-decimeter-2022", ["LatitudeDegrees", None, "True", "False"])
case(rule, "smartphone-decimeter-2022", ["LatitudeDegrees", None, "True", "False", ""])
rule = "A correlation with a missing, infinite, constant or textual column"
for value in ("", "inf", "0.5"):
    case(rule, "us-patent-phrase-to-phrase-matching", ["score", None if value == "0.5" else [0], value])
case(rule, "us-patent-phrase-to-phrase-matching", ["score", [0], BIGGER])
case(rule, "us-patent-phrase-to-phrase-matching", ["score", None, ""])
case(rule, "us-patent-phrase-to-phrase-matching", ["score", [0], HUGE])
rule = "pandas.to_numeric: integers beyond 64 bits and other digits"
for value in (BIGGER, "-9223372036854775809", "１", "1_0", "1\u00a0"):
    case(rule, "freesound-audio-tagging-2019", ["Accordion", [0], value])
case("A gap in a row that is not scored", "freesound-audio-tagging-2019", ["Accordion", [17], ""], of="shuffled")
case("The lowest int64 among integers", "freesound-audio-tagging-2019", ["Accordion", [0, 1, 2], "-9223372036854775808"], of="sample")
rule = "Integers from 2⁶³ on as class numbers"
for c, column in [("herbarium-2022-fgvc9", "Predicted"), ("inaturalist-2019-fgvc6", "predicted"), ("iwildcam-2019-fgvc6", "Category"), ("learning-agency-lab-automated-essay-scoring-2", "score")]:
    case(rule, c, [column, None, BIG])
    case(rule, c, [column, [0], BIG])
    case(rule, c, [column, [0], BIGGER])
    case(rule, c, [column, None, BIG, "9223372036854775809"])
for score in (["1", "2", BIG], ["1", BIG, "2"], ["1", "2", "3", "4", "5", "6", BIG, "9223372036854775809"]):
    case(rule, "learning-agency-lab-automated-essay-scoring-2", ["score", None, *score])
    case(rule, "aptos2019-blindness-detection", ["diagnosis", None, *score])
case(rule, "aptos2019-blindness-detection", ["diagnosis", [0], "18446744073709551615"])
case(rule, "aptos2019-blindness-detection", ["diagnosis", [0, 3], "18446744073709551615"], of="noisy")
case(rule, "paddy-disease-classification", ["label", None, "1", BIG])
case(rule, "paddy-disease-classification", ["label", None, "9223372036854775809", BIG])
rule = "Integers as ranks that one double stands for"
for values in (["9007199254740992", "9007199254740993"], [BIG, "9223372036854775809"]):
    case(rule, "plant-pathology-2020-fgvc7", ["scab", None, *values])
    case(rule, "plant-pathology-2020-fgvc7", ["scab", None, *values], ["rust", [0], BIG])
    case(rule, "playground-series-s3e18", ["EC1", None, *values])
    case(rule, "playground-series-s3e18", ["EC1", None, *values], ["EC2", None, *values])
rule = "Integers of one hash in a list of numbers"
case(rule, "multi-modal-gesture-recognition", ["Sequence", None, "4"])
case(rule, "multi-modal-gesture-recognition", ["Sequence", None, BIG + " 1"])
case(rule, "multi-modal-gesture-recognition", ["Sequence", None, "-2305843009213693953 -1 -2 2305843009213693952"])
rule = "Integers beyond 64 bits in a CSV file"
case(rule, "rsna-breast-cancer-detection", ["cancer", [0], "99999999999999999999"])
case(rule, "jigsaw-unintended-bias-in-toxicity-classification", ["prediction", [0], BIGGER], of="gold-hard")
case(rule, "vesuvius-challenge-ink-detection", ["Predicted", None, "1" * 60])
rule = "Floats beyond the range in a CSV file"
case(rule, "rsna-breast-cancer-detection", ["cancer", [0], HUGE])
case(rule, "osic-pulmonary-fibrosis-progression", ["Confidence", [0], "1.7976931348623159e308"], of="sample")
rule = "Sums that overflow"
case(rule, "ventilator-pressure-prediction", ["pressure", None, "1.7e308", "-1.7e308"], of="gold")
case(rule, "ventilator-pressure-prediction", ["pressure", None, "1.7e308"], of="gold")
case(rule, "predict-volcanic-eruptions-ingv-oe", ["time_to_eruption", None, "1.7e308"])
case(rule, "predict-volcanic-eruptions-ingv-oe", ["time_to_eruption", None, "9223372036854775807"])
rule = "The last digits of large sums"
case(rule, "new-york-city-taxi-fare-prediction", ["fare_amount", [0], "99999999999999999999"])
rule = "NaN in a list of numbers"
case(rule, "3d-object-detection-for-autonomous-vehicles", ["PredictionString", [0], "1.0 nan 512 -18 1.9 4.7 1.7 2.6 car"])
rule = "Confidences that are NaN"
right = "1013.615 512.7638626484942 -20.30002798398627 2.272 3.5538624939810353 2.0840682297839153 2.765 car"
for scores, at in ([["0.5", "nan", "0.7", "nan", "0.6", "0.9"], 0], [["nan", "0.1", "0.2", "nan", "0.9"], 1], [["0.3", "0.2", "nan", "0.1", "0.5", "0.4"], 4]):
    case(rule, "3d-object-detection-for-autonomous-vehicles", ["PredictionString", [0], " ".join(f"{v} {right if k == at else right.replace('10', '20', 1)}" for k, v in enumerate(scores))])
case(rule, "vinbigdata-chest-xray-abnormalities-detection", ["PredictionString", None, "14 nan 0 0 1 1 14 0.1 0 0 9 9 14 nan 0 0 9 9 14 0.9 0 0 9 9"])
rule = "Boxes in space whose numbers are huge or infinite"
for numbers in ("2147483648 512 -18 1.9 4.7 1.7 2.6", "9223372036854775808 512 -18 1.9 4.7 1.7 0", "1e7 512 -18 1.9 4.7 1.7 2.6", "1011 512 inf 1.9 4.7 1.7 2.6", "1011 512 1e400 1.9 4.7 inf 2.6",
                "1011 512 -18 1.9 4.7 inf 2.6", "1011 512 -18 inf 4.7 1.7 2.6", "1011 inf -18 1.9 4.7 1.7 2.6", "1011 512 -18 1e9 4.7 1.7 2.6", "1011 512 -18 1.9 4.7 1.7 inf"):
    case(rule, "3d-object-detection-for-autonomous-vehicles", ["PredictionString", [0], "1.0 " + numbers + " car"])
case(rule, "3d-object-detection-for-autonomous-vehicles", ["PredictionString", [0], "1.0 1011 512 -18 1.9 4.7 1.7 inf zebra"])
case(rule, "3d-object-detection-for-autonomous-vehicles", ["PredictionString", [0], "1.0 inf 512 -18 1.9 4.7 1.7 2.6 zebra"])
rule = "Boxes with a number that is NaN or infinite"
for at in ("388 nan nan 1940.25", "388 1095 inf inf"):
    case(rule, "vinbigdata-chest-xray-abnormalities-detection", ["PredictionString", None, "9 0.9 " + at + " 14 1.0 0.0 0.0 1.0 1.0"])
rule = "A NUL byte"
case(rule, "uw-madison-gi-tract-image-segmentation", "nul line at the end")
case(rule, "uw-madison-gi-tract-image-segmentation", "nul line at the start")
case(rule, "3d-object-detection-for-autonomous-vehicles", ["PredictionString", [0], "\0"])
case(rule, "aptos2019-blindness-detection", ["diagnosis", [0], "1\0"], of="sample")
rule = "Missing cells in a column of texts"
case(rule, "bms-molecular-translation", ["InChI", [0], ""])
case(rule, "whale-categorization-playground", ["Id", [0], "NA"])
case(rule, "text-normalization-challenge-english-language", ["after", [0], ""])
case(rule, "h-and-m-personalized-fashion-recommendations", ["prediction", None, ""], of="sample")
case(rule, "hotel-id-2021-fgvc8", ["hotel_id", [0], ""])
case(rule, "tensorflow2-question-answering", ["PredictionString", None, ""], of="sample")
rule = "Numbers in a column of texts"
case(rule, "text-normalization-challenge-english-language", ["after", None, "3"])
rule = "Equal texts under a sort that is not stable"
case(rule, "detecting-insults-in-social-commentary", ["Date", None, ""], of="close")


def rows_of(text):
    return [r for r in csv.reader(io.StringIO(text, newline="")) if r]


def edited(text, edits):
    rows = rows_of(text)
    end = start = ""
    for e in edits:
        if e == "nul line at the end":
            end = "\0"
        elif e == "nul line at the start":
            start = "\0\n"
        else:
            at = rows[0].index(e["column"])
            for k, row in enumerate(rows[1:]):
                if e["rows"] is None or k in e["rows"]:
                    row[at] = e["values"][k % len(e["values"])]
    quoted = ["," .join('"' + v.replace('"', '""') + '"' for v in r) + "\n" for r in rows]
    return quoted[0] + start + "".join(quoted[1:]) + end


class Slow(BaseException):
    pass


def slow(*_):
    raise Slow


def answer(fn, read_csv, load_answers, text, answers, folder):
    path = folder / "submission.csv"
    path.write_bytes(text.encode())
    signal.alarm(40)
    try:
        score = float(round(fn(read_csv(path), load_answers(answers)), 5))
        return "nan" if score != score else repr(score)
    except Slow:
        return "hangs"
    except Exception:
        return "none"
    finally:
        signal.alarm(0)


def main():
    column, reference, golden = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    sys.path.insert(0, reference)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, slow)
    import yaml
    from mlebench.utils import import_fn, load_answers, read_csv

    out = pathlib.Path(__file__).parent.parent / "profile" / "profile.json"
    old = json.loads(out.read_text()) if out.exists() else {"versions": {}, "cases": []}
    known = {json.dumps([c["competition"], c["submission"], c["edits"]]): c["answers"] for c in old["cases"]}
    versions = old["versions"] | {column: {"python": platform.python_version()} | {n: importlib.metadata.version(n) for n in LIBRARIES}}
    with tempfile.TemporaryDirectory() as folder:
        for c in CASES:
            base = pathlib.Path(reference) / "mlebench/competitions" / c["competition"]
            config = yaml.safe_load((base / "config.yaml").read_text())
            text = edited((golden / c["competition"] / "submissions" / c["submission"]).read_text(encoding="utf-8-sig"), c["edits"])
            fn = import_fn(config["grader"]["grade_fn"])
            got = known.get(json.dumps([c["competition"], c["submission"], c["edits"]]), {}) | {
                column: answer(fn, read_csv, load_answers, text, golden / config["dataset"]["answers"], pathlib.Path(folder))}
            c["answers"] = {n: got[n] for n in COLUMNS if n in got}
    lines = ",\n".join("  " + json.dumps(c, ensure_ascii=False) for c in CASES)
    rest = json.dumps({n: versions[n] for n in COLUMNS if n in versions}, indent=2)
    out.write_text('{\n"versions": ' + rest + ',\n"cases": [\n' + lines + "\n]\n}\n")


if __name__ == "__main__":
    main()
