package agentrun_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"testing"
)

// askCommand makes this program a client of the gateway, for agents of tests:
//
//	ask validate FILE…   the replies of the validity server
//	ask get URL…         status and body, "error" for none
//	ask budget           the reply of /budget
const askCommand = "ask"

// askSelf is how a shell starts it.
func askSelf(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self + " " + askCommand
}

func ask(args []string) int {
	gateway := os.Getenv("MLEFLOW_GATEWAY")
	switch args[0] {
	case "validate":
		for _, file := range args[1:] {
			show(post(gateway+"/validate", file))
		}
	case "score":
		for _, file := range args[1:] {
			show(post(gateway+"/score", file))
		}
	case "get":
		for _, url := range args[1:] {
			show(http.Get(url)) //nolint:gosec,bodyclose // a test; the program ends
		}
	case "budget":
		show(http.Get(gateway + "/budget")) //nolint:gosec,bodyclose // a test; the program ends
	}
	return 0
}

func post(url, file string) (*http.Response, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", file)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	_, _ = part.Write(data)
	_ = form.Close()
	return http.Post(url, form.FormDataContentType(), &body)
}

func show(resp *http.Response, err error) {
	if err != nil {
		fmt.Println("error")
		return
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(bytes.TrimSpace(text)))
}
