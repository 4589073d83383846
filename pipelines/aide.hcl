# AIDE, an agent that searches over solutions written by a language model, on
# the demonstration competitions or those you name. Its image is built here from
# Debian and Python packages. It runs isolated and can reach only the model.
#
#   export OPENAI_API_KEY=…
#   mleflow plan  pipelines/aide.hcl
#   mleflow apply pipelines/aide.hcl -var 'competitions=["leaf-classification"]'
#
# It needs root, containerd, runc and mmdebstrap (mleflow doctor says what is
# missing). The image is built once, and cached.
# Another server that speaks OpenAI's protocol, on this machine or elsewhere:
#
#   mleflow apply pipelines/aide.hcl -var base_url=http://10.0.0.5:8000/v1 \
#     -var 'allow=["10.0.0.5:8000"]' -var model=my-model -var feedback_model=my-model

mleflow {
  required_version = ">= 0.1"
}

variable "competitions" {
  type        = list(string)
  default     = ["demo-digits"]
  description = "Identifiers of the competitions."
}

variable "seeds" {
  type        = number
  default     = 1
  description = "Number of attempts per competition."
}

variable "task" {
  type        = string
  default     = "reference"
  description = "The texts of the agent's task: reference (MLE-bench's, byte for byte), obfuscated (MLE-bench's variant, which names neither Kaggle nor the competition) or own (our short text, whose scores cannot be compared with published ones). The demonstration competitions have only our own."
}

variable "model" {
  type        = string
  default     = "gpt-4o-2024-08-06"
  description = "The model that writes code. AIDE sends requests for models whose names begin with gpt- to OpenAI's own address, even with base_url."
}

variable "feedback_model" {
  type        = string
  default     = "gpt-4o-2024-08-06"
  description = "The model that judges what the code printed."
}

variable "base_url" {
  type        = string
  default     = ""
  description = "Address of another server that speaks OpenAI's protocol; empty is OpenAI's own."
}

variable "allow" {
  type        = list(string)
  default     = ["api.openai.com:443"]
  description = "Hosts and ports that AIDE may reach."
}

variable "api_key" {
  type        = string
  default     = "env:OPENAI_API_KEY"
  description = "Where the key is: env:NAME, file:PATH or command:LINE. It is read when the agent starts and stored nowhere."
}

variable "steps" {
  type        = number
  default     = 500
  description = "Maximum number of solutions that AIDE writes."
}

variable "drafts" {
  type        = number
  default     = 5
  description = "Number of first drafts among them."
}

variable "hours" {
  type        = number
  default     = 24
  description = "Time limit per attempt, in hours."
}

variable "step_hours" {
  type        = number
  default     = 9
  description = "Time limit per solution, in hours."
}

variable "cpus" {
  type        = number
  default     = 2
  description = "CPUs per attempt."
}

variable "memory" {
  type        = string
  default     = "4GiB"
  description = "Memory per attempt."
}

variable "gpus" {
  type        = number
  default     = 0
  description = "GPUs per attempt. Add the packages that use them to local.packages."
}

variable "mirror" {
  type        = string
  default     = null
  description = "Address of a mirror of Debian, such as a dated one of a snapshot service; null is Debian's usual mirror. The packages of one date always give the same base."
}

variable "raw" {
  type        = string
  default     = null
  description = "Folder that has, for each competition, a folder <id> or an archive <id>.zip; null downloads the data from the competition's source."
}

locals {
  runs = {
    for run in setproduct(var.competitions, range(var.seeds)) :
    "${run[0]}/${run[1]}" => { competition = run[0], seed = run[1] }
  }

  # aideml declares far more (torch, transformers and so on) for its solutions to
  # use. These are what it needs itself and what a solution for tables needs, each
  # with its version, so that the image can be built again.
  packages = [
    "annotated-types==0.8.0", "anthropic==0.69.0", "antlr4-python3-runtime==4.9.3", "anyio==4.16.0", "attrs==26.1.0",
    "backoff==2.2.1", "black==24.3.0", "certifi==2026.10.18", "click==8.5.1", "cloudpickle==3.1.2", "coolname==2.2.0",
    "dataclasses-json==0.6.7", "distro==1.9.0", "docstring-parser==0.18.0", "funcy==2.0", "genson==1.3.0", "h11==0.16.0",
    "httpcore==1.0.9", "httpx==0.28.1", "humanize==4.8.0", "idna==3.20", "igraph==0.11.8", "jiter==0.19.0", "joblib==1.6.0",
    "jsonschema==4.19.2", "jsonschema-specifications==2025.9.1", "markdown-it-py==4.3.0", "marshmallow==3.26.2",
    "mdurl==0.1.2", "mypy-extensions==1.2.0", "numpy==1.26.2", "omegaconf==2.3.0", "openai==1.109.1", "packaging==26.3",
    "pandas==2.1.4", "pathspec==1.1.1", "platformdirs==4.14.5", "pydantic==2.14.3", "pydantic-core==2.50.4",
    "pygments==2.21.0", "python-dateutil==4.0.0", "pytz==2026.6", "pyyaml==6.0.3", "referencing==0.37.0", "rich==13.7.0",
    "rpds-py==2026.9.1", "scikit-learn==1.5.0", "scipy==1.11.4", "shutup==0.2.0", "sniffio==1.3.1", "texttable==1.7.2",
    "threadpoolctl==3.8.0", "tqdm==4.66.3", "typing-extensions==4.16.0", "typing-inspect==0.9.0", "typing-inspection==0.4.5",
    "tzdata==2026.6",
  ]
}

