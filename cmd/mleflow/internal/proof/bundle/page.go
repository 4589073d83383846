package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
)

// Section is a table of the disclosure.
type Section struct {
	Title   string
	Columns []string
	Rows    [][]string
}

// Sections are the tables of the disclosure in the order of reading.
func (d *Disclosure) Sections() []Section {
	list := []Section{
		d.about(), d.agents(),
		{Title: "What agents could see", Columns: []string{"Attempt", "Competition", "Version", "Seed", "Data tree", "Files", "Size", "Task", "Description", "Instructions"}},
		{Title: "What they could reach", Columns: []string{"Attempt", "Network", "Allowed places", "Connections", "Refused", "Sent", "Received", "Validity calls", "Valid", "Invalid"}},
		{Title: "Limits and use", Columns: []string{"Attempt", "Time limit", "CPUs", "Memory", "Disk", "GPUs", "Runtime", "Isolation", "Outcome", "Took", "CPU time", "Peak memory"}},
		{Title: "Attempts and earlier runs", Columns: []string{"Attempt", "Made in run", "Tries", "Earlier runs of it", "Different ones"}},
	}
	for _, a := range d.Attempts {
		name := short(a.Address)
		list[2].Rows = append(list[2].Rows, []string{name, a.Competition, a.CompetitionVersion, a.Seed, cut(a.Saw.Data), view.Count(a.Saw.Files), view.Bytes(a.Saw.Bytes), cmp.Or(a.Saw.Task, "-"), cut(a.Saw.Description), cut(a.Saw.Instructions)})
		list[3].Rows = append(list[3].Rows, a.reach(name))
		list[4].Rows = append(list[4].Rows, a.limits(name))
		list[5].Rows = append(list[5].Rows, []string{name, a.History.Run, unknown(a.History.Tries), strconv.Itoa(a.History.Before), strconv.Itoa(a.History.Distinct)})
	}
	for _, extra := range []Section{d.shim(), d.hosts(), d.models()} {
		if len(extra.Rows) > 0 {
			list = slices.Insert(list, 4, extra)
		}
	}
	if len(d.Counted) > 0 {
		list = append(list, d.counted())
	}
	list = append(list, runs("Earlier runs of this pipeline", d.Earlier))
	if len(d.Elsewhere) > 0 {
		list = append(list, runs("Attempts of the same agents in earlier runs of other pipelines", d.Elsewhere))
	}
	return list
}

// counted are the attempts by the chain of the cache.
func (d *Disclosure) counted() Section {
	s := Section{Title: "Attempts that the cache began, by its chain", Columns: []string{"Agent", "Competition", "Version", "Began", "Published", "With another result", "Failed", "Cancelled", "Without an end", "Different keys", "Others at the competition"}}
	for _, t := range d.Counted {
		numbers := lists.Of([]int{t.Began, t.Published, t.Unpublished, t.Failed, t.Cancelled, t.Unended, t.Keys, t.Beside}, strconv.Itoa)
		s.Rows = append(s.Rows, append([]string{t.Agent, t.Competition, t.Version}, numbers...))
	}
	return s
}

func runs(title string, list []EarlierRun) Section {
	s := Section{Title: title, Columns: []string{"Run", "Started", "State", "Attempts", "Failed by the machine"}}
	s.Rows = lists.Of(list, func(e EarlierRun) []string {
		return []string{e.Run, e.Started.Format(time.RFC3339), string(e.State), strconv.Itoa(e.Attempts), strconv.Itoa(e.Failed)}
	})
	return s
}

