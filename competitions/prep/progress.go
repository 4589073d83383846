package prep

import "sync"

// Progress says how far one output is.
type Progress struct {
	// Output is the destination as declared.
	Output string
	// Done and Total count files; Total is -1 when it is not known before.
	Done, Total int
	// Finished says that the output is complete.
	Finished bool
}

// progress passes on what outputs report, one at a time.
type progress struct {
	mu    sync.Mutex
	to    func(Progress)
	state map[string]*Progress
}

func newProgress(to func(Progress)) *progress {
	return &progress{to: to, state: map[string]*Progress{}}
}

func (p *progress) start(output string, total int) {
	p.update(output, func(s *Progress) { s.Total = total })
}

func (p *progress) step(output string) {
	p.update(output, func(s *Progress) { s.Done++ })
}

func (p *progress) finish(output string) {
	p.update(output, func(s *Progress) { s.Finished = true })
}

func (p *progress) update(output string, change func(*Progress)) {
	if p.to == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.state[output]
	if !ok {
		s = &Progress{Output: output}
		p.state[output] = s
	}
	change(s)
	p.to(*s)
}
