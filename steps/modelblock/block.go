package modelblock

import (
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/gateway"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// Serving is what a step adds to a model block that a gateway serves.
type Serving struct {
	// Key is the provider's key, Virtual that of the gateway's client.
	Key, Virtual string
	// Mask has the secrets that were masked in recordings.
	Mask *secret.Set
	// Recordings are those of the block's argument replay. Earlier plays those of earlier tries of
	// the attempt; it may be nil.
	Recordings []*transcript.Reader
	Earlier    *transcript.Player
	// Before has the earlier exchanges of a client that continues; nil for a new one.
	Before *transcript.Reader
	// Run is the budget of the run, or nil.
	Run *gateway.Pool
}

// Block returns a model block as a gateway serves it: its answers come from recordings, from
// earlier tries, or from the provider.
func Block(m step.Model, s Serving) (b gateway.Block, err error) {
	b = gateway.Block{Dialect: dialect.Named(m.Provider), Virtual: s.Virtual, Real: s.Key, Run: s.Run, PauseClock: m.PauseClock}
	if b.Model, err = Of(m); err != nil {
		return b, err
	}
	replay := func(player *transcript.Player, onMiss gateway.OnMiss) error {
		r := gateway.NewReplay(player, onMiss, b.Upstream)
		b.Upstream = r
		if s.Before == nil {
			return nil
		}
		return r.Continue(s.Before, m.Name)
	}
	if Live(m) {
		b.Upstream, err = gateway.NewProvider(&b.Model, b.Dialect, s.Key, nil)
		if err == nil && s.Earlier != nil {
			err = replay(s.Earlier, gateway.Resume)
		}
	}
	if len(m.Replay) == 0 || err != nil {
		return b, err
	}
	player, err := transcript.NewPlayer(Canonical, s.Mask, s.Recordings...)
	if err != nil {
		return b, err
	}
	if m.OnMiss == MissLive {
		return b, replay(player, gateway.Live)
	}
	return b, replay(player, gateway.Fail)
}
