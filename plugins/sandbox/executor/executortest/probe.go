package executortest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ProbeCommand is the first argument of the suite's commands.
const ProbeCommand = "executor-probe"

// Probe runs the probe named by args and returns the exit status.
func Probe(args []string) int {
	if len(args) > 0 {
		if probe := probes()[args[0]]; probe != nil {
			return probe(args[1:])
		}
	}
	fmt.Fprintf(os.Stderr, "no probe %q\n", args)
	return 99
}

func probes() map[string]func([]string) int {
	return map[string]func([]string) int{
		"exit": probeExit, "print": probePrint, "env": probeEnv, "echo": probeEcho,
		"sleep": probeSleep, "polite": probePolite, "deaf": probeDeaf, "die": probeDie,
		"spin": probeSpin, "hold": probeHold, "flood": probeFlood, "write": probeWrite,
		"heartbeat": probeHeartbeat, "detach": probeDetach, "hop": probeHop, "descriptors": probeDescriptors,
		"family": probeFamily, "fetch": probeFetch, "storm": probeStorm,
	}
}

func probeExit(args []string) int {
	code, _ := strconv.Atoi(args[0])
	return code
}

func probePrint(args []string) int {
	dir, _ := os.Getwd()
	fmt.Println(dir)
	fmt.Println(strings.Join(args, "|"))
	fmt.Fprintln(os.Stderr, "to standard error")
	return 0
}

func probeEnv([]string) int {
	env := os.Environ()
	slices.Sort(env)
	fmt.Println(strings.Join(env, "\n"))
	return 0
}

func probeEcho([]string) int {
	n, err := io.Copy(os.Stdout, os.Stdin)
	fmt.Fprintln(os.Stderr, n, err)
	return 0
}

func probeSleep([]string) int {
	time.Sleep(time.Hour)
	return 0
}

// probePolite writes a file when it receives SIGTERM.
func probePolite(args []string) int {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	touch(args[0] + ".ready")
	<-asked
	touch(args[0])
	return 7
}

// probeDeaf ignores every signal that can be ignored.
func probeDeaf(args []string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	return probeHeartbeat(args)
}

func probeDie(args []string) int {
	sig, _ := strconv.Atoi(args[0])
	syscall.Kill(os.Getpid(), syscall.Signal(sig))
	time.Sleep(time.Hour)
	return 0
}

// probeSpin uses processor time, half of it in a child process.
func probeSpin(args []string) int {
	length, _ := time.ParseDuration(args[0])
	if len(args) == 1 {
		cmd := exec.Command("/proc/self/exe", ProbeCommand, "spin", args[0], "child")
		if cmd.Run() != nil {
			return 1
		}
	}
	for used := time.Duration(0); used < length; {
		var usage syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
			return 1
		}
		used = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return 0
}

func probeHold(args []string) int {
	mib, _ := strconv.Atoi(args[0])
	length, _ := time.ParseDuration(args[1])
	block := make([]byte, mib<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	time.Sleep(length)
	return int(block[0]) - 1
}

func probeFlood(args []string) int {
	n, _ := strconv.Atoi(args[0])
	line := []byte(strings.Repeat("x", 99) + "\n")
	for range n / len(line) {
		os.Stdout.Write(line)
	}
	return 0
}

func probeWrite(args []string) int {
	if err := os.WriteFile(args[0], []byte("written"), 0o644); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// probeHeartbeat writes to a file ten times a second, forever.
func probeHeartbeat(args []string) int {
	for i := 0; ; i++ {
		os.WriteFile(args[0], []byte(strconv.Itoa(i)), 0o644)
		time.Sleep(20 * time.Millisecond)
	}
}

// probeDetach starts a heartbeat in its own session, with an empty environment and
// without a parent. It ends when the heartbeat has begun.
func probeDetach(args []string) int {
	if len(args) == 2 { // the one in the middle
		return start(true, "deaf", args[0])
	}
	// If it is built with the race detector, it takes a second to end.
	if err := self(false, "detach", args[0], "middle").Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for range 3000 {
		if _, err := os.Stat(args[0]); err == nil {
			return 0
		}
		time.Sleep(10 * time.Millisecond)
	}
	return 1
}

// probeHop starts itself again and ends, forever, so that it is a moving target.
func probeHop(args []string) int {
	os.WriteFile(args[0], []byte(strconv.Itoa(os.Getpid())), 0o644)
	start(true, "hop", args[0])
	if len(args) == 2 { // the first one
		time.Sleep(300 * time.Millisecond) // by then its child has children, as in a real run
	}
	return 0
}

// probeFamily starts a number of heartbeats as children and then beats itself.
func probeFamily(args []string) int {
	n, _ := strconv.Atoi(args[1])
	for i := range n {
		start(i%2 == 0, "deaf", filepath.Join(args[0], strconv.Itoa(i)))
	}
	return probeDeaf([]string{filepath.Join(args[0], "parent")})
}

// probeDescriptors lists the descriptors that it inherited, besides 0, 1 and 2.
func probeDescriptors([]string) int {
	names, _ := filepath.Glob("/proc/self/fd/*")
	for _, name := range names {
		to, err := os.Readlink(name)
		fd, _ := strconv.Atoi(filepath.Base(name))
		// Skip Go's own: its poller, and the cgroup files with the CPU limit.
		own := strings.Contains(to, "anon_inode") || strings.HasPrefix(to, "/sys/fs/cgroup/") || strings.HasSuffix(to, "/fd")
		if err == nil && fd > 2 && !own {
			fmt.Println(fd, to)
		}
	}
	return 0
}

// self returns the command of a probe, with an empty environment, as a child of this
// process.
func self(newSession bool, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", append([]string{ProbeCommand}, args...)...)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: newSession}
	return cmd
}

func start(newSession bool, args ...string) int {
	if err := self(newSession, args...).Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// probeFetch prints the addresses in the named variables and the responses of their
// servers.
func probeFetch(args []string) int {
	for _, name := range args {
		address := os.Getenv(name)
		resp, err := http.Get(address)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(address, string(text))
	}
	return 0
}

func touch(name string) { os.WriteFile(name, nil, 0o644) }