// shim are the calls that the package mlebench refused.
func (d *Disclosure) shim() Section {
	s := Section{Title: "What the package mlebench refused, according to the agent's side", Columns: []string{"Attempt", "After", "Call", "Where", "Times"}}
	for _, a := range d.Attempts {
		name, listed := short(a.Address), 0
		for _, g := range a.Shim.Groups {
			s.Rows = append(s.Rows, []string{name, string(g.Kind), g.Call, g.Place(), strconv.Itoa(g.Times)})
			listed += g.Times
		}
		switch others := a.Shim.Calls - listed; {
		case others > 0:
			s.Rows = append(s.Rows, []string{name, "-", "others", "-", strconv.Itoa(others)})
		case a.Shim.Given && a.Shim.Calls == 0:
			s.Rows = append(s.Rows, []string{name, "-", "none", "-", "0"})
		}
	}
	return s
}

func (d *Disclosure) about() Section {
	e := d.Environment
	s := Section{Title: "Run", Columns: []string{"What", "Value"}, Rows: [][]string{
		{"run", d.Run}, {"pipeline", d.Pipeline}, {"state", string(d.State)}, {"started", d.Started.Format(time.RFC3339)}, {"mleflow", d.Version},
		{"system", e.OS}, {"cpus", strconv.FormatFloat(e.CPUs, 'g', -1, 64)}, {"memory", view.Bytes(e.MemoryBytes)}, {"gpus", cmp.Or(strings.Join(e.GPUs, ", "), "none")},
	}}
	for _, remark := range [][]string{{"name", d.RunName}, {"tags", history.About{Tags: d.Tags}.Said()}, {"note", d.Note}} {
		if remark[1] != "" {
			s.Rows = append(s.Rows, remark)
		}
	}
	if d.Evaluation != nil {
		s.Rows = append(s.Rows, []string{"evaluation " + d.Evaluation.Name, view.Evaluation(*d.Evaluation)})
	}
	s.Rows = append(s.Rows, lists.OfMap(e.Facts, func(name, v string) []string { return []string{name, v} })...)
	s.Rows = append(s.Rows, []string{"attempts", strconv.Itoa(len(d.Attempts))}, []string{"isolation", d.isolation()}, []string{"task", d.task()}, []string{"earlier runs", strconv.Itoa(len(d.Earlier))})
	return s
}

// isolation describes the isolation of the attempts.
func (d *Disclosure) isolation() string {
	var t conditions.Tally
	for i := range d.Attempts {
		t.Add(conditions.AttemptKind, d.Attempts[i].Conditions)
	}
	return t.String()
}

// task describes the agents' task texts.
func (d *Disclosure) task() string {
	return conditions.Told(lists.Of(d.Attempts, func(a Attempt) []string { return a.Conditions })...)
}

// agents are the agents, each once.
func (d *Disclosure) agents() Section {
	s := Section{Title: "Agents", Columns: []string{"Agent", "Version", "Command", "Image", "Image digest", "Secrets given", "Attempts"}}
	rows := lists.Of(d.Attempts, func(a Attempt) []string {
		return []string{
			a.Agent, cmp.Or(a.AgentVersion, "-"), strings.Join(a.Command, " "), cmp.Or(a.Image, "-"), cmp.Or(a.ImageDigest, "-"),
			cmp.Or(strings.Join(a.Secrets, ", "), "none"),
		}
	})
	for _, same := range lists.Grouped(rows, func(row []string) string { return strings.Join(row, "\x00") }) {
		s.Rows = append(s.Rows, append(same[0], strconv.Itoa(len(same))))
	}
	slices.SortFunc(s.Rows, slices.Compare[[]string])
	return s
}

func (d *Disclosure) hosts() Section {
	s := Section{Title: "Places that were asked for", Columns: []string{"Attempt", "Place", "Allowed", "Refused", "Failed", "Sent", "Received"}}
	for _, a := range d.Attempts {
		for _, h := range a.Network.Hosts {
			s.Rows = append(s.Rows, []string{short(a.Address), h.Host, strconv.Itoa(h.Allowed), strconv.Itoa(h.Refused), strconv.Itoa(h.Failed), view.Bytes(h.Up), view.Bytes(h.Down)})
		}
	}
	return s
}

