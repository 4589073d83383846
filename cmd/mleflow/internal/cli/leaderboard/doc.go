// Package leaderboard has the command leaderboard.
package leaderboard