# Debian with Python, as a root file system on standard output. It needs root, but
# no registry and no Docker. The same packages give the same files, since what
# differs from run to run is removed.
step "exec" "debian" {
  timeout = "30m"
  command = concat([
    "mmdebstrap", "--quiet", "--variant=minbase", "--include=python3,python3-venv,ca-certificates,curl",
    "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    # Compiled again, so that they are valid for files of any date.
    "--customize-hook=find \"$1/usr\" -name __pycache__ -prune -exec rm -r {} +",
    "--customize-hook=chroot \"$1\" python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3.11",
    "--customize-hook=rm -rf \"$1\"/var/cache/ldconfig/aux-cache \"$1\"/var/log/* \"$1\"/etc/machine-id",
    "bookworm", "-"],
    var.mirror == null ? [] : [var.mirror],
  )
  env = { SOURCE_DATE_EPOCH = "0" }

  retry {
    attempts = 2
  }
}

step "image" "aide" {
  timeout      = "1h"
  base_content = step.exec.debian.stdout
  env = {
    PATH             = "/opt/aide/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    PYTHONUNBUFFERED = "1"
  }
  # One command, so that no layer has files compiled for today's dates.
  run = [["sh", "-ec", <<-EOT
    python3 -m venv /opt/aide
    /opt/aide/bin/pip install --no-cache-dir --no-compile --no-deps aideml==0.2.2 ${join(" ", local.packages)}
    find /opt/aide -name __pycache__ -prune -exec rm -r {} +
    PYTHONDONTWRITEBYTECODE=1 python3 -m compileall -q --invalidation-mode unchecked-hash /opt/aide/lib || true # a package holds what only other versions compile
  EOT
  ]]
  texts = {
    # The shape of the agents of MLE-bench: prepare the task's text, link the
    # folders, start with a time limit, pass arguments on.
    "/home/agent/start.sh" = <<-EOT
      #!/bin/sh
      set -eu
      cd "$AGENT_DIR"
      task="$AGENT_DIR/full_instructions.txt"

      hardware="a CPU"
      if command -v nvidia-smi >/dev/null && nvidia-smi >/dev/null 2>&1; then
        hardware="$(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | tr -s ' ' | paste -s -d , -)"
      fi

      # AIDE works in a folder of its own, where paths are relative.
      {
        sed 's|/home/||g' /home/instructions.txt
        echo
        sed -e "s|@HARDWARE@|$hardware|" -e "s|@HOURS@|$(($TIME_LIMIT_SECS / 3600)) h $(($TIME_LIMIT_SECS % 3600 / 60)) min|" \
          -e "s|@STEPS@|$STEP_LIMIT|" "$AGENT_DIR/additional_notes.txt"
        printf '\nThe competition\n\n'
        cat /home/data/description.md
      } >"$task"

      mkdir -p workspaces/exp logs
      ln -sfn "$LOGS_DIR" logs/exp
      ln -sfn "$CODE_DIR" workspaces/exp/best_solution
      ln -sfn "$SUBMISSION_DIR" workspaces/exp/best_submission

      status=0
      timeout "$TIME_LIMIT_SECS" python3 "$AGENT_DIR/search.py" data_dir=/home/data desc_file="$task" exp_name=exp "$@" || status=$?
      if [ "$status" = 124 ]; then
        echo "stopped after $TIME_LIMIT_SECS s"
        exit 0
      fi
      exit "$status"
    EOT

    "/home/agent/additional_notes.txt" = <<-EOT
      Further notes

      - Hardware: @HARDWARE@.
      - Time: @HOURS@ in all, the running of your programs included.
      - Solutions: at most @STEPS@.
      - Before each solution you are told what is left of both.
      - Use what you are given. A first valid submission is a beginning: check it against the server above, hold out
        data to measure yourself, compare methods, and improve. The best one counts at the end.
    EOT

    # Runs the search of the package aideml, keeps the best submission at the
    # place where it is graded, and tells the model what time is left.
    "/home/agent/search.py" = <<-EOT
      import os
      import shutil
      import time
      from pathlib import Path

      from omegaconf import OmegaConf

      from aide.agent import Agent
      from aide.interpreter import Interpreter
      from aide.journal import Journal
      from aide.utils.config import load_cfg, load_task_desc, prep_agent_workspace, save_run

      end = time.monotonic() + float(os.environ["TIME_LIMIT_SECS"])
      base = Path(os.environ["AGENT_DIR"])
      submissions, code = Path(os.environ["SUBMISSION_DIR"]), Path(os.environ["CODE_DIR"])


      def keep(source, target):
          part = target.with_name("." + target.name + ".part")
          shutil.copyfile(source, part)
          part.replace(target)


      cfg = load_cfg()
      cfg.workspace_dir, cfg.log_dir = base / "workspaces" / "exp", base / "logs" / "exp"
      cfg.copy_data = False
      task = load_task_desc(cfg)
      prep_agent_workspace(cfg)
      journal = Journal()
      agent = Agent(task_desc=task, cfg=cfg, journal=journal)
      interpreter = Interpreter(cfg.workspace_dir, **OmegaConf.to_container(cfg.exec))
      written = cfg.workspace_dir / "working" / "submission.csv"

      for step in range(cfg.agent.steps):
          left = end - time.monotonic()
          if left < 10:
              print("no time for another solution")
              break
          agent.task_desc = f"{task}\n\nLeft: {left / 60:.0f} minutes, {cfg.agent.steps - step} solutions.\n"
          interpreter.timeout = max(1, int(min(cfg.exec.timeout, left - 5)))
          written.unlink(missing_ok=True)
          agent.step(exec_callback=interpreter.run)
          save_run(cfg, journal)
          node, best = journal[-1], journal.get_best_node()
          print(f"solution {step + 1}: {'bug' if node.is_buggy else node.metric.value}", flush=True)
          first = not any(submissions.glob("*.csv"))
          if written.exists() and (best is node or first):
              keep(written, submissions / "submission.csv")
          if best is node:
              (code / "best_solution.py").write_text(node.code)
      interpreter.cleanup_session()
    EOT
  }

  # The commands fetch packages. The agent has no such network.
  network {
    open = true
  }
}

