# MLAB as MLE-bench runs it: start.sh, notes, task folder and arguments of a checkout
# of openai/mle-bench, and the fork of MLAgentBench that its Dockerfile clones, both by
# commit.
#
#   mleflow apply pipelines/lite.hcl -var agent=mlab
#
# As with reference-aide, the image is Debian with what MLAB imports, in place of
# Ubuntu with conda and packages for solutions; -var packages=… adds those. MLAB
# imports torch for models of Hugging Face that it runs itself, which it is not asked
# to do here, so an empty module of this name is enough for it.

variable "mlab" {
  type        = string
  default     = "https://github.com/JunShern/MLAgentBench"
  description = "The repository of the MLAgentBench that MLE-bench uses: an address, or the absolute path of a clone."
}

variable "mlab_commit" {
  type        = string
  default     = "328c713c02ea43e63f2d11cd7fd1293acb58f09f"
  description = "The commit of this MLAgentBench."
}

variable "mlab_steps" {
  type        = number
  default     = 2000
  description = "Maximum number of actions that MLAB takes."
}

locals {
  # What MLAB imports, in the versions of its requirements where it names one. The
  # base image has the rest, with a newer NumPy than langchain asks for.
  mlab_packages = [
    "aiohappyeyeballs==2.7.1 --hash=sha256:9243213661e29250eb41368e5daa826fc017156c3b8a11440826b2e3ed376472",
    "aiohttp==3.14.5 --hash=sha256:1ffa3a523a36d8628f98c06492ae16a31a23d14c0b4ec721757b477319f656d6",
    "aiosignal==1.4.0 --hash=sha256:053243f8b92b990551949e63930a839ff0cf0b0ebbe0597b0f3fb19e1a0fe82e",
    "annotated-types==0.8.0 --hash=sha256:f072f4d804ea359e4eaf198b1af7a8b0943881a87f31bb764f8bf219bb9419e0",
    "anthropic==0.34.1 --hash=sha256:2fa26710809d0960d970f26cd0be3686437250a481edb95c33d837aa5fa24158",
    "anyio==4.16.0 --hash=sha256:c66ae634e0b8228396b801741beb3294326d4b6102f7bba4041c0dfb58c29026",
    "async-timeout==4.0.3 --hash=sha256:7405140ff1230c310e51dc27b3145b9092d659ce68ff733fb0cefe3ee42be028",
    "attrs==26.1.0 --hash=sha256:c647aa4a12dfbad9333ca4e71fe62ddc36f4e63b2d260a37a8b83d2f043ac309",
    "dacite==1.9.2 --hash=sha256:053f7c3f5128ca2e9aceb66892b1a3c8936d02c686e707bee96e19deef4bc4a0",
    "defusedxml==0.7.1 --hash=sha256:a352e7e428770286cc899e2542b6cdaedb2b4953ff269a210103ec58f6198a61",
    "distro==1.9.0 --hash=sha256:7bffd925d65168f85027d8da9af6bddab658135b840670a223589bc0c8ef02b2",
    "filelock==4.2.12 --hash=sha256:21decfec02f116ed4c954433cdb31f28c3b346b784543177b6d7059da2702ee9",
    "frozenlist==1.8.0 --hash=sha256:fb30f9626572a76dfe4293c7194a09fb1fe93ba94c7d4f720dfae3b646b45027",
    "fsspec==2026.9.0 --hash=sha256:8dd6e646e99ea382bd85f97a45e6b526a442d79423a7dc673f1e2756d05fcb5f",
    "h11==0.16.0 --hash=sha256:63cf8bbe7522de3bf65932fda1d9c2772064ffb3dae62d55932da54b31cb6c86",
    "hf-xet==1.8.0 --hash=sha256:29dab7c904cd1914a0439c6e1306c12c7497c8bd32290fbe563ebf51ca4b6d6d",
    "httpcore==1.0.9 --hash=sha256:2d400746a40668fc9dec9810239072b40b4484b640a8c38fd654a024c7a1bf55",
    "httpx==0.27.2 --hash=sha256:7bb2708e112d8fdd7829cd4243970f0c223274051cb35ee80c03301ee29a3df0",
    "huggingface_hub==0.36.2 --hash=sha256:48f0c8eac16145dfce371e9d2d7772854a4f591bcb56c9cf548accf531d54270",
    "jiter==0.19.0 --hash=sha256:3b27d6bec319dc17cdced13e495f90ce066676ca296fc56f2dd2128f6a7599ed",
    "jsonpatch==1.47 --hash=sha256:c9ba6de59c481bf2be05041514ecb0d97f994aa645c4e00831805dbe2281811a",
    "jsonpointer==3.12 --hash=sha256:89f391335ee2719ae72149e1bf30a4d4c7c5d92f15a3f53faa8d20cc7c6c7f19",
    "langchain-anthropic==0.1.23 --hash=sha256:89cafdaf4c9e522484b0ca8bafcceb0a5e4ffca89f7c7c9cec1e2ba411208208",
    "langchain-core==0.2.43 --hash=sha256:619601235113298ebf8252a349754b7c28d3cf7166c7c922da24944b78a9363a",
    "langchain-text-splitters==0.2.4 --hash=sha256:2702dee5b7cbdd595ccbe43b8d38d01a34aa8583f4d6a5a68ad2305ae3e7b645",
    "langchain==0.2.10 --hash=sha256:b4fb58c7faf4f4999cfe3325474979a7121a1737dd101655a723a1d957ef0617",
    "langsmith==0.1.147 --hash=sha256:7166fc23b965ccf839d64945a78e9f1157757add228b086141eb03a60d699a15",
    "multidict==7.2.1 --hash=sha256:cd69c99affd1b4debc1f9a53058ea6e3a9b34f2e733840bb45891666cd8ede0a",
    "openai==0.28.0 --hash=sha256:d207ece78469be5648eb87b825753282225155a29d0eec6e02013ddbf8c31c0c",
    "orjson==3.13.0 --hash=sha256:cbed5f4c4b88d94bcc36115f4c3bb3aa25da1563a5c3328aa3acebce2b083040",
    "packaging==24.2 --hash=sha256:09abb1bccd265c01f4a3aa3f7a7db064b36514d2cba19a2f694fe6150451a759",
    "propcache==0.5.4 --hash=sha256:f85915e00dcb1cd9f2f890ead064ed40a27df06f0db65be427b29482ae357572",
    "pydantic==2.14.3 --hash=sha256:3f7b347782ab7e4cf4c798496ae3a82787d9f21ec12676a9c564355eeef8daa8",
    "pydantic_core==2.50.4 --hash=sha256:fb2bb5b557080da398b866408117d98fe9731a12334afd0cdff221b458cdc5dc",
    "PyYAML==6.0.3 --hash=sha256:0f29edc409a6392443abf94b9cf89ce99889a1dd5376d94316ae5145dfedd5d6",
    "regex==2026.11.15 --hash=sha256:7ad141cdbb94ee48a9128b7118bf82b4df2b80f3b3caa22c36045da49e765481",
    "requests-toolbelt==1.0.0 --hash=sha256:cccfdd665f0a24fcf4726e690f65639d272bb0637b9b92dfd91a5568ccf6bd06",
    "safetensors==0.8.0 --hash=sha256:fd6f3f93c9a0a7cc2788ee63fb763353d4bd2e89b0751bc78fcf7dda00bea774",
    "sniffio==1.3.1 --hash=sha256:2f6da418d1f1e0fddd844478f41680e794e6051915791a034ff65e5f100525a2",
    "SQLAlchemy==2.1.9 --hash=sha256:15fb00f016b72e4e89bff3cd3b71f95012882aa5493c6c8c92a46d40714fa0dc",
    "tenacity==8.5.0 --hash=sha256:b594c2a5945830c267ce6b79a166228323ed52718f30302c1359836112346687",
    "tiktoken==0.14.0 --hash=sha256:26e60f6a956ee171ab728b37b8439905d7ea1db435c30f9822f291e9861c861d",
    "tokenizers==0.22.2 --hash=sha256:369cc9fc8cc10cb24143873a0d95438bb8ee257bb80c71989e3ee290e8d72c67",
    "tqdm==4.70.1 --hash=sha256:c293e525e6fef9c20e8728fd4612df02a0aa31bb5fe91ecd93e123b1b7bffa73",
    "transformers==4.57.6 --hash=sha256:4c9e9de11333ddfe5114bc872c9f370509198acf0b87a832a0ab9458e2bd0550",
    "typing-inspection==0.4.5 --hash=sha256:bc210535442b39e1bf2805e0c7a17dfd6a4ace760c84c7f7d16245d23a6b1c39",
    "typing_extensions==4.16.0 --hash=sha256:481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8",
    "yarl==1.25.1 --hash=sha256:be80550d9bfe83d9b62398a37081a90434e6df2d978ec345c3d2820de6beddab",
  ]

  # Has the vocabulary cl100k_base, which tiktoken would fetch from the Internet.
  mlab_vocabulary = "litellm==1.105.3 --hash=sha256:4f233ce05fff836bfd533f9e11ffbddd289034a4b54b376b1a8aec43759ec67c"
}

