package mcpclient_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// changingServer is a server over HTTP that a test updates and rolls back. Its tools are called
// like its revision.
type changingServer struct {
	sse     bool                                                                // answers by streams
	refuses func(m message) (status int, answer string)                         // what it does not speak
	before  func(w http.ResponseWriter, r *http.Request, m message) (done bool) // answers itself, if it likes

	mu       sync.Mutex
	speaks   string
	session  string
	sessions int
	got      []string // methods
	ran      int      // tool calls
}

func (a *changingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := readMessage(r)
	a.mu.Lock()
	a.got = append(a.got, strings.TrimSpace(r.Method+" "+m.Method))
	revision, id := a.speaks, r.Header.Get("Mcp-Session-Id")
	isModern := strings.Contains(string(m.Params.Meta), mcp.Revision20260728)
	known := id != "" && id == a.session
	a.mu.Unlock()
	if a.before != nil && a.before(w, r, m) {
		return
	}
	modern := revision == mcp.Revision20260728
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case modern && !isModern:
		a.answer(w, http.StatusBadRequest, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"v","data":{"supported":["2026-07-28"]}}}`, m.ID)
	case !modern && m.Method == "initialize":
		a.mu.Lock()
		a.sessions++
		a.session = fmt.Sprint("s-", a.sessions)
		w.Header().Set("Mcp-Session-Id", a.session)
		a.mu.Unlock()
		a.answer(w, http.StatusOK, "%s", handshakeAnswer(m))
	case !modern && id != "" && !known:
		w.WriteHeader(http.StatusNotFound)
	case !modern && !known:
		status, answer := a.refuses(m)
		a.answer(w, status, "%s", answer)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "server/discover":
		a.answer(w, http.StatusOK, "%s", handshakeAnswer(m))
	case m.Method == "tools/list":
		a.answer(w, http.StatusOK, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":%q,"inputSchema":{"type":"object"}}],"ttlMs":3600000,"resultType":"complete"}}`, m.ID, revision)
	default:
		if m.Method == "tools/call" {
			a.mu.Lock()
			a.ran++
			a.mu.Unlock()
		}
		a.answer(w, http.StatusOK, "%s", answerTo(m))
	}
}

func (a *changingServer) answer(w http.ResponseWriter, status int, format string, args ...any) {
	if a.sse && status == http.StatusOK {
		stream(w)(fmt.Sprintf(format, args...))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, format, args...)
}

// become changes what the server speaks: its sessions end.
func (a *changingServer) become(revision string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.speaks, a.session = revision, ""
}

// seen returns how often a method was asked for, and how many tool calls ran.
func (a *changingServer) seen(method string) (asked, ran int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, got := range a.got {
		if got == "POST "+method {
			asked++
		}
	}
	return asked, a.ran
}

// withChangingServer runs f with a client of a server, by JSON and by streams.
func withChangingServer(t *testing.T, speaks string, opts mcpclient.Options, f func(t *testing.T, c *mcpclient.Client, a *changingServer)) {
	t.Helper()
	for _, sse := range []bool{false, true} {
		t.Run(fmt.Sprint("sse=", sse), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &changingServer{sse: sse, speaks: speaks, refuses: refusals["400"]}
				server := memhttp.New(a)
				defer server.Close()
				c := connectTo(t, server, opts)
				defer func() { _ = c.Close() }()
				f(t, c, a)
			})
		})
	}
}

// refusals are the words in which legacy servers refuse modern requests.
var refusals = map[string]func(m message) (status int, answer string){
	"400": func(message) (int, string) {
		return http.StatusBadRequest, "Bad Request: Mcp-Session-Id header is required"
	},
}

// One instance of several refuses a revision that it names itself: the request is made once
// more, also a tool call, which has not run. A server that goes on refusing is told so.
func TestRefusedRevisionThatIsSpoken(t *testing.T) {
	for _, test := range []struct {
		supported     string
		refusals, ask int
		works         bool
	}{
		{`["2026-07-28"]`, 1, 2, true},
		{`["2026-07-28","2025-11-25"]`, 1, 2, true},
		{`["2026-07-28"]`, 5, 2, false},
		{`["2031-01-01"]`, 5, 1, false},
	} {
		t.Run(fmt.Sprint(test.supported, test.refusals), func(t *testing.T) {
			withChangingServer(t, mcp.Revision20260728, mcpclient.Options{}, func(t *testing.T, c *mcpclient.Client, a *changingServer) {
				left := test.refusals
				a.before = func(w http.ResponseWriter, _ *http.Request, m message) bool {
					if m.Method != "tools/call" || left == 0 {
						return false
					}
					left--
					a.answer(w, http.StatusBadRequest, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"v","data":{"supported":%s}}}`, m.ID, test.supported)
					return true
				}
				_, err := c.CallTool(t.Context(), "a", nil)
				if asked, ran := a.seen("tools/call"); asked != test.ask || ran == 1 != test.works || err == nil != test.works {
					t.Errorf("got %v after %d requests, of which %d ran; want success %v after %d", err, asked, ran, test.works, test.ask)
				}
				if !test.works {
					if e := wantError[*mcp.RPCError](t, err); e.Code != mcp.CodeUnsupportedRevision {
						t.Errorf("got code %d", e.Code)
					}
				}
			})
		})
	}
}
