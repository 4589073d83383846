package aggregate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/data/table"
)

func (a *aggregation) outputs(ctx context.Context, env *step.Env, made *Board, markdown string) (cache.Outputs, error) {
	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode leaderboard: %w", err)
	}
	shown := made.Compact(a.args.Title, Stored)
	files := map[string][]byte{"board.json": append(text, '\n'), "board.md": []byte(markdown), "board.txt": []byte(made.Text(a.args.Title, StoredFull))}
	if err := made.tables(files); err != nil {
		return nil, err
	}
	out := cache.Outputs{}
	var b tree.Builder
	for name, data := range files {
		ref, err := cache.PutBytes(ctx, env.Store, data)
		if err != nil {
			return nil, err
		}
		if err := b.Add(name, ref, false); err != nil {
			return nil, err
		}
		if name == "board.json" {
			out["board"] = cache.Value{Ref: ref}
		}
	}
	all, err := b.Build(ctx, env.Store)
	if err != nil {
		return nil, fmt.Errorf("keep files: %w", err)
	}
	out["files"] = cache.Value{Ref: all}
	for name, value := range map[string]string{"table": shown, "markdown": markdown} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		out[name] = cache.Value{JSON: text}
	}
	return out, nil
}

// tables adds the tables in every format.
func (b *Board) tables(files map[string][]byte) error {
	var groups []export.Group
	for _, a := range b.Agents {
		for _, g := range a.shown() {
			groups = append(groups, export.Group{Agent: a.Name, Name: g.Name, Figures: g.Percentages, Seeds: g.Seeds, Competitions: len(g.Competitions), Isolation: g.Isolation, Untrusted: g.Untrusted, Task: g.Task, Class: a.Class})
		}
	}
	figures, err := export.Figures(groups)
	if err != nil {
		return err
	}
	all, err := export.Runs(b.attempts(""))
	if err != nil {
		return err
	}
	for name, t := range map[string]*table.Table{"figures": figures, "runs": all} {
		for _, f := range export.Formats() {
			var data bytes.Buffer
			if err := export.WriteTexts(&data, t, f); err != nil {
				return err
			}
			files[name+"."+string(f)] = data.Bytes()
		}
	}
	return nil
}

// markdown returns the rows of the reference's README: percentages by
// complexity, whatever the board is grouped by, and over all competitions of
// the board.
func (a *aggregation) markdown(whole *Board) (string, error) {
	byComplexity := aggregation{args: arguments{GroupBy: byComplexity}, catalog: a.catalog}
	b, err := NewBoard(whole.Entries, Grouping{By: "complexity", Of: byComplexity.group, PadMissing: a.args.PadMissing})
	if err != nil {
		return "", err
	}
	var rows []export.Row
	for _, agent := range b.Agents {
		own := slices.DeleteFunc(slices.Clone(whole.Entries), func(e Entry) bool { return e.Agent != agent.Name })
		row := export.Row{Agent: agent.Name, Splits: map[string]board.Split{}, Isolation: agent.Overall.Isolation, Task: agent.Overall.Task, Class: agent.Class, Hours: conditions.Hours(conditionsOf(own)...)}
		for _, g := range append(agent.Groups, agent.Overall) {
			if len(g.Percentages) > 0 {
				row.Splits[g.Name] = g.Percentages
			}
		}
		for _, e := range own {
			if e.Attempt != nil && e.Attempt.Usage != nil && e.Attempt.Usage.Model != "" {
				row.Models = e.Attempt.Usage.Model
			}
		}
		rows = append(rows, row)
	}
	return export.Markdown(rows, append(conditions.Notes(b.UnderConditions()), b.externalNotes()...)), nil
}

// shown returns the agent's groups and, if there are several, the group of all
// competitions.
func (a Agent) shown() []Group {
	if len(a.Groups) == 1 {
		return a.Groups
	}
	return append(a.Groups[:len(a.Groups):len(a.Groups)], a.Overall)
}
