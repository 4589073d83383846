package breach

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/parallel"
)

const (
	closed  = "the network is shared or open: use runtime = \"sandbox\" or \"containerd\" without network.open, and network.allow for what it needs"
	proxied = "the proxy passes on what network.allow does not name: shorten network.allow, and report this if it names none of it"
	defect  = "report this as a defect of mleflow, and do not trust results of this version"
)

var networkProbes = []probe{
	{"direct network", "connect to servers and abstract sockets of the machine by IPv4", closed, addressed(func(a Address) bool { return !a.isIPv6() && !a.isMetadata() && !a.isNames() })},
	{"IPv6", "connect to servers of the machine and of clouds by IPv6", closed, addressed(Address.isIPv6)},
	{"metadata", "connect to addresses where clouds serve credentials, such as 169.254.169.254", "keep the machine from its metadata service by a firewall or NetworkPolicy; " + closed, addressed(Address.isMetadata)},
	{"names", "ask name servers, by UDP and TCP, and the system's resolver", closed, (*thief).names},
	{"proxy", "fetch from denied hosts, addresses of the machine and metadata services through the proxy, in many notations", proxied, (*thief).proxy},
	{"sockets of daemons", "connect to the sockets of containerd, Docker, Podman, CRI-O, systemd and D-Bus", "whoever reaches such a socket commands the machine: take the user from its group, and mount it into no image or sandbox", (*thief).sockets},
	{"gateway credentials", "look for the provider's key in its variables and in what the model gateway answers", defect, (*thief).gateway},
	{"validity server", "ask for other routes, and compare the verdicts on the right answers and on others", defect, (*thief).validity},
	{"score", "ask for a score although the attempt has no validation score", defect, (*thief).score},
}

func (a Address) isIPv6() bool     { return strings.HasPrefix(a.Address, "[") }
func (a Address) isMetadata() bool { return a.What == aMetadata }
func (a Address) isNames() bool    { return a.What == aNameServer }

// addressed connects to the addresses that are meant, all at once.
func addressed(means func(Address) bool) func(*thief) []try {
	return func(t *thief) []try {
		meant := lists.Where(t.Addresses, means)
		tries := make([]try, len(meant))
		parallel.Do(len(meant), len(meant), func(i int) {
			a := meant[i]
			tries[i] = try{fmt.Sprintf("%s (%s %s)", a.What, a.Network, a.Address), a.reach()}
		})
		return tries
	}
}

func (t *thief) names() []try {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	_, err := net.DefaultResolver.LookupHost(ctx, "example.com")
	if _, is := errors.AsType[*net.DNSError](err); is {
		err = errors.New("no resolver answers")
	}
	return append(addressed(Address.isNames)(t), try{"the address of example.com", err})
}

// proxy sends requests that no proxy may pass on.
func (t *thief) proxy() (tries []try) {
	at, err := url.Parse(os.Getenv("HTTP_PROXY"))
	if err != nil || at.Host == "" {
		return []try{{"", skipped("there is no proxy")}}
	}
	_, port, _ := net.SplitHostPort(t.Server)
	places := []string{t.Server, "example.com:80", "metadata.google.internal:80"}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]", "127.1", "localhost."} {
		places = append(places, host+":"+port)
	}
	places = append(places, metadata...)
	tries = make([]try, 2*len(places))
	var wg sync.WaitGroup
	for i, place := range places {
		for k, request := range []string{
			"GET http://" + place + "/ HTTP/1.1\r\nHost: " + place + "\r\nConnection: close\r\n\r\n",
			"CONNECT " + place + " HTTP/1.1\r\nHost: " + place + "\r\n\r\n",
		} {
			verb, _, _ := strings.Cut(request, " ")
			at, mine := at.Host, &tries[2*i+k]
			wg.Go(func() { *mine = try{verb + " " + place, through(at, request)} })
		}
	}
	wg.Wait()
	return tries
}

// through sends a request to a proxy. It returns nil if the answer is a success.
func through(proxy, request string) error {
	c, err := net.DialTimeout("tcp", proxy, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * patience))
	if _, err := io.WriteString(c, request); err != nil {
		return err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return errors.New("the proxy answers nothing")
	}
	defer r.Body.Close()
	if r.StatusCode/100 != 2 {
		return fmt.Errorf("the proxy answers %s", r.Status)
	}
	return nil
}

// daemons are sockets that obey whoever connects.
var daemons = []string{
	"/run/containerd/containerd.sock", "/run/containerd/containerd.sock.ttrpc", "/var/run/docker.sock", "/run/podman/podman.sock", "/run/crio/crio.sock",
	"/run/systemd/private", "/run/dbus/system_bus_socket", "/run/buildkit/buildkitd.sock",
}

