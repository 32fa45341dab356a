package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/version"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The error for an answer that does not fit a form does not reveal the answer.
func TestMisfitIsNotTold(t *testing.T) {
	p := &mcp.ElicitParams{Mode: mcp.ElicitForm, RequestedSchema: []byte(`{"type":"object","properties":{"age":{"type":"integer"}}}`)}
	_, err := forms.Complete(p, &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"my-secret": 1}})
	check.Text(t, err, "my-secret")
	check.Contains(t, "on the wire", string(responseTo([]byte("1"), nil, err)), `{"code":-32603,"message":"the answer does not fit the form"}`)
}

// The error of a handler does not look like the outcome of the call.
func TestAbandonedTellsRejectionOnly(t *testing.T) {
	met := fmt.Errorf("look up: %w: %w: %w", ErrClosed, context.DeadlineExceeded, &mcp.RPCError{Code: 1})
	for _, err := range []error{met, fmt.Errorf("%w: %w", mcp.ErrRejected, met)} {
		got := unansweredError("sampling/createMessage", err)
		_, rpc := errors.AsType[*mcp.RPCError](got)
		check.That(t, !rpc && !errors.Is(got, ErrClosed) && !errors.Is(got, context.DeadlineExceeded), "got %v, which is what the handler met", got)
		check.Equal(t, "rejected", errors.Is(got, mcp.ErrRejected), errors.Is(err, mcp.ErrRejected))
		check.Text(t, got, err.Error())
	}
}

func TestNullToolIsRefused(t *testing.T) {
	a := &answerer{peer: &peer{offers: offers{sampling: &mcp.SamplingCapability{Tools: true}}}}
	_, err := a.createMessage(t.Context(), []byte(`{"maxTokens":1,"messages":[],"tools":[null]}`))
	check.Equal(t, "code", wireError(err).Code, mcp.CodeInvalidParams)
}

// The first answers of a process have less time than those of a server where a person may have to log in.
func TestConnectTimeoutDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, transport := range map[time.Duration]Transport{time.Minute: new(Command), 10 * time.Minute: new(HTTP)} {
			ctx, cancel := (&connector{negotiator: negotiator{transport: transport}}).withConnectTimeout(t.Context())
			defer cancel()
			end, _ := ctx.Deadline()
			check.Equal(t, fmt.Sprintf("%T", transport), time.Until(end), want)
		}
	})
}

// Times for later comparison are monotonic: if the wall clock is set, cached results and eras live neither longer nor shorter.
func TestClockJumps(t *testing.T) {
	c := new(Client)
	c.cache.put(&request{method: "tools/list"}, []byte(`{"ttlMs":60000}`), 0, 1<<20)
	check.Equal(t, "results that were kept", len(c.cache.entries), 1)
	for _, e := range c.cache.entries {
		wantSteady(t, "the end of a cached result", e.expires)
	}

	eras := new(EraCache)
	eras.keep(&HTTP{URL: "https://example.com"}, mcp.Revision20251125)
	for _, found := range eras.known {
		wantSteady(t, "the beginning of a remembered era", found.since)
	}
	check.Equal(t, "revision", eras.find(&HTTP{URL: "https://example.com"}), mcp.Revision20251125)

	life := lifecycle.New(t.Context(), lifecycle.Options{Closed: ErrClosed, Ended: contextError, Timeout: time.Second, Log: slog.New(slog.DiscardHandler)})
	rounds := inputRounds{gatherer: &gatherer{peer: &peer{life: life}}}
	check.Must(t, rounds.wait(t.Context()))
	wantSteady(t, "the first time that a call was deferred", rounds.deferred)
}

func wantSteady(t *testing.T, what string, at time.Time) {
	t.Helper()
	if at == at.Round(0) { // Round strips the monotonic reading
		t.Errorf("%s: %v has no monotonic clock reading", what, at)
	}
}

// TestRelatedTaskOnce names the task in an answer once, also if the host's answer names one.
func TestRelatedTaskOnce(t *testing.T) {
	question := json.RawMessage(`{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"k1"}}}`)
	answer := json.RawMessage(`{"action":"decline","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"other"}}}`)
	want := `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"k1"}},"action":"decline"}`
	check.Equal(t, "answer", string(withRelatedTask(answer, question)), want)
}

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

// A server keeps a task for at least as long as it is asked to.
func TestLegacyTaskTTL(t *testing.T) {
	e := &legacyEra{revision: mcp.Revision20251125}
	for ttl, want := range map[time.Duration]string{
		0:                                  `{"name":"a","task":{}}`,
		1:                                  `{"name":"a","task":{"ttl":1}}`,
		time.Minute:                        `{"name":"a","task":{"ttl":60000}}`,
		time.Millisecond + time.Nanosecond: `{"name":"a","task":{"ttl":2}}`,
		1<<63 - 1:                          `{"name":"a","task":{"ttl":9223372036855}}`,
	} {
		check.Equal(t, ttl.String(), string(e.taskRequest(&request{params: []byte(`{"name":"a"}`)}, ttl).params), want)
	}
}
