package agentrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/gateway"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
	"github.com/mleflow/mleflow/steps/modelblock"
)

const (
	// modelPort is the port of the model gateway on the agent's loopback interface.
	modelPort = 4000
	// modelVariable holds the address of the gateway; GET /budget returns the remaining
	// budget.
	modelVariable = "MLEFLOW_MODELS"
	// transcriptBytes limits the transcript of an agent and its models.
	transcriptBytes = 4 << 30

	keysFile         = "keys.json"
	transcriptFolder = "transcript"
)

// modelGate is the model gateway of an attempt. Its folder outlives the process with
// any runtime. It contains the virtual keys, the spending and the transcript. If an
// attempt begins again, requests that are the same as before get the recorded
// responses, and the first different one continues live.
type modelGate struct {
	*place
	gateway *gateway.Gateway
	writer  *transcript.Writer
	dir     string
	// virtual holds the agent's keys, by model name.
	virtual map[string]string
	readers []*transcript.Reader
	// again plays the recordings of earlier tries; nil if there are none.
	again *transcript.Player
	// before holds the earlier exchanges of an agent that continues; nil for a new one.
	before *transcript.Reader
}

// modelKeys resolves the providers' keys, by model name.
func (a *attempt) modelKeys(ctx context.Context) (map[string]string, error) {
	values := map[string]string{}
	for _, m := range a.args.Agent.Models {
		key, err := modelblock.Key(ctx, m)
		if err != nil {
			return nil, err
		}
		if key != "" {
			values[m.Name] = key
		}
	}
	return values, nil
}

// findBudgets finds the folder of what the attempt may use up, its models and queries,
// which outlives the process with any runtime. It masks the models' virtual keys from then
// on. They are useless elsewhere, but they differ between attempts.
func (p *place) findBudgets(ctx context.Context, action string) error {
	if len(p.args.Agent.Models) == 0 && !p.validates() {
		return nil
	}
	dir, release, err := p.env.Store.Keep(ctx, keptPrefix+modelsPrefix+action)
	if err != nil {
		return err
	}
	p.opened = append(p.opened, func(bool) error { return errors.Join(p.models.close(), p.queries.Close(), release(!p.done)) })
	if p.validates() {
		p.queried = filepath.Join(dir, queriesFolder)
		if err := nolink.MkdirAll(p.queried, 0o700); err != nil {
			return err
		}
	}
	if len(p.args.Agent.Models) == 0 {
		return nil
	}
	p.models = &modelGate{place: p, dir: dir}
	p.phases.transcript(keptPrefix + modelsPrefix + action)
	if err := p.models.findKeys(p.args.Agent.Models); err != nil {
		return fmt.Errorf("keys of the model gateway: %w", err)
	}
	p.mask = p.mask.With(slices.Collect(maps.Values(p.models.virtual))...)
	return nil
}

// findKeys reads the virtual keys of an earlier process, or creates them.
func (g *modelGate) findKeys(models []step.Model) error {
	path := filepath.Join(g.dir, keysFile)
	var err error
	if g.virtual, err = claim.Load[map[string]string](path); err == nil {
		return nil
	}
	g.virtual = map[string]string{}
	for _, m := range models {
		g.virtual[m.Name] = gateway.NewKey(dialect.Named(m.Provider))
	}
	return claim.Save(path, g.virtual)
}

// serve opens the model gateway, if the agent has models, and sets the variables with
// its address.
func (m *modelGate) serve(ctx context.Context, g *gates) error {
	if m == nil {
		return nil
	}
	earlier, err := m.earlier()
	if err != nil {
		return err
	}
	now := filepath.Join(m.dir, transcriptFolder)
	if m.writer, err = transcript.Open(now, transcriptBytes, m.mask); err != nil {
		return err
	}
	if m.points.goesOn() {
		if m.before, err = m.read(now); err != nil {
			return err
		}
	}
	if err := m.resume(earlier); err != nil {
		return err
	}
	var blocks []gateway.Block
	for _, block := range m.args.Agent.Models {
		b, err := m.block(ctx, block)
		if err != nil {
			return fmt.Errorf("model %q: %w", block.Name, err)
		}
		blocks = append(blocks, b)
	}
	if m.gateway, err = gateway.New(gateway.Options{Blocks: blocks, Dir: m.dir, Transcript: m.writer, Again: !m.points.goesOn(), Spent: m.spent}); err != nil {
		return err
	}
	g.services = append(g.services, executor.Service{Name: "model gateway", Port: modelPort, Env: modelEnv(blocks), Serve: m.gateway.Serve})
	return nil
}

