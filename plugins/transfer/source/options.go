package source

import "time"

// Option changes how the sources of All fetch. What they fetch is never
// changed by one, so that no option is part of a key.
type Option func(*settings)

// Connections sets how many parts of one file are fetched at once from a
// server that can give parts; the default is 8. One connection fetches a file
// in order. Each takes 8 MiB of memory at most.
func Connections(n int) Option {
	return func(s *settings) { s.connections = max(n, 1) }
}

// MaxRate caps what all downloads of the sources together receive, in bytes
// per second; 0 is no cap.
func MaxRate(bytesPerSecond int64) Option {
	return func(s *settings) { s.limit = newBandwidth(bytesPerSecond) }
}

// Remember names a folder where the fingerprints of local files are kept, so that
// files that have not changed are not read again.
func Remember(dir string) Option { return func(s *settings) { s.memo = dir } }

// settings are how a transfer behaves.
type settings struct {
	connections int
	limit       *bandwidth
	// smallest and largest are the sizes of the parts that are fetched.
	smallest, largest int64
	// tries is how often in a row a request may fail without a new byte;
	// wait is the longest pause after the first failure, doubled after each.
	tries int
	wait  time.Duration
	// briefTries is how often in a row what passes soon or never may fail;
	// then it is for good.
	briefTries int
	// A body that gives fewer than least bytes in window is cut off.
	window time.Duration
	least  int64
	// saveEvery is how many bytes lie between two saved states of the sums.
	saveEvery int64
	// memo is the folder of Remember.
	memo string
}

func defaults() settings {
	return settings{
		connections: 8, smallest: 256 << 10, largest: 8 << 20,
		tries: 8, wait: time.Second, briefTries: 3,
		window: 30 * time.Second, least: 32 << 10,
		saveEvery: 256 << 20,
	}
}

// longestWait is the longest pause within a fetch; a server that asks for more
// makes the fetch fail for now, so that nothing is held meanwhile.
const longestWait = 20 * time.Second

// layout says how many bytes are fetched at once, and by how many connections.
// What a process that is killed has in memory is lost: a part for each
// connection and two more, which is to be less than 2 % of the rest unless that
// is small.
func (s settings) layout(rest int64) (part int64, connections int) {
	part = rest / int64(64*s.connections)
	part = min(max(part, s.smallest), s.largest)
	parts := (rest + part - 1) / part
	return part, int(min(int64(s.connections), parts))
}
