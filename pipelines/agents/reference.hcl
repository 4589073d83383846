# AIDE as MLE-bench runs it: start.sh, notes and arguments of a checkout of
# openai/mle-bench, and the package that its requirements name, both by commit.
#
#   mleflow apply pipelines/lite.hcl -var agent=reference-aide
#
# MLE-bench's own image is Ubuntu 20.04 with conda and some 20 GB of packages. This one
# is Debian with what AIDE imports; -var packages=… adds what its solutions should
# have. docs/agents.md says how to run images that were built from MLE-bench's
# Dockerfiles, and what keeps its OpenHands from running here.

variable "reference" {
  type        = string
  default     = "https://github.com/openai/mle-bench"
  description = "MLE-bench's repository: an address, or the absolute path of a clone."
}

variable "reference_commit" {
  type        = string
  default     = "783b15af77404fbaffe7255b0c4a934b46153389"
  description = "The commit of MLE-bench that its agents are taken from."
}

variable "reference_aide" {
  type        = string
  default     = "https://github.com/thesofakillers/aideml"
  description = "The repository of the AIDE that MLE-bench uses."
}

variable "reference_aide_commit" {
  type        = string
  default     = "f2bfef03a79c1d65cb1f5b9e13de0e8659c7586f" # v6.3.3
  description = "The commit of this AIDE."
}