// spent reports the attempt's use of its models so far.
func (m *modelGate) spent(used, paid gateway.Amount) {
	m.phases.spent(step.Spent{Requests: used.Requests, Tokens: used.Tokens, Cost: int64(paid.Cost), ModelMillis: m.busy()})
}

// busy is the time in which the agent had a request under way, in milliseconds.
func (m *modelGate) busy() int64 {
	if m == nil || m.gateway == nil {
		return 0
	}
	_, busy := m.gateway.Calls()
	return busy.Milliseconds()
}

// earlier returns the folders with the recordings of earlier tries. If the agent
// continues, the current recording is not among them.
func (m *modelGate) earlier() ([]string, error) {
	var list []string
	now := filepath.Join(m.dir, transcriptFolder)
	for n := 1; ; n++ {
		at := fmt.Sprintf("%s-%d", now, n)
		_, err := os.Lstat(at)
		fresh := errors.Is(err, fs.ErrNotExist) && !m.points.goesOn()
		if fresh {
			err = os.Rename(now, at)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return list, nil
		}
		if list = append(list, at); fresh || err != nil {
			return list, err
		}
	}
}

// block is a model block as the gateway serves it.
func (m *modelGate) block(ctx context.Context, of step.Model) (gateway.Block, error) {
	serving := modelblock.Serving{
		Key: m.keys[of.Name], Virtual: m.virtual[of.Name], Mask: m.mask, Earlier: m.again, Before: m.before, Run: m.deps.Pools.Of(m.env.RunID, of),
	}
	var err error
	serving.Recordings, err = modelblock.Recordings(ctx, m.env.Store, of, filepath.Join(m.dir, "replay-"+of.Name+"-"))
	m.readers = append(m.readers, serving.Recordings...)
	if err != nil {
		return gateway.Block{}, err
	}
	return modelblock.Block(of, serving)
}

// modelEnv returns the variables through which clients find the gateway and their keys:
// each provider's usual ones, for its first model, and two for each model.
func modelEnv(blocks []gateway.Block) map[string]string {
	env := map[string]string{modelVariable: executor.Address}
	for _, b := range slices.Backward(blocks) {
		usual := b.Dialect.Variables(executor.Address+"/"+b.Name, b.Virtual)
		maps.Copy(env, usual)
		for name, value := range usual {
			if strings.HasSuffix(name, "_BASE_URL") {
				env[modelName(b.Name, "URL")] = value
			}
		}
		env[modelName(b.Name, "KEY")] = b.Virtual
	}
	return env
}

// modelName is the name of a variable for one model.
func modelName(name, what string) string {
	return "MLEFLOW_MODEL_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name)) + "_" + what
}

// close closes the gateway's files. The gateway serves no more requests.
func (m *modelGate) close() error {
	if m == nil {
		return nil
	}
	var all error
	if m.gateway != nil {
		all = m.gateway.Close()
	}
	if m.writer != nil {
		all = errors.Join(all, m.writer.Close())
	}
	for _, r := range m.readers {
		all = errors.Join(all, r.Close())
	}
	m.gateway, m.writer, m.readers = nil, nil, nil
	return all
}

func (m *modelGate) read(dir string) (*transcript.Reader, error) {
	r, err := transcript.OpenReader(os.DirFS(dir))
	if err == nil {
		m.readers = append(m.readers, r)
	}
	return r, err
}

