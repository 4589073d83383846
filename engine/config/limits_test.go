package config

import (
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/step"
)

func TestParseSize(t *testing.T) {
	tests := []struct {
		text string
		want int64
		ok   bool
	}{
		{"1024", 1024, true}, {"500MB", 500e6, true}, {"16GiB", 16 << 30, true}, {"16 gib", 16 << 30, true},
		{"1.5TiB", 3 << 39, true}, {"0", 0, true}, {"7EiB", 7 << 60, true},
		{"8EiB", 0, false}, {"20EiB", 0, false}, {"-1GiB", 0, false}, {"NaN", 0, false}, {"lots", 0, false}, {"", 0, false}, {"5 apples", 0, false},
	}
	for _, tt := range tests {
		got, err := step.ParseBytes(tt.text)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("step.ParseBytes(%q) = %d, %v, want %d", tt.text, got, err, tt.want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"90s", 90 * time.Second, true}, {"2d", 48 * time.Hour, true}, {"0.5d", 12 * time.Hour, true}, {"1h30m", 90 * time.Minute, true},
		{"1 day", 0, false}, {"d", 0, false}, {"NaNd", 0, false}, {"1e9d", 0, false},
	}
	for _, tt := range tests {
		got, err := parseDuration(tt.text)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", tt.text, got, err, tt.want)
		}
	}
}
