package main

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	none := func(string) string { return "" }
	for name, tt := range map[string]struct {
		args []string
		want string // in the error
	}{
		"none":         {[]string{"-db", "x.db"}, ""},
		"argument":     {[]string{"x"}, "unknown"},
		"no user":      {[]string{"-users", " ,"}, "names no user"},
		"no rate":      {[]string{"-rate", "0"}, "at least 1"},
		"no origin":    {[]string{"-origin", "agent.example"}, "want a URL"},
		"path":         {[]string{"-origin", "https://agent.example/x"}, "want a URL"},
		"no endpoint":  {[]string{"-model", "gpt"}, "needs an endpoint"},
		"exposed":      {[]string{"-origin", "https://agent.example"}, "-demo-sign-in"},
		"everywhere":   {[]string{"-listen", ":8080"}, "-demo-sign-in"},
		"no proxy":     {[]string{"-origin", "https://agent.example", "-user-from", "X-User"}, "needs -trusted-proxy"},
		"bad proxy":    {[]string{"-user-from", "X-User", "-trusted-proxy", "here"}, "want an address"},
		"two sign-ins": {[]string{"-user-from", "X-User", "-trusted-proxy", "127.0.0.1", "-users-file", "x"}, "give one"},
		"demo":         {[]string{"-origin", "https://agent.example", "-demo-sign-in", "-db", "x.db"}, ""},
		"file":         {[]string{"-origin", "https://agent.example", "-users-file", "x", "-db", "x.db"}, ""},
		"proxy":        {[]string{"-origin", "https://agent.example", "-user-from", "X-User", "-trusted-proxy", "10.0.0.0/8, ::1", "-db", "x.db"}, ""},
		"endpoint":     {[]string{"-model", "gpt", "-base-url", "http://localhost:1/v1", "-db", "x.db"}, ""},
	} {
		o, err := parseFlags(tt.args, none, new(strings.Builder))
		switch {
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		case tt.want == "" && (err != nil || o.listen != "127.0.0.1:8080"):
			t.Errorf("%s: got %v, %v, want the loopback interface", name, o, err)
		}
	}
}

func TestAllowedHosts(t *testing.T) {
	for listen, tt := range map[string]struct{ want, others []string }{
		"127.0.0.1:8080": {[]string{"127.0.0.1:8080", "localhost:8080", "[::1]:8080", "agent.example"}, []string{"evil.example:8080", "localhost"}},
		"127.0.0.1:80":   {[]string{"127.0.0.1", "localhost", "[::1]", "localhost:80"}, []string{"evil.example"}},
	} {
		o, err := parseFlags([]string{"-db", "x.db", "-origin", "https://Agent.Example/", "-demo-sign-in"}, func(string) string { return "" }, new(strings.Builder))
		if err != nil || !o.isSecure() {
			t.Fatal(o, err)
		}
		hosts := o.allowedHosts(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(listen)))
		for _, want := range tt.want {
			if !slices.Contains(hosts, want) {
				t.Errorf("%s: got %q, want %s among them", listen, hosts, want)
			}
		}
		for _, other := range tt.others {
			if slices.Contains(hosts, other) {
				t.Errorf("%s: got %q with %s", listen, hosts, other)
			}
		}
	}
}

// TestBusyPort names the flag for another address.
func TestBusyPort(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if err := listen(t.Context(), &options{listen: busy.Addr().String()}); err == nil || !strings.Contains(err.Error(), "; -listen names another address") {
		t.Errorf("got %v, want the flag named", err)
	}
}
