package agentrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/secret"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/gateway/dialect"
	"github.com/mleflow/mleflow/plugins/sandbox/gateway/model"
	"github.com/mleflow/mleflow/plugins/sandbox/gateway/transcript"
	"github.com/mleflow/mleflow/steps/agentrun/modelblock"
)

const (
	// modelPort is the model gateway's, on the agent's loopback interface.
	modelPort = 4000
	// modelVariable tells where it is; GET /budget says what is left.
	modelVariable = "MLEFLOW_MODELS"
	// transcriptBytes bounds the transcript of an agent and its models.
	transcriptBytes = 4 << 30
	// modelsPrefix begins the keys of the folders of attempts' models among the
	// cache's kept folders, after keptPrefix.
	modelsPrefix = "models-"

	keysFile         = "keys.json"
	transcriptFolder = "transcript"
)

// modelGate is the model gateway of an attempt. Its folder outlives the
// process, whatever the runtime: with the virtual keys, what was spent, and what
// was said. An attempt that must begin again gets the recorded responses again,
// as far as its requests are the same, and goes on live from there.
type modelGate struct {
	gateway *model.Gateway
	writer  *transcript.Writer
	dir     string
	// virtual are the keys that the agent has, by the names of the models.
	virtual map[string]string
	readers []*transcript.Reader
	// again plays the recordings of earlier tries; nil if there were none.
	again *transcript.Player
	// before holds the exchanges so far of an agent that goes on; nil for a new one.
	before *transcript.Reader
}

// modelKeys resolves the providers' keys, by the names of the models.
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

// findModels finds the folder of the attempt's models, and masks the virtual
// keys from now on: they are of no use elsewhere, but differ from attempt to
// attempt.
func (s *session) findModels(ctx context.Context, key string) error {
	if len(s.args.Agent.Models) == 0 {
		return nil
	}
	dir, release, err := s.env.Store.Keep(ctx, keptPrefix+modelsPrefix+key)
	if err != nil {
		return err
	}
	s.close = append(s.close, func(bool) error { return release(!s.done) })
	s.models = &modelGate{dir: dir}
	s.phases.transcript(keptPrefix + modelsPrefix + key)
	if err := s.models.findKeys(s.args.Agent.Models); err != nil {
		return fmt.Errorf("keys of the model gateway: %w", err)
	}
	s.mask = s.mask.With(slices.Collect(maps.Values(s.models.virtual))...)
	return nil
}

// findKeys reads the virtual keys that an earlier process made, or makes them.
func (g *modelGate) findKeys(models []step.Model) error {
	path := filepath.Join(g.dir, keysFile)
	if data, err := nolink.ReadFile(path); err == nil && json.Unmarshal(data, &g.virtual) == nil {
		return nil
	}
	g.virtual = map[string]string{}
	for _, m := range models {
		g.virtual[m.Name] = model.NewKey(dialect.Named(m.Provider))
	}
	text, err := json.Marshal(g.virtual)
	if err != nil {
		return err
	}
	return nolink.WriteFile(path, text, 0o600, false)
}

// openModels opens the model gateway, if the agent has models, and tells the
// agent where it is.
func (s *session) openModels(ctx context.Context, g *gates) error {
	m := s.models
	if m == nil {
		return nil
	}
	earlier, err := m.earlier(s.continued)
	if err != nil {
		return err
	}
	now := filepath.Join(m.dir, transcriptFolder)
	if m.writer, err = transcript.Open(now, transcriptBytes, s.mask); err != nil {
		return err
	}
	if s.continued {
		if m.before, err = m.open(now); err != nil {
			return err
		}
	}
	if err := s.resume(earlier); err != nil {
		return err
	}
	var blocks []model.Block
	for _, block := range s.args.Agent.Models {
		b, err := s.modelBlock(ctx, block)
		if err != nil {
			return fmt.Errorf("model %q: %w", block.Name, err)
		}
		blocks = append(blocks, b)
	}
	if m.gateway, err = model.New(model.Options{Blocks: blocks, Dir: m.dir, Transcript: m.writer, Again: !s.continued, Spent: s.spent}); err != nil {
		return err
	}
	address, err := g.serve(ctx, s.runtime.Isolates, "model gateway", modelPort, m.gateway.Serve)
	if err != nil {
		return err
	}
	maps.Copy(g.env, modelEnv(address, blocks))
	return nil
}

// spent reports the attempt's use of its models so far.
func (s *session) spent(used, paid model.Amount) {
	s.phases.spent(step.Spent{Requests: used.Requests, Tokens: used.Tokens, Cost: int64(paid.Cost)})
}

// earlier returns the folders of recordings of earlier tries of the attempt. The last
// one is the present one where the agent goes on.
func (m *modelGate) earlier(continued bool) ([]string, error) {
	var list []string
	now := filepath.Join(m.dir, transcriptFolder)
	for n := 1; ; n++ {
		at := fmt.Sprintf("%s-%d", now, n)
		_, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) && !continued {
			if err = os.Rename(now, at); errors.Is(err, fs.ErrNotExist) {
				return list, nil
			}
			return append(list, at), err
		}
		if errors.Is(err, fs.ErrNotExist) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, at)
	}
}

