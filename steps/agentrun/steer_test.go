package agentrun_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/steptest"
)

// askWhen asks for an act once a file is there, and passes on the answer.
func askWhen(t *testing.T, b *steptest.Bench, sign string, act step.Act) <-chan error {
	t.Helper()
	b.Requests = make(chan step.Asked, 1)
	answered := make(chan error, 1)
	go func() {
		for {
			if _, err := os.Stat(sign); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		b.Requests <- step.Asked{Request: step.Request{Act: act, Author: "me@here"}, Answer: func(effect string, err error) {
			if err == nil && effect == "" {
				err = errors.New("no effect")
			}
			answered <- err
		}}
	}()
	return answered
}

// submits is an agent that submits, counts its lives, and works for a minute.
const submits = `echo life >> $AGENT_DIR/lives; cp $AGENT_DIR/lives $CODE_DIR/; printf 'id,y\n11,a\n12,b\n' > $SUBMISSION_DIR/submission.csv; `

// TestStop stops an agent early: what it submitted is harvested, and the result says so.
func TestStop(t *testing.T) {
	b := newBench(t)
	sign := signOf(t)
	answered := askWhen(t, b, sign, step.Stop)
	got := run(t, b, values(b, t, shell(submits+"touch "+sign+"; sleep 60")))
	if err := <-answered; err != nil || got.Outcome != "stopped_early" || !strings.HasPrefix(got.Submission["submission.csv"], "id,y") {
		t.Errorf("%v, %+v", err, got)
	}
	if words := strings.Join(b.Steered(), " "); !regexp.MustCompile(`^stopped@\d+s$`).MatchString(words) {
		t.Errorf("steered %q", words)
	}
}

// TestStopTooEarly asks to stop an attempt whose agent is not there yet.
func TestStopTooEarly(t *testing.T) {
	b := newBench(t)
	b.Requests = make(chan step.Asked)
	refused := make(chan error, 1)
	b.Phase = func(p step.Phase) {
		if p.Name == step.Placing && p.Files == 0 {
			select {
			case b.Requests <- step.Asked{Request: step.Request{Act: step.Stop}, Answer: func(_ string, err error) { refused <- err }}:
			default:
			}
		}
	}
	if got := run(t, b, values(b, t, shell("sleep 0.5; "+submits))); got.Outcome != "finished" || len(b.Steered()) > 0 {
		t.Errorf("%+v", got)
	}
	select {
	case err := <-refused:
		if err == nil {
			t.Error("it is not refused")
		}
	default:
		t.Skip("the attempt was not listening yet")
	}
}

// TestCancelAndRequeue ends an attempt whose checkpoint would else be used, and begins it again from
// the beginning or, if it was requeued, goes on from the checkpoint.
func TestCancelAndRequeue(t *testing.T) {
	for act, want := range map[step.Act]struct {
		error
		lives string
	}{step.Cancel: {step.ErrCancelled, "life\n"}, step.Requeue: {step.ErrRequeued, "life\nlife\n"}} {
		b, _, _ := benchOnDisk(t)
		sign := signOf(t)
		agent := submits + `[ -e ` + sign + `.again ] && exit 0; touch ` + sign + "; sleep 60"
		args := durableArgs(b, t, "resume", agent)
		answered := askWhen(t, b, sign, act)
		if _, err := b.Run(t, args); !errors.Is(err, want.error) {
			t.Fatalf("%s: %v\n%s", act, err, b.Log())
		}
		if err := <-answered; err != nil {
			t.Errorf("%s: %v", act, err)
		}
		if err := os.WriteFile(sign+".again", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := run(t, b, args); got.Code["lives"] != want.lives || got.Outcome != "finished" || len(b.Steered()) > 0 {
			t.Errorf("%s: lived %q, %s, steered %q\n%s", act, got.Code["lives"], got.Outcome, b.Steered(), b.Log())
		}
	}
}
