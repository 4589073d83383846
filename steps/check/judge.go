package check

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/rules/judge"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/gateway"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/steps/modelblock"
)

// Limits of a judge.
const (
	mostShown     = 2 << 20
	mostProfile   = 256 << 10
	mostResponse  = 8 << 20
	mostJudged    = 64 << 20 // of a transcript
	judgeOutput   = 16_000   // tokens
	ownProfile    = "questions"
	judgeModelURL = "http://judge"
)

// judgeArgs are the arguments of the block.
type judgeArgs struct {
	Model     step.Model     `cty:"model" is:"required" doc:"The model, model.NAME; the first of its models is asked."`
	Profile   string         `cty:"profile" doc:"The questions; \"mle-bench\" are its judge's, in our words."`
	Questions *step.Artifact `cty:"questions" doc:"Your own questions instead, such as file(\"questions.hcl\")."`
	Limit     string         `cty:"limit" doc:"The most of code, logs and conversations that the model sees, 2 MiB at most; the rest is listed."`
}

// judging is a judge that is ready to be asked.
type judging struct {
	judgeArgs
	to    judge.To
	limit int
	pools *modelblock.Pools
}

// Opinion is what a model answered about an attempt.
type Opinion struct {
	// Profile is the name of the questions, and Digest the digest of the questions and
	// instructions. Model is the model that was asked.
	Profile string `json:"profile"`
	Digest  string `json:"digest"`
	Model   string `json:"model"`
	// Shown is the number of bytes of the attempt that the model was shown. Omitted
	// lists what it was not shown.
	Shown   int            `json:"shown_bytes"`
	Omitted []string       `json:"omitted,omitempty"`
	Answers []judge.Answer `json:"answers"`
}

func newJudging(args *judgeArgs, pools *modelblock.Pools) (*judging, error) {
	if args == nil {
		return nil, nil
	}
	j := &judging{judgeArgs: *args, pools: pools}
	model, err := modelblock.Of(args.Model)
	if err != nil {
		return nil, err
	}
	name := args.Model.Models[0]
	if strings.Contains(name, "*") {
		return nil, fmt.Errorf("the first of the models of model.%s is the pattern %q; list the model that judges first", args.Model.Name, name)
	}
	price, _ := gateway.PriceOf(&model, name)
	j.to = judge.To{Provider: args.Model.Provider, Model: name, Output: min(judgeOutput, cmp.Or(max(price.MaxOutput, 0), judgeOutput))}
	limit, err := step.ParseSize(args.Limit)
	if err != nil || limit < 1 || limit > mostShown {
		return nil, fmt.Errorf("limit = %q is not a size of at most 2 MiB, such as \"200KiB\"", args.Limit)
	}
	j.limit = int(limit)
	return j, nil
}

// Varies implements step.Varying: a model's answers differ from one request to the
// next.
func (c *check) Varies() bool { return c.judge != nil }

// Spending implements step.Spender.
func (c *check) Spending() []step.Spending {
	if c.judge == nil {
		return nil
	}
	return []step.Spending{modelblock.Spending(c.judge.Model)}
}

// Fingerprint implements step.Fingerprinter. It adds the collections that have labels, the
// questions and the prices of the model.
func (c *check) Fingerprint(h *digest.Hasher) error {
	for _, p := range c.def.PublicLabels {
		h.String("public labels", strings.Join(append([]string{p.Name, p.Address()}, p.Loaders...), "\n"))
	}
	if c.judge == nil {
		return nil
	}
	if c.judge.Questions == nil {
		p, err := judge.Named(c.judge.Profile)
		if err != nil {
			return err
		}
		h.Content("judge.profile", p.Digest())
	}
	return modelblock.Fingerprint(h, "judge.model", c.judge.Model)
}

