step "python" "tools" {
  requirements = file("requirements.txt")
  lock         = file("requirements.lock")
  wheels       = [file("wheels/tool-1.0-py3-none-any.whl")]
  version      = "3.11"
}
step "python" "machine" {
  venv = "/opt/tools"
}
