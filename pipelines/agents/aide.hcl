# AIDE (aideml 0.2.2, MIT), an agent that searches over solutions, by its package on
# PyPI. pipelines/aide.hcl runs it as in published runs.

variable "aide_feedback_model" {
  type        = string
  default     = null
  description = "The model that judges what AIDE's solutions printed; null is the one that writes them."
}

variable "aide_steps" {
  type        = number
  default     = 500
  description = "Maximum number of solutions that AIDE writes."
}

variable "aide_drafts" {
  type        = number
  default     = 5
  description = "Number of first drafts among them."
}

variable "aide_step_hours" {
  type        = number
  default     = 9
  description = "Time limit per solution of AIDE, in hours."
}

locals {
  aide_model    = coalesce(var.model, "gpt-4o-2024-08-06")
  aide_feedback = coalesce(var.aide_feedback_model, local.aide_model)

  # What AIDE itself imports; its solutions use the packages of the base image.
  # aideml declares far more (torch, transformers and others) for them: name what
  # they should have in packages. Each with its version and the digest of its wheel.
  aide_packages = [
    "aideml==0.2.2 --hash=sha256:cdb7042207fc6e4ad15a29f45ccfb0015e1fe7c510e0fab8656e4df7163afce5",
    "annotated-types==0.8.0 --hash=sha256:f072f4d804ea359e4eaf198b1af7a8b0943881a87f31bb764f8bf219bb9419e0",
    "anthropic==0.69.0 --hash=sha256:1f73193040f33f11e27c2cd6ec25f24fe7c3f193dc1c5cde6b7a08b18a16bcc5",
    "anyio==4.16.0 --hash=sha256:c66ae634e0b8228396b801741beb3294326d4b6102f7bba4041c0dfb58c29026",
    "attrs==26.1.0 --hash=sha256:c647aa4a12dfbad9333ca4e71fe62ddc36f4e63b2d260a37a8b83d2f043ac309",
    "backoff==2.2.1 --hash=sha256:63579f9a0628e06278f7e47b7d7d5b6ce20dc65c5e96a6f3ca99a6adca0396e8",
    "black==24.3.0 --hash=sha256:41622020d7120e01d377f74249e677039d20e6344ff5851de8a10f11f513bf93",
    "click==8.5.1 --hash=sha256:8bb5376d2006950386f8c6427613334a2acadc5f559cb80e638d00b4df957e37",
    "coolname==2.2.0 --hash=sha256:4d1563186cfaf71b394d5df4c744f8c41303b6846413645e31d31915cdeb13e8",
    "dataclasses-json==0.6.7 --hash=sha256:0dbf33f26c8d5305befd61b39d2b3414e8a407bedc2834dea9b8d642666fb40a",
    "distro==1.9.0 --hash=sha256:7bffd925d65168f85027d8da9af6bddab658135b840670a223589bc0c8ef02b2",
    "docstring_parser==0.18.0 --hash=sha256:b3fcbed555c47d8479be0796ef7e19c2670d428d72e96da63f3a40122860374b",
    "funcy==2.0 --hash=sha256:53df23c8bb1651b12f095df764bfb057935d49537a56de211b098f4c79614bb0",
    "genson==1.3.0 --hash=sha256:468feccd00274cc7e4c09e84b08704270ba8d95232aa280f65b986139cec67f7",
    "h11==0.16.0 --hash=sha256:63cf8bbe7522de3bf65932fda1d9c2772064ffb3dae62d55932da54b31cb6c86",
    "httpcore==1.0.9 --hash=sha256:2d400746a40668fc9dec9810239072b40b4484b640a8c38fd654a024c7a1bf55",
    "httpx==0.28.1 --hash=sha256:d909fcccc110f8c7faf814ca82a9a4d816bc5a6dbfea25d6591d6985b8ba59ad",
    "humanize==4.8.0 --hash=sha256:8bc9e2bb9315e61ec06bf690151ae35aeb65651ab091266941edf97c90836404",
    "igraph==0.11.8 --hash=sha256:e2e3abe641622cd9c95eb152c97caa22e68257a524cc1851a099b066f8f5c5f3",
    "jiter==0.19.0 --hash=sha256:3b27d6bec319dc17cdced13e495f90ce066676ca296fc56f2dd2128f6a7599ed",
    "jsonschema-specifications==2025.9.1 --hash=sha256:98802fee3a11ee76ecaca44429fda8a41bff98b00a0f2838151b113f210cc6fe",
    "jsonschema==4.19.2 --hash=sha256:eee9e502c788e89cb166d4d37f43084e3b64ab405c795c03d343a4dbc2c810fc",
    "markdown-it-py==4.3.0 --hash=sha256:7aa1511a46c39138de78d9eba92ce47e63124d8003fc98b3a351909e04239efa",
    "marshmallow==3.26.2 --hash=sha256:013fa8a3c4c276c24d26d84ce934dc964e2aa794345a0f8c7e5a7191482c8a73",
    "mdurl==0.1.2 --hash=sha256:84008a41e51615a49fc9966191ff91509e3c40b939176e643fd50a5c2196b8f8",
    "mypy_extensions==1.2.0 --hash=sha256:993e7a20aa5671eb41a7132cf555af30062da99729601601b9a8382b11cae768",
    "omegaconf==2.4.0 --hash=sha256:f141a664c777582405e3cc6e0545ecc79429e79f844995b1a6e71c35946a025c",
    "openai==1.109.1 --hash=sha256:6bcaf57086cf59159b8e27447e4e7dd019db5d29a438072fbd49c290c7e65315",
    "packaging==26.3 --hash=sha256:d7193f7c8e4e93f444fde0262bf90af30e16fa0ad0ad44cb553c87339b23cd1c",
    "pathspec==1.1.1 --hash=sha256:a00ce642f577bf7f473932318056212bc4f8bfdf53128c78bbd5af0b9b20b189",
    "platformdirs==4.14.7 --hash=sha256:391513b74707c42335fff3ea17eaac657a7ee9ffcadd809634d34ea594d0122c",
    "pydantic==2.14.3 --hash=sha256:3f7b347782ab7e4cf4c798496ae3a82787d9f21ec12676a9c564355eeef8daa8",
    "pydantic_core==2.50.4 --hash=sha256:fb2bb5b557080da398b866408117d98fe9731a12334afd0cdff221b458cdc5dc",
    "Pygments==2.21.0 --hash=sha256:2363c69b61c4a97c838da3b130dcd6468f4848992b21a82f2a63ec34377137d9",
    "PyYAML==6.0.3 --hash=sha256:0f29edc409a6392443abf94b9cf89ce99889a1dd5376d94316ae5145dfedd5d6",
    "referencing==0.37.0 --hash=sha256:381329a9f99628c9069361716891d34ad94af76e461dcb0335825aecc7692231",
    "rich==13.7.0 --hash=sha256:6da14c108c4866ee9520bbffa71f6fe3962e193b7da68720583850cd4548e235",
    "rpds-py==2026.9.1 --hash=sha256:7868b85224291c6cb6759f9b5adb9745f486d226f62b16a614dd5a2a5ab2b35b",
    "shutup==0.2.0 --hash=sha256:e4c772aad82c689eddaf99d4d1474291d7d66d4c81f44676f3e3ce8245c93e71",
    "sniffio==1.3.1 --hash=sha256:2f6da418d1f1e0fddd844478f41680e794e6051915791a034ff65e5f100525a2",
    "texttable==1.7.2 --hash=sha256:a381e1ed30e4d4bd24cdacabe26463b7a570c0e964fc0b35d8d9276b2fcbe252",
    "tqdm==4.70.1 --hash=sha256:c293e525e6fef9c20e8728fd4612df02a0aa31bb5fe91ecd93e123b1b7bffa73",
    "typing-inspect==0.9.0 --hash=sha256:9ee6fc59062311ef8547596ab6b955e1b8aa46242d854bfc78f4f6b0eff35f9f",
    "typing-inspection==0.4.5 --hash=sha256:bc210535442b39e1bf2805e0c7a17dfd6a4ace760c84c7f7d16245d23a6b1c39",
    "typing_extensions==4.16.0 --hash=sha256:481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8",
  ]
}

