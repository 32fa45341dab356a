package adapter

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// TestFromConfig checks that each setting of a file is kept, and that a mistake leaves out only its server.
func TestFromConfig(t *testing.T) {
	const file = `{"mcpServers": {
		"good": {"command": "x", "timeout": "90s", "revision": "2025-11-25", "includeTools": ["a*"], "excludeTools": ["ab"]},
		"off": {"command": "x", "disabled": true},
		"mistyped": {"comand": "x"},
		"odd": {"command": "x", "timeout": 2000}
	}}`
	cfg := check.Value((&config.Loader{AllowFilters: true}).LoadData(t.Context(), "mcp.json", []byte(file)))(t)
	servers, left := FromConfig(cfg)
	want := []Server{{
		Name: "good", Transport: cfg[0].Transport, Revision: "2025-11-25", Policy: Policy{IdleTimeout: 90 * time.Second},
		Allow: []string{"a*"}, Deny: []string{"ab"},
	}}
	check.Same(t, "", servers, want)
	reasons := []string{`mcp.json:4: server "mistyped": comand: unknown key; did you mean "command"?`, `mcp.json:5: server "odd": timeout: milliseconds in some programs`}
	check.Require(t, len(left) == len(reasons), "got %v, want the servers with mistakes", left)
	for i, want := range reasons {
		got := left[i].Err.Error()
		check.That(t, strings.HasPrefix(got, want), "got %s, want %s", got, want)
	}
}

// A server's policy overrides the toolset's field by field, also with "no limit".
func TestPolicyOfAServer(t *testing.T) {
	common := &Options{Policy: Policy{CallTimeout: time.Minute, MaxResult: 1000, Trust: TrustFull, Start: StartAvailable}}
	got := newServerState(common.withDefaults(), &Server{Policy: Policy{CallTimeout: -1, ConnectTimeout: -1, MaxResult: -1, Trust: TrustNone}}).policy
	check.Same(t, "policy", got, Policy{CallTimeout: -1, MaxResult: math.MaxInt, Trust: TrustNone, Start: StartAvailable, ConnectTimeout: math.MaxInt64})
}