agent "aide" {
  image   = step.image.aide.image
  command = ["/home/agent/start.sh"]
  args = [
    "agent.code.model=${var.model}",
    "agent.feedback.model=${var.feedback_model}",
    "agent.steps=${var.steps}",
    "agent.search.num_drafts=${var.drafts}",
    "agent.search.max_debug_depth=20", # as in the published runs: debug broken solutions up to 20 times
    "agent.search.debug_prob=1",
    "exec.timeout=${floor(var.step_hours * 3600)}",
    "generate_report=false",
  ]
  env = merge(
    { TIME_LIMIT_SECS = tostring(floor(var.hours * 3600)), STEP_LIMIT = tostring(var.steps) },
    var.base_url == "" ? {} : { OPENAI_BASE_URL = var.base_url },
  )
  secrets = { OPENAI_API_KEY = var.api_key }
}

step "download" "raw" {
  for_each    = var.competitions
  competition = each.key
  from        = var.raw == null ? null : "${var.raw}/${each.key}"
}

step "prepare" "data" {
  for_each    = var.competitions
  competition = each.key
  raw         = step.download.raw[each.key].tree
}

step "checksum" "data" {
  for_each    = var.competitions
  competition = each.key
  prepared    = step.prepare.data[each.key]
}

# The time limit is a little longer than AIDE's own, so that AIDE ends by itself.
step "agent-run" "solve" {
  for_each       = local.runs
  agent          = agent.aide
  competition    = each.value.competition
  seed           = each.value.seed
  data           = step.checksum.data[each.value.competition].public
  task           = contains(competitions("demo"), each.value.competition) ? "own" : var.task
  runtime        = "containerd"
  timeout        = "${floor(var.hours * 3600) + 300}s"
  snapshot_every = "10m"

  resources {
    cpus   = var.cpus
    memory = var.memory
    gpus   = var.gpus
  }

  network {
    allow = var.allow
  }
}

step "grade" "score" {
  for_each    = local.runs
  competition = each.value.competition
  submission  = step.agent-run.solve[each.key].submission
  snapshots   = step.agent-run.solve[each.key].snapshots
  answers     = step.checksum.data[each.value.competition].private
  labels      = { agent = "aide", model = var.model, seed = each.value.seed }
}

step "aggregate" "board" {
  reports  = values(step.grade.score)[*].report
  group_by = "complexity"
  title    = "AIDE"
}

output "leaderboard" {
  value       = step.aggregate.board.table
  description = "Mean score and standard error over seeds; medals against the competition's human leaderboard."
}

output "image" {
  value       = step.image.aide.digest
  description = "Digest of AIDE's image."
}
