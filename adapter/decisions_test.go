package adapter

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Key.Place shows how a server is reached, without secrets.
func TestPlaceOfADecision(t *testing.T) {
	dir := t.TempDir()
	for want, transport := range map[string]mcpclient.Transport{
		"s\ufffd in " + dir:     &mcpclient.Command{Path: "s\xe9", Dir: dir}, // so that the key can be stored as JSON
		"serve in " + dir:       &mcpclient.Command{Path: "serve", Args: []string{"--token=hidden"}, Dir: dir},
		"https://a.example/mcp": &mcpclient.HTTP{URL: "https://me:hidden@a.example/mcp?key=hidden"},
	} {
		check.Equal(t, "", serverKey(transport).Place, want)
	}
}

// serverKey is the key of a decision about a server.
func serverKey(transport mcpclient.Transport) approval.Key {
	tool := &Tool{server: newServerState(new(Options).withDefaults(), &Server{Name: "s", Transport: transport})}
	return (&question{tool: tool}).key(approval.ScopeServer)
}

// A decision does not hold for another server with the same label.
func TestDecisionsEndWithTheServer(t *testing.T) {
	command := mcpclient.Command{Path: "server", Args: []string{"-a", "b"}}
	seen := map[approval.Key]bool{}
	for _, transport := range []mcpclient.Transport{
		&command,
		&mcpclient.Command{Path: "other", Args: command.Args},
		&mcpclient.Command{Path: "server", Args: []string{"-ab"}},
		&mcpclient.Command{Path: "server", Args: command.Args, Dir: "/elsewhere"},
		&mcpclient.HTTP{URL: "https://a.example/mcp"},
		&mcpclient.HTTP{URL: "https://b.example/mcp"},
		&mcpclient.HTTP{URL: "https://a.example/mcp", SSE: true},
		transportFunc(unreachable),
		&reached{name: "one"},
		&reached{name: "two"},
	} {
		k := serverKey(transport)
		check.That(t, !seen[k], "%+v: got the decisions of another server", transport)
		seen[k] = true
	}
	again := command
	again.Env = []string{"TOKEN=new"}
	check.Equal(t, "with a new token", serverKey(&again), serverKey(&command))
	check.Equal(t, "with another password", serverKey(&mcpclient.HTTP{URL: "https://me:new@a.example/mcp"}),
		serverKey(&mcpclient.HTTP{URL: "https://a.example/mcp"}))
}

// Toolsets that share a directory know each other's decisions.
func TestDecisionsOutliveTheToolset(t *testing.T) {
	dir, asked := t.TempDir(), 0
	for range 2 {
		ts := annotated().open(t, &Options{Decisions: approval.NewFiles(dir),
			Approve: counted(&asked, approval.Decision{Allow: true, Remember: approval.ScopeTool})})
		for _, city := range []string{"Rome", "Oslo"} {
			check.Must(t, callTool(t, ts, "write", `{"city":"`+city+`"}`).Err)
		}
		_ = ts.Close()
	}
	check.Equal(t, "questions", asked, 1)
}

// A fingerprint without visibility stays valid for tools that both models and views may call. For
// other tools the person is asked again.
func TestDecisionsByOlderFingerprints(t *testing.T) {
	dir := t.TempDir()
	asked := map[string]int{}
	var log bytes.Buffer
	ts := viewPeer().open(t, &Options{
		Decisions: approval.NewFiles(dir), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			asked[a.Definition.Name]++
			return approval.Decision{Allow: true, Remember: approval.ScopeTool}, nil
		},
	})
	catalog := ts.Catalog(profile.Plain)
	for name, fingerprint := range map[string]string{
		"both_tool":  "c53942dce9f8426a279a373d286221172f2c941157d3b98a91a799a3f403faac",
		"model_tool": "d18d327d0a4ed13d5812a1bce660cad8d8d4554d29fe98dcdafd4b683fa13372",
	} {
		tool, _ := catalog.Lookup(name)
		key := (&question{tool: tool}).key(approval.ScopeTool)
		key.Fingerprint = fingerprint
		check.Must(t, approval.NewFiles(dir).Remember(t.Context(), key, approval.Decision{Allow: true}))
		for range 2 {
			check.NoError(t, catalog.Call(t.Context(), call("1", name, "{}")).Err, name)
		}
	}
	check.That(t, asked["both_tool"] == 0 && asked["model_tool"] == 1 && !strings.Contains(log.String(), "decision"),
		"got the questions %v and the log %q, want one question about model_tool", asked, &log)
}

// failingDecisions is a store whose methods fail.
type failingDecisions struct{}

func (failingDecisions) Recall(context.Context, approval.Key) (approval.Decision, bool, error) {
	return approval.Decision{Allow: true}, true, errors.New("disk gone")
}
func (failingDecisions) Remember(context.Context, approval.Key, approval.Decision) error {
	panic("disk gone")
}
func (failingDecisions) Forget(context.Context, string, string) error { return errors.New("disk gone") }

func TestDecisionsThatCannotBeKept(t *testing.T) {
	var log bytes.Buffer
	asked := 0
	ts := annotated().open(t, &Options{Decisions: failingDecisions{}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Approve: counted(&asked, approval.Decision{Allow: true, Remember: approval.ScopeTool})})
	for range 2 {
		check.NoError(t, callTool(t, ts, "write", `{"city":"Rome"}`).Err)
	}
	check.That(t, asked == 2 && strings.Contains(log.String(), "could not recall") && strings.Contains(log.String(), "could not remember"),
		"got %d questions and the log %s, want every call asked about, and why", asked, log.String())
}
