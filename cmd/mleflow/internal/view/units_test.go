package view

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	tests := []struct{ got, want string }{
		{Bytes(0), "0 B"},
		{Bytes(1023), "1023 B"},
		{Bytes(1536), "1.5 KiB"},
		{Bytes(3 << 40), "3.0 TiB"},
		{Bytes(-2048), "-2.0 KiB"},
		{Duration(0), "0.00s"},
		{Duration(1234 * time.Millisecond), "1.23s"},
		{Duration(59*time.Second + 900*time.Millisecond), "59.9s"},
		{Duration(60 * time.Second), "1m00s"},
		{Duration(3599*time.Second + 600*time.Millisecond), "60m00s"},
		{Duration(26*time.Hour + 3*time.Minute), "26h03m"},
		{Duration(math.MinInt64), "-2562047h47m"},
		{Count(0), "0"},
		{Count(999), "999"},
		{Count(-1234567), "-1,234,567"},
		{Plural(1, "step"), "1 step"},
		{Plural(1000, "step"), "1,000 steps"},
		{clock(3723 * time.Second), "1:02:03"},
		{ProgressText(5, 10, "files"), "5 of 10 files"},
		{ProgressText(5, 0, "rows"), "5 rows"},
		{Score(24402200), "24402200"},
		{Score(0.00002), "0.00002"},
		{Score(-0.108345), "-0.108345"},
		{Score(1e-9), "1e-09"},
		{Score(0), "0"},
		{Score(math.NaN()), "NaN"},
		{OneLine(" a\nb\x1b[31m\x00c\t"), "a b c"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestTable(t *testing.T) {
	table := NewTable("Name", ">Size", "Note")
	table.Row("digits", "1.5 KiB", "é")
	table.Row("a", "12 B")
	var out strings.Builder
	table.Write(&out, Style{})
	want := "Name       Size  Note\ndigits  1.5 KiB  é\na          12 B\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