locals {
  # What AIDE v6.3.3 imports, in the versions of its requirements where those have
  # wheels for this Python.
  reference_aide_packages = [
    "annotated-types==0.8.0 --hash=sha256:f072f4d804ea359e4eaf198b1af7a8b0943881a87f31bb764f8bf219bb9419e0",
    "anthropic==0.34.1 --hash=sha256:2fa26710809d0960d970f26cd0be3686437250a481edb95c33d837aa5fa24158",
    "anyio==4.16.0 --hash=sha256:c66ae634e0b8228396b801741beb3294326d4b6102f7bba4041c0dfb58c29026",
    "attrs==26.1.0 --hash=sha256:c647aa4a12dfbad9333ca4e71fe62ddc36f4e63b2d260a37a8b83d2f043ac309",
    "backoff==2.2.1 --hash=sha256:63579f9a0628e06278f7e47b7d7d5b6ce20dc65c5e96a6f3ca99a6adca0396e8",
    "black==24.3.0 --hash=sha256:41622020d7120e01d377f74249e677039d20e6344ff5851de8a10f11f513bf93",
    "cffi==2.1.1 --hash=sha256:a931079504ecc49efed7744c476a5c343a92fabf66dec2db95edb1b2fdc770e2",
    "click==8.5.1 --hash=sha256:8bb5376d2006950386f8c6427613334a2acadc5f559cb80e638d00b4df957e37",
    "coolname==2.2.0 --hash=sha256:4d1563186cfaf71b394d5df4c744f8c41303b6846413645e31d31915cdeb13e8",
    "cryptography==50.0.2 --hash=sha256:9dab55f57c74c3cad24c323bacbbd04be4705ba6eb0d92e920b1fc4837ed5079",
    "dataclasses-json==0.6.7 --hash=sha256:0dbf33f26c8d5305befd61b39d2b3414e8a407bedc2834dea9b8d642666fb40a",
    "distro==1.9.0 --hash=sha256:7bffd925d65168f85027d8da9af6bddab658135b840670a223589bc0c8ef02b2",
    "filelock==4.2.11 --hash=sha256:020e229e4bb9d410fc799c07ddf45fa217cba970278f40b30751d94f309b69e2",
    "fsspec==2026.9.0 --hash=sha256:8dd6e646e99ea382bd85f97a45e6b526a442d79423a7dc673f1e2756d05fcb5f",
    "funcy==2.0 --hash=sha256:53df23c8bb1651b12f095df764bfb057935d49537a56de211b098f4c79614bb0",
    "genson==1.3.0 --hash=sha256:468feccd00274cc7e4c09e84b08704270ba8d95232aa280f65b986139cec67f7",
    "google-ai-generativelanguage==0.6.10 --hash=sha256:854a2bf833d18be05ad5ef13c755567b66a4f4a870f099b62c61fe11bddabcf4",
    "google-api-core==2.33.0 --hash=sha256:a2e22a0c1d0f03eafff1858b38cf46f832d5902b0c052235bf0ab8402929fbdc",
    "google-api-python-client==2.202.0 --hash=sha256:aaa90064c9bb642ff1d065b22ca8958a2cb6e345909cefe70d0e5452fc50e08b",
    "google-auth-httplib2==0.4.4 --hash=sha256:bbe5d7b2401bb3a4017f4720e1e91bd273ab9a2bb60b84e65edbc0de127852da",
    "google-auth==2.62.2 --hash=sha256:e9bcdb0679b6a4369ac327c5c59f06d92f7b4cd2624e7100294c14632f55a36b",
    "google-generativeai==0.8.2 --hash=sha256:fabc0e2e8d2bfb6fdb1653e91dba83fecb2a2a6878883b80017def90fda8032d",
    "googleapis-common-protos==1.75.0 --hash=sha256:961ed60399c457ceb0ee8f285a84c870aabc9c6a832b9d37bb281b5bebde43ed",
    "grpcio-status==1.71.2 --hash=sha256:803c98cb6a8b7dc6dbb785b1111aed739f241ab5e9da0bba96888aa74704cfd3",
    "grpcio==1.85.1 --hash=sha256:de520b1555ae445cdc4f8f1cc7ccba12a19992bfafa7c292ebe7fe1fe5da6c53",
    "h11==0.16.0 --hash=sha256:63cf8bbe7522de3bf65932fda1d9c2772064ffb3dae62d55932da54b31cb6c86",
    "hf-xet==1.8.0 --hash=sha256:29dab7c904cd1914a0439c6e1306c12c7497c8bd32290fbe563ebf51ca4b6d6d",
    "httpcore2==2.16.2 --hash=sha256:16051ae2a42f776007543f32de9349a317b23d2cbb4e1456b4bac0e88b87419a",
    "httpcore==1.0.9 --hash=sha256:2d400746a40668fc9dec9810239072b40b4484b640a8c38fd654a024c7a1bf55",
    "httplib2==0.32.1 --hash=sha256:82e7a6ab08fcb27879864ddf63dbb529fb032ca336c331cb1597d6dd8b47c92e",
    "httpx2==2.16.2 --hash=sha256:f05c13aade4c45dbf1c9060647a1058f0acad62398fad96e741269edb33d46f5",
    "httpx==0.27.2 --hash=sha256:7bb2708e112d8fdd7829cd4243970f0c223274051cb35ee80c03301ee29a3df0",
    "huggingface_hub==2.4.0 --hash=sha256:42ecfd93ede47bdd333daebbf66a32d7bfe2e18752754fe4d2d4f98a0179d801",
    "humanize==4.8.0 --hash=sha256:8bc9e2bb9315e61ec06bf690151ae35aeb65651ab091266941edf97c90836404",
    "igraph==0.11.6 --hash=sha256:b6620ba39df29fd42151becf82309b54e57148233c9c3ef890eed62e25eed8a5",
    "jiter==0.19.0 --hash=sha256:3b27d6bec319dc17cdced13e495f90ce066676ca296fc56f2dd2128f6a7599ed",
    "jsonschema-specifications==2025.9.1 --hash=sha256:98802fee3a11ee76ecaca44429fda8a41bff98b00a0f2838151b113f210cc6fe",
    "jsonschema==4.19.2 --hash=sha256:eee9e502c788e89cb166d4d37f43084e3b64ab405c795c03d343a4dbc2c810fc",
    "markdown-it-py==4.3.0 --hash=sha256:7aa1511a46c39138de78d9eba92ce47e63124d8003fc98b3a351909e04239efa",
    "marshmallow==3.26.2 --hash=sha256:013fa8a3c4c276c24d26d84ce934dc964e2aa794345a0f8c7e5a7191482c8a73",
    "mdurl==0.1.2 --hash=sha256:84008a41e51615a49fc9966191ff91509e3c40b939176e643fd50a5c2196b8f8",
    "mypy_extensions==1.2.0 --hash=sha256:993e7a20aa5671eb41a7132cf555af30062da99729601601b9a8382b11cae768",
    "omegaconf==2.4.0 --hash=sha256:f141a664c777582405e3cc6e0545ecc79429e79f844995b1a6e71c35946a025c",
    "openai==1.48.0 --hash=sha256:7c4af223f0bf615ce4a12453729952c9a8b04ffe8c78aa77981b12fd970149cf",
    "packaging==26.3 --hash=sha256:d7193f7c8e4e93f444fde0262bf90af30e16fa0ad0ad44cb553c87339b23cd1c",
    "pathspec==1.1.1 --hash=sha256:a00ce642f577bf7f473932318056212bc4f8bfdf53128c78bbd5af0b9b20b189",
    "platformdirs==4.14.7 --hash=sha256:391513b74707c42335fff3ea17eaac657a7ee9ffcadd809634d34ea594d0122c",
    "proto-plus==1.28.2 --hash=sha256:b874236fcac2358f601e4330bcb76cb8b89c851303ccf4078408b3d4774d1c52",
    "protobuf==5.29.6 --hash=sha256:e3387f44798ac1106af0233c04fb8abf543772ff241169946f698b3a9a3d3ab9",
    "pyasn1==0.6.5 --hash=sha256:4017b0fce125096b8573b39c989fdb1a4b19cf761e683398184550fea0e66587",
    "pyasn1_modules==0.4.2 --hash=sha256:29253a9207ce32b64c3ac6600edc75368f98473906e8fd1043bd6b5b1de2c14a",
    "pycparser==3.12 --hash=sha256:a076f3f489b39b43ed13563a1dafe42447445bec2e294154ec5c57fcdda4c85e",
    "pydantic==2.14.3 --hash=sha256:3f7b347782ab7e4cf4c798496ae3a82787d9f21ec12676a9c564355eeef8daa8",
    "pydantic_core==2.50.4 --hash=sha256:fb2bb5b557080da398b866408117d98fe9731a12334afd0cdff221b458cdc5dc",
    "Pygments==2.21.0 --hash=sha256:2363c69b61c4a97c838da3b130dcd6468f4848992b21a82f2a63ec34377137d9",
    "pyparsing==3.3.3 --hash=sha256:ece8c00a69cf01b45d0b1dedabb469c90d8caf996d4fda40f147627a122849a4",
    "PyYAML==6.0.3 --hash=sha256:0f29edc409a6392443abf94b9cf89ce99889a1dd5376d94316ae5145dfedd5d6",
    "referencing==0.37.0 --hash=sha256:381329a9f99628c9069361716891d34ad94af76e461dcb0335825aecc7692231",
    "rich==13.7.0 --hash=sha256:6da14c108c4866ee9520bbffa71f6fe3962e193b7da68720583850cd4548e235",
    "rpds-py==2026.9.1 --hash=sha256:7868b85224291c6cb6759f9b5adb9745f486d226f62b16a614dd5a2a5ab2b35b",
    "shutup==0.2.0 --hash=sha256:e4c772aad82c689eddaf99d4d1474291d7d66d4c81f44676f3e3ce8245c93e71",
    "sniffio==1.3.1 --hash=sha256:2f6da418d1f1e0fddd844478f41680e794e6051915791a034ff65e5f100525a2",
    "texttable==1.7.2 --hash=sha256:a381e1ed30e4d4bd24cdacabe26463b7a570c0e964fc0b35d8d9276b2fcbe252",
    "tokenizers==0.23.3 --hash=sha256:376851d22bcf9d650a5c3090bb83e6cf9e895fbf0595369fa4cd43c1f69b5f87",
    "tqdm==4.70.1 --hash=sha256:c293e525e6fef9c20e8728fd4612df02a0aa31bb5fe91ecd93e123b1b7bffa73",
    "truststore==0.10.5 --hash=sha256:9aaaedaefaf06d8b206278cf8b5012bc897f485a874503501e12d776df78951c",
    "typing-inspect==0.9.0 --hash=sha256:9ee6fc59062311ef8547596ab6b955e1b8aa46242d854bfc78f4f6b0eff35f9f",
    "typing-inspection==0.4.5 --hash=sha256:bc210535442b39e1bf2805e0c7a17dfd6a4ace760c84c7f7d16245d23a6b1c39",
    "typing_extensions==4.16.0 --hash=sha256:481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8",
    "uritemplate==4.2.0 --hash=sha256:962201ba1c4edcab02e60f9a0d3821e82dfc5d2d6662a21abd533879bdb8a686",
  ]
}

