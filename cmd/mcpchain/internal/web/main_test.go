package web

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

func TestFlags(t *testing.T) {
	none := func(string) string { return "" }
	for name, tt := range map[string]struct {
		args []string
		want string // in the error
	}{
		"none":                  {[]string{"-store", "x.db"}, ""},
		"argument":              {[]string{"x"}, "unexpected"},
		"no user":               {[]string{"-demo-users", " ,"}, "names no user"},
		"one user twice":        {[]string{"-demo-users", "Ada, Ada"}, "names a user twice"},
		"no rate":               {[]string{"-rate", "0"}, "-rate has to be above 0"},
		"no origin":             {[]string{"-origin", "agent.example"}, "want a URL"},
		"no origin of views":    {[]string{"-views-origin", "views"}, "want a URL"},
		"path":                  {[]string{"-origin", "https://agent.example/x"}, "want a URL"},
		"no endpoint":           {[]string{"-model", "gpt"}, "needs an endpoint"},
		"exposed":               {[]string{"-origin", "https://agent.example"}, "-demo-sign-in"},
		"everywhere":            {[]string{"-listen", ":8080"}, "-demo-sign-in"},
		"no proxy":              {[]string{"-origin", "https://agent.example", "-user-from", "X-User"}, "needs -trusted-proxy"},
		"no proxy of addresses": {[]string{"-address-header", "X-Forwarded-For"}, "-address-header needs -trusted-proxy"},
		"bad proxy":             {[]string{"-user-from", "X-User", "-trusted-proxy", "here"}, "want an address"},
		"no header of users":    {[]string{"-user-header", "X User"}, `-user-header: "X User" is not the name of a header`},
		"no header of proxies":  {[]string{"-user-from", "X-User:", "-trusted-proxy", "::1"}, `-user-from: "X-User:" is not the name of a header`},
		"no header of browsers": {[]string{"-address-header", "X\n", "-trusted-proxy", "::1"}, `-address-header: "X\n" is not the name of a header`},
		"two sign-ins":          {[]string{"-user-from", "X-User", "-trusted-proxy", "127.0.0.1", "-users", "x"}, "give one"},
		"demo":                  {[]string{"-origin", "https://agent.example", "-demo-sign-in", "-store", "x.db"}, ""},
		"file":                  {[]string{"-origin", "https://agent.example", "-users", "x", "-store", "x.db"}, ""},
		"proxy":                 {[]string{"-origin", "https://agent.example", "-user-from", "X-User", "-trusted-proxy", "10.0.0.0/8, ::1", "-store", "x.db"}, ""},
		"endpoint":              {[]string{"-model", "gpt", "-base-url", "http://localhost:1/v1", "-store", "x.db"}, ""},
	} {
		o, err := parseFlags(tt.args, none, new(strings.Builder))
		switch {
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		case tt.want == "" && (err != nil || o.Listen != "127.0.0.1:8080"):
			t.Errorf("%s: got %v, %v, want the loopback interface", name, o, err)
		}
	}
}

// TestCanonical names the page as browsers do, without the port 80: with it the page redirects to itself again and again.
func TestCanonical(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "127.0.0.1:8080", "127.0.0.1:80": "127.0.0.1", "[::1]:80": "[::1]", "192.0.2.1:80": "",
	} {
		check.Equal(t, listen, new(options).canonical(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(listen))), want)
	}
}

func TestAllowedHosts(t *testing.T) {
	for listen, tt := range map[string]struct{ want, others []string }{
		"127.0.0.1:8080": {[]string{"127.0.0.1:8080", "localhost:8080", "[::1]:8080", "agent.example"}, []string{"evil.example:8080", "localhost"}},
		"127.0.0.1:80":   {[]string{"127.0.0.1", "localhost", "[::1]", "localhost:80"}, []string{"evil.example"}},
	} {
		o, err := parseFlags([]string{"-store", "x.db", "-origin", "https://Agent.Example:443/", "-demo-sign-in"}, func(string) string { return "" }, new(strings.Builder))
		check.Require(t, err == nil && o.isSecure(), "%v %v", o, err)
		hosts := o.allowedHosts(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(listen)))
		for _, host := range slices.Concat(tt.want, tt.others) {
			check.Equal(t, listen+" "+host, slices.Contains(hosts, host), slices.Contains(tt.want, host))
		}
	}
}

// TestBusyPort names the flag for another address.
func TestBusyPort(t *testing.T) {
	busy := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer busy.Close()
	check.Text(t, listen(t.Context(), &options{Hosting: cli.Hosting{Listen: busy.Addr().String()}}), "; -listen names another address")
}

