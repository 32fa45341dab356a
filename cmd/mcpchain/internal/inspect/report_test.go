package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// answerLists is a server that lists no tools, and never its prompts.
func answerLists(conn transport.Conn) {
	testenv.Serve(conn, func(m *testenv.Message) string {
		return map[string]string{
			"initialize": `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"slow","version":"1"}}`,
			"tools/list": `"result":{"tools":[]}`,
		}[m.Method]
	})
}

// The wait for a missing list is as long as the wait for the server.
func TestListThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, conn := mcpclient.Pipe()
		go answerLists(conn)
		about := &serverReport{Name: "slow", timeout: 7 * time.Second}
		r := &report{Servers: []*serverReport{about}, byName: map[string]*serverReport{"slow": about}}
		servers := []adapter.Server{{Name: "slow", Transport: transport, Revision: mcp.Revision20251125}}
		start := time.Now()
		o := &options{timeouts: cli.Timeouts{Connect: 7 * time.Second}}
		tools := check.Value(connect(t.Context(), servers, &questions{w: io.Discard}, o))(t)
		defer func() { _ = tools.Close() }()
		check.Must(t, r.fillAll(t.Context(), tools, o))
		if waited := time.Since(start); waited != 7*time.Second || len(about.Trouble) != 1 || about.Trouble[0] != "the prompts did not come within 7s (-connect-timeout)" {
			t.Errorf("got %q after %v, want what was waited for in vain, for 7 s", about.Trouble, waited)
		}
		check.Equal(t, "status", r.status(0), statusMissing)
		_ = conn.Close()
	})
}

// A list that the server refuses, or that breaks off, is told by its name.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	s := &serverReport{}
	for want, err := range map[string]error{
		"the server does not list its prompts: server error -32603: down": fmt.Errorf("prompts/list: %w", &mcp.RPCError{Code: mcp.CodeInternalError, Message: "down"}),
		"the list of prompts is not whole: odd":                           errors.New("odd"),
	} {
		check.Equal(t, "", s.incomplete("prompts", err), want)
	}
}

// A list that is longer than what is shown of it is told by its name.
func TestLongList(t *testing.T) {
	t.Parallel()
	prompts := func(n int) iter.Seq2[*mcp.Prompt, error] {
		return func(yield func(*mcp.Prompt, error) bool) {
			for range n {
				if !yield(&mcp.Prompt{Name: "p"}, nil) {
					return
				}
			}
		}
	}
	for n, cut := range map[int][]string{maxListed: nil, maxListed + 1: {"prompts"}} {
		s := &serverReport{}
		check.Equal(t, "listed", len(listed(s, "prompts", prompts(n), func(p *mcp.Prompt) string { return p.Name })), maxListed)
		check.Same(t, "lists that are cut", s.Cut, cut)
	}
}

// The first line counts the servers that are not disabled.
func TestSummary(t *testing.T) {
	t.Parallel()
	good, bad, off := &serverReport{}, &serverReport{Error: "x"}, &serverReport{Disabled: true}
	for want, servers := range map[string][]*serverReport{
		"the file names no servers": nil, "the server can be used": {good, off}, "the server cannot be used": {bad},
		"1 of 2 servers can be used": {good, off, bad}, "0 of 0 servers can be used": {off},
	} {
		r := &report{Servers: servers}
		r.updateTotals()
		check.That(t, r.summary() == want, "got %s, want %s", r.summary(), want)
	}
}

// A long list ends with a whole name, and says how many are left out.
func TestFit(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("tool_%02d", i))
	}
	got := fitNames(names)
	list, more, _ := strings.Cut(got, ", and ")
	check.That(t, more == "67 more (-server shows all)" && strings.HasSuffix(list, ", tool_32"), "got %s", got)
	check.Equal(t, "", fitNames(names[:2]), "tool_00, tool_01")
}

func TestIsName(t *testing.T) {
	for name, want := range map[string]bool{
		"get-sum_2.v": true, strings.Repeat("a", maxName): true,
		"": false, "has space": false, "ü": false, "a/b": false, strings.Repeat("a", maxName+1): false,
	} {
		check.That(t, isName(name) == want, "%q: got %v, want %v", name, !want, want)
	}
}

// TestViews lists the views of a server, and warns of what they reach.
func TestViews(t *testing.T) {
	t.Parallel()
	s := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	tool := func(name string, ui map[string]any) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Meta: sdk.Meta{"ui": ui}}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
	}
	tool("show", map[string]any{"resourceUri": "ui://s/v"})
	tool("again", map[string]any{"resourceUri": "ui://s/v"})
	tool("poll", map[string]any{"visibility": []string{"app"}})
	tool("lost", map[string]any{"resourceUri": "ui://s/lost"})
	s.AddResource(&sdk.Resource{URI: "ui://s/v", Name: "v"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "ui://s/v", MIMEType: "text/html;profile=mcp-app", Text: "<p>x", Meta: sdk.Meta{"ui": map[string]any{
			"csp": map[string]any{"connectDomains": []string{"https://api.example.com", "http://127.0.0.1:9"},
				"frameDomains": []string{"https://frames.example.com", "'unsafe-eval'"}},
			"permissions": map[string]any{"camera": map[string]any{}},
		}}}}}, nil
	})
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}))
	defer server.Close()
	_, out, errs := inspectFile(t, servers(`"s":{"type":"http","url":"`+server.URL+`"}`))
	for _, want := range []string{
		"tool for views alone: poll", "view ui://s/v of again, show\n", "reaches: https://api.example.com, http://127.0.0.1:9, https://frames.example.com\n",
		"warning: frames: https://frames.example.com\n", "warning: asks for: camera\n", "warning: reaches the private network: http://127.0.0.1:9\n",
		"warning: declares what no policy may have: frameDomains: \"'unsafe-eval'\"\n", "view ui://s/lost of lost\n    cannot be shown",
	} {
		check.That(t, strings.Contains(out, want), "got no %q in\n%s%s", want, out, errs)
	}
}

