package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// reference is the first process of a container with the layout of MLE-bench:
// as root it serves what tells whether a submission is valid, with the answers
// at hand and errors passed on, and starts the thief as another user.
func reference() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `{"status": "running"}`) })
	mux.HandleFunc("POST /validate", func(w http.ResponseWriter, r *http.Request) {
		text, err := judge(r)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, "{\"error\": \"An unexpected error occurred.\", \"details\": %q}\n", err)
			return
		}
		fmt.Fprintf(w, "{\"result\": %q}\n", text)
	})
	go func() { fatal(http.ListenAndServe(":5000", mux)) }()
	cmd := exec.Command("/proc/self/exe", "steal")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if os.Getenv("AIM_USER") != "root" {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	}
	if err := cmd.Run(); err != nil {
		fatal(err)
	}
}

// judge compares a submission with the answers, as a grader does that stops at
// the first thing that is wrong and says which.
func judge(r *http.Request) (string, error) {
	f, _, err := r.FormFile("file")
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return "", err
	}
	answers, err := os.ReadFile(os.Getenv("AIM_ANSWERS"))
	if err != nil {
		return "", err
	}
	rows, want := strings.Split(string(data), "\n"), strings.Split(string(answers), "\n")
	if len(rows) != len(want) {
		return "", fmt.Errorf("read %s: %d rows, submission has %d", os.Getenv("AIM_ANSWERS"), len(want), len(rows))
	}
	return "Submission is valid.", nil
}
