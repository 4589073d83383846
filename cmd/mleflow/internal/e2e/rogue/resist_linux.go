package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// resist submits something, breaks one limit and refuses to die.
func resist(mode string) {
	ignore()
	if mode == "daemonise" || mode == "child" {
		spawn("orphan")
		return
	}
	if mode != "orphan" {
		submit("resist " + mode)
	}
	switch mode {
	case "memory":
		hog()
	case "memory-fork":
		spawn("orphan")
		spawn("orphan")
		hog()
	case "pids":
		for {
			if _, err := start("resist", "child"); err != nil {
				time.Sleep(10 * time.Millisecond)
			}
		}
	case "disk":
		for i := 0; ; i++ {
			if _, err := fill(fmt.Sprintf("/home/code/big%d", i), 1<<30); err != nil {
				break
			}
		}
		os.Exit(3)
	case "daemon": // the command itself ends well; what it left must not live
		for range 5 {
			spawn("daemonise")
		}
		return
	case "fork":
		for range 20 {
			spawn("daemonise")
		}
	case "stop":
		_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	case "spin":
		go func() {
			for n := uint64(1); n != 0; n += 2 { // odd for ever
			}
		}()
	}
	time.Sleep(time.Hour)
}

// ignore ignores every signal that can be.
func ignore() {
	for s := syscall.Signal(1); s < 65; s++ {
		if s != syscall.SIGCHLD && s != syscall.SIGURG {
			signal.Ignore(s)
		}
	}
}

// spawn starts this program in a session and with output of its own, so that
// nothing ties it to its parent.
func spawn(mode string) {
	cmd := exec.Command("/proc/self/exe", "resist", mode)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if cmd.Start() == nil && mode == "daemonise" {
		_ = cmd.Wait()
	}
}

func hog() {
	var all [][]byte
	for {
		all = append(all, bytes.Repeat([]byte("m"), 8<<20))
		_ = all
	}
}

func submit(text string) {
	if err := os.WriteFile(os.Getenv("SUBMISSION_DIR")+"/submission.csv", []byte(text+"\n"), 0o644); err != nil {
		fatal(err)
	}
}

// work submits the sample, step by step, for the given seconds. Each start of it
// leaves a line with a number of its own in LOGS_DIR/starts.
func work(seconds string) {
	d, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		fatal(err)
	}
	f, err := os.OpenFile(os.Getenv("LOGS_DIR")+"/starts", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		fatal(err)
	}
	fmt.Fprintln(f, "started")
	f.Close()
	sample, err := os.ReadFile(os.Getenv("DATA_DIR") + "/sample_submission.csv")
	if err != nil {
		fatal(err)
	}
	out, err := os.Create(os.Getenv("SUBMISSION_DIR") + "/submission.csv")
	if err != nil {
		fatal(err)
	}
	const parts = 10
	for i := range parts {
		if _, err := out.Write(sample[len(sample)*i/parts : len(sample)*(i+1)/parts]); err != nil {
			fatal(err)
		}
		fmt.Println("part", i)
		time.Sleep(time.Duration(d * float64(time.Second) / parts))
	}
	if err := out.Close(); err != nil {
		fatal(err)
	}
}

// victim has what others look for: in its environment, memory and folders.
func victim() {
	secret := os.Getenv("VICTIM_SECRET")
	for _, path := range []string{"/home/submission/submission.csv", "/home/code/code.py", "/home/agent/note", "/tmp/note", "/dev/shm/note", "/run/note"} {
		_ = os.WriteFile(path, []byte(os.Getenv("VICTIM_NOTE")+"\n"), 0o644)
	}
	fmt.Println("the victim waits; its note is", os.Getenv("VICTIM_NOTE"))
	time.Sleep(20 * time.Second)
	_ = secret
}