// modelBlock is a model block as the gateway serves it.
func (s *session) modelBlock(ctx context.Context, m step.Model) (model.Block, error) {
	one, err := modelblock.Of(m)
	if err != nil {
		return model.Block{}, err
	}
	b := model.Block{Model: one, Dialect: dialect.Named(m.Provider), Virtual: s.models.virtual[m.Name], Real: s.keys[m.Name], Run: s.pools.Of(s.env.RunID, m), PauseClock: m.PauseClock}
	b.Upstream, err = s.upstream(ctx, m, &b.Model, b.Dialect)
	return b, err
}

// modelEnv are the variables by which clients find the gateway and their keys:
// the usual ones of each provider for its first model, and two for each model.
func modelEnv(address string, blocks []model.Block) map[string]string {
	env := map[string]string{modelVariable: address}
	for _, b := range slices.Backward(blocks) {
		usual := b.Dialect.Variables(address+"/"+b.Name, b.Virtual)
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

// modelName is the name of a variable of one model.
func modelName(name, what string) string {
	return "MLEFLOW_MODEL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_" + what
}

// close ends the gateway's open exchanges; it serves no more.
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

// openRecording opens a recording that is content.
func (s *session) openRecording(ctx context.Context, name string, n int, a *step.Artifact) (*transcript.Reader, error) {
	if a.Ref.Kind != cache.Tree {
		return nil, fmt.Errorf("%s is no recording: it is a file, and a recording is a folder", a.Name())
	}
	at := filepath.Join(s.models.dir, fmt.Sprintf("replay-%s-%d", name, n))
	if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
		if _, err := tree.Materialise(ctx, s.env.Store, a.Ref, at, tree.Options{Mode: tree.Link}); err != nil {
			return nil, fmt.Errorf("place the recording %s: %w", a.Name(), err)
		}
	}
	r, err := s.models.open(at)
	if err != nil {
		return nil, fmt.Errorf("%s is no recording: %w", a.Name(), err)
	}
	return r, nil
}

func (m *modelGate) open(dir string) (*transcript.Reader, error) {
	r, err := transcript.OpenReader(os.DirFS(dir))
	if err == nil {
		m.readers = append(m.readers, r)
	}
	return r, err
}

// upstream answers the requests to a model: from recordings, from an earlier try of the
// attempt, or by the provider.
func (s *session) upstream(ctx context.Context, m step.Model, one *model.Model, d dialect.Dialect) (up model.Upstream, err error) {
	if modelblock.Live(m) {
		if up, err = model.NewProvider(one, d, s.keys[m.Name], nil); err != nil {
			return nil, err
		}
		if s.models.again != nil {
			up, err = s.models.replay(m, s.models.again, model.Resume, up)
		}
	}
	if len(m.Replay) == 0 || err != nil {
		return up, err
	}
	var recordings []*transcript.Reader
	for n, a := range m.Replay {
		r, err := s.openRecording(ctx, m.Name, n, a)
		if err != nil {
			return nil, err
		}
		recordings = append(recordings, r)
	}
	player, err := transcript.NewPlayer(modelblock.Canonical, s.mask, recordings...)
	if err != nil {
		return nil, err
	}
	onMiss := model.Fail
	if m.OnMiss == modelblock.MissLive {
		onMiss = model.Live
	}
	return s.models.replay(m, player, onMiss, up)
}

// replay answers by a player. For an agent that goes on, it is where it was.
func (g *modelGate) replay(m step.Model, player *transcript.Player, onMiss model.OnMiss, up model.Upstream) (model.Upstream, error) {
	r := model.NewReplay(player, onMiss, up)
	if g.before == nil {
		return r, nil
	}
	return r, r.Continue(g.before, m.Name)
}

// resume plays what earlier tries recorded, if there were any that the models
// can go on from. All models share the player, since each recording is used once.
// What is damaged is no reason for an attempt to fail: it is repaired as after a
// crash, or asked for again, and the log says so.
func (s *session) resume(earlier []string) error {
	if len(earlier) == 0 || !slices.ContainsFunc(s.args.Agent.Models, modelblock.Live) {
		return nil
	}
	var list []*transcript.Reader
	for _, dir := range earlier {
		r, err := s.models.repaired(dir, s.mask)
		if err != nil {
			s.env.Note("what an earlier try recorded cannot be read, so its requests are sent again: %v", err)
			continue
		}
		list = append(list, r)
	}
	player, err := transcript.NewPlayer(modelblock.Canonical, s.mask, list...)
	if err != nil {
		s.env.Note("what earlier tries recorded cannot be played, so their requests are sent again: %v", err)
		return nil
	}
	s.models.again = player
	return nil
}

// repaired opens a transcript that nobody writes, without its damaged end.
func (g *modelGate) repaired(dir string, mask *secret.Set) (*transcript.Reader, error) {
	w, err := transcript.Open(dir, transcriptBytes, mask)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, err
	}
	return g.open(dir)
}