// resume prepares to play the recordings of earlier tries, if there are any and a model
// is live. All models share the player, because each recording is used once. A damaged
// recording does not fail the attempt: it is repaired as after a crash, or its requests
// are sent again, and the log says so.
func (m *modelGate) resume(earlier []string) error {
	if len(earlier) == 0 || !slices.ContainsFunc(m.args.Agent.Models, modelblock.Live) {
		return nil
	}
	var list []*transcript.Reader
	for _, dir := range earlier {
		r, err := m.repaired(dir)
		if err != nil {
			m.env.Note("what an earlier try recorded cannot be read, so its requests are sent again: %v", err)
			continue
		}
		list = append(list, r)
	}
	player, err := transcript.NewPlayer(modelblock.Canonical, m.mask, list...)
	if err != nil {
		m.env.Note("what earlier tries recorded cannot be played, so their requests are sent again: %v", err)
		return nil
	}
	m.again = player
	return nil
}

// repaired opens a transcript that nobody is writing, and cuts off a damaged end.
func (m *modelGate) repaired(dir string) (*transcript.Reader, error) {
	w, err := transcript.Open(dir, transcriptBytes, m.mask)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, err
	}
	return m.read(dir)
}

// transcript stores the transcript of the agent and its models, and sets the use of
// each model. Both are empty without models. The gateway must not serve any more.
func (f *finished) transcript(ctx context.Context) (ref cache.Ref, err error) {
	f.use = map[string]results.ModelUse{}
	if f.models == nil {
		return new(tree.Builder).Build(ctx, f.env.Store)
	}
	at, err := f.models.settle(f.use, &f.health)
	if err != nil {
		return cache.Ref{}, err
	}
	if ref, err = tree.Import(ctx, f.env.Store, at, tree.ImportOptions{}); err != nil {
		return cache.Ref{}, fmt.Errorf("keep transcript: %w", err)
	}
	return ref, nil
}

// settle adds up the use of each model and the health of the providers. It returns the
// folder of the complete transcript.
func (m *modelGate) settle(use map[string]results.ModelUse, health *modelblock.Health) (at string, err error) {
	for i, sum := range m.gateway.Summary() {
		use[sum.Model] = modelblock.UseOf(m.args.Agent.Models[i].Provider, sum)
	}
	if n, why := m.writer.Dropped(); n > 0 {
		m.env.Note("not in the transcript: %d bodies or exchanges, beyond its limit of %d bytes (%v)", n, int64(transcriptBytes), why)
	}
	if err := m.close(); err != nil {
		return "", fmt.Errorf("keep transcript: %w", err)
	}
	at = filepath.Join(m.dir, transcriptFolder)
	r, err := m.read(at)
	if err == nil {
		*health, err = modelblock.AddExchanges(use, r)
		m.close() //nolint:errcheck // it was only read
	}
	if err != nil {
		return "", fmt.Errorf("read transcript: %w", err)
	}
	return at, nil
}

// paused returns the time given back to the agent so far.
func (m *modelGate) paused() time.Duration {
	if m == nil || m.gateway == nil {
		return 0
	}
	return m.gateway.Paused()
}

// clockPause is the interval at which the models and the agent's clock are checked.
const clockPause = 200 * time.Millisecond

var errBudget = errors.New("the agent repeats what its budget refuses")

// watch ends the attempt when a pausable clock is past its limit, or when the agent
// only repeats requests that its budget refuses.
func (m *modelGate) watch(ctx context.Context, end context.CancelCauseFunc) {
	if m == nil {
		return
	}
	for {
		if progress.Sleep(ctx, clockPause) != nil {
			return
		}
		if why := m.gateway.Futile(); why != "" {
			m.env.Note("stopped: %s", why)
			end(errBudget)
			return
		}
		if m.over() {
			limit := m.limit()
			m.env.Note("stopped: the time limit of %v, of which %v were given back", limit.Round(time.Second), (limit - m.granted()).Round(time.Second))
			end(errTime)
			return
		}
	}
}
