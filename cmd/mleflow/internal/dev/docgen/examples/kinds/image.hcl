step "image" "base" {
  base     = "debian@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  files    = { "/opt/agent.py" = "agent.py" }
  texts    = { "/opt/start" = "#!/bin/sh\nexec python3 /opt/agent.py\n" }
  contents = { "/opt/tools" = step.exec.tool.tree }
  run      = [["apt-get", "update"], ["apt-get", "install", "-y", "python3"]]
  env      = { LANG = "C.UTF-8" }
  max_size = "20GiB"
  workdir  = "/opt"
  user     = "1000:1000"
  network {
    allow = ["deb.debian.org:80"]
    open  = false
  }
}
step "image" "more" {
  base_content = step.image.base.image
  run          = [["pip", "install", "--no-index", "/opt/tools/tool.whl"]]
}
