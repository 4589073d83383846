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
	"plugins/sandbox/agent", "plugins/numeric/libm", "plugins/numeric/metric", "plugins/numeric/random", "plugins/data/split", "plugins/numeric/stat", "plugins/data/table", "plugins/data/transform",
	"competitions", "competitions/grading", "competitions/prep", "competitions/kit", "steps/aggregate", "steps/grade",
}

// fused finds the place of a fused multiply-add in the assembly of amd64 and
// arm64.
var fused = regexp.MustCompile(`\(([^()]*\.go):(\d+)\)\s+(?:VFN?M(?:ADD|SUB)|FN?M(?:ADD|SUB)[SD])\w*`)

// TestNothingIsFused compiles for processors on which the compiler may take
// x*y+z for one operation with one rounding, and looks for such instructions in
// the assembly: only calls of math.FMA, which has the same result everywhere, may
// give them. A product that is rounded by float64(x*y) is never fused, one that
// is only kept in a variable is.
//
// It compiles what the packages depend on for other targets, which takes
// minutes the first time, so it runs where MLEFLOW_DETERMINISM asks for it:
// cross for arm64 on macOS, for which .ci/run builds mleflow anyway, full for
// amd64 with GOAMD64=v3, too:
//
//	MLEFLOW_DETERMINISM=full go test ./cmd/mleflow/internal/dev/archtest -run TestNothingIsFused
func TestNothingIsFused(t *testing.T) {
	targets := [][]string{{"GOOS=darwin", "GOARCH=arm64"}, {"GOOS=linux", "GOARCH=amd64", "GOAMD64=v3"}}
	switch os.Getenv("MLEFLOW_DETERMINISM") {
	case "full":
	case "cross":
		targets = targets[:1]
	default:
		t.Skip("compiles for another target; asked for by MLEFLOW_DETERMINISM=cross")
	}
	for _, target := range targets {
		t.Run(strings.Join(target, ","), func(t *testing.T) { wantNothingFused(t, target) })
	}
}

func wantNothingFused(t *testing.T, target []string) {
	args := []string{"build", "-trimpath", "-gcflags=-S"}
	for _, pkg := range numeric {
		args = append(args, "./"+pkg)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = "../../../../.."
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), target...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, tail(out))
	}
	for _, pkg := range numeric {
		if !bytes.Contains(out, []byte("# "+module+"/"+pkg+"\n")) {
			t.Errorf("%s: the compiler printed no assembly", pkg)
		}
	}
	for _, m := range fused.FindAllSubmatch(out, -1) {
		file, line := strings.TrimPrefix(string(m[1]), module+"/"), 0
		fmt.Sscan(string(m[2]), &line)
		if !callsFMA(t, file, line) {
			t.Errorf("%s:%d: a product is fused with a sum; write float64(x*y)", file, line)
		}
	}
}

// inexact are the functions of package math that are not rounded to the nearest
// number, and give other bits on other processors.
var inexact = []string{
	"Acos", "Acosh", "Asin", "Asinh", "Atan", "Atan2", "Atanh", "Cbrt", "Cos", "Cosh", "Erf", "Erfc", "Erfcinv", "Erfinv", "Exp", "Exp2",
	"Expm1", "Gamma", "Hypot", "J0", "J1", "Jn", "Lgamma", "Log", "Log10", "Log1p", "Log2", "Pow", "Sin", "Sincos", "Sinh", "Tan", "Tanh",
	"Y0", "Y1", "Yn",
}

// excused calls change no bit of a result.
var excused = map[string]string{
	"plugins/numeric/libm/explog.go":   "special cases only",
	"plugins/numeric/metric/cuboid.go": "leaves out what is far away, with a margin",
	"competitions/kit/chance.go":       "lint's estimates",
}

// TestInexactFunctions keeps the functions of package math that have other bits
// elsewhere out of results: call those of plugins/numeric/libm.
func TestInexactFunctions(t *testing.T) {
	for _, pkg := range numeric {
		files, err := filepath.Glob("../../../../../" + pkg + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %d files", pkg, err, len(files))
		}
		for _, path := range files {
			file := pkg + "/" + filepath.Base(path)
			if strings.HasSuffix(file, "_test.go") || excused[file] != "" {
				continue
			}
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range inexactCall.FindAllSubmatch(src, -1) {
				t.Errorf("%s: math.%s has other bits elsewhere; use plugins/numeric/libm", file, m[1])
			}
		}
	}
}

var inexactCall = regexp.MustCompile(`\bmath\.(` + strings.Join(inexact, "|") + `)\(`)

// callsFMA reports whether a line of a file has a call of math.FMA.
func callsFMA(t *testing.T, file string, line int) bool {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("../../../../..", file))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(src), "\n")
	return line >= 1 && line <= len(lines) && strings.Contains(lines[line-1], "math.FMA(")
}

func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }
