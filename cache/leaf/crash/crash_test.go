package crash_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/leaf/crash"
)

func index(list []string, i int) string { return list[i] }

// TestDo gives panics at one place one number and one report, and shows no value that
// is not the runtime's.
func TestDo(t *testing.T) {
	dir := t.TempDir()
	crash.ReportIn(dir)
	var numbers []string
	for i := range 2 {
		err := crash.Do(func() error { _ = index([]string{"secret"}, 3+i); return nil })
		var e *crash.Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "internal error "+e.Number+": index out of range [") || !strings.HasPrefix(e.Stack, "github.com/mleflow/mleflow/cache/leaf/crash_test.index\n") {
			t.Fatalf("got %v", err)
		}
		numbers = append(numbers, e.Number)
		report, err := os.ReadFile(e.File)
		if err != nil || !strings.Contains(string(report), "index out of range [3]") {
			t.Errorf("report %q, %v", report, err)
		}
	}
	if numbers[0] != numbers[1] {
		t.Errorf("numbers %v", numbers)
	}
	err := crash.Do(func() error { panic("sk-secret") })
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if err := crash.Do(func() error { panic(err) }); !errors.Is(err, err) {
		t.Errorf("got %v", err)
	}
	if err := crash.Do(func() error { return os.ErrExist }); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v", err)
	}
	var nothing *crash.Error
	if err := crash.Do(func() error { _ = nothing.Number; return nil }); err == nil {
		t.Error("no error for a nil pointer")
	}
}

// TestNoFolder has no report.
func TestNoFolder(t *testing.T) {
	crash.ReportIn(t.TempDir() + "/missing")
	err := crash.Do(func() error { panic("x") })
	if err == nil || !strings.Contains(err.Error(), "-v shows where") {
		t.Errorf("got %v", err)
	}
}
