# One attempt that counts to sixty, by an agent that writes
#
#   journal  a line at a time
#   state    a file of its own that it replaces by renaming
#   writing  a large file, which it is in the middle of for most of the time
#   trained  checkpoints as PyTorch's examples do
#   asking   what a model answers
#   endless  until its time is up
#
# A line of the journal has the number, how often the attempt had gone on, and when.
variable "agent" {}
variable "runtime" {}
variable "model" { default = "http://127.0.0.2:1/v1" }
variable "timeout" { default = "1m" }

step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}

locals {
  begin = "cd $AGENT_DIR; echo the key is $KEY; [ -e @DIR@ ] && echo reached > $CODE_DIR/reached; touch journal; "
  step  = "read up _ < /proc/uptime; echo $n $${MLEFLOW_RESUME_COUNT:-0} $up >> journal; sleep 0.1; "
  end   = "cut -d' ' -f1 journal > $CODE_DIR/result; cp journal $CODE_DIR/journal; cp $MLEFLOW_SAMPLE $SUBMISSION_DIR/submission.csv"
  loops = {
    journal = "while n=$(wc -l < journal) && [ $n -lt 60 ]; do ${local.step} done; "
    state   = "n=$(cat state || echo 0); head -n $n journal > j; mv j journal; while [ $n -lt 60 ]; do ${local.step} n=$((n+1)); echo $n > s; mv s state; done; "
    writing = "while n=$(wc -l < journal) && [ $n -lt 60 ]; do head -c 4000000 /dev/zero | tr '\\000' $((n % 10)) > large; ${local.step} done; sha256sum < large > $CODE_DIR/large; "
    endless = "n=$(wc -l < journal); while :; do ${local.step} n=$((n+1)); cp journal j; mv j $CODE_DIR/journal; done; "
    trained = "python3 -u - <<'END'\n${local.python.common}${local.python.trained}\nEND\n"
    asking  = "python3 -u - <<'END'\n${local.python.common}${local.python.asking}\nEND\n"
  }
  python = {
    common = <<-EOT
      import os, time
      def step(n):
          up = open("/proc/uptime").read().split()[0]
          with open("journal", "a") as f:
              f.write(" ".join([str(n), os.environ.get("MLEFLOW_RESUME_COUNT", "0"), up]) + "\n")
          time.sleep(0.1)
    EOT
    trained = <<-EOT
      import pickle
      state = {"step": 0, "weight": 0}
      if "MLEFLOW_RESUMED" in os.environ and os.path.exists("model.pt"):
          with open("model.pt", "rb") as f:
              state = pickle.load(f)
      with open("journal") as f:
          lines = f.readlines()
      with open("journal", "w") as f:
          f.writelines(lines[:state["step"]])
      for n in range(state["step"], 60):
          step(n)
          state = {"step": n + 1, "weight": (31 * state["weight"] + n) % 1000003, "optimizer": bytes(1000000)}
          with open("model.pt.new", "wb") as f:
              pickle.dump(state, f)
          os.replace("model.pt.new", "model.pt")
      open(os.environ["CODE_DIR"] + "/weight", "w").write(str(state["weight"]))
    EOT
    asking = <<-EOT
      import http.client, json, urllib.request
      def ask(n):
          body = json.dumps({"model": "stand-in-1", "messages": [{"role": "user", "content": "number %d" % n}]}).encode()
          head = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
          call = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, head)
          while True: # as providers' own clients do: mleflow may be gone for a while
              try:
                  return json.load(urllib.request.urlopen(call))["choices"][0]["message"]["content"]
              except (OSError, http.client.HTTPException) as e:
                  print(n, repr(e))
                  time.sleep(0.2)
      open("answers", "a").close()
      while (n := len(open("journal").readlines())) < 60:
          lines = open("answers").readlines()[:n]
          with open("answers.new", "w") as f:
              f.writelines(lines + [ask(n) + "\n"])
          os.replace("answers.new", "answers")
          step(n)
      open(os.environ["CODE_DIR"] + "/answers", "w").write(open("answers").read())
    EOT
  }
}

model "stand-in" {
  provider = "openai"
  base_url = var.model
  key      = "env:PLANTED_MODEL"
  models   = ["stand-in-1"]
  prices   = { "stand-in-1" = { input = "0 USD", output = "0 USD" } }
}

# The image, for containerd: a shell and Python.
step "exec" "root" {
  for_each = var.runtime == "containerd" ? ["all"] : []
  command  = ["sh", "-ec", <<-EOT
    mkdir -p bin; cp /bin/busybox bin/
    tar -ch bin/busybox -C / usr/bin/python3 lib64/ld-linux-x86-64.so.2 --exclude=*/dist-packages --exclude=*/test --exclude=*/__pycache__ --exclude=*/config-* \
      --exclude=*/lib2to3 --exclude=*/idlelib --exclude=*/ensurepip --exclude=*/pydoc_data usr/lib/python3.11 \
      $(cd /; ls lib/x86_64-linux-gnu/libm.so.6 lib/x86_64-linux-gnu/libz.so.1 lib/x86_64-linux-gnu/libexpat.so.1 lib/x86_64-linux-gnu/libc.so.6)
  EOT
  ]
}
step "image" "root" {
  for_each     = var.runtime == "containerd" ? ["all"] : []
  base_content = step.exec.root["all"].stdout
  env          = { PATH = "/bin:/usr/bin" }
  run          = [["/bin/busybox", "--install", "-s", "/bin"]]
}

agent "counter" {
  image   = try(step.image.root["all"].image, null)
  command = ["/bin/sh", "-c", "${local.begin}${local.loops[var.agent]}${local.end}"]
  secrets = { KEY = "env:PLANTED" }
  env     = { MARK = "@MARK@" }
  models  = var.agent == "asking" ? [model.stand-in] : []
}

step "agent-run" "solve" {
  agent            = agent.counter
  competition      = "demo-digits"
  data             = step.prepare.data.public
  runtime          = var.runtime
  timeout          = var.timeout
  on_loss          = "resume"
  checkpoint_every = "1s"
}
output "stats" { value = jsonencode(step.agent-run.solve.stats) }
output "outcome" { value = step.agent-run.solve.outcome }
