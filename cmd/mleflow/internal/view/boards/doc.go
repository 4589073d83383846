// Package boards shows leaderboards: as text, JSON, Markdown and tables.
package boards
