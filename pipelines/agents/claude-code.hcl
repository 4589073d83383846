# Claude Code 2.1.330 (under its own terms), by its package on npm.

step "image" "claude-code" {
  for_each     = setintersection(local.agents, ["claude-code"])
  timeout      = "1h"
  base_content = step.image.debian["trixie"].image
  run = [["sh", "-ec", <<-EOT
    ${local.unpack}
    unpack @anthropic-ai/claude-code-linux-x64 2.1.330 f469fe57b0ed27c3359f3b4ff42783565f60dd1b6b7a923bace153c8f4519d97bc0facde6c81ca982ecebc16aeb9cb803f45f493ce520cdfcb3d56728ec19ecd /opt/claude-code/package
    ln -s /opt/claude-code/package/claude /usr/local/bin/claude
    rm -rf /tmp/*
  EOT
  ]]
  texts = {
    "/opt/claude-code/start.sh" = <<-EOT
      set -eu
      ${local.task}
      task | ${local.deadline} claude --print --verbose --output-format stream-json --model "$MODEL" \
        --dangerously-skip-permissions --disallowedTools WebSearch WebFetch
    EOT
  }
  network {
    open = true
  }
}

agent "claude-code" {
  image   = try(step.image.claude-code["claude-code"].image, null)
  command = ["sh", "/opt/claude-code/start.sh"]
  models  = [model.anthropic]
  env = {
    MODEL                                    = coalesce(var.model, "claude-sonnet-4-5")
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1"
    DISABLE_AUTOUPDATER                      = "1"
  }
}
