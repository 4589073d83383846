package source

import (
	"context"

	"golang.org/x/time/rate"
)

// bandwidth limits the rate of received bytes, for everyone who shares it. Nil
// means no limit.
type bandwidth struct{ limiter *rate.Limiter }

// burst is how much may arrive at once: large enough to be cheap, small enough
// to keep a slow rate even.
const burst = 256 << 10

func newBandwidth(bytesPerSecond int64) *bandwidth {
	if bytesPerSecond <= 0 {
		return nil
	}
	return &bandwidth{rate.NewLimiter(rate.Limit(bytesPerSecond), int(min(max(bytesPerSecond/8, 4<<10), burst)))}
}

// most returns how much of n may be requested at once.
func (b *bandwidth) most(n int) int {
	if b == nil {
		return n
	}
	return min(n, b.limiter.Burst())
}

// take waits until n bytes, at most most(n), may be received.
func (b *bandwidth) take(ctx context.Context, n int) error {
	if b == nil || n == 0 {
		return nil
	}
	return b.limiter.WaitN(ctx, n)
}
