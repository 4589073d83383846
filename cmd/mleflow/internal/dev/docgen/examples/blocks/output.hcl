output "table" {
  value       = step.aggregate.board.table
  description = "The leaderboard."
  publish {
    to      = "board.txt"
    link    = false
    private = true
  }
}
