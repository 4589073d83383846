step "download" "raw" {
  for_each      = toset(local.ids)
  competition   = each.key
  from          = "raw/${each.key}"
  data          = "real"
  keep_archives = false
}
step "download" "mirrored" {
  competition = "demo-digits"
  source {
    kind   = "http"
    url    = "https://data.example/demo-digits.zip"
    sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    md5    = "0123456789abcdef0123456789abcdef"
    as     = "raw.zip"
  }
}
step "download" "again" {
  competition = "demo-digits"
  source {
    kind = "kaggle"
    slug = "digits-of-ours"
  }
}
step "download" "adopted" {
  competition = "demo-digits"
  source {
    kind = "reference"
    path = "data/demo-digits"
  }
}