# The files of the two commits, which Git checks against their names.
step "exec" "reference" {
  for_each = setintersection(local.agents, ["reference-aide"])
  timeout  = "10m"
  command = ["sh", "-ec", <<-EOT
    get() {
      git init --quiet --bare "repository-$1"
      git -C "repository-$1" fetch --quiet --depth 1 "$2" "$3"
      mkdir -p "tree/$1"
      git -C "repository-$1" archive "$3" $4 | tar -xf - -C "tree/$1"
    }
    get mle-bench '${var.reference}' ${var.reference_commit} agents/aide
    get aideml '${var.reference_aide}' ${var.reference_aide_commit} aide
  EOT
  ]
  outputs = ["tree"]

  retry {
    attempts = 2
  }
}

step "image" "reference-aide" {
  for_each     = step.exec.reference
  timeout      = "1h"
  base_content = step.image.debian["trixie"].image
  contents     = { "/opt/reference" = each.value.tree }
  run = [["sh", "-ec", <<-EOT
    mkdir -p /home/agent
    cp -r /opt/reference/tree/mle-bench/agents/aide/. /home/agent/
    chmod 755 /usr/local/bin/aide /usr/local/bin/conda /usr/local/bin/envsubst
    /opt/science/bin/pip install --quiet --no-cache-dir --no-compile --no-deps --require-hashes --target=/opt/reference/lib -r /opt/reference/packages
    find /opt/reference -name __pycache__ -prune -exec rm -r {} +
    PYTHONDONTWRITEBYTECODE=1 python3 -m compileall -q --invalidation-mode unchecked-hash /opt/reference || true # some packages hold files for other versions
  EOT
  ]]
  texts = {
    "/opt/reference/packages" = join("\n", local.reference_aide_packages)

    # What start.sh expects of MLE-bench's image: the command aide, an environment of
    # conda to activate, and GNU's envsubst.
    "/usr/local/bin/aide"     = <<-EOT
      #!/bin/sh
      export PYTHONPATH=/opt/reference/tree/aideml:/opt/reference/lib
      exec python3 -c 'from aide.run import run; run()' "$@"
    EOT
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

agent "reference-aide" {
  image   = try(step.image.reference-aide["reference-aide"].image, null)
  command = ["bash", "-c", "exec bash /home/agent/start.sh \"$@\" agent.time_limit=$TIME_LIMIT_SECS", "start.sh"]
  models  = [model.aide]
  # As in agents/aide/config.yaml.
  args = [
    "agent.search.max_debug_depth=20",
    "agent.search.debug_prob=1",
    "exec.timeout=${floor(var.aide_step_hours * 3600)}",
    "copy_data=False",
    "agent.code.model=${local.aide_model}",
    "agent.feedback.model=${local.aide_feedback}",
    "agent.steps=${var.aide_steps}",
  ]
  env = { STEP_LIMIT = tostring(var.aide_steps) }
}
