package mcpclient_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// TestPathOfACall compares the list on the architecture page with the stack on which a connection gets a tool call.
func TestPathOfACall(t *testing.T) {
	_, section, _ := strings.Cut(string(check.Value(os.ReadFile("../docs/architecture.md"))(t)), "### The path of a call\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var documented []string // functions and their files
	for _, m := range regexp.MustCompile("(?m)^[0-9]+\\. `(\\w+)` \\(`([\\w.]+)`\\)").FindAllStringSubmatch(section, -1) {
		documented = append(documented, m[1]+" "+m[2])
	}
	n := len(documented)
	check.Require(t, n != 0 && n <= 10, "got a list of %d functions, want 1 to 10", n)
	middleware := changing(func(*mcpclient.Request) {})
	for name, over := range map[string]func(t *testing.T, o mcpclient.Options) []string{"a pipe": pathOverPipe, "HTTP": pathOverHTTP} {
		bubble(t, name, func(t *testing.T) {
			check.Same(t, "functions on the stack", over(t, mcpclient.Options{Middleware: []mcpclient.Middleware{middleware}}), documented)
			without := slices.DeleteFunc(slices.Clone(documented), func(f string) bool { return strings.HasPrefix(f, "withMiddleware ") })
			check.Same(t, "functions on the stack without middleware", over(t, mcpclient.Options{}), without)
		})
	}
}

// callers returns the functions of the client on this stack, the outermost first, down to exchange: those below it depend on the
// connection. Functions between two occurrences of the same function are left out: it passes them as callbacks.
func callers() (all []string) {
	const client = "github.com/mcpchain/mcpchain/mcpclient."
	var pcs [100]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		name, ours := strings.CutPrefix(frame.Function, client)
		if !ours || strings.HasSuffix(frame.File, "_test.go") {
			continue
		}
		parts := slices.DeleteFunc(strings.Split(name, "."), regexp.MustCompile(`^(func|gowrap)?[0-9]+$`).MatchString)
		f := parts[len(parts)-1] + " " + filepath.Base(frame.File) // the declared function that contains a literal
		if i := slices.Index(all, f); i >= 0 {
			all = all[:i]
		}
		all = append(all, f)
	}
	slices.Reverse(all)
	return all[:slices.IndexFunc(all, func(f string) bool { return strings.HasPrefix(f, "exchange ") })+1]
}

func pathOverPipe(t *testing.T, o mcpclient.Options) (got []string) {
	way, p := newPeer(t)
	go func() { p.handshake(); p.echo() }()
	callText(t, t.Context(), connected(t, &hooked{Transport: way, send: func(ctx context.Context, conn transport.Conn, message []byte) error {
		if strings.Contains(string(message), `"tools/call"`) {
			got = callers()
		}
		return conn.Send(ctx, message)
	}}, o), "sum", "sum")
	return got
}

func pathOverHTTP(t *testing.T, o mcpclient.Options) (got []string) {
	server := httpServer(t, answerCall)
	callText(t, t.Context(), connected(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), WrapTransport: watched(func(r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" {
			got = callers()
		}
	})}, o), "sum", "sum")
	return got
}

func TestUndeclaredCapabilities(t *testing.T) {
	refused := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		errs := everyRequest(ctx, c)
		check.NoError(t, errs["Ping"])
		delete(errs, "Ping")
		for name, err := range errs {
			check.Is(t, err, mcpclient.ErrUndeclared, name)
			check.Text(t, err, "the server does not offer ", name)
		}
	}
	playAll(t, []conversation{
		{name: "capabilities", opts: legacy(), play: refused},
		{name: "capabilities_none_modern", opts: modern(), play: refused},
	})
}

// exact replaces the capabilities of the handlers.
const exact = `{"sampling":{"tools":{}}, "elicitation":{"url":{}}, "roots":{},
	"extensions":{"com.example/x":{"n":1}}, "experimental":{"e":{}}}`

