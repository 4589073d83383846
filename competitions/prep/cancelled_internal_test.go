package prep

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/plugins/data/transform"
)

// TestIsCancelled tells outputs that another's failure stopped from an output
// that failed with words like it.
func TestIsCancelled(t *testing.T) {
	verb := func(err error) hcl.Diagnostics {
		_, diags := result([]reflect.Value{reflect.ValueOf(&err).Elem()}, transform.Verb{Name: "csv"}, hcl.Range{})
		return diags
	}
	stopped, failed := verb(fmt.Errorf("read a.csv: %w", context.Canceled)), verb(errors.New("column \"context canceled\" is missing"))
	if !isCancelled(stopped) || isCancelled(failed) || isCancelled(append(stopped, failed...)) {
		t.Errorf("%v: %v, %v: %v", stopped, isCancelled(stopped), failed, isCancelled(failed))
	}
	if got := stopped[0].Detail; got != "read a.csv: context canceled." {
		t.Errorf("got %q", got)
	}
}
