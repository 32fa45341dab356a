package mcpclient

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/internal/version"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Nil and zero are the documented defaults. A negative number is none where that makes sense, and an error elsewhere.
func TestDefaults(t *testing.T) {
	limits := Limits{Retries: 3, ServerRequests: 16, Rounds: 10, Cache: 4 << 20}
	timeouts := Timeouts{Probe: 5 * time.Second, URLElicitation: 5 * time.Minute}
	for name, o := range map[string]*Options{"nil": nil, "zero": {}, "no pings": {Timeouts: Timeouts{KeepAlive: -1}}} {
		got := o.withDefaults()
		check.Equal(t, name, got.Limits, limits)
		check.Equal(t, name, got.Timeouts, timeouts)
		check.Same(t, name, got.ClientInfo, mcp.Implementation{Name: "mcpchain", Version: version.Module()})
	}
	check.Equal(t, "least time between two signs of life", (Timeouts{KeepAlive: 1}).withDefaults().KeepAlive, time.Second)
	off := Options{Limits: Limits{Retries: -1, Cache: -1}, Timeouts: Timeouts{URLElicitation: -1}}
	if got := off.withDefaults(); got.Limits.Retries >= 0 || got.Limits.Cache >= 0 || got.Timeouts.URLElicitation >= 0 {
		t.Errorf("got %+v and %+v for what is negative, want it negative", got.Limits, got.Timeouts)
	}
	for name, o := range map[string]Options{
		"Limits.ServerRequests": {Limits: Limits{ServerRequests: -1}},
		"Limits.Rounds":         {Limits: Limits{Rounds: -1}},
		"Limits.Restarts":       {Limits: Limits{Restarts: -1}},
		"Timeouts.Probe":        {Timeouts: Timeouts{Probe: -1}},
	} {
		transport, _ := Pipe()
		check.Text(t, check.Err(Connect(t.Context(), transport, &o)), "Options."+name+" is negative")
	}
}

// Options has few fields: the others are in groups.
func TestOptionsAreFew(t *testing.T) {
	n := reflect.TypeFor[Options]().NumField()
	check.That(t, n <= 15, "got %d fields, want at most 15", n)
}

// docs/bounds.md lists each limit and timeout with its default.
func TestBoundsAreDocumented(t *testing.T) {
	page := check.Value(os.ReadFile("../docs/bounds.md"))(t)
	defaults := map[string]string{
		"Retries": "3", "ServerRequests": "16", "Rounds": "10", "Restarts": "none", "Cache": "4 MiB",
		"Idle": "5 min", "Call": "24 h", "Probe": "5 s", "KeepAlive": "off", "URLElicitation": "5 min",
	}
	for _, group := range []any{Limits{}, Timeouts{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(group)) {
			name := reflect.TypeOf(group).Name() + "." + field.Name
			row := regexp.MustCompile(`(?m)^\|[^|]*\| ([^|]*) \| .*\x60Options\.` + regexp.QuoteMeta(name) + `\x60`).FindSubmatch(page)
			if want := defaults[field.Name]; row == nil || want == "" || !strings.HasPrefix(string(row[1]), want) {
				t.Errorf("%s: got %q, want a row that begins with its default %q", name, row, want)
			}
		}
	}
}
