package results

import (
	"cmp"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// Hours says where the time of attempts went: of each from the moment at which it could
// start to its end. The parts add up to all of it.
type Hours struct {
	// Agent is whose attempts they are, "" for all, and Attempts their number.
	Agent       string     `json:"agent"`
	Attempts    int        `json:"attempts"`
	WallSeconds float64    `json:"wall_seconds"`
	Parts       []HourPart `json:"parts"`
	// GPUHours is the time of the GPUs leased to them, at work or not.
	GPUHours float64 `json:"gpu_hours"`
	// CostUSD is what their models cost, nil if that of none is known.
	CostUSD *float64 `json:"cost_usd"`
}

// HourPart is a part of the time of attempts.
type HourPart struct {
	Name string `json:"part"`
	// Seconds is nil if nothing of the part was measured.
	Seconds  *float64 `json:"seconds"`
	GPUHours float64  `json:"gpu_hours"`
}

// Part returns a part by its name, an empty one if there is none.
func (h *Hours) Part(name string) (none HourPart) {
	if h == nil {
		return none
	}
	for _, p := range h.Parts {
		if p.Name == name {
			return p
		}
	}
	return none
}

// HoursOf adds up the hours of the attempts of each agent and, at the end, of all. It is nil
// if those of none are known.
func HoursOf(list []*Attempt) (rows []*Hours) {
	known := lists.Where(list, func(a *Attempt) bool { return a.Hours != nil })
	if len(known) == 0 {
		return nil
	}
	for _, same := range lists.Grouped(known, func(a *Attempt) string { return a.Agent }) {
		rows = append(rows, sumHours(same[0].Agent, same))
	}
	return append(rows, sumHours("", known))
}

func sumHours(agent string, list []*Attempt) *Hours {
	sum := &Hours{Agent: agent, Attempts: len(list)}
	for _, a := range list {
		if sum.Parts == nil {
			sum.Parts = lists.Of(a.Hours.Parts, func(p HourPart) HourPart { return HourPart{Name: p.Name} })
		}
		sum.WallSeconds, sum.GPUHours = sum.WallSeconds+a.Hours.WallSeconds, sum.GPUHours+a.Hours.GPUHours
		sum.CostUSD = plus(sum.CostUSD, a.Hours.CostUSD)
		for i := range sum.Parts {
			p, own := &sum.Parts[i], a.Hours.Part(sum.Parts[i].Name)
			p.Seconds, p.GPUHours = plus(p.Seconds, own.Seconds), p.GPUHours+own.GPUHours
		}
	}
	return sum
}

// plus adds a figure; nil is one that is not known.
func plus(sum, more *float64) *float64 {
	if more == nil || sum == nil {
		return cmp.Or(sum, more)
	}
	return new(*sum + *more)
}