func TestExactCapabilities(t *testing.T) {
	opts := declaring(exact)
	opts.Protocol.ExactCapabilities = true
	playAll(t, bothEras(conversation{name: "capabilities_exact", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		callText(t, ctx, c, "ask", "done")
		check.NoError(t, c.SetRoots(ctx, nil)) // not announced, as listChanged is not declared
		want := map[string]string{mcp.Revision20260728: "Options.Protocol.Capabilities does not declare the extension io.modelcontextprotocol/tasks"}
		check.Text(t, check.Err(c.StartTask(ctx, &mcp.Tool{Name: "t"}, nil, 0)), want[c.Server().Revision], "a task without the extension")
	}}))
}

// declaring returns handlers and what they are declared to do.
func declaring(capabilities string) mcpclient.Options {
	return asks(mcpclient.Options{Protocol: mcpclient.Protocol{Capabilities: json.RawMessage(capabilities)}})
}

// Handlers add to the declared capabilities: changed roots are announced and calls become tasks
// although the host declared neither.
func TestCapabilitiesAreAdded(t *testing.T) {
	opts := declaring(`{"sampling":{"tools":{}},"roots":null,"extensions":{"com.example/x":{"n":1}},"experimental":{"e":{}}}`)
	playAll(t, bothEras(conversation{name: "capabilities_added", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		check.NoError(t, c.SetRoots(ctx, nil))
		callText(t, ctx, c, "ask", "done", mcpclient.WithTask(&mcp.Tool{Name: "ask"}))
	}}))
}

// Declared capabilities and installed handlers must agree.
func TestCapabilitiesRefused(t *testing.T) {
	for _, opts := range []mcpclient.Options{legacy(), modern(), {}} {
		for declared, want := range map[string][]string{
			"{}":              {"Options.Sampling is set", "Options.Elicitation is set", "Options.Roots is set", "does not declare roots"},
			`{"sampling":{}}`: {"Options.Elicitation is set", "Options.Roots is set"},
			`{"sampling":null,"elicitation":{},"roots":{}}`: {"does not declare sampling"},
			"[]":             {"Options.Protocol.Capabilities: want a JSON object"},
			"{":              {"Options.Protocol.Capabilities: not valid JSON"},
			"null":           {"Options.Protocol.Capabilities: want a JSON object"},
			`{"sampling":1}`: {"Options.Protocol.Capabilities: json: cannot unmarshal"},

			`{"extensions":{"x":{}}}`:               {`extension "x": name needs a prefix, such as com.example/`},
			`{"extensions":{"com.example/x y":{}}}`: {`extension "com.example/x y": name must be`},
			`{"extensions":{"1.example/x":{}}}`:     {`extension "1.example/x": labels before the slash must be`},
		} {
			opts := asks(opts)
			opts.Protocol.Capabilities, opts.Protocol.ExactCapabilities = json.RawMessage(declared), true
			wantRefused(t, opts, want...)
		}
		opts.Protocol.Capabilities, opts.Protocol.ExactCapabilities = json.RawMessage(exact), true
		wantRefused(t, opts, "declares sampling, and Options.Sampling is nil", "declares elicitation", "declares roots")
	}
}

// With AllowUndeclared, requests are sent and questions answered regardless of what was declared.
func TestAllowUndeclared(t *testing.T) {
	opts := undeclared(declaring("{}"))
	opts.Protocol.ExactCapabilities = true
	playAll(t, bothEras(conversation{name: "capabilities_relaxed", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		callText(t, ctx, c, "ask", "done")
		wantList(t, c.Prompts(ctx), promptName, nil)
		if c.Server().Revision == mcp.Revision20251125 {
			check.NoError(t, subscribed(t, ctx, c, onResources("file:///r", "file:///r")).Close())
			return
		}
		check.Equal(t, "", textOf(check.Value(c.StartTask(ctx, &mcp.Tool{Name: "ask"}, nil, 0))(t).Wait(ctx)), "done")
	}}))
}