# The files of the two commits, which Git checks against their names.
step "exec" "mlab" {
  for_each = setintersection(local.agents, ["mlab"])
  timeout  = "10m"
  command = ["sh", "-ec", <<-EOT
    get() {
      git init --quiet --bare "repository-$1"
      git -C "repository-$1" fetch --quiet --depth 1 "$2" "$3"
      mkdir -p "tree/$1"
      git -C "repository-$1" archive "$3" $4 | tar -xf - -C "tree/$1"
    }
    get mle-bench '${var.reference}' ${var.reference_commit} agents/mlagentbench
    get MLAgentBench '${var.mlab}' ${var.mlab_commit} 'MLAgentBench :!MLAgentBench/agents/Auto-GPT'
  EOT
  ]
  outputs = ["tree"]

  retry {
    attempts = 2
  }
}

step "image" "mlab" {
  for_each     = step.exec.mlab
  timeout      = "1h"
  base_content = step.image.debian["trixie"].image
  contents     = { "/opt/mlab" = each.value.tree }
  env          = { TIKTOKEN_CACHE_DIR = "/opt/mlab/vocabulary" }
  run = [["sh", "-ec", <<-EOT
    reference=/opt/mlab/tree/mle-bench/agents/mlagentbench
    mkdir -p /home/agent
    cp -r /opt/mlab/tree/MLAgentBench /home/agent/
    cp -r $reference/benchmark_dir /home/agent/MLAgentBench/MLAgentBench/benchmarks/mlebench
    cp $reference/start.sh /home/agent/
    cp $reference/additional_notes.txt /home/
    /opt/science/bin/python -c 'import torch' 2>/dev/null || echo '# Stands in for the package of this name.' >/home/agent/MLAgentBench/torch.py

    /opt/science/bin/pip install --quiet --no-cache-dir --no-compile --no-deps --require-hashes --target=/opt/mlab/lib -r /opt/mlab/packages
    /opt/science/bin/pip download --quiet --no-cache-dir --no-deps --only-binary=:all: --require-hashes --dest=/tmp/wheel -r /opt/mlab/wheel
    # tiktoken names a file by the SHA-1 of its address, and checks its SHA-256.
    file=9b5ad71b2ce5302211f9c61530b329a4922fc6a4
    python3 -m zipfile -e /tmp/wheel/*.whl /tmp/wheel/files
    mkdir /opt/mlab/vocabulary
    cp /tmp/wheel/files/litellm/litellm_core_utils/tokenizers/$file /opt/mlab/vocabulary/
    PYTHONDONTWRITEBYTECODE=1 /opt/science/bin/python -c 'import tiktoken; tiktoken.get_encoding("cl100k_base")'
    rm -r /tmp/wheel
    find /opt/mlab -name __pycache__ -prune -exec rm -r {} +
    PYTHONDONTWRITEBYTECODE=1 python3 -m compileall -q --invalidation-mode unchecked-hash /opt/mlab/lib || true # some packages hold files for other versions
  EOT
  ]]
  texts = {
    "/opt/mlab/packages" = join("\n", local.mlab_packages)
    "/opt/mlab/wheel"    = local.mlab_vocabulary

    # One environment for MLAB and its scripts, as in MLE-bench's image.
    "/opt/science/lib/python3.13/site-packages/mlab.pth" = "/opt/mlab/lib\n"

    # What start.sh expects of that image: an environment of conda to activate, and
    # GNU's envsubst.
    "/usr/local/bin/conda"    = <<-EOT
      #!/bin/sh
      echo 'conda() { :; }'
    EOT
    "/usr/local/bin/envsubst" = <<-EOT
      #!/opt/science/bin/python3
      import os, sys
      sys.stdout.write(os.path.expandvars(sys.stdin.read()))
    EOT
  }
  network {
    open = true
  }
}

agent "mlab" {
  image = try(step.image.mlab["mlab"].image, null)
  # start.sh keeps the code after MLAB has ended, which needs time, too.
  command = ["bash", "-c", <<-EOT
    export TIME_LIMIT_SECS="$((TIME_LIMIT_SECS > 120 ? TIME_LIMIT_SECS - 60 : TIME_LIMIT_SECS * 3 / 4))"
    cd /home/agent/MLAgentBench # the working directory of that image
    exec bash /home/agent/start.sh "$@" --max-time "$TIME_LIMIT_SECS"
  EOT
  , "start.sh"]
  models = [model.aide]
  # As in agents/mlagentbench/config.yaml.
  args = [
    "--llm-name", local.aide_model,
    "--edit-script-llm-name", local.aide_model,
    "--fast-llm-name", local.aide_model,
    "--max-steps", tostring(var.mlab_steps),
    "--agent-max-steps", tostring(var.mlab_steps),
    "--max-retries", "10",
    "--max-tokens", "16384",
  ]
  env = { STEP_LIMIT = tostring(var.mlab_steps) }
}
