# Codex CLI 0.169.0 (Apache-2.0), by its package on npm.

step "image" "codex" {
  for_each     = setintersection(local.agents, ["codex"])
  timeout      = "1h"
  base_content = step.image.debian["trixie"].image
  run = [["sh", "-ec", <<-EOT
    ${local.unpack}
    unpack @openai/codex 0.169.0-linux-x64 a34e4dc803820f28123d1a35ca29f3c6f91149d9ac672043f44ee66e99a345a9d27ccf25ca9a96b50804a385df364c21b82476685bbc9a518eb101855d56d5c3 /opt/codex/package
    ln -s /opt/codex/package/vendor/*/bin/codex /usr/local/bin/codex
    rm -rf /tmp/*
  EOT
  ]]
  texts = {
    "/opt/codex/start.sh" = <<-EOT
      set -eu
      ${local.task}
      # Searching the web is the provider's ability, so it is switched off: the
      # gateway would refuse it.
      task | ${local.deadline} codex exec --model "$MODEL" --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox \
        -c 'web_search="disabled"' -c 'model_provider="gateway"' \
        -c "model_providers.gateway={name=\"gateway\", base_url=\"$OPENAI_BASE_URL\", env_key=\"OPENAI_API_KEY\", wire_api=\"responses\"}" -
    EOT
  }
  network {
    open = true
  }
}

agent "codex" {
  image   = try(step.image.codex["codex"].image, null)
  command = ["sh", "/opt/codex/start.sh"]
  models  = [model.openai]
  env     = { MODEL = coalesce(var.model, "gpt-5.5") }
}
