"""Asks the model once and submits the sample, or sleeps."""

import json
import os
import shutil
import sys
import time
import urllib.request

if sys.argv[1] == "sleep":
    time.sleep(120)
question = {"model": "gpt-4o-2024-08-06", "max_tokens": 100, "messages": [{"role": "user", "content": "Which digit?"}]}
headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
urllib.request.urlopen(urllib.request.Request(url, json.dumps(question).encode(), headers)).read()
print("asked <script>")
sample = os.path.join(os.environ["DATA_DIR"], "sample_submission.csv")
shutil.copy(sample, os.path.join(os.environ["SUBMISSION_DIR"], "submission.csv"))
