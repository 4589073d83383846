package plain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShorten keeps what tells names apart.
func TestShorten(t *testing.T) {
	for name, tt := range map[string]struct {
		column []string
		width  int
		want   []string
	}{
		"they fit":                    {[]string{"agent", "a-b", "a-c"}, 5, []string{"agent", "a-b", "a-c"}},
		"one name":                    {[]string{"agent", "alpha-beta-gamma"}, 9, []string{"agent", "alph…amma"}},
		"a value in the middle":       {[]string{"lr=0.001,model=gpt-mini,t=0.7", "lr=0.001,model=gpt-nano,t=0.7"}, 20, []string{"…model=gpt-mini,…   ", "…model=gpt-nano,…   "}},
		"less space":                  {[]string{"lr=0.001,model=gpt-mini,t=0.7", "lr=0.001,model=gpt-nano,t=0.7"}, 12, []string{"…mini,…     ", "…nano,…     "}},
		"two values":                  {[]string{"a=1,b=2,c=3,d=4,e=5", "a=1,b=9,c=3,d=8,e=5"}, 15, []string{"…b=2,…d=4,…    ", "…b=9,…d=8,…    "}},
		"other numbers of parts":      {[]string{"team/agent/fast/v1", "team/agent/v1"}, 12, []string{"…fast/v1    ", "…v1         "}},
		"nothing but numbers is left": {[]string{"aaaaaaaa1aaaaaaaa", "aaaaaaaa2aaaaaaaa", "aaaaaaaa3aaaaaaaa"}, 8, []string{"aaaa…aaa", "aaa…aa~2", "aaa…aa~3"}},
		"one is repeated":             {[]string{"aaaaaaaaaaaa", "aaaaaaaaaaaa"}, 5, []string{"aa…aa", "aa…aa"}},
		"a short one looks like it":   {[]string{"aa…aa", "aaaaaaaaaaaa"}, 5, []string{"aa…aa", "a…a~2"}},
	} {
		if diff := cmp.Diff(tt.want, Shorten(tt.column, tt.width)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