func (a *Attempt) reach(name string) []string {
	var sum Host
	for _, h := range a.Network.Hosts {
		sum.Allowed, sum.Refused, sum.Failed = sum.Allowed+h.Allowed, sum.Refused+h.Refused, sum.Failed+h.Failed
		sum.Up, sum.Down = sum.Up+h.Up, sum.Down+h.Down
	}
	return []string{
		name, a.network(), cmp.Or(strings.Join(a.Network.Allow, " "), "-"), strconv.Itoa(sum.Allowed + sum.Refused + sum.Failed), strconv.Itoa(sum.Refused),
		view.Bytes(sum.Up), view.Bytes(sum.Down), strconv.Itoa(a.Validity.Calls), strconv.Itoa(a.Validity.Valid), strconv.Itoa(a.Validity.Invalid),
	}
}

func (a *Attempt) limits(name string) []string {
	memory := "none"
	if n, err := strconv.ParseInt(a.Limits.MemoryBytes, 10, 64); err == nil && n > 0 {
		memory = view.Bytes(n)
	}
	disk := "none"
	if a.Limits.DiskBytes > 0 {
		disk = view.Bytes(a.Limits.DiskBytes)
	}
	limit := a.Limits.Time
	if limit == "0s" {
		limit = "none"
	}
	runtime := a.Runtime.Name
	if a.Runtime.Handler != "" {
		runtime += " (" + a.Runtime.Handler + ")"
	}
	cpus := a.Limits.CPUs + a.by("cpus")
	memory += a.by("memory")
	return []string{
		name, limit, cpus, memory, disk, a.Limits.GPUs, runtime, conditions.Described(a.Conditions), string(a.Result.Outcome),
		fmt.Sprintf("%.1f s", a.Result.WallSeconds), fmt.Sprintf("%.1f s", a.Result.CPUSeconds), view.Bytes(a.Result.PeakMemoryBytes),
	}
}

// network says what the agent could reach. Statistics of older versions have what was declared,
// also where nothing enforced it, and pages of these versions said so.
func (a *Attempt) network() string {
	switch {
	case !a.earlier:
		return cmp.Or(strings.Join(step.ConditionValues(a.Conditions, conditions.Network), " "), a.Network.Policy)
	case !a.Runtime.Isolated:
		return a.Network.Policy + " (" + conditions.NotEnforced + ")"
	}
	return a.Network.Policy
}

// by names the means that enforced a limit, where they are known.
func (a *Attempt) by(limit string) string {
	switch how := a.Runtime.Enforced[limit]; {
	case how != "":
		return " (" + how + ")"
	case limit == conditions.CPUs && !a.Runtime.Isolated && !a.earlier:
		return " (" + conditions.NotEnforced + ")"
	}
	return ""
}

// short returns the name and key of an address.
func short(address string) string {
	return strings.NewReplacer("step."+conditions.AttemptKind+".", "", `"`, "").Replace(address)
}

// cut returns the beginning of a digest, enough to distinguish two.
func cut(id string) string { return id[:min(len(id), 12)] }

func unknown(n int) string {
	if n == 0 {
		return "not known"
	}
	return strconv.Itoa(n)
}

// earlier returns the disclosure whose page is as earlier versions wrote it.
func (d *Disclosure) earlier() *Disclosure {
	old := *d
	old.Attempts = slices.Clone(d.Attempts)
	for i := range old.Attempts {
		old.Attempts[i].earlier = true
	}
	return &old
}

// Markdown is the disclosure as a page.
func (d *Disclosure) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Disclosure of run %s\n", export.MarkdownText(d.Run))
	for _, s := range d.Sections() {
		fmt.Fprintf(&b, "\n## %s\n\n", s.Title)
		if len(s.Rows) == 0 {
			b.WriteString("None.\n")
			continue
		}
		b.WriteString(export.MarkdownRow(s.Columns))
		b.WriteString("|" + strings.Repeat(" --- |", len(s.Columns)) + "\n")
		for _, row := range s.Rows {
			b.WriteString(export.MarkdownRow(row))
		}
	}
	return b.String()
}
