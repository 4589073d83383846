mleflow {
  extends            = "base.hcl"
  include            = ["agents/*.hcl"]
  required_version   = ">= 0.1"
  remote_cache       = "s3://lab/mleflow?region=eu-central-1"
  competitions       = ["./competitions"]
  required_isolation = "none"
}