// TestWarnings says at the start what a demonstration lacks once others can reach it, and what an empty file means.
func TestWarnings(t *testing.T) {
	loopback, lan := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8080}
	const plain, model, proof = "without encryption", "the model is a demo", "asks for no proof"
	proxy := []string{"-origin", "https://agent.example", "-user-from", "X-User", "-trusted-proxy", "127.0.0.1"}
	for _, tt := range []struct {
		args []string
		at   net.Addr
		want []string
	}{
		{nil, loopback, nil},
		{proxy, loopback, []string{model}},
		{append(proxy, "-model", "x", "-base-url", "http://127.0.0.1:1/v1"), loopback, nil},
		{[]string{"-listen", "192.0.2.1:8080", "-demo-sign-in"}, lan, []string{plain, model, proof}},
	} {
		o := check.Value(parseFlags(append([]string{"-store", "x"}, tt.args...), func(string) string { return "" }, io.Discard))(t)
		got := o.warnings(tt.at)
		check.Require(t, len(got) == len(tt.want), "%q: got %q, want %q", tt.args, got, tt.want)
		for i, want := range tt.want {
			check.Contains(t, tt.args, got[i], want)
		}
	}
	_, log := trial(t, "-config", inFile(t, "mcp.json", `{"mcpServers": {"off": {"command": "x", "disabled": true}}}`))
	check.Contains(t, "the log", log.String(), `level=WARN msg="the file has no server that is enabled: there are no tools"`)
}

// TestFilesAreOfTheUser keeps what people said from other users of the machine.
func TestFilesAreOfTheUser(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	file := cli.Place("web", "web.db")
	trial(t, "-store", file)
	for _, name := range []string{file, file + "-wal", file + "-shm"} {
		info, err := os.Stat(name)
		check.That(t, err == nil && info.Mode().Perm() == 0o600, "%s: got %v, %v, want 0600", name, info, err)
	}
	info, err := os.Stat(filepath.Dir(file))
	check.That(t, err == nil && info.Mode().Perm() == 0o700, "got %v, %v, want a folder with 0700", info, err)
}

// TestOriginOfViews shows views if browsers can reach their sandbox. An address of this machine is another
// machine's own for a browser behind the proxy.
func TestOriginOfViews(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-origin", "https://agent.example", "-users", "x"}, "none"},
		{[]string{"-origin", "https://agent.example", "-users", "x", "-views-origin", "https://Views.example:443/"}, "https://views.example"},
		{nil, "http://127.0.0.1:"},
	} {
		o := check.Value(parseFlags(append([]string{"-store", "x", "-views", "127.0.0.1:0"}, tt.args...), func(string) string { return "" }, io.Discard))(t)
		o.logger = slog.New(slog.DiscardHandler)
		v := check.Value(new(app).sandbox(o, loopback))(t)
		got := "none"
		if v != nil {
			got = v.origin
			check.NoError(t, v.listener.Close())
		}
		check.That(t, strings.HasPrefix(got, tt.want), "%q: got views at %s, want %s", tt.args, got, tt.want)
	}
}

// TestRoom counts conversations without the calls of their views, and bytes with the results that are stored beside the records. An error of the database is not for the user.
func TestRoom(t *testing.T) {
	db := check.Value(database.Open(t.Context(), filepath.Join(t.TempDir(), "web.db")))(t)
	for id, agent := range map[string]string{"run_1": talk.AgentName, "view-run_1-a": "web-view"} {
		ledgertest.Keep(t, db.Runs, ledgertest.Since(ledgertest.Start, &ledger.Begun{ID: id, Tenant: "Ada", Agent: ledger.AgentName{Name: agent}}))
	}
	o := &options{stored: 2, bytes: 1 << 20}
	check.NoError(t, o.room(t.Context(), db, "Ada", true))
	o.stored = 1
	check.Is(t, o.room(t.Context(), db, "Ada", true), talk.ErrFull)
	check.NoError(t, o.room(t.Context(), db, "Ada", false))
	lease := check.Value(db.Runs.Acquire(t.Context(), run.Key{Tenant: "Ada", ID: "run_1"}, record.Holder{TTL: time.Minute}))(t)
	check.Must(t, db.Runs.PutBlob(t.Context(), lease, "result", make([]byte, o.bytes)))
	check.Is(t, o.room(t.Context(), db, "Ada", false), talk.ErrFull)
	check.NoError(t, o.room(t.Context(), db, "Grace", false))
	check.NoError(t, db.Close())
	err := o.room(t.Context(), db, "Ada", false)
	check.That(t, err != nil && !errors.Is(err, talk.ErrFull), "got %v, want the error of the database", err)
}