# AIDE asks for temperatures, which newer models refuse, so its default model is
# that of the published runs.
model "aide" {
  provider = "openai"
  base_url = var.base_url
  key      = coalesce(var.key, "env:OPENAI_API_KEY")
  models   = distinct([local.aide_model, local.aide_feedback])
  prices   = var.prices
  budget {
    cost = var.budget
  }
}

step "image" "aide" {
  for_each     = setintersection(local.agents, ["aide"])
  timeout      = "1h"
  base_content = step.image.debian["trixie"].image
  run = [["sh", "-ec", <<-EOT
    /opt/science/bin/pip install --quiet --no-cache-dir --no-compile --no-deps --require-hashes --target=/opt/aide/lib -r /opt/aide/packages
    find /opt/aide -name __pycache__ -prune -exec rm -r {} +
    PYTHONDONTWRITEBYTECODE=1 python3 -m compileall -q --invalidation-mode unchecked-hash /opt/aide/lib || true # some packages hold files for other versions
  EOT
  ]]
  texts = {
    "/opt/aide/packages" = join("\n", local.aide_packages)

    # The shape of the agents of MLE-bench: prepare the task's text, link the
    # folders, start with a time limit, pass arguments on.
    "/opt/aide/start.sh" = <<-EOT
      set -eu
      cd "$AGENT_DIR"
      task="$AGENT_DIR/full_instructions.txt"
      export SEARCH_SECONDS="$((TIME_LIMIT_SECS > 120 ? TIME_LIMIT_SECS - 60 : TIME_LIMIT_SECS * 3 / 4))"

      hardware="a CPU"
      if command -v nvidia-smi >/dev/null && nvidia-smi >/dev/null 2>&1; then
        hardware="$(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | tr -s ' ' | paste -s -d , -)"
      fi

      # AIDE works in a folder of its own, where paths are relative.
      {
        sed 's|/home/||g' "$INSTRUCTIONS_FILE"
        echo
        sed -e "s|@HARDWARE@|$hardware|" -e "s|@HOURS@|$((SEARCH_SECONDS / 3600)) h $((SEARCH_SECONDS % 3600 / 60)) min|" \
          -e "s|@STEPS@|$STEP_LIMIT|" /opt/aide/notes.txt
        printf '\nThe competition\n\n'
        cat "$DATA_DIR/description.md"
      } >"$task"

      mkdir -p workspaces/exp logs
      ln -sfn "$LOGS_DIR" logs/exp
      ln -sfn "$CODE_DIR" workspaces/exp/best_solution
      ln -sfn "$SUBMISSION_DIR" workspaces/exp/best_submission

      status=0
      PYTHONPATH=/opt/aide/lib timeout --kill-after=5 "$SEARCH_SECONDS" \
        python3 /opt/aide/search.py "data_dir=$DATA_DIR" "desc_file=$task" exp_name=exp "$@" || status=$?
      if [ "$status" = 124 ]; then
        echo "stopped after $SEARCH_SECONDS s"
        exit 0
      fi
      exit "$status"
    EOT

    "/opt/aide/notes.txt" = <<-EOT
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
    "/opt/aide/search.py" = <<-EOT
      import os
      import shutil
      import time
      from pathlib import Path

      from omegaconf import OmegaConf

      from aide.agent import Agent
      from aide.backend import backend_openai
      from aide.interpreter import Interpreter
      from aide.journal import Journal
      from aide.utils.config import load_cfg, load_task_desc, prep_agent_workspace, save_run

      # AIDE has a fixed address for models whose names begin with gpt- or o1.
      backend_openai.OPENAI_BASE_URL = os.environ["OPENAI_BASE_URL"]

      end = time.monotonic() + float(os.environ["SEARCH_SECONDS"])
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

  network {
    open = true
  }
}

agent "aide" {
  image   = try(step.image.aide["aide"].image, null)
  command = ["sh", "/opt/aide/start.sh"]
  models  = [model.aide]
  args = [
    "agent.code.model=${local.aide_model}",
    "agent.feedback.model=${local.aide_feedback}",
    "agent.steps=${var.aide_steps}",
    "agent.search.num_drafts=${var.aide_drafts}",
    "agent.search.max_debug_depth=20", # as in the published runs: debug broken solutions up to 20 times
    "agent.search.debug_prob=1",
    "exec.timeout=${floor(var.aide_step_hours * 3600)}",
    "generate_report=false",
  ]
  env = { STEP_LIMIT = tostring(var.aide_steps) }
}
