"""Asks a language model for a program that solves the competition, and runs it.

mleflow's gateway stands for the provider: the variables below have its address
and a key that is valid only there. MODEL is the model.
"""

import json
import os
import re
import subprocess
import sys
import urllib.request

MODEL = os.environ["MODEL"]
LIMIT = 10000  # tokens of an answer; the budget of a request is reserved by it


def ask(text):
    messages = [{"role": "user", "content": text}]
    if "ANTHROPIC_BASE_URL" in os.environ:
        answer = post(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", {"model": MODEL, "max_tokens": LIMIT, "messages": messages},
                      {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"})
        return "".join(part.get("text", "") for part in answer["content"])
    if "GOOGLE_GEMINI_BASE_URL" in os.environ:
        answer = post(os.environ["GOOGLE_GEMINI_BASE_URL"] + "/v1beta/models/" + MODEL + ":generateContent",
                      {"contents": [{"role": "user", "parts": [{"text": text}]}], "generationConfig": {"maxOutputTokens": LIMIT}},
                      {"x-goog-api-key": os.environ["GEMINI_API_KEY"]})
        return "".join(part.get("text", "") for part in answer["candidates"][0]["content"]["parts"])
    answer = post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", {"model": MODEL, "max_completion_tokens": LIMIT, "messages": messages},
                  {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    return answer["choices"][0]["message"]["content"]


def post(address, question, headers):
    request = urllib.request.Request(address, json.dumps(question).encode(), {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


with open(os.path.join(os.environ["DATA_DIR"], "description.md")) as f:
    task = f.read()
text = ask(task + "\nWrite a Python program without packages that solves this. It reads the folder in the environment variable DATA_DIR and "
           "writes submission.csv to the folder in SUBMISSION_DIR. Answer with the program alone.")
block = re.search(r"```(?:python)?\n(.*?)```", text, re.DOTALL)
program = os.path.join(os.environ["CODE_DIR"], "solve.py")
with open(program, "w") as f:
    f.write(block[1] if block else text)
subprocess.run([sys.executable, program], check=True)
