package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// asClient is the role of a process that is the client of one scenario. The suite starts it with
// the URL of a server as the last argument, and names the scenario in MCP_CONFORMANCE_SCENARIO. It
// tests mcpclient's behaviour: the client only performs the steps of the scenario.
const asClient = "client"

// TestMain lets the test binary be the client.
func TestMain(m *testing.M) {
	testenv.Main(m, map[string]func() int{asClient: func() int {
		if err := perform(os.Args, os.Getenv); err != nil {
			fmt.Fprintln(os.Stderr, "client:", err)
			return 1
		}
		return 0
	}})
}

// scenario performs the client's steps in a scenario of the suite.
type scenario func(ctx context.Context, s *session) error

// session is a connected client, with the data of its scenario.
type session struct {
	*mcpclient.Client
	context json.RawMessage // given by the suite
}

var scenarios = map[string]scenario{
	"initialize":                          connectOnly,
	"tools_call":                          useTools,
	"elicitation-sep1034-client-defaults": useTools,
	"sse-retry":                           useTools,
	"request-metadata":                    ping,
	"sep-2322-client-request-state":       useTools,
	"http-standard-headers":               useEverything,
	"http-custom-headers":                 callsOfContext,
	"http-invalid-tool-headers":           useTools,
	"json-schema-ref-no-deref":            listTools,
	"json-schema-2020-12-preservation":    echoSchema,
	"sep-2640-client-no-prefetch":         listSkills,
	"sep-2640-client-verify-digest":       loadSkills,
	"sep-2640-client-verify-size":         loadSkills,
	"sep-2640-client-verify-frontmatter":  loadSkills,
}

// perform plays the scenario of the environment against the server of the last argument.
func perform(args []string, env func(string) string) error {
	name := env("MCP_CONFORMANCE_SCENARIO")
	play, ok := scenarios[name]
	protected := strings.HasPrefix(name, "auth/")
	switch {
	case protected:
		play = useTools
	case !ok:
		return fmt.Errorf("no scenario %q", name)
	}
	if len(args) < 2 {
		return errors.New("want the URL of a server as the last argument")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 110*time.Second) // a little less than the suite gives it
	defer cancel()
	s := &session{context: json.RawMessage(env("MCP_CONFORMANCE_CONTEXT"))}
	server := &mcpclient.HTTP{URL: args[len(args)-1]}
	opts := s.options()
	if protected {
		auth, err := authorization(ctx, server.URL, name, s.context)
		if err != nil {
			return err
		}
		defer func() { _ = auth.Close() }()
		server.Client, opts.Protocol.Revision = auth.Client(), env("MCP_CONFORMANCE_PROTOCOL_VERSION")
	}
	client, err := mcpclient.Connect(ctx, server, opts)
	if err != nil {
		return err
	}
	s.Client = client
	return errors.Join(play(ctx, s), client.Close())
}

// options has a handler for each request of a server.
func (s *session) options() *mcpclient.Options {
	return &mcpclient.Options{
		ClientInfo: mcp.Implementation{Name: "mcpchain-conformance", Version: "1.0.0"},
		Sampling: mcp.SamplingFunc(func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "none", Content: []mcp.Content{&mcp.TextContent{Text: "sampled"}}}, nil
		}),
		Elicitation: mcp.ElicitationFunc(s.elicit),
		Roots:       []mcp.Root{},
		// The suite serves all scenarios from one process, which may be slow.
		Timeouts: mcpclient.Timeouts{Probe: 90 * time.Second},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// elicit accepts with only the values that a form wants confirmed: the client
// fills in defaults. Between the rounds of a tool that wants input it calls
// another tool. That tool must not see anything of the rounds.
func (s *session) elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	fields, err := forms.Fields(p)
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	for _, f := range fields {
		if f.Name == "confirmed" {
			content[f.Name] = true
			if _, err := s.CallTool(ctx, "test_mrtr_unrelated", nil); err != nil {
				return nil, err
			}
		}
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}
