package transform

import (
	"testing"

	"github.com/mleflow/mleflow/plugins/data/split"
)

func TestPartSize(t *testing.T) {
	for _, v := range []float64{0, -1, -0.1, 1.5, 1 << 31} {
		if got, err := partSize("test_size", &v); err == nil {
			t.Errorf("%v is taken as %v", v, got)
		}
	}
	for v, want := range map[float64]split.Size{0.25: 0.25, 1: 1, 300: 300} {
		if got, err := partSize("test_size", &v); got != want || err != nil {
			t.Errorf("%v gives %v, %v", v, got, err)
		}
	}
}
