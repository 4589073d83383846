package agentrun_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// actCommand makes this program an agent of pairs of words.
const actCommand = "act"

func act(words []string) int {
	for i := 0; i+1 < len(words); i += 2 {
		actOne(words[i], words[i+1])
	}
	return 0
}

func outcome(err error) string {
	if err != nil {
		return "failed: " + err.Error()
	}
	return "done"
}

func actOne(verb, what string) {
	switch verb {
	case "submit":
		say(verb, outcome(os.WriteFile(os.Getenv("SUBMISSION_DIR")+"/submission.csv", []byte(what), 0o600)))
	case "wait":
		ms, _ := strconv.Atoi(what)
		time.Sleep(time.Duration(ms) * time.Millisecond)
	case "validate", "score", "get", "budget":
		fmt.Print(verb, ": ")
		ask([]string{verb, what})
	case "write":
		say(verb+" "+what, outcome(os.WriteFile(what, []byte("x"), 0o600)))
	case "unlink":
		say(verb, outcome(os.Remove(what)))
	case "chat":
		say(verb, askModel(what))
	case "print":
		say(verb, os.Getenv(what))
	case "id":
		say(verb, fmt.Sprint(os.Getuid(), " ", os.Getgid()))
	default:
		actHostile(verb, what)
	}
}

func say(verb, text string) { fmt.Println(verb + ": " + text) }

// actHostile does what an agent should not be able to do.
func actHostile(verb, what string) {
	switch verb {
	case "direct":
		c, err := net.DialTimeout("tcp", what, 2*time.Second)
		if err == nil {
			c.Close()
		}
		say(verb, outcome(err))
	case "lookup":
		_, err := net.LookupHost(what)
		say(verb, outcome(err))
	case "fill":
		say(verb, fill(what))
	}
}

// fill writes until it cannot, at most 256 MiB.
func fill(path string) string {
	f, err := os.Create(path)
	if err != nil {
		return outcome(err)
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for range 256 {
		if _, err := f.Write(block); err != nil {
			var errno syscall.Errno
			if errors.As(err, &errno) {
				return errno.Error()
			}
			return err.Error()
		}
	}
	return "filled"
}

// askModel asks the model of the environment and returns its answer as it came.
func askModel(what string) string {
	body := strings.NewReader(`{"model":"m-1","max_tokens":50,"messages":[{"role":"user","content":"` + what + `"}]}`)
	req, err := http.NewRequest(http.MethodPost, os.Getenv("OPENAI_BASE_URL")+"/chat/completions", body)
	if err != nil {
		return outcome(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return outcome(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return outcome(err)
	}
	return string(text)
}
