package transcript

import (
	"strings"
	"testing"
	"time"
)

var normalNow = time.Date(2026, 11, 22, 21, 52, 16, 0, time.UTC)

// TestNormalised holds pairs that two runs of one program print.
func TestNormalised(t *testing.T) {
	n := &normaliser{now: normalNow}
	for _, pair := range [][2]string{
		{"2026-11-22T21:52:16Z done", "2026-11-22T23:01:59.123+01:00 done"},
		{"2026-11-22 21:52:16,123 INFO", "2026-11-23 01:02:03,456 INFO"},
		{"Today's date: 2026-11-22", "Today's date: 2026-11-25"},
		{"Sun Nov 22 21:52:16 UTC 2026", "Mon Nov 23 01:00:00 UTC 2026"},
		{"Sun, 22 Nov 2026 21:52:16 GMT", "Mon, 23 Nov 2026 01:52:16 GMT"},
		{"-rw-r--r-- 1 root root 12 Nov 22 21:52 a.csv", "-rw-r--r-- 1 root root 12 Nov 23 01:07 a.csv"},
		{"run_20261122_215216.log", "run_20261123-0152.log"},
		{"at 1795384336", "at 1795384999.123"},
		{"1795384336123", "1795385336456"},
		{"started 21:52:16", "started 1:52:59.3"},
		{`a\n12:00:01 x`, `a\n13:04:59 x`},
		{"100%|##| 10/10 [00:01<00:00,  8.33it/s]", "100%|##| 10/10 [00:02<00:00,  4.12it/s]"},
		{"real\\t0m1.234s", "real\\t1m0.5s"},
		{"12ms/step - loss: 0.5", "340ms/step - loss: 0.5"},
		{"took 3 seconds", "took 14 seconds"},
		{"3 passed in 5s", "3 passed in 12s"},
		{"Execution time: 2 seconds", "Execution time: 31 seconds"},
		{"3 hours and 59 minutes remaining", "2 hours and 58 minutes remaining"},
		{"id 3f0a1c9e-0000-4000-8000-00000000aaaa", "id aaaaaaaa-1111-4000-8000-0123456789ab"},
		{"<Model at 0x7f12ab34cd56>", "<Model at 0x7fffab34cd99>"},
		{"container 4f5e6d7c8b9a", "container 0a1b2c3d4e5f"},
		{"/tmp/tmpab12cd34/x.csv", "/tmp/tmpqqqqqqqq/x.csv"},
		{"/root/.cache/mleflow/tmp/18c3a9f0/home/data", "/tmp/run-000123/home/data"},
		{"http://127.0.0.1:41234/lab", "http://127.0.0.1:51999/lab"},
		{"[1] pid 1234", "[1] pid 99"},
	} {
		if a, b := n.apply([]byte(pair[0])), n.apply([]byte(pair[1])); string(a) != string(b) {
			t.Errorf("%q is %q\n%q is %q", pair[0], a, pair[1], b)
		}
	}
}

// TestMeaningStays holds pairs that mean something different.
func TestMeaningStays(t *testing.T) {
	n := &normaliser{now: normalNow}
	for _, pair := range [][2]string{
		{"accuracy 0.91", "accuracy 0.92"}, {"loss: 1.5", "loss: 1.25"}, {"12 rows", "13 rows"},
		{"split at 2013-01-01", "split at 2014-01-01"}, {"May 2013", "June 2013"}, {"on 3 May 2013", "on 4 May 2013"},
		{"Time limit: 5 hours", "Time limit: 10 hours"}, {"sleep 5", "sleep 10"},
		{"/tmp/train.csv", "/tmp/test.csv"}, {"/home/data/a", "/home/data/b"},
		{"1234567890", "1234567891"}, {"12345678", "12345679"}, {"deadbeef", "feedbeef"},
		{"id 17", "id 18"}, {"seed 42", "seed 43"}, {"10 MB", "20 MB"}, {"exit status 0", "exit status 1"},
		{"80 percent left", "70 percent left"}, {"port 8080", "port 9090"},
	} {
		if a, b := n.apply([]byte(pair[0])), n.apply([]byte(pair[1])); string(a) == string(b) {
			t.Errorf("%q and %q are both %q", pair[0], pair[1], a)
		}
	}
}

func BenchmarkNormalise(b *testing.B) {
	n := &normaliser{now: normalNow}
	text := []byte(strings.Repeat(`2026-11-22 21:52:16 INFO epoch 3/10 loss 0.123 accuracy 0.987 in 12.3s, /tmp/tmpab12cd34/x.csv\nid,pixel0,pixel1\n17,0,255\nplain words about the task\n`, 1000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		n.apply(text)
	}
}
