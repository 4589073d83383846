package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// starter starts a command that ends at once, and waits for its end.
type starter struct {
	name string
	run  func(ctx context.Context, id string) error
	// daemon means that not all of its processor time is that of this process and its
	// descendants.
	daemon bool
}

// BenchmarkRun starts a command that ends at once, one and fifty at a time, in each
// runtime that this user has, and with the programs that do the same and are installed.
// Every round runs each once, beginning with another. The metrics are percentiles of the
// time from the call to the end, or for fifty, the fiftieth part of that of all of them
// together, the processor time of each, and how many times bubblewrap's median that is.
//
//	go test ./plugins/sandbox/executor/sandbox -run '^$' -bench Run -benchtime 100x
func BenchmarkRun(b *testing.B) {
	list := starters(b)
	for _, count := range []int{1, 50} {
		wall, cpu := map[string][]time.Duration{}, map[string][]time.Duration{}
		b.Run(fmt.Sprintf("all/%d", count), func(b *testing.B) {
			clear(wall)
			clear(cpu)
			for round := 0; b.Loop(); round++ {
				for i := range list {
					s := list[(i+round)%len(list)]
					used, began := processorTime(b), time.Now()
					startAll(b, s, round, count)
					wall[s.name] = append(wall[s.name], time.Since(began)/time.Duration(count))
					cpu[s.name] = append(cpu[s.name], (processorTime(b)-used)/time.Duration(count))
				}
			}
			b.ReportMetric(0, "ns/op")
		})
		for _, s := range list {
			b.Run(fmt.Sprintf("%s/%d", s.name, count), func(b *testing.B) {
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(percentile(wall[s.name], 50), "p50-ms")
				if len(wall[s.name]) >= 30 { // fewer rounds do not tell
					b.ReportMetric(percentile(wall[s.name], 99), "p99-ms")
				}
				if !s.daemon {
					b.ReportMetric(percentile(cpu[s.name], 50), "cpu-ms")
				}
				for _, peer := range []string{"bubblewrap", "runc", "ctr"} {
					if len(wall[peer]) > 0 {
						b.ReportMetric(percentile(wall[s.name], 50)/percentile(wall[peer], 50), "times-"+peer)
					}
				}
			})
		}
	}
}

func startAll(b *testing.B, s starter, round, count int) {
	var all sync.WaitGroup
	for k := range count {
		all.Go(func() {
			if err := s.run(b.Context(), fmt.Sprintf("%s-%d-%d-%d", s.name, count, round, k)); err != nil {
				b.Errorf("%s: %v", s.name, err)
			}
		})
	}
	all.Wait()
}

// percentile is a percentile of times in milliseconds.
func percentile(times []time.Duration, percent int) float64 {
	slices.Sort(times)
	return float64(times[(len(times)-1)*percent/100].Microseconds()) / 1000
}

// processorTime is that of this process and of its descendants that have ended.
func processorTime(b *testing.B) (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return sum
}

// starters returns the runtimes of this program, which start the real program as their first
// process, and the programs beside them. The command is linked statically.
func starters(b *testing.B) []starter {
	needNamespaces(b)
	dir := b.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	rootfs, self := filepath.Join(dir, "bundle", "rootfs"), filepath.Join(dir, "mleflow")
	for _, name := range []string{"proc", "dev", "sys", "tmp", "etc", "run"} {
		if err := os.MkdirAll(filepath.Join(rootfs, name), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	idle, source := filepath.Join(rootfs, "idle"), filepath.Join(dir, "idle.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	root := filepath.Join("..", "..", "..", "..")
	for _, words := range [][]string{{"go", "build", "-o", idle, source}, {"make", "-C", root, "build", "OUT=" + dir}} {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%q: %v\n%s", words, err, text)
		}
	}
	small := filepath.Join(dir, "small", "program")
	b.Cleanup(func() { _ = syscall.Unmount(filepath.Join(dir, "podman", "overlay"), 0) })
	e := sandbox.New(sandbox.Options{Dir: filepath.Join(dir, "sandbox"), Self: self, Small: small})
	image, err := e.Runtime().ProgramImage(b.Context(), idle, "idle")
	if err != nil {
		b.Fatal(err)
	}
	inside := executor.Spec{Image: image, Command: []string{"/usr/bin/idle"}, Dir: "/"}
	list := []starter{
		runtimeStarter("process", process.New(small), executor.Spec{Command: []string{idle}, Dir: "/"}, false),
		runtimeStarter("sandbox", e, inside, false),
	}
	others := map[string]func(id string) []string{
		"bubblewrap": func(string) []string {
			return []string{"bwrap", "--unshare-all", "--ro-bind", rootfs, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run", "/idle"}
		},
	}
	if os.Geteuid() == 0 {
		d := containerdtest.Start(b)
		c := containerd.New(d.Options)
		b.Cleanup(func() { c.Close() })
		list = append(list, runtimeStarter("containerd", c, inside, true))
		bundle := ociBundle(b, filepath.Dir(rootfs))
		others["runc"] = func(id string) []string {
			return []string{"runc", "--root", filepath.Join(dir, "runc"), "run", "-b", bundle, id}
		}
		others["crun"] = func(id string) []string {
			return []string{"crun", "--root", filepath.Join(dir, "crun"), "run", "-b", bundle, id}
		}
		others["podman"] = func(string) []string {
			return []string{"podman", "--root", filepath.Join(dir, "podman"), "--runroot", filepath.Join(dir, "podman-run"), "--cgroup-manager", "cgroupfs",
				"run", "--rm", "--network", "none", "--log-driver", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--rootfs", rootfs, "/idle"}
		}
		others["ctr"] = func(id string) []string {
			return []string{"ctr", "--address", d.Options.Socket, "--namespace", "bench", "run", "--rm", "--rootfs", rootfs, id, "/idle"}
		}
	}
	for _, name := range []string{"bubblewrap", "runc", "crun", "podman", "ctr"} {
		if args := others[name]; args != nil {
			list = append(list, starter{name: name, daemon: name == "podman" || name == "ctr", run: func(ctx context.Context, id string) error {
				words := args(id)
				if text, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
					return fmt.Errorf("%w: %s", err, text)
				}
				return nil
			}})
		}
	}
	return slices.DeleteFunc(list, func(s starter) bool { // that are not installed, and once for what is made only once
		if err := s.run(b.Context(), s.name+"-first"); err != nil {
			b.Logf("without %s: %v", s.name, err)
			return true
		}
		return false
	})
}

func runtimeStarter(name string, e executor.Executor, spec executor.Spec, daemon bool) starter {
	return starter{name: name, daemon: daemon, run: func(ctx context.Context, id string) error {
		spec := spec
		spec.ID = id
		exit, err := e.Run(ctx, spec, io.Discard)
		if err == nil && !exit.OK() {
			err = fmt.Errorf("%+v", exit)
		}
		return err
	}}
}

// ociBundle writes the description of a container, as runc does, whose command needs no terminal.
func ociBundle(b *testing.B, dir string) string {
	cmd := exec.Command("runc", "spec")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		b.Logf("runc spec: %v\n%s", err, text)
		return dir
	}
	file := filepath.Join(dir, "config.json")
	text, err := os.ReadFile(file)
	if err == nil {
		text = bytes.Replace(text, []byte(`"terminal": true`), []byte(`"terminal": false`), 1)
		text = bytes.Replace(text, []byte(`"sh"`), []byte(`"/idle"`), 1)
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil || !json.Valid(text) {
		b.Fatalf("%v\n%s", err, text)
	}
	return dir
}
