package prep_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/data/transform"
)

// The splits of the documentation's table run, and no row is on both sides.
func TestSplits(t *testing.T) {
	rows, days := "id,label,user,site,fold,day,Usage\n", 0
	for i := range 80 {
		days = (days*5 + 3) % 80
		rows += fmt.Sprintf("%d,%s,u%d,%s,%d,2020-01-%02d,%s\n", i, []string{"cat", "dog"}[i%3/2], i%16, []string{"north", "south"}[i*7%5/3], i%4, 1+days%28, []string{"Public", "Private"}[i%2])
	}
	raw := rawFiles(map[string]string{"all.csv": rows, "train.csv": strings.Replace(rows, "\n0,", "\n100,", 1)[:200]})
	for _, s := range transform.Splits {
		t.Run(s.Name, func(t *testing.T) {
			from := ""
			if strings.HasPrefix(s.Locals[len(s.Locals)-1], "parts = ") {
				from = "parts."
			}
			def := define(t, fmt.Sprintf("locals {\nall = csv(\"all.csv\")\n%s\n}\npublic {\ntable \"a\" { rows = %[2]strain }\ntable \"b\" { rows = %[2]stest }\n}", strings.Join(s.Locals, "\n"), from))
			out := prepare(t, def, prep.Options{Raw: raw})
			sides := map[string]string{}
			for _, side := range []string{"a", "b"} {
				text, err := os.ReadFile(filepath.Join(out, "public", side))
				if err != nil {
					t.Fatal(err)
				}
				lines := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
				if len(lines) == 0 {
					t.Errorf("%s is empty", side)
				}
				for _, line := range lines {
					id, _, _ := strings.Cut(line, ",")
					if sides[id] != "" && !strings.HasPrefix(s.Name, "Usage") {
						t.Errorf("row %s is in %s and %s", id, sides[id], side)
					}
					sides[id] = side
				}
			}
		})
	}
}
