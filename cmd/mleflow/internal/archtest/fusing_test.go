package archtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// numeric are the packages whose numbers get into prepared files, reports and
// boards.
var numeric = []string{
	"plugins/metric", "plugins/random", "plugins/split", "plugins/stat", "plugins/table", "plugins/transform",
	"competitions", "competitions/grading", "competitions/prep", "competitions/kit", "steps/aggregate", "steps/grade",
}

// fused finds the place of a fused multiply-add in the assembly of GOAMD64=v3.
var fused = regexp.MustCompile(`\(([^()]*\.go):(\d+)\)\s+(?:VFN?M(?:ADD|SUB)\w*)`)

// TestNothingIsFused compiles for GOAMD64=v3, where the compiler may take x*y+z
// for one operation with one rounding, and looks for such instructions in the
// assembly: only calls of math.FMA, which has the same result everywhere, may
// give them. A product that is rounded by float64(x*y) is never fused, one that
// is only kept in a variable is.
//
// It compiles what the packages depend on for another target, which takes
// minutes the first time, so it runs where MLEFLOW_DETERMINISM=full asks for it:
//
//	MLEFLOW_DETERMINISM=full go test ./cmd/mleflow/internal/archtest -run TestNothingIsFused
func TestNothingIsFused(t *testing.T) {
	if os.Getenv("MLEFLOW_DETERMINISM") != "full" {
		t.Skip("compiles for another target; asked for by MLEFLOW_DETERMINISM=full")
	}
	for _, pkg := range numeric {
		cmd := exec.Command("go", "build", "-o", os.DevNull, "-gcflags=-S", "./"+pkg)
		cmd.Dir = "../../../.."
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "GOAMD64=v3", "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", pkg, err, tail(out))
			continue
		}
		if !bytes.Contains(out, []byte("STEXT")) {
			t.Errorf("%s: the compiler printed no assembly", pkg)
		}
		for _, m := range fused.FindAllSubmatch(out, -1) {
			file, line := string(m[1]), 0
			fmt.Sscan(string(m[2]), &line)
			if !callsFMA(t, file, line) {
				t.Errorf("%s:%d: a product is fused with a sum; write float64(x*y)", file, line)
			}
		}
	}
}

// callsFMA reports whether a line of a file has a call of math.FMA.
func callsFMA(t *testing.T, file string, line int) bool {
	t.Helper()
	src, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(src), "\n")
	return line >= 1 && line <= len(lines) && strings.Contains(lines[line-1], "math.FMA(")
}

func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }
