package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/host/machine"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// Attack is what a thief found in place of agents.
type Attack struct {
	// Agents are those of the pipeline that run like this; none is an agent of mleflow's.
	Agents  []string `json:"agents,omitempty"`
	Runtime string   `json:"runtime"`
	Image   string   `json:"image,omitempty"`
	// Models are the model blocks, Secrets the variables with secrets and Packages whether
	// there are Python packages in the thief's place, as in the agents'. Keys and secrets are
	// made up there.
	Models   []string `json:"models,omitempty"`
	Secrets  []string `json:"secrets,omitempty"`
	Packages bool     `json:"packages,omitempty"`
	// Lacks says what of the agents' place the thief did not have.
	Lacks []string `json:"lacks,omitempty"`
	// Isolated reports whether the runtime isolates at all.
	Isolated    bool   `json:"isolated"`
	Competition string `json:"competition"`
	// Data is "real" or "rehearsal".
	Data     string           `json:"data"`
	Findings []breach.Finding `json:"findings"`
}

// attackKind is the kind of an attempt that is no observation, so that nothing counts it.
const attackKind = "attack"

// attacks are attacks on the data of one competition.
type attacks struct {
	*app.App
	*app.Backend
	*breach.Ambush
	engine *engine.Engine
	def    *competitions.Definition
	data   string
	// place is where the thief is; nil is that of an agent of mleflow's.
	place *room
	// dir is a folder like that of another attempt.
	dir string
	// private is the content that no agent may have.
	private map[digest.ContentID]bool
}

// attack runs a thief in place of the agents of a pipeline or, without one, of an agent of
// mleflow's.
func attack(ctx context.Context, a *app.App, args []string, in app.InputFlags, competition string) (done []Attack, err error) {
	a.Thief = &breach.Targets{}
	with := func(b *app.Backend, p *engine.Program) (err error) {
		if p != nil {
			if p, err = withCached(ctx, b, p); err != nil {
				return err
			}
		}
		list, id := rooms(p), cmp.Or(competition, "demo-digits")
		if p != nil && len(list) == 0 {
			return app.Usagef("%s runs no agent: attack one that does, or leave the pipeline out", args[0])
		}
		def, err := a.Definition(id)
		if err != nil {
			return err
		}
		at := &attacks{App: a, Backend: b, def: def}
		if err := at.prepare(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, at.Ambush.Close(), tree.Remove(at.dir)) }()
		for _, r := range list {
			fmt.Fprintf(a.Stderr, "Trying to reach from an agent's place what no agent may have, with %s data of %s …\n", at.data, id)
			got, err := at.run(ctx, r)
			if err != nil {
				return err
			}
			done = append(done, *got)
		}
		return nil
	}
	if len(args) == 0 {
		return done, a.WithBackend(func(b *app.Backend) error { return with(b, nil) })
	}
	return done, a.WithProgram(ctx, args, in, nil, with)
}

// room is how an agent runs.
type room struct {
	agents                        []string
	image, runtime, user, handler string
	command, caps                 []string
	open                          bool
	// agent is the agent as the pipeline has it, env the environment that the step adds, and
	// lacks what of both is not known.
	agent, env cty.Value
	lacks      []string
}

// rooms lists how the agents of a pipeline run, without repetition.
func rooms(p *engine.Program) (list []room) {
	if p == nil {
		return []room{{runtime: agentrun.Auto, command: []string{agentrun.BuiltIn, agent.Command, "dummy"}}}
	}
	for i, inst := range p.Instances {
		if inst.Step.Kind.Name != conditions.AttemptKind {
			continue
		}
		args, diags := p.Args(i)
		if diags.HasErrors() {
			continue
		}
		r := room{
			image: args.Text("agent", "image"), runtime: cmp.Or(args.Text("runtime"), agentrun.Auto), user: args.Text("user"), handler: args.Text("handler"),
			command: texts(args, "agent", "command"), caps: texts(args, "capabilities"),
		}
		if open := value(args, "network", "open"); open.Type() == cty.Bool && open.IsKnown() && !open.IsNull() {
			r.open = open.True()
		}
		r.agent, r.env = r.known(args.Get("agent")), r.known(args.Get("env"))
		name := args.Text("agent", "name")
		same := slices.IndexFunc(list, func(o room) bool { return o.key() == r.key() })
		if same < 0 {
			list, same = append(list, r), len(list)
		}
		if !slices.Contains(list[same].agents, name) {
			list[same].agents = append(list[same].agents, name)
		}
	}
	return list
}

// key is what of a room matters. Of the command that is only whether it is mleflow's, which
// has an image of its own.
func (r room) key() string {
	builtIn := len(r.command) > 0 && r.command[0] == agentrun.BuiltIn
	return fmt.Sprintf("%#v", []any{r.image, r.runtime, r.user, r.handler, r.caps, r.open, builtIn, r.models(), r.secrets(), r.part("python"), r.part("built"), r.part("env"), r.env, r.lacks})
}

// known is a value of the pipeline without what is not known of it, which lacks names.
func (r *room) known(v cty.Value) cty.Value {
	v, _ = v.UnmarkDeep()
	v, _ = cty.Transform(v, func(at cty.Path, v cty.Value) (cty.Value, error) { // the function has no errors
		if v.IsKnown() && (v.IsNull() || v.Type() != step.ArtifactType || v.EncapsulatedValue().(*step.Artifact).Ref != cache.Ref{}) {
			return v, nil
		}
		if len(at) > 0 {
			name, _ := at[0].(cty.GetAttrStep)
			r.lacks = append(r.lacks, name.Name)
		}
		return cty.NullVal(v.Type()), nil
	})
	return v
}

// part is an attribute of the agent; null without an agent.
func (r *room) part(name string) cty.Value {
	if r.agent == cty.NilVal || r.agent.IsNull() {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return r.agent.GetAttr(name)
}

// models are the names of the agent's model blocks, and secrets those of its variables with
// secrets.
func (r *room) models() []string {
	if r.part("models").IsNull() {
		return nil
	}
	return lists.Of(r.part("models").AsValueSlice(), func(m cty.Value) string { return m.GetAttr("name").AsString() })
}

func (r *room) secrets() []string {
	if r.part("secrets").IsNull() {
		return nil
	}
	return slices.Sorted(maps.Keys(r.part("secrets").AsValueMap()))
}

// robbed are the arguments of a thief in the agent's place. No key and no secret of the
// pipeline is read: those that stand there are made up, and no model is asked.
func (r *room) robbed(args step.Args) step.Args {
	if r == nil || r.part("name").IsNull() {
		return args
	}
	agent := r.agent.AsValueMap()
	agent["files"] = cty.MapValEmpty(step.ArtifactType) // they may not be in the cache, nor recordings
	if len(r.models()) > 0 {
		agent["models"] = cty.ListVal(lists.Of(r.part("models").AsValueSlice(), func(m cty.Value) cty.Value {
			model := m.AsValueMap()
			model["replay"], model["on_miss"] = cty.ListValEmpty(step.ArtifactType), cty.StringVal("")
			model["base_url"] = cty.StringVal("http://127.0.0.1:9/v1")
			if !model["key"].IsNull() {
				model["key"] = cty.CapsuleVal(step.SecretRefType, &step.SecretRef{Ref: "env:" + breach.KeyVariable})
			}
			return cty.ObjectVal(model)
		}))
	} else {
		agent["models"] = args.Get("agent").GetAttr("models")
	}
	if names := r.secrets(); len(names) > 0 {
		refs := map[string]cty.Value{}
		for _, name := range names {
			refs[name] = cty.StringVal("env:" + breach.SecretVariable)
		}
		agent["secrets"] = cty.MapVal(refs)
	}
	all := args.Object().AsValueMap()
	all["agent"], all["env"] = cty.ObjectVal(agent), r.env
	return step.ArgsOf(cty.ObjectVal(all))
}

// withCached returns a pipeline whose steps have the outputs that are in the cache.
func withCached(ctx context.Context, b *app.Backend, p *engine.Program) (*engine.Program, error) {
	pl, diags := b.Engine.Plan(ctx, p, engine.PlanOptions{})
	if diags.HasErrors() {
		return nil, diags
	}
	own := *p
	own.Graph = p.Fresh()
	for _, s := range pl.Steps {
		i, ok := own.Find(s.Address)
		if !ok || s.Action != plan.Cached || s.Kind == conditions.AttemptKind {
			continue
		}
		rec, err := outputs.Lookup(ctx, b.Cache, s.ActionID)
		if errors.Is(err, cache.ErrNotFound) { // in a remote cache only
			continue
		}
		if err != nil {
			return nil, err
		}
		own.SetOutputs(i, rec.Outputs)
	}
	return &own, nil
}

// value is a part of an argument; a null value if it is not known.
func value(args step.Args, names ...string) cty.Value {
	v := args.Object()
	for _, name := range names {
		if !v.IsKnown() || v.IsNull() || !v.Type().IsObjectType() || !v.Type().HasAttribute(name) {
			return cty.NullVal(cty.DynamicPseudoType)
		}
		v = v.GetAttr(name)
	}
	return v
}

func texts(args step.Args, names ...string) []string {
	v := value(args, names...)
	if !v.IsWhollyKnown() || v.IsNull() || !v.CanIterateElements() {
		return nil
	}
	return lists.Of(v.AsValueSlice(), cty.Value.AsString)
}

// prepare gets the data, the real ones if the cache has them, and plants what a thief looks
// for.
func (a *attacks) prepare(ctx context.Context) error {
	opts := a.Options
	opts.History = nil // it is not a run of a pipeline that people know
	var kinds []step.Kind
	for _, name := range []string{conditions.DownloadKind, conditions.PrepareKind, conditions.AttemptKind} {
		kind, err := opts.Kinds.Get(name)
		if err != nil {
			return err
		}
		if name == conditions.AttemptKind {
			kind = new(*kind)
			kind.Name, kind.Volatile, kind.Counted, kind.Observation = attackKind, true, nil, nil
			begin := kind.New
			kind.New = func(args step.Args) (step.Step, error) { return begin(a.place.robbed(args)) }
		}
		kinds = append(kinds, *kind)
	}
	opts.Kinds = step.NewRegistry(kinds...)
	a.engine = engine.New(opts)
	if err := a.choose(ctx); err != nil {
		return err
	}
	rec, err := a.apply(ctx, a.file(nil), "step.prepare.data")
	if err != nil {
		return fmt.Errorf("prepare the data of %s: %w", a.def.ID, err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if a.dir, err = a.Cache.TempDir("attack"); err != nil {
		return err
	}
	if a.Ambush, err = breach.NewAmbush(ctx, breach.Machine{Env: os.Environ(), Dir: a.dir}, self); err != nil {
		return errors.Join(err, tree.Remove(a.dir))
	}
	if err := a.aim(ctx, rec.Outputs); err != nil {
		return errors.Join(err, a.Ambush.Close(), tree.Remove(a.dir))
	}
	return nil
}

// aim adds to the targets what is in the cache: the private data, and a file.
func (a *attacks) aim(ctx context.Context, data cache.Outputs) error {
	cached, err := cache.PutBytes(ctx, a.Cache, []byte(a.Mark))
	if err != nil {
		return err
	}
	a.Private(breach.Cached, a.Cache.ObjectFile(cached.ID))
	a.Folders[breach.Cached], a.Folders[breach.Attempt] = []string{a.Cache.Dir()}, []string{a.dir}
	public := map[digest.ContentID]bool{}
	a.private = map[digest.ContentID]bool{}
	err = tree.Walk(ctx, a.Cache, data["public"].Ref, func(_ string, e tree.Entry) error { public[e.ID] = true; return nil })
	if err == nil {
		err = tree.Walk(ctx, a.Cache, data["private"].Ref, func(name string, e tree.Entry) error {
			if e.IsDir() || public[e.ID] {
				return nil
			}
			a.private[e.ID] = true
			if len(a.private) <= mostPrivate || "private/"+name == a.def.Layout.Answers {
				a.Private(breach.Answers, a.Cache.ObjectFile(e.ID))
			}
			return nil
		})
	}
	if gold, is := strings.CutPrefix(a.def.Layout.Gold, "private/"); err == nil && is {
		if right, err := fs.ReadFile(tree.NewFS(ctx, a.Cache, data["private"].Ref), gold); err == nil && len(right) <= mostRight {
			a.Right = right
		}
	}
	*a.Thief = a.Targets
	return err
}

// Limits of what a thief is told.
const (
	// mostPrivate is the number of private files.
	mostPrivate = 20
	// mostRight is the size of a submission, which goes with the environment.
	mostRight = 48 << 10
)

// choose takes the real data if they are in the cache, else those of a rehearsal. The data
// of a competition that has none ship with mleflow.
func (a *attacks) choose(ctx context.Context) error {
	a.data = "real"
	p, diags := a.engine.Parse("attack", a.file(nil), config.Inputs{})
	if diags.HasErrors() {
		return diags
	}
	pl, diags := a.engine.Plan(ctx, p, engine.PlanOptions{})
	if diags.HasErrors() {
		return diags
	}
	if slices.ContainsFunc(pl.Steps, func(s plan.Step) bool { return s.Action != plan.Cached }) && a.def.Rehearsable() == nil {
		a.data = conditions.Rehearsal
	}
	return nil
}

// file is the pipeline, with the thief in a room if there is one.
func (a *attacks) file(r *room) []byte {
	id := literal(a.def.ID)
	text := "step \"download\" \"raw\" {\n  competition = " + id
	if a.data == conditions.Rehearsal {
		text += "\n  data = " + literal(a.data)
	}
	text += "\n}\nstep \"prepare\" \"data\" {\n  competition = " + id + "\n  raw = step.download.raw.tree\n}\n"
	if r == nil {
		return []byte(text)
	}
	optional := func(text string) string { return view.Either(text == "", "null", literal(text)) }
	return fmt.Appendf(nil, thiefText, text, breach.KeyVariable, optional(r.image), literals(r.command), id, literal(r.runtime), optional(r.user), optional(r.handler),
		view.Either(len(r.caps) == 0, "null", literals(r.caps)), view.Either(r.open, "open = true", `allow = ["mleflow.invalid:443"]`))
}

// literal is a string in the language, and literals a list of them.
func literal(text string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes())
}

func literals(list []string) string { return "[" + strings.Join(lists.Of(list, literal), ", ") + "]" }

// thiefText is the rest of the pipeline. Nothing is asked of the model.
const thiefText = `%[1]smodel "thief" {
  provider = "openai"
  base_url = "http://127.0.0.1:9/v1"
  key      = "env:%[2]s"
  models   = ["none"]
  price "none" {
    input  = "0 USD"
    output = "0 USD"
  }
}
agent "thief" {
  image   = %[3]s
  command = %[4]s
  models  = [model.thief]
}
step "attack" "thief" {
  agent       = agent.thief
  competition = %[5]s
  data        = step.prepare.data.public
  runtime     = %[6]s
  timeout     = "5m"
  user        = %[7]s
  handler     = %[8]s
  capabilities = %[9]s
  network { %[10]s }
}
`

// apply applies a pipeline and returns the record of a step.
func (a *attacks) apply(ctx context.Context, text []byte, address string) (*cache.Record, error) {
	p, diags := a.engine.Parse("attack", text, config.Inputs{})
	if diags.HasErrors() {
		return nil, diags
	}
	action := ""
	res, diags := a.engine.Apply(ctx, p, engine.ApplyOptions{Sink: event.SinkFunc(func(ev event.Event) {
		if end, ok := ev.(event.StepFinished); ok && end.Status.Succeeded() && end.Address == address {
			action = end.Action
		}
	})})
	switch {
	case diags.HasErrors():
		return nil, diags
	case len(res.Failures) > 0:
		return nil, res.Failures[0].Err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return outputs.Lookup(ctx, a.Cache, action)
}

// run lets the thief try from a room.
func (a *attacks) run(ctx context.Context, r room) (*Attack, error) {
	a.place = &r
	rec, err := a.apply(ctx, a.file(&r), "step."+attackKind+".thief")
	if err != nil {
		return nil, fmt.Errorf("attack from the place of %s: %w", cmp.Or(strings.Join(r.agents, ", "), "an agent"), err)
	}
	var stats agentrun.Stats
	logs := tree.NewFS(ctx, a.Cache, rec.Outputs["logs"].Ref)
	text, err := fs.ReadFile(logs, breach.FindingsFile)
	got := &Attack{Agents: r.agents, Image: r.image, Competition: a.def.ID, Data: a.data, Models: r.models(), Secrets: r.secrets(), Packages: !r.part("python").IsNull(), Lacks: r.lacks}
	if !r.part("built").IsNull() {
		got.Image = "of a step"
	}
	if err == nil {
		err = errors.Join(json.Unmarshal(text, &got.Findings), json.Unmarshal(rec.Outputs["stats"].JSON, &stats))
	}
	if err != nil {
		said, _ := fs.ReadFile(logs, agentrun.OutputLog)
		return nil, fmt.Errorf("the attack ended without findings (outcome %s): %s", rec.Outputs["outcome"].JSON, view.OneLine(view.Cut(string(said), 500)))
	}
	got.Runtime, got.Isolated = stats.Runtime, stats.Isolated
	var followed []string
	for _, name := range []string{"submission", "code", "logs"} {
		err := tree.Walk(ctx, a.Cache, rec.Outputs[name].Ref, func(file string, e tree.Entry) error {
			if a.private[e.ID] {
				followed = append(followed, path.Join(name, file)+" among the results")
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	a.Judge(got.Findings, followed)
	return got, nil
}

// showAttacks prints what was reached.
func showAttacks(t *app.Terminal, list []Attack) error {
	var found []breach.Finding
	for _, at := range list {
		found = append(found, at.Findings...)
	}
	n := breach.Count(found)
	verdict := fmt.Sprintf("HELD: of %s none reached anything", view.Plural(len(found), "probe"))
	if n[breach.Reached] > 0 {
		verdict = fmt.Sprintf("NOT HELD: %d of %s reached something", n[breach.Reached], view.Plural(len(found), "probe"))
	}
	if n[breach.NotTried] > 0 {
		verdict += fmt.Sprintf("; %d could not be tried", n[breach.NotTried])
	}
	return app.Failing(t.Show(FoundJSON{OK: n[breach.Reached] == 0, Verdict: verdict, Checks: []machine.Check{}, Attacks: list}, func() {
		for _, at := range list {
			writeAttack(t, at)
		}
		fmt.Fprintf(t.Stdout, "\nVerdict: %s\n", verdict)
	}), n[breach.Reached] > 0)
}

func writeAttack(t *app.Terminal, at Attack) {
	style, image := t.OutStyle(), view.When(at.Image != "", ", image "+at.Image)+view.When(at.Packages, ", with its Python packages")
	fmt.Fprintf(t.Stdout, "%s\n", style.Bold(fmt.Sprintf("runtime %s%s (agents: %s), %s data of %s", at.Runtime, image, cmp.Or(strings.Join(at.Agents, ", "), "any"), at.Data, at.Competition)))
	for _, part := range []struct {
		name string
		list []string
	}{{"with the models", at.Models}, {"with made-up values of", at.Secrets}, {"without what the cache lacks, until the pipeline is applied", at.Lacks}} {
		if len(part.list) > 0 {
			fmt.Fprintf(t.Stdout, "%s: %s\n", part.name, strings.Join(part.list, ", "))
		}
	}
	if !at.Isolated {
		fmt.Fprintf(t.Stdout, "%s\n", style.Warn(fmt.Sprintf("The runtime %s does not isolate: an agent can reach what this user can. Its results are marked untrusted.", at.Runtime)))
	}
	table := view.NewTable("Probe", "Result", "What was reached, or what held it")
	table.Fit(2, t.Width())
	for _, f := range at.Findings {
		table.Row(f.Probe, string(f.Result), cmp.Or(strings.Join(f.Reached, ", "), f.HeldBy))
	}
	table.Write(t.Stdout, style)
	reached := lists.Where(at.Findings, func(f breach.Finding) bool { return f.Result == breach.Reached })
	for _, same := range lists.Grouped(reached, func(f breach.Finding) string { return f.Fix }) {
		names := lists.Of(same, func(f breach.Finding) string { return f.Probe })
		fmt.Fprintf(t.Stdout, "\n%s: %s\n", style.Bad(strings.Join(names, ", ")), same[0].Fix)
	}
	if t.Verbose {
		fmt.Fprintln(t.Stdout)
		for _, f := range at.Findings {
			fmt.Fprintf(t.Stdout, "%s: %s\n", f.Probe, f.Tried)
		}
	}
}
