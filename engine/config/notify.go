package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/engine/diag"
)

// Notify is a notify block: a receiver of the user's configuration that is told about the
// runs of the pipeline. It is in no key.
type Notify struct {
	Name string
	// On are kinds of messages; nil stands for the receiver's own.
	On    []string
	Range hcl.Range
}

// NotifyKinds are the kinds of messages. A budget may have any percentage.
var NotifyKinds = []string{"finished", "failed", "stalled", "waiting", "budget 80%", "disk", "attempt scored", "medal"}

// CheckNotifyKinds reports what is not a kind of messages.
func CheckNotifyKinds(on []string) error {
	for _, kind := range on {
		if NotifyPercent(kind) == 0 && !slices.Contains(NotifyKinds, kind) {
			return fmt.Errorf("on has %q, which is no kind of message.%s The kinds are: %s", kind, diag.DidYouMean(kind, NotifyKinds), strings.Join(NotifyKinds, ", "))
		}
	}
	return nil
}

// NotifyPercent returns the percentage of a kind such as "budget 80%", or 0.
func NotifyPercent(kind string) (n int64) {
	if _, err := fmt.Sscanf(kind, "budget %d%%", &n); err != nil || n > 100 || kind != fmt.Sprintf("budget %d%%", n) {
		return 0
	}
	return max(n, 0)
}

func (l *loader) notify(b *hcl.Block) {
	content, _ := l.content(b, schemas[b.Type])
	n := Notify{Name: l.name("receiver", b), Range: b.DefRange}
	if a := content.Attributes["on"]; a != nil {
		on, diags := stringList(a, `Write, for example, on = ["failed", "budget 80%"].`)
		l.add(diags)
		if err := CheckNotifyKinds(on); err != nil {
			l.fail(a.Expr.Range(), "Unknown kind of message", "%s", diag.Sentence(err.Error()))
		}
		n.On = on
	}
	l.p.Notify = append(l.p.Notify, n)
}