// profile returns the questions.
func (j *judging) profile(ctx context.Context, store cache.Store) (*judge.Profile, error) {
	if j.Questions == nil {
		return judge.Named(j.Profile)
	}
	if j.Questions.Ref.Kind != cache.Blob {
		return nil, fmt.Errorf("questions: %s is a folder; name a file", j.Questions.Name())
	}
	data, err := cache.Get(ctx, store, j.Questions.Ref.ID, mostProfile)
	if err != nil {
		return nil, fmt.Errorf("questions: %w", err)
	}
	p, err := judge.Parse(ownProfile, data)
	if err != nil {
		return nil, fmt.Errorf("questions: %w", err)
	}
	return p, nil
}

// ask asks the judge, if there is one, and adds its opinion to the report and the
// outputs.
func (c *check) ask(ctx context.Context, env *step.Env, a judge.Attempt, report *Report, out cache.Outputs) error {
	use := map[string]results.ModelUse{}
	empty, err := new(tree.Builder).Build(ctx, env.Store)
	if err != nil {
		return err
	}
	said := cache.Value{Ref: empty}
	if c.judge != nil {
		if report.Judge, said.Ref, err = c.judge.ask(ctx, env, a, use, report); err != nil {
			return err
		}
	}
	out["judge_transcript"] = said
	return out.Encode(map[string]any{"judge_models": use})
}

func (j *judging) ask(ctx context.Context, env *step.Env, a judge.Attempt, use map[string]results.ModelUse, report *Report) (*Opinion, cache.Ref, error) {
	p, errProfile := j.profile(ctx, env.Store)
	m, errGather := judge.Gather(ctx, a, j.limit)
	key, err := modelblock.Key(ctx, j.Model)
	if err := cmp.Or(errProfile, errGather, err); err != nil {
		return nil, cache.Ref{}, err
	}
	mask := secret.New(key)
	response, said, err := j.send(ctx, env, key, p.Request(m), use)
	if err != nil {
		return nil, cache.Ref{}, mask.Error(err)
	}
	var answers []judge.Answer
	text, err := judge.AnswerOf(j.to.Provider, response)
	if err == nil {
		answers, err = p.Read(text, m)
	}
	if err != nil {
		return nil, cache.Ref{}, j.temporary(mask.Error(fmt.Errorf("the answers of %s cannot be used: %w", j.to.Model, err)))
	}
	o := &Opinion{Profile: cmp.Or(p.Name, j.Profile), Digest: p.Digest().String(), Model: j.to.Model, Shown: m.Bytes, Omitted: m.Omitted, Answers: answers}
	report.Rules = append(report.Rules, p.Rules()...)
	report.Findings = append(report.Findings, p.Findings(answers, j.to.Model)...)
	evidence.Sort(report.Findings)
	fmt.Fprintf(env.Log, "judge %s, profile %s: %d bytes shown, %d parts left out or cut\n", j.to.Model, o.Profile, m.Bytes, len(m.Omitted))
	return o, said, nil
}

// temporary marks an error of a live model as one that a retry may avoid.
func (j *judging) temporary(err error) error {
	if !modelblock.Live(j.Model) {
		return err
	}
	return step.Retryable(err, 0)
}

// send sends the request, and returns the response and the transcript.
func (j *judging) send(ctx context.Context, env *step.Env, key string, r judge.Request, use map[string]results.ModelUse) ([]byte, cache.Ref, error) {
	dir := filepath.Join(env.WorkDir, "judge")
	at := filepath.Join(dir, "transcript")
	response, summary, err := j.exchange(ctx, env, key, r, dir, at)
	if err != nil {
		return nil, cache.Ref{}, err
	}
	use[j.Model.Name] = modelblock.UseOf(j.to.Provider, summary)
	fmt.Fprintf(env.Log, "judge %s: %d requests, %s USD\n", j.to.Model, summary.Requests, summary.Cost)
	if err := j.exchanged(at, use); err != nil {
		return nil, cache.Ref{}, err
	}
	said, err := tree.Import(ctx, env.Store, at, tree.ImportOptions{})
	return response, said, err
}

