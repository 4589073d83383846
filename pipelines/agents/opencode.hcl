# OpenCode 1.18.33 (MIT), by its package on npm.

step "image" "opencode" {
  for_each     = setintersection(local.agents, ["opencode"])
  timeout      = "1h"
  base_content = step.image.debian["trixie"].image
  run = [["sh", "-ec", <<-EOT
    ${local.unpack}
    unpack opencode-linux-x64-baseline 1.18.33 d4a4060628830de2ff5471db1e43afbc5a3c26bf7b593e7e0b5b5e6abfa9ec87034e75e05475ea2235383b88cce261d0cf29133f68bcf381429d6e4b0dafb308 /opt/opencode/package
    ln -s /opt/opencode/package/bin/opencode /usr/local/bin/opencode
    rm -rf /tmp/*
  EOT
  ]]
  texts = {
    "/opt/opencode/start.sh" = <<-EOT
      set -eu
      ${local.task}
      cat >"$AGENT_DIR/opencode.json" <<END
      {
        "model": "gateway/$MODEL", "small_model": "gateway/$MODEL", "autoupdate": false, "share": "disabled", "permission": "allow",
        "tools": { "webfetch": false, "websearch": false },
        "provider": { "gateway": {
          "npm": "@ai-sdk/openai-compatible", "options": { "baseURL": "$OPENAI_BASE_URL", "apiKey": "$OPENAI_API_KEY" },
          "models": { "$MODEL": { "limit": { "context": 200000, "output": 32000 } } }
        } }
      }
      END
      OPENCODE_CONFIG="$AGENT_DIR/opencode.json" ${local.deadline} opencode run "$(task)" </dev/null
    EOT
  }
  network {
    open = true
  }
}

agent "opencode" {
  image   = try(step.image.opencode["opencode"].image, null)
  command = ["sh", "/opt/opencode/start.sh"]
  models  = [model.openai]
  env     = { MODEL = coalesce(var.model, "gpt-5.5") }
}
