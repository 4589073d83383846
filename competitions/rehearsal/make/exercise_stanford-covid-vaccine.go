package main

import (
	"bytes"
	"encoding/json"
	"strings"
)

var (
	measuresCovid = strings.Fields("reactivity deg_Mg_pH10 deg_pH10 deg_Mg_50C deg_50C")
	errorsCovid   = strings.Fields("reactivity_error deg_error_Mg_pH10 deg_error_pH10 deg_error_Mg_50C deg_error_50C")
)

// foldCovid draws a molecule: its bases, its pairs as brackets, and the kinds of its loops.
func foldCovid(s *set, length int) (sequence, structure, loops string) {
	bases := make([]string, length)
	for i := range bases {
		bases[i] = s.one("A", "A", "G", "C", "U")
	}
	sequence = "GGAAA" + strings.Join(bases, "")[5:]
	for len(structure) < length-16 {
		open, stem, loop := 2+s.IntN(4), 3+s.IntN(3), 3+s.IntN(4)
		structure += strings.Repeat(".", open) + strings.Repeat("(", stem) + strings.Repeat(".", loop) + strings.Repeat(")", stem)
		outside := "X"
		if loops == "" {
			outside = "E"
		}
		loops += strings.Repeat(outside, open) + strings.Repeat("S", stem) + strings.Repeat("H", loop) + strings.Repeat("S", stem)
	}
	rest := max(0, length-len(structure))
	structure = (structure + strings.Repeat(".", rest))[:length]
	return sequence, structure, (loops + strings.Repeat("E", rest))[:length]
}

// pairsCovid is a matrix of the probabilities that two bases form a pair.
func pairsCovid(s *set, structure string) []byte {
	n := len(structure)
	v, open := make([]float64, n*n), []int{}
	for i, c := range structure {
		if c == '(' {
			open = append(open, i)
		} else if c == ')' && len(open) > 0 {
			j := open[len(open)-1]
			open = open[:len(open)-1]
			v[i*n+j] = float64(4+s.IntN(5)) / 8
			v[j*n+i] = v[i*n+j]
		}
	}
	return npyOf([]int{n, n}, v)
}

// drawCovid draws RNA molecules: the degradation at a base depends on the base and on the
// kind of its loop.
func drawCovid(s *set) {
	const length, scored = 44, 28
	var train, test bytes.Buffer
	line := func(to *bytes.Buffer, r ordered) {
		data, err := json.Marshal(r)
		must(err)
		to.Write(append(data, '\n'))
	}
	tests, sample := 0, [][]string{}
	for i := range 76 {
		id := "id_" + s.hex(9)
		if i >= 70 {
			size := []int{length, length + 12}[i%2]
			sequence, structure, loops := foldCovid(s, size)
			line(&test, ordered{"index", tests, "id", id, "sequence", sequence, "structure", structure, "predicted_loop_type", loops, "seq_length", size, "seq_scored", size - length + scored})
			tests++
			s.file("bpps/"+id+".npy", pairsCovid(s, structure))
			for k := range size {
				sample = append(sample, []string{id + "_" + itoa(k), "0.0", "0.0", "0.0", "0.0", "0.0"})
			}
			continue
		}
		sequence, structure, loops := foldCovid(s, length)
		noisy := s.IntN(3) == 0
		quality, pass := s.between(2, 12), 1.0
		if noisy {
			quality, pass = s.between(-1, 1), 0
		}
		r := ordered{"index", i, "id", id, "sequence", sequence, "structure", structure, "predicted_loop_type", loops,
			"signal_to_noise", json.Number(ftoa(quality, 3)), "SN_filter", json.Number(ftoa(pass, 1)), "seq_length", length, "seq_scored", scored}
		for _, name := range errorsCovid {
			v := make([]json.Number, scored)
			for k := range v {
				v[k] = json.Number(ftoa(0.1135+0.0136*float64(s.IntN(4)), 4))
			}
			r = append(r, name, v)
		}
		for m, name := range measuresCovid {
			v := make([]json.Number, scored)
			for k := range v {
				level := map[byte]float64{'S': 0.1, 'H': 0.6, 'E': 0.7, 'X': 0.45}[loops[k]] + map[byte]float64{'A': 0.3, 'G': 0.25, 'C': 0, 'U': -0.05}[sequence[k]]
				v[k] = json.Number(ftoa(level+0.05*float64(m)+s.normal(0, 0.1), 4))
				if noisy && k%9 == 4 {
					v[k] = json.Number(ftoa(s.normal(0, 1), 4))
				}
			}
			r = append(r, name, v)
		}
		line(&train, r)
		s.file("bpps/"+id+".npy", pairsCovid(s, structure))
	}
	s.file("train.json", train.Bytes())
	s.file("test.json", test.Bytes())
	s.csv("sample_submission.csv", append([]string{"id_seqpos"}, measuresCovid...), sample)
}

// moleculeCovid is a line of the JSON files.
type moleculeCovid struct {
	ID, Sequence string
	Loops        string `json:"predicted_loop_type"`
	Reactivity   []float64
	DegMgPH10    []float64 `json:"deg_Mg_pH10"`
	DegPH10      []float64 `json:"deg_pH10"`
	DegMg50C     []float64 `json:"deg_Mg_50C"`
	Deg50C       []float64 `json:"deg_50C"`
}

// learnCovid predicts the mean of a measure by base and kind of loop.
func learnCovid(l *lesson) {
	read := func(name string) (all []moleculeCovid) {
		for line := range bytes.Lines(l.file(name)) {
			var m moleculeCovid
			must(json.Unmarshal(line, &m))
			all = append(all, m)
		}
		return all
	}
	seen, kinds := map[string][][]float64{}, map[string]string{}
	for _, m := range read("train.json") {
		for j, values := range [][]float64{m.Reactivity, m.DegMgPH10, m.DegPH10, m.DegMg50C, m.Deg50C} {
			for k, v := range values {
				kind := m.Sequence[k:k+1] + m.Loops[k:k+1]
				if seen[kind] == nil {
					seen[kind] = make([][]float64, len(measuresCovid))
				}
				seen[kind][j] = append(seen[kind][j], v)
			}
		}
	}
	for _, m := range read("test.json") {
		for k := range m.Sequence {
			kinds[m.ID+"_"+itoa(k)] = m.Sequence[k:k+1] + m.Loops[k:k+1]
		}
	}
	l.submitLike("sample_submission.csv", measuresCovid, func(r *rows, i int) []string {
		out := make([]string, len(measuresCovid))
		for j := range out {
			out[j] = "0.4"
			if v := seen[kinds[r.get(i, "id_seqpos")]]; v != nil {
				out[j] = ftoa(mean(v[j]), 6)
			}
		}
		return out
	})
}
