package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// resist submits something, breaks one limit and refuses to die.
func resist(mode string) {
	ignore()
	if mode == "daemonise" || mode == "child" {
		spawn("orphan")
		return
	}
	count, _ := strconv.Atoi(os.Getenv("ROGUE_COUNT"))
	if mode != "orphan" && mode != "tree" {
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
	case "storm":
		sleepers(count)
	case "tree", "trees": // a chain of sessions: each of its members has the next as its child
		if depth := count - 1; depth > 0 {
			_ = os.Setenv("ROGUE_COUNT", strconv.Itoa(depth))
			spawn("tree")
		}
	case "threads":
		for range count {
			go func() {
				runtime.LockOSThread()
				_, _, _ = unix.Syscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}()
		}
	case "many":
		many(count)
		return
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

// sleepers starts so many children that only sleep. They are copies of this process, in
// which nothing of Go's may run.
func sleepers(count int) {
	runtime.LockOSThread()
	hour := unix.Timespec{Sec: 3600}
	for range count {
		switch pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0); {
		case errno != 0:
			return
		case pid == 0:
			for {
				unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&hour)), 0, 0)
			}
		}
	}
}

// many leaves so many small files.
func many(count int) {
	for i := range count {
		dir := fmt.Sprintf("%s/%d", os.Getenv("CODE_DIR"), i/1000)
		if i%1000 == 0 && os.Mkdir(dir, 0o755) != nil || os.WriteFile(fmt.Sprintf("%s/%d", dir, i), []byte(strconv.Itoa(i)), 0o644) != nil {
			fatal(fmt.Errorf("no more than %d files", i))
		}
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
