package pool

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

func TestPool(t *testing.T) {
	p := Pool{Left: new(atomic.Int64)}
	want := func(what string, got, want int64) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	p.Open(nil, 10)
	p.Open(nil, 20)
	want("draw", p.Draw(nil, 12), 12)
	want("left", p.Left.Load(), 18)
	want("close of one that may be drawn", p.Close(nil, 10), 0)
	want("left for the other", p.Left.Load(), 18)
	want("return more than its own", p.Return(nil, 9), 2)
	want("draw too much", p.Draw(nil, 25), 20)
	want("close of the other", p.Close(nil, 20), 0)
	want("return after the end", p.Return(nil, 5), 0)
	want("left", p.Left.Load(), 0)

	p.Open("a", 10)
	p.Open("b", 20)
	want("a draws its own only", p.Draw("a", 15), 10)
	want("b gives all back", p.Close("b", 20), 20)
	p.Open(nil, 5)
	want("a draws what is nobody's", p.Draw("a", 15), 5)
	want("a returns to both", p.Return("a", 99), 15)
	want("somebody unnamed draws on all", p.Draw(nil, 99), 15)
	want("close of nobody's", p.Close(nil, 5), 0)
	want("and returns what is still open", p.Return(nil, 15), 10)
	want("close of a", p.Close("a", 10), 10)
	want("left", p.Left.Load(), 0)
}

// Works that stay within what they reserved never run out, whichever draws
// first and ends first, named or not, and nothing is left when all have ended.
func TestPoolNeverRunsOut(t *testing.T) {
	type work struct {
		owner           any
		reserved, drawn int64
	}
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 0))
		p := Pool{Left: new(atomic.Int64)}
		var open []*work
		var balance int64 // reserved, neither drawn permanently nor free again
		for i := range 200 {
			switch n := rng.IntN(10); {
			case n == 0 || len(open) == 0:
				w := &work{reserved: 1 + rng.Int64N(100)}
				if seed%2 == 0 {
					w.owner = i
				}
				p.Open(w.owner, w.reserved)
				balance += w.reserved
				open = append(open, w)
			case n == 1:
				i := rng.IntN(len(open))
				free := p.Close(open[i].owner, open[i].reserved)
				if want := open[i].reserved - open[i].drawn; open[i].owner != nil && free != want {
					t.Fatalf("seed %d: %d free, want %d", seed, free, want)
				}
				balance -= free
				open = append(open[:i], open[i+1:]...)
			default:
				w := open[rng.IntN(len(open))]
				n := rng.Int64N(w.reserved - w.drawn + 1)
				w.drawn += n
				if got := p.Draw(w.owner, n); got != n {
					t.Fatalf("seed %d: drew %d of %d within a reservation", seed, got, n)
				}
				balance -= n
			}
			if p.Left.Load() != balance {
				t.Fatalf("seed %d: %d left, want %d", seed, p.Left.Load(), balance)
			}
		}
		for _, w := range open {
			p.Close(w.owner, w.reserved)
		}
		if p.Left.Load() != 0 || len(p.accounts) != 0 {
			t.Fatalf("seed %d: %d left at the end, in %d accounts", seed, p.Left.Load(), len(p.accounts))
		}
	}
}
