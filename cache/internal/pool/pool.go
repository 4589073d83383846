// Package pool does the arithmetic of reservations. Each piece of work has an
// account, on which it reserves bytes and from which it draws the bytes that it
// uses. Work that gives no account uses the account nil. The pool refuses nothing;
// its users enforce the limits.
package pool

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Pool holds the open reservations of one process.
type Pool struct {
	// Left is the number of bytes that are reserved and not drawn. Only the methods
	// change it. It may be read at any time, also by other processes.
	Left *atomic.Int64

	mu sync.Mutex
	// accounts are those with open reservations, oldest first.
	accounts []*account
}

// account holds the reservations of one piece of work.
type account struct {
	owner any
	// open is the sum of the open reservations, drawn or not.
	open, left int64
}

func (a *account) drawn() int64 { return a.open - a.left }

// Open adds a reservation of n bytes.
func (p *Pool) Open(owner any, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(owner)
	if a == nil {
		a = &account{owner: owner}
		p.accounts = append(p.accounts, a)
	}
	a.open += n
	a.left += n
	p.Left.Add(n)
}

func (p *Pool) account(owner any) *account {
	for _, a := range p.accounts {
		if a.owner == owner {
			return a
		}
	}
	return nil
}

// Close ends a reservation of n bytes and returns how many of them become free.
// As far as possible, drawn bytes are charged to the reservation that ends, so
// that the owner's other reservations never have less left than they may still
// need.
func (p *Pool) Close(owner any, n int64) (free int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(owner)
	free = n - min(n, a.drawn())
	a.open -= n
	a.left -= free
	p.Left.Add(-free)
	if a.open == 0 {
		p.accounts = slices.DeleteFunc(p.accounts, func(b *account) bool { return b == a })
	}
	return free
}

// Draw takes up to n bytes and returns how many it took.
func (p *Pool) Draw(owner any, n int64) int64 {
	if p.Left.Load() == 0 {
		return 0
	}
	return -p.move(owner, -n)
}

// Return puts back up to n drawn bytes and returns how many it took: none if
// the reservation they came from has ended.
func (p *Pool) Return(owner any, n int64) int64 {
	if n == 0 {
		return 0
	}
	return p.move(owner, n)
}

// move adds up to n bytes to the rest of the accounts that the owner may draw on:
// its own and nil, or, for nil, all of them.
func (p *Pool) move(owner any, n int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := n
	for _, whose := range []func(*account) bool{
		func(a *account) bool { return a.owner == owner },
		func(a *account) bool { return a.owner != owner && (a.owner == nil || owner == nil) },
	} {
		for _, a := range p.accounts {
			if rest != 0 && whose(a) {
				k := max(min(rest, a.drawn()), -a.left)
				a.left += k
				rest -= k
			}
		}
	}
	p.Left.Add(n - rest)
	return n - rest
}
