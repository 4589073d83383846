package winnow_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/mleflow/mleflow/plugins/data/pysource"
	"github.com/mleflow/mleflow/plugins/data/winnow"
)

// read returns files as one document.
func read(t testing.TB, name string, files map[string]string) *winnow.Document {
	t.Helper()
	dir := fstest.MapFS{}
	for path, text := range files {
		dir[path] = &fstest.MapFile{Data: []byte(text)}
	}
	sources, skipped, err := pysource.ReadDir(dir)
	if err != nil || len(skipped) > 0 {
		t.Fatal(err, skipped)
	}
	return winnow.NewDocument(name, sources)
}

// holdOut is the first seed of the tests. The thresholds of Suspicious were
// chosen with seeds below it and with the standard library of Python.
const holdOut = 1_000_000

// rounds is how many databases the planted set has: MLEFLOW_PLANTED, or few.
func rounds(t *testing.T) int {
	if text := os.Getenv("MLEFLOW_PLANTED"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 2
}

func kernels(t testing.TB, seed uint64, n int) (*winnow.Comparer, [][]string) {
	db := &winnow.Database{Method: winnow.Default, Common: winnow.DefaultCommon}
	var programs [][]string
	for i := range n {
		programs = append(programs, newAuthor(seed*1000+uint64(i)).program())
		db.Documents = append(db.Documents, read(t, fmt.Sprintf("kernel-%d.py", i), map[string]string{"kernel.py": join(programs[i])}))
	}
	return winnow.NewComparer(db), programs
}

// TestPlanted copies programs in every way and wants 95 % of the copies found,
// and nothing in code by others.
func TestPlanted(t *testing.T) {
	const perDatabase = 20
	found, all := map[string]int{}, 0
	least := map[string]float64{}
	alarms, unrelated, highest := 0, 0, 0.0
	for round := range rounds(t) {
		seed := uint64(holdOut + round)
		comparer, programs := kernels(t, seed, perDatabase)
		for i, chunks := range programs {
			all++
			for _, p := range planted {
				c := comparer.Compare(read(t, "code", p.copy(newAuthor(seed*7919+uint64(i)), chunks)))
				for _, m := range c.Matches {
					original := m.Document == fmt.Sprintf("kernel-%d.py", i)
					switch {
					case original && m.Suspicious() && (!p.half || m.Copied >= 0.40):
						found[p.name]++
					case !original && m.Suspicious():
						alarms++
					}
					if low, ok := least[p.name]; original && (!ok || m.Copied < low) {
						least[p.name] = m.Copied
					}
				}
			}
			unrelated++
			other := newAuthor(seed*104729 + 500_000 + uint64(i)).program()
			for _, m := range comparer.Compare(read(t, "code", map[string]string{"other.py": join(other)})).Matches {
				highest = max(highest, m.Containment())
				if m.Suspicious() {
					alarms++
				}
			}
		}
	}
	for _, p := range planted {
		recall := float64(found[p.name]) / float64(all)
		t.Logf("%-50s found %d of %d (%.1f %%), least containment %.2f", p.name, found[p.name], all, 100*recall, least[p.name])
		if recall < 0.95 {
			t.Errorf("%s: %d of %d copies were found", p.name, found[p.name], all)
		}
	}
	t.Logf("unrelated: %d programs, %d alarms, highest containment %.3f", unrelated, alarms, highest)
	if alarms > 0 {
		t.Errorf("%d alarms in unrelated code", alarms)
	}
}

// TestRealCode compares the modules of a Python library with each other:
// MLEFLOW_PYTHON_LIBRARY names its folder.
func TestRealCode(t *testing.T) {
	dir := os.Getenv("MLEFLOW_PYTHON_LIBRARY")
	if dir == "" {
		t.Skip("MLEFLOW_PYTHON_LIBRARY names no folder")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.py"))
	if err != nil {
		t.Fatal(err)
	}
	db := &winnow.Database{Method: winnow.Default, Common: winnow.DefaultCommon}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := read(t, filepath.Base(path), map[string]string{filepath.Base(path): string(data)}); d.Tokens() > 300 {
			db.Documents = append(db.Documents, d)
		}
	}
	comparer, pairs := winnow.NewComparer(db), 0
	for _, d := range db.Documents {
		for _, m := range comparer.Compare(d).Matches {
			pairs++
			if m.Document != d.Name && (m.Suspicious() || m.Containment() > 0.08) {
				t.Logf("%v %s in %s: copied %.2f owed %.2f shared %d longest %d at %s = %s", m.Suspicious(), m.Document, d.Name, m.Copied, m.Owed, m.Shared, m.Longest.Tokens, m.Longest.Ours.Place, m.Longest.Theirs.Place)
			}
		}
	}
	t.Logf("%d modules, %d pairs share anything", len(db.Documents), pairs)
}
