package proxy

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParsePolicyRefuses(t *testing.T) {
	for _, text := range []string{
		"", "api.openai.com", "api.openai.com:", ":443", "api.openai.com:0", "api.openai.com:65536", "api.openai.com:https", "api.openai.com:+443",
		"*:443", "*.com:443", "*.*.com:443", "a.*.com:443", "https://api.openai.com:443", "api.openai.com:443/v1", "a b.com:443", "a..b.com:443",
		"user@a.com:443", "2130706433:80", "0x7f.0.0.1:80", "127.1:80", "1.2.3.4.:80",
		"169.254.169.254:80", "[fe80::1]:80", "[fe80::1%eth0]:80", "[fd00:ec2::254]:80", "0.0.0.0:80", "[::]:80", "224.0.0.1:80", "[::ffff:169.254.169.254]:80",
		"bücher.example:443", strings.Repeat("a", 64) + ".com:443",
	} {
		if _, err := ParsePolicy([]string{text}); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestFind(t *testing.T) {
	p, err := ParsePolicy([]string{"api.openai.com:443", "*.example.com:443", "127.0.0.1:8080", "[::1]:8080", "Files.Example.org.:80", "localhost:99"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		host string
		port uint16
		want bool
	}{
		{"api.openai.com", 443, true},
		{"API.OpenAI.com", 443, true},
		{"api.openai.com.", 443, true},
		{"api.openai.com", 80, false},
		{"openai.com", 443, false},
		{"x.api.openai.com", 443, false},
		{"api.openai.com.evil.net", 443, false},
		{"evil-api.openai.com", 443, false},
		{"a.example.com", 443, true},
		{"a.b.example.com", 443, true},
		{"example.com", 443, false},
		{"badexample.com", 443, false},
		{".example.com", 443, false},
		{"*.example.com", 443, false},
		{"a.example.com\x00.evil.net", 443, false},
		{"127.0.0.1", 8080, true},
		{"::ffff:127.0.0.1", 8080, true},
		{"127.0.0.1", 80, false},
		{"127.0.0.2", 8080, false},
		{"127.1", 8080, false},
		{"2130706433", 8080, false},
		{"::1", 8080, true},
		{"localhost", 8080, false},
		{"localhost", 99, true},
		{"files.example.org", 80, true},
		{"", 443, false},
	}
	for _, tt := range tests {
		if _, got := p.find(tt.host, tt.port); got != tt.want {
			t.Errorf("find(%q, %d) = %v", tt.host, tt.port, got)
		}
	}
	if _, ok := (&Policy{}).find("api.openai.com", 443); ok {
		t.Error("the empty policy allows something")
	}
}

func TestJudge(t *testing.T) {
	own := []netip.Addr{netip.MustParseAddr("8.8.4.4")}
	tests := []struct {
		place, addr string
		ok          bool
	}{
		{"a.example.com:80", "93.184.216.34", true},
		{"a.example.com:80", "2606:2800:220:1::1", true},
		{"a.example.com:80", "127.0.0.1", false},
		{"a.example.com:80", "10.1.2.3", false},
		{"a.example.com:80", "172.16.0.1", false},
		{"a.example.com:80", "192.168.1.1", false},
		{"a.example.com:80", "100.64.0.1", false},
		{"a.example.com:80", "169.254.169.254", false},
		{"a.example.com:80", "168.63.129.16", false},
		{"a.example.com:80", "0.0.0.0", false},
		{"a.example.com:80", "::", false},
		{"a.example.com:80", "::1", false},
		{"a.example.com:80", "::ffff:10.0.0.1", false},
		{"a.example.com:80", "64:ff9b::a00:1", false},
		{"a.example.com:80", "2002:7f00:1::", false},
		{"a.example.com:80", "fd12::1", false},
		{"a.example.com:80", "fe80::1", false},
		{"a.example.com:80", "255.255.255.255", false},
		{"a.example.com:80", "8.8.4.4", false}, // this machine
		{"llm.internal:80", "10.1.2.3", true},
		{"localhost:80", "127.0.0.1", true},
		{"metadata.google.internal:80", "169.254.169.254", false},
		{"metadata.internal:80", "fd00:ec2::254", false},
		{"gpu-box:80", "192.168.1.7", true},
		{"10.1.2.3:80", "10.1.2.3", true},
	}
	for _, tt := range tests {
		one, err := parsePlace(tt.place)
		if err != nil {
			t.Fatal(err)
		}
		if why := one.judge(netip.MustParseAddr(tt.addr), own); (why == "") != tt.ok {
			t.Errorf("%s at %s: %q", tt.place, tt.addr, why)
		}
	}
}
