package agentrun_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
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

// before asks for an act before an attempt starts, as of an earlier run, and passes on the
// answer.
func before(b *steptest.Bench, act step.Act) <-chan error {
	b.Requests = make(chan step.Asked, 1)
	answered := make(chan error, 1)
	b.Requests <- step.Asked{Request: step.Request{Act: act, Author: "me@here", Time: time.Now().Add(-time.Second)}, Again: true, Answer: func(_ string, err error) { answered <- err }}
	return answered
}

// TestGone asks for acts on an agent that is gone and has left nothing: its successor is not
// stopped, and none begins only to be ended.
func TestGone(t *testing.T) {
	t.Parallel()
	for act, want := range map[step.Act]struct {
		err     error
		refused bool
	}{step.Stop: {nil, true}, step.Requeue: {step.ErrRequeued, false}, step.Cancel: {step.ErrCancelled, false}} {
		b := newBench(t)
		sign := signOf(t)
		answered := before(b, act)
		_, err := b.Run(t, values(b, t, shell(submits+"sleep 1; touch "+sign)))
		_, missing := os.Stat(sign)
		if !errors.Is(err, want.err) || (missing != nil) != (want.err != nil) || len(b.Steered()) > 0 {
			t.Errorf("%s: %v, ran to its end: %v, steered %q\n%s", act, err, missing, b.Steered(), b.Log())
		}
		if err := <-answered; (err != nil) != want.refused {
			t.Errorf("%s: answered %v", act, err)
		}
	}
}

// TestStopGone stops an attempt whose agent is gone and has left a checkpoint: what it had
// submitted by then is the result, and no other agent runs.
func TestStopGone(t *testing.T) {
	b, _, _ := benchOnDisk(t)
	sign := signOf(t)
	args := durableArgs(b, t, "resume", submits+"touch "+sign+"; sleep 60")
	if _, err := b.RunIn(t, until(t, sign), steptest.WorkDir(t), args); err == nil {
		t.Fatal("not interrupted")
	}
	answered := before(b, step.Stop)
	got := run(t, b, args)
	if err := <-answered; err != nil || got.Outcome != "stopped_early" || got.Code["lives"] != "life\n" || !strings.HasPrefix(got.Submission["submission.csv"], "id,y") {
		t.Errorf("%v, %+v\n%s", err, got, b.Log())
	}
	if words := strings.Join(b.Steered(), " "); !regexp.MustCompile(`^stopped@\d+s$`).MatchString(words) {
		t.Errorf("steered %q", words)
	}
}

// TestStopLost stops an attempt whose agent is gone without a trace, as if mleflow was killed
// when it had just ended it, but not its folder.
func TestStopLost(t *testing.T) {
	m := &machine{running: map[string]executor.Spec{}, command: func(s executor.Spec) error { return submit(s, "old\n") }}
	b := newBench(t, m.runtime())
	args := values(b, t, who([]string{"/agent"}, nil))
	kill(t, b, m, args)
	for id, spec := range m.running {
		if err := submit(spec, "old\n"); err != nil {
			t.Fatal(err)
		}
		delete(m.running, id)
	}
	m.command = func(executor.Spec) error { return errors.New("another agent runs") }
	answered := before(b, step.Stop)
	got := run(t, b, args)
	if err := <-answered; err != nil || got.Outcome != "stopped_early" || got.Submission["submission.csv"] != "old\n" || len(b.Steered()) != 1 {
		t.Errorf("%v, %+v, steered %q\n%s", err, got, b.Steered(), b.Log())
	}
	if list := kept(t, b); len(list) != 0 {
		t.Errorf("still kept: %v", list)
	}
}
