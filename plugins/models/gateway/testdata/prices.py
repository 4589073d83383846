"""Collects the facts of prices.json from litellm's table of model prices (MIT
licence), which cites the providers' own pages.

    python3 prices.py LITELLM_WHEEL DATE > ../prices.json

Left out are models of other providers, those that were shut down before DATE,
those without a price, those that are charged by anything but tokens of one
kind of output (images, seconds, characters), and those that search the web by
themselves: a pipeline that wants one must give its price and so name it.
"""

import json
import re
import sys
import zipfile
from decimal import Decimal

FIELDS = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
}
HOUR = ["cache_creation_input_token_cost_above_1hr", "cache_creation_input_token_cost_above_12hr"]
AUDIO = "input_cost_per_audio_token"
# What the providers' pages say of all their models. What is charged by the time
# or the size of a container, or by another model's tokens, is in no response, so
# that it has no price here.
TOOLS = {
    "openai": {"file_search": "2.5"},
    "anthropic": {"web_search": "10", "web_fetch": "0"},
    "gemini": {},
}
SERVICES = ["flex", "priority", "ultrafast"]
PAGES = {
    "openai": "https://platform.openai.com/docs/pricing",
    "anthropic": "https://platform.claude.com/docs/en/about-claude/pricing",
    "gemini": "https://ai.google.dev/gemini-api/docs/pricing",
}


def dollars(one, times=1_000_000):
    price = Decimal(repr(one)) * times
    return format(price.normalize(), "f")


def rates(model, suffix=""):
    found = {}
    for name, field in FIELDS.items():
        value = model.get(field + suffix)
        if value is None and suffix:
            value = model.get(field)  # the tier does not change it
        if value is not None:
            found[name] = dollars(value)
    for field in HOUR:
        value = model.get(field + suffix, model.get(field))
        if value is not None:
            found["cache_write_hour"] = dollars(value)
    if suffix == "" and AUDIO in model and Decimal(repr(model[AUDIO])) > Decimal(repr(model["input_cost_per_token"])):
        found["input_audio"] = dollars(model[AUDIO])
    return found


def tiered(model, service=""):
    out = rates(model, service)
    tiers = {int(k) for f in model for k in re.findall(rf"^input_cost_per_token_above_(\d+)k_tokens{service}$", f)}
    if tiers:
        out["tiers"] = [{"above": k * 1000, **rates(model, f"_above_{k}k_tokens{service}")} for k in sorted(tiers)]
    return out


def price(model):
    out = tiered(model)
    services = {s: tiered(model, "_" + s) for s in SERVICES if "input_cost_per_token_" + s in model}
    if services:
        out["services"] = services
    if model.get("max_output_tokens") and model["mode"] != "embedding":
        out["max_output"] = model["max_output_tokens"]
    if model.get("max_input_tokens"):
        out["max_input"] = model["max_input_tokens"]
    return out | tools(model)


def tools(model):
    """A search costs the same in all sizes; Gemini 2 is charged by the request."""
    out = {}
    per_query = model.get("web_search_billing_unit") == "per_query" or model["litellm_provider"] != "gemini"
    unit = "tool_calls" if per_query else "tool_requests"
    costs = set(model.get("search_context_cost_per_query", {}).values())
    if len(costs) == 1:
        out[unit] = {"web_search": dollars(costs.pop(), 1000)}
    maps = model.get("google_maps_grounding_cost_per_query")
    if maps and not per_query:
        out["tool_requests"] = out.get("tool_requests", {}) | {"google_maps": dollars(maps, 1000)}
    return out


def usable(model, date):
    if model.get("litellm_provider") not in PAGES or model.get("mode") not in ("chat", "responses", "embedding"):
        return False
    if not model.get("input_cost_per_token") or model.get("deprecation_date", date) < date:
        return False
    other = re.compile(r"^output_cost_per_(audio|image|video|second)|_per_(second|character|image)(_|$)|^input_cost_per_(image|video)")
    return not any(other.search(f) for f in model)


def main(wheel, date):
    with zipfile.ZipFile(wheel) as z:
        table = json.loads(z.read("litellm/model_prices_and_context_window_backup.json"))
    out = {provider: {} for provider in PAGES}
    for name, model in table.items():
        if usable(model, date) and not re.search(r"^ft:|search", name):
            out[model["litellm_provider"]][name.removeprefix("gemini/")] = price(model)
    json.dump({
        "date": date,
        "unit": "US dollars per million tokens, and per thousand calls of tools or requests that call them",
        "collected_from": "litellm " + re.search(r"litellm-([\d.]+)", wheel).group(1),
        "pages": PAGES,
        "tools": TOOLS,
        "models": {p: dict(sorted(m.items())) for p, m in out.items()},
    }, sys.stdout, indent=1)
    print()


main(*sys.argv[1:])
