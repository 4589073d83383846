package rehearsal

import "strings"

// sharded returns how many of the last folders of dir are, joined, the beginning of stem.
func sharded(dir, stem string) (n int) {
	parts := strings.Split(strings.TrimSuffix(dir, "/"), "/")
	for i := range parts {
		if joined := strings.Join(parts[i:], ""); joined != "" && len(joined) < len(stem) && strings.HasPrefix(stem, joined) {
			return len(parts) - i
		}
	}
	return 0
}

// findShards finds the top folders whose files are in folders named by the beginning of
// their names.
func (s *shape) findShards() {
	all, are := map[string]int{}, map[string]int{}
	for _, name := range s.files {
		dir, stem, _ := s.split(name)
		top, _, _ := strings.Cut(dir, "/")
		all[top]++
		if sharded(dir, stem) > 0 {
			are[top]++
		}
	}
	for top, n := range all {
		s.shards[top] = n >= fewFiles && are[top]*20 >= n*19
		s.shards[""] = s.shards[""] || s.shards[top]
	}
}

// shard replaces the folders of dir that the beginning of stem decides.
func (s *shape) shard(dir, stem, renamed string) string {
	top, _, _ := strings.Cut(dir, "/")
	n, is := sharded(dir, stem), s.shards[""]
	if of, ok := s.shards[top]; ok {
		is = of
	}
	if n == 0 || !is {
		return dir
	}
	parts := strings.Split(strings.TrimSuffix(dir, "/"), "/")
	for i := len(parts) - n; i < len(parts); i++ {
		size := min(len(parts[i]), len(renamed))
		parts[i], renamed = renamed[:size], renamed[size:]
	}
	return strings.Join(parts, "/") + "/"
}