func (t *thief) sockets() (tries []try) {
	for _, path := range append(t.Sockets, daemons...) {
		tries = append(tries, try{path, Address{Network: "unix", Address: path}.reach()})
	}
	return tries
}

// client asks servers of the attempt, past any proxy.
var client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{}}

// ask returns the status and the text of an answer.
func ask(method, url, kind string, body io.Reader, key string) (int, string, error) {
	r, err := http.NewRequest(method, url, body) //nolint:noctx // the client has a limit
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	var all strings.Builder
	_ = answer.Header.Write(&all)
	return answer.StatusCode, all.String() + string(text), err
}

func (t *thief) gateway() (tries []try) {
	base := os.Getenv("MLEFLOW_MODELS")
	if base == "" {
		return []try{{"", skipped("the attempt has no model")}}
	}
	for _, v := range os.Environ() {
		if t.secretIn(v) != "" {
			name, _, _ := strings.Cut(v, "=")
			tries = append(tries, try{"the provider's key in the variable " + name, nil})
		}
	}
	for _, path := range []string{"/", "/budget", "/health", "/env", "/debug/vars", "/v1/models", "/v1/chat/completions"} {
		for _, key := range []string{os.Getenv("OPENAI_API_KEY"), "", "wrong"} {
			_, text, err := ask(http.MethodPost, strings.TrimSuffix(base, "/")+path, "application/json", strings.NewReader(`{"model":"none"}`), key)
			switch {
			case err == nil && t.secretIn(text) != "":
				tries = append(tries, try{"the provider's key in the answer of " + path, nil})
			case err == nil:
				err = errors.New("no answer has the key")
				fallthrough
			default:
				tries = append(tries, try{path, err})
			}
		}
	}
	return tries
}

// form is a submission as the validity server takes it.
func form(content []byte) (kind string, body *bytes.Buffer) {
	body = &bytes.Buffer{}
	w := multipart.NewWriter(body)
	if part, err := w.CreateFormFile("file", "submission.csv"); err == nil {
		_, _ = part.Write(content)
	}
	_ = w.Close()
	return w.FormDataContentType(), body
}

func (t *thief) validity() (tries []try) {
	base := strings.TrimSuffix(os.Getenv("MLEFLOW_GATEWAY"), "/")
	if base == "" {
		return []try{{"", skipped("the attempt has no validity server")}}
	}
	for _, path := range []string{"/", "/answers", "/private/test.csv", "/../private/test.csv", "/grade", "/leaderboard", "/debug/pprof/", "/debug/vars"} {
		status, _, err := ask(http.MethodGet, base+path, "", nil, "")
		if err == nil && status/100 != 2 {
			err = fmt.Errorf("the server answers %d", status)
		}
		tries = append(tries, try{"the route " + path, err})
	}
	return append(tries, t.oracle(base))
}

// oracle compares the verdict on the right answers with that on the sample submission.
func (t *thief) oracle(base string) try {
	sample, err := os.ReadFile(os.Getenv("MLEFLOW_SAMPLE"))
	switch {
	case len(t.Right) == 0:
		return try{"", skipped("the answers do not have the form of a submission: verdicts were not compared")}
	case err != nil:
		return try{"", skipped("there is no sample submission: verdicts were not compared")}
	}
	var verdicts []string
	for _, content := range [][]byte{t.Right, sample} {
		kind, body := form(content)
		status, text, err := ask(http.MethodPost, base+"/validate", kind, body, "")
		if err != nil {
			return try{"", err}
		}
		_, text, _ = strings.Cut(text, "{")
		verdicts = append(verdicts, fmt.Sprint(status, text))
	}
	if verdicts[0] != verdicts[1] {
		return try{"verdicts that tell right answers from others", nil}
	}
	return try{"", errors.New("verdicts do not tell right answers from others")}
}

func (t *thief) score() (tries []try) {
	base := strings.TrimSuffix(os.Getenv("MLEFLOW_GATEWAY"), "/")
	if base == "" {
		return []try{{"", skipped("the attempt has no validity server")}}
	}
	content := t.Right
	if len(content) == 0 {
		content, _ = os.ReadFile(filepath.Join(t.data, "sample_submission.csv"))
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		kind, body := form(content)
		status, _, err := ask(method, base+"/score", kind, body, "")
		if err == nil && status/100 != 2 {
			err = fmt.Errorf("the server answers %d", status)
		}
		tries = append(tries, try{method + " /score", err})
	}
	return tries
}
