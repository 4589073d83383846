package clustertest

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Command is the first argument of a job of the suite.
const Command = "clustertest-worker"

// Worker is the stand-in for a worker; it takes the arguments after Command and
// returns the exit status:
//
//	exit N            ends at once
//	sleep DURATION N [FOLDER]
//	                  ends later, and at SIGTERM with status 1; is marked in FOLDER
//	                  as soon as that holds
//	stubborn          ignores SIGTERM
//	marked FOLDER     writes its number and its parent's to FOLDER/marked, and ends
//	                  after some seconds
//	env NAME VALUE    ends with status 0 if the environment has that value, else with 2
func Worker(args []string) int {
	fmt.Println("worker:", args)
	switch args[0] {
	case "exit":
		return number(args[1])
	case "sleep":
		d, err := time.ParseDuration(args[1])
		if err != nil {
			return 2
		}
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		if len(args) > 3 && !mark(args[3]) {
			return 2
		}
		select {
		case <-term:
			fmt.Println("terminated")
			return 1
		case <-time.After(d):
			return number(args[2])
		}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	case "marked":
		if !mark(args[1]) {
			return 2
		}
		time.Sleep(4 * time.Second)
		return 0
	case "env":
		if os.Getenv(args[1]) == args[2] {
			return 0
		}
	}
	return 2
}

// mark writes the numbers of this process and its parent to a folder.
func mark(folder string) bool {
	at := filepath.Join(folder, "marked")
	return os.WriteFile(at+".new", fmt.Append(nil, os.Getpid(), " ", os.Getppid()), 0o600) == nil && os.Rename(at+".new", at) == nil
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 2
	}
	return n
}
