"""Asks the policy twice, and submits the sample."""

import json
import os
import sys
import urllib.request

headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
messages = [{"role": "user", "content": "Which rows?"}]
for _ in range(2):
    question = json.dumps({"model": "policy-0", "max_tokens": 8, "messages": messages}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", question, headers)
    said = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
    messages += [{"role": "assistant", "content": said}, {"role": "user", "content": "Sure?"}]
os.execv(sys.argv[1], ["mleflow", "agent", "dummy"])
