metric  = "haversine_quantiles"
params  = { group = "tripId" }
targets = ["LatitudeDegrees", "LongitudeDegrees"]
require {
  columns   = ["tripId", "UnixTimeMillis", "LatitudeDegrees", "LongitudeDegrees"]
  same_rows = true
}
