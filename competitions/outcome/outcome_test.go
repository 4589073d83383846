package outcome

import (
	"slices"
	"strings"
	"testing"
)

// TestEnds holds what every end needs: a sentence, and a word for --retry where it is
// a failure with a name of its own.
func TestEnds(t *testing.T) {
	for _, e := range Ends() {
		if !e.Known() || !strings.HasSuffix(e.Doc(), ".") || strings.Contains(e.Text(), "_") {
			t.Errorf("%s: known %v, %q, %q", e, e.Known(), e.Text(), e.Doc())
		}
		if got := slices.Contains(Retried("failed"), string(e)); got != e.Failed() {
			t.Errorf("%s: --retry failed takes it: %v", e, got)
		}
	}
	if End("nonsense").Known() || Retried("nonsense") != nil {
		t.Error("nonsense is known")
	}
}

// TestRetryWords reads every word back, also as the outcome is spelled.
func TestRetryWords(t *testing.T) {
	for _, word := range RetryWords() {
		list := Retried(word)
		if len(list) == 0 || word != failed && (len(list) != 1 || !slices.Equal(Retried(list[0]), list)) {
			t.Errorf("%s takes %q", word, list)
		}
	}
}