// exchange sends the request through its own gateway, which works in the folder dir and
// records it in the folder at.
func (j *judging) exchange(ctx context.Context, env *step.Env, key string, r judge.Request, dir, at string) (response []byte, sum gateway.Summary, err error) {
	path, body, err := r.Body(j.to)
	if err != nil {
		return nil, sum, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, sum, err
	}
	closing := func(c io.Closer) { err = errors.Join(err, c.Close()) }
	d := dialect.Named(j.to.Provider)
	virtual := gateway.NewKey(d)
	record, err := transcript.Open(at, mostJudged, secret.New(key, virtual))
	if err != nil {
		return nil, sum, err
	}
	defer closing(record)
	recordings, err := modelblock.Recordings(ctx, env.Store, j.Model, filepath.Join(dir, "replay-"))
	for _, r := range recordings {
		defer closing(r)
	}
	if err != nil {
		return nil, sum, err
	}
	block, err := modelblock.Block(j.Model, modelblock.Serving{
		Key: key, Virtual: virtual, Mask: secret.New(key), Run: j.pools.Of(env.RunID, j.Model), Recordings: recordings,
	})
	if err != nil {
		return nil, sum, err
	}
	g, err := gateway.New(gateway.Options{Blocks: []gateway.Block{block}, Dir: dir, Transcript: record})
	if err != nil {
		return nil, sum, err
	}
	defer closing(g)
	header := http.Header{"Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"}}
	d.SetKey(header, nil, virtual)
	response, err = post(ctx, g, judgeModelURL+"/"+j.Model.Name+path, header, body)
	return response, g.Summary()[0], err
}

// exchanged adds the use in the transcript. It returns an error if the exchange failed.
func (j *judging) exchanged(at string, use map[string]results.ModelUse) (err error) {
	r, err := transcript.OpenReader(os.DirFS(at))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if _, err := modelblock.AddExchanges(use, r); err != nil {
		return err
	}
	for e, err := range r.Events() {
		if err != nil {
			return err
		}
		said, err := r.Response(e)
		if err != nil {
			return err
		}
		if err := j.failure(e, said); err != nil {
			return err
		}
	}
	return nil
}

// failure returns the reason why an exchange has no answer, or nil if it has one.
func (j *judging) failure(e *transcript.Event, said []byte) error {
	_, text := judge.AnswerOf(j.to.Provider, said)
	switch {
	case e.Refused == dialect.Unreachable:
		return j.temporary(fmt.Errorf("the provider of %s did not answer: %s", j.to.Model, e.Failed))
	case e.Refused != "":
		return fmt.Errorf("the request was refused (%s): %w", e.Refused, text)
	case e.Status/100 == 4 && e.Status != http.StatusTooManyRequests:
		return fmt.Errorf("the provider of %s refused the request with status %d: %w", j.to.Model, e.Status, text)
	case e.Status != http.StatusOK || e.Cut || e.Failed != "":
		return j.temporary(fmt.Errorf("the provider of %s failed with status %d %s: %w", j.to.Model, e.Status, e.Failed, cmp.Or(text, errors.New("the response ended early"))))
	}
	return nil
}

// post has a gateway answer one request without a network and returns the body of the
// response, whatever its status: the transcript has the status.
func post(ctx context.Context, g *gateway.Gateway, address string, header http.Header, body []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = header
	w := &received{header: http.Header{}, leave: cancel}
	g.Answer(w, r)
	if w.tooLarge {
		return nil, errors.New("the response has more than 8 MiB")
	}
	return w.body.Bytes(), ctx.Err()
}

// received collects a response. It leaves the request when that is too large.
type received struct {
	header   http.Header
	body     bytes.Buffer
	leave    func()
	tooLarge bool
}

// Header implements http.ResponseWriter.
func (w *received) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *received) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (w *received) Write(p []byte) (int, error) {
	if w.tooLarge = w.tooLarge || w.body.Len()+len(p) > mostResponse; w.tooLarge {
		w.leave()
		return 0, io.ErrShortBuffer
	}
	return w.body.Write(p)
}