// A first start by a program that installs the server gets the advice to wait longer, in the report and before
// a call. Another program does not.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links to this program need a privilege there")
	}
	self := check.Value(os.Executable())(t)
	for name, hint := range map[string]string{
		"npx": "; the first start by npx installs the server: try -connect-timeout 3m", "uvx": "; the first start by uvx installs the server: try -connect-timeout 3m", "node": "; is it an MCP server, and one that speaks over standard input and output?",
	} {
		program := filepath.Join(t.TempDir(), name)
		check.Must(t, os.Symlink(self, program))
		file := servers(fmt.Sprintf(`"slow":{"command":%q,"env":{"MCPCHAIN_INSPECT_ROLE":"silent"}}`, program))
		_, out, _ := inspectFile(t, file, "-connect-timeout", "50ms")
		_, _, stderr := inspectFile(t, file, "-connect-timeout", "50ms", "-call", "x")
		for _, got := range []string{out, stderr} {
			check.That(t, strings.HasSuffix(strings.TrimSpace(got), " runs, but gave no answer within 50ms (-connect-timeout)"+hint),
				"%s: got %s, want it with %q at the end", name, got, hint)
		}
	}
}

// Of nine servers six are broken, each in its way. The summary says of each what is wrong and what helps, and so does a call.
func TestReasons(t *testing.T) {
	t.Parallel()
	closed := testenv.FreeAddress(t)
	answer := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(secure.Close)
	child := func(name, role string) string {
		return fmt.Sprintf(`%q:{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":%q}}`, name, role)
	}
	remote := func(name, url string) string { return fmt.Sprintf(`%q:{"url":%q}`, name, url) }
	file := servers(demo, child("demo2", "demo"), child("demo3", "demo"), gone, child("ends", "exit"),
		remote("nobody", "http://"+closed+"/mcp"), remote("path", answer(404)+"/mcp"), remote("key", answer(401)),
		remote("certificate", secure.URL))
	_, out, _ := inspectFile(t, file)
	check.That(t, strings.HasPrefix(out, "3 of 9 servers can be used\n"), "got %s", out)
	for name, want := range map[string][]string{
		"gone": {`server "gone": start "/does/not/exist": `},
		"ends": {`inspect.test`,
			`" came to its end: exit status 3; what it wrote to standard output is no message of a server: "usage: server stdio"; it wrote to stderr:`, "\n    API_KEY is not set\n"},
		"nobody":      {`server "nobody": the server cannot be reached: is the server running? check the URL (dial tcp `},
		"path":        {`server "path": there is no MCP server at this URL: check its path, which often ends with /mcp or /sse (HTTP status 404 of `},
		"key":         {`server "key": the server wants a sign-in: add the flags -sign-in -server "key", or a token in its "headers"`},
		"certificate": {`server "certificate": this machine does not trust the certificate of the server: check the URL; for a server of your own, SSL_CERT_FILE`},
	} {
		_, about, _ := strings.Cut(out, "\n\n"+name+": ")
		about, _, _ = strings.Cut(about, "\n\n")
		_, _, called := inspectFile(t, file, "-server", name, "-call", "x")
		for _, w := range want {
			check.That(t, strings.Contains(about+"\n", w) && strings.Contains(called, strings.ReplaceAll(w, "\n    ", "\n")),
				"%s: got\n%s\nand for a call\n%s\nwant %q", name, about, called, w)
		}
	}
}

// A program that writes its log where messages belong is told with that log.
func TestLogOnStandardOutput(t *testing.T) {
	t.Parallel() // it takes long: the program has to begin within the time-out
	_, out, _ := inspectFile(t, servers(`"chatty":{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":"chatty"}}`), "-connect-timeout", "10s")
	for _, want := range []string{
		`" runs, but gave no answer within 10s (-connect-timeout); what it writes to standard output is no message of a server: "listening": does it need another argument to speak MCP there?; it wrote to stderr:`,
		"\n    waiting for the database\n",
	} {
		check.Contains(t, "", out, want)
	}
}

// Many lines of one server leave room for those of another.
func TestLoudServers(t *testing.T) {
	t.Parallel()
	const loud = `{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":"loud"}}`
	_, _, stderr := inspectFile(t, servers(`"a":`+loud+`,"b":`+loud))
	for _, name := range []string{"a", "b"} {
		check.Equal(t, "warnings of "+name, strings.Count(stderr, " server="+name+" "), 50)
	}
}

// A line before the messages is tolerated, and reported.
func TestBanner(t *testing.T) {
	t.Parallel()
	status, _, stderr := inspectFile(t, servers(`"b":{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":"banner"}}`))
	check.That(t, status == statusFine && strings.Count(stderr, "warning: msg=") == 1 && strings.Contains(stderr, " server=b ") && strings.Contains(stderr, "welcome to the demo"),
		"got %d and %s\nwant a warning with the server and the line", status, stderr)
}
