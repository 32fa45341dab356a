package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// changingServer is a server over HTTP that a test updates and rolls back. It has one tool, named like its revision.
type changingServer struct {
	sse      bool                                                                // answers with streams
	refuses  func(m message) (status int, answer string)                         // answers requests of another era
	outdated func(a *changingServer, w http.ResponseWriter, m message)           // a modern server's answer to a legacy request
	before   func(w http.ResponseWriter, r *http.Request, m message) (done bool) // may answer instead

	mu              sync.Mutex
	speaks, session string
	sessions        int
	got             []string // methods
	ran             int      // tool calls
	stray           bool     // a modern request named a session
	streams         []chan struct{}
}

func (a *changingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := readMessage(r)
	a.mu.Lock()
	a.got = append(a.got, strings.TrimSpace(r.Method+" "+m.Method))
	revision, id := a.speaks, r.Header.Get("Mcp-Session-Id")
	isModern := strings.Contains(string(m.Params.Meta), mcp.Revision20260728)
	known := id != "" && id == a.session
	a.stray = a.stray || isModern && id != ""
	a.mu.Unlock()
	if a.before != nil && a.before(w, r, m) {
		return
	}
	modern := revision == mcp.Revision20260728
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case modern && !isModern && m.Method != "" && a.outdated != nil:
		a.outdated(a, w, m)
	case modern && !isModern:
		a.answer(w, http.StatusBadRequest, "%s", refusal(m, `-32022,"message":"v","data":{"supported":["2026-07-28"]}`))
	case !modern && m.Method == "initialize":
		a.mu.Lock()
		a.sessions++
		a.session = fmt.Sprint("s-", a.sessions)
		w.Header().Set("Mcp-Session-Id", a.session)
		a.mu.Unlock()
		a.answer(w, http.StatusOK, "%s", strings.Replace(handshakeAnswer(m), `"capabilities":{`, `"capabilities":{"logging":{},`, 1))
	case !modern && id != "" && !known:
		w.WriteHeader(http.StatusNotFound)
	case !modern && !known:
		status, answer := a.refuses(m)
		a.answer(w, status, "%s", answer)
	case m.Method == "subscriptions/listen":
		a.mu.Lock()
		over := make(chan struct{})
		a.streams = append(a.streams, over)
		a.mu.Unlock()
		stream(w)(acknowledgement(m, ""))
		select {
		case <-over:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
		}
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "server/discover":
		a.answer(w, http.StatusOK, "%s", strings.Replace(handshakeAnswer(m), `"capabilities":{`, `"capabilities":{"logging":{},`, 1))
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

// become changes the revision of the server: its sessions and streams end.
func (a *changingServer) become(revision string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.speaks, a.session = revision, ""
	for _, s := range a.streams {
		close(s)
	}
	a.streams = nil
}

// seen returns the number of requests with a method, and of tool calls that ran.
func (a *changingServer) seen(method string) (asked, ran int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Count(strings.Join(a.got, "\n")+"\n", "POST "+method+"\n"), a.ran
}

// on sets before for one method, or for calls of one tool.
func (a *changingServer) on(what string, before func(w http.ResponseWriter, r *http.Request, m message) (done bool)) {
	a.before = func(w http.ResponseWriter, r *http.Request, m message) bool {
		return (m.Method == what || m.Params.Name == what) && before(w, r, m)
	}
}

// withChangingServer runs f with a client, once with JSON and once with streams.
func withChangingServer(t *testing.T, speaks string, opts mcpclient.Options, f func(t *testing.T, c *mcpclient.Client, a *changingServer)) {
	t.Helper()
	for _, sse := range []bool{false, true} {
		bubble(t, fmt.Sprint("sse=", sse), func(t *testing.T) {
			a := &changingServer{sse: sse, speaks: speaks, refuses: refusals["400"]}
			f(t, connectTo(t, serve(t, a), opts), a)
		})
	}
}

// refusals are how legacy servers refuse modern requests.
var refusals = map[string]func(m message) (status int, answer string){
	"400":    func(message) (int, string) { return 400, "Bad Request: Mcp-Session-Id header is required" },
	"-32000": func(m message) (int, string) { return 400, refusal(m, `-32000,"message":"Mcp-Session-Id is required"`) },
	"-32601": func(m message) (int, string) { return 200, refusal(m, `-32601,"message":"no"`) },
	"-32022": func(m message) (int, string) {
		return 400, refusal(m, `-32022,"message":"v","data":{"supported":["2025-11-25"]}`)
	},
}

func refusal(m message, rest string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%s}}`, m.ID, rest)
}

// wantUse makes a tool call, and then a list and a ping.
func wantUse(t *testing.T, c *mcpclient.Client, a *changingServer, revision string, ran int) {
	t.Helper()
	callText(t, t.Context(), c, "a", "a")
	wantTools(t, t.Context(), c, revision)
	ping(t, t.Context(), c)
	_, all := a.seen("")
	check.That(t, all == ran && c.Server().Revision == revision, "%d calls ran, by %s; want %d by %s", all, c.Server().Revision, ran, revision)
}

// wantEnded checks that a subscription has no change but its end.
func wantEnded(t *testing.T, s *mcpclient.Subscription) {
	t.Helper()
	for change, err := range s.Changes(withTimeout(t, time.Minute)) {
		check.That(t, errors.Is(err, mcpclient.ErrSubscriptionEnded), "got %v, %v, want the end of the subscription", change, err)
	}
}

// A server that was rolled back is probed again, once, however it refuses; then the call is sent again, and the cache cleared.
func TestRolledBackServer(t *testing.T) {
	for name, refuses := range refusals {
		t.Run(name, func(t *testing.T) {
			withChangingServer(t, mcp.Revision20260728, mcpclient.Options{}, func(t *testing.T, c *mcpclient.Client, a *changingServer) {
				a.refuses = refuses
				wantUse(t, c, a, mcp.Revision20260728, 1)
				a.become(mcp.Revision20251125)
				wantUse(t, c, a, mcp.Revision20251125, 2)
				asked, _ := a.seen("initialize")
				check.That(t, asked == 1 && c.SessionID() == "s-1", "initialized %d times, the session is %q", asked, c.SessionID())
			})
		})
	}
}

// The client adopts the modern era of an updated server, also if the sessions are refused first, and however initialize is.
func TestUpdatedServer(t *testing.T) {
	for name, refuse := range map[string]func(a *changingServer, w http.ResponseWriter, m message){
		"-32022": nil,
		"404":    func(_ *changingServer, w http.ResponseWriter, _ message) { w.WriteHeader(http.StatusNotFound) },
		"404, and -32601": func(a *changingServer, w http.ResponseWriter, m message) {
			if m.Method == "initialize" {
				a.answer(w, http.StatusOK, "%s", refusal(m, `-32601,"message":"no"`))
				return
			}
			w.WriteHeader(http.StatusNotFound)
		},
		"-32602": func(a *changingServer, w http.ResponseWriter, m message) {
			a.answer(w, http.StatusBadRequest, "%s", refusal(m, `-32602,"message":"_meta is missing"`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			withChangingServer(t, mcp.Revision20251125, heeding(mcpclient.Options{}), func(t *testing.T, c *mcpclient.Client, a *changingServer) {
				a.outdated = refuse
				wantUse(t, c, a, mcp.Revision20251125, 1)
				a.become(mcp.Revision20260728)
				wantUse(t, c, a, mcp.Revision20260728, 2)
				discovered, _ := a.seen("server/discover")
				check.That(t, discovered == 3 && c.SessionID() == "" && !a.stray,
					"discovered %d times, the session is %q, named to the modern server: %v", discovered, c.SessionID(), a.stray)
			})
		})
	}
}

// A server may change any number of times. Subscriptions end, and can be made again.
func TestServerThatChangesOften(t *testing.T) {
	var notices diary
	opts := mcpclient.Options{OnNotification: func(n *mcp.Notification) { notices.write("%s", n.Method) }}
	withChangingServer(t, mcp.Revision20260728, opts, func(t *testing.T, c *mcpclient.Client, a *changingServer) {
		for i := range 6 {
			s := subscribed(t, t.Context(), c, onTools)
			notices.read()
			now := []string{mcp.Revision20251125, mcp.Revision20260728}[i%2]
			a.become(now)
			if i == 4 {
				time.Sleep(time.Minute) // the subscription notices
			}
			wantUse(t, c, a, now, i+1)
			wantEnded(t, s)
			got, want := notices.read(), "notifications/tools/list_changed"
			check.That(t, len(got) == 3 && got[0] == want, "%d: got the notifications %v, want %s first of three", i, got, want)
			time.Sleep(10 * time.Second)
		}
	})
}

// Concurrent calls that notice a change share one probe.
func TestRolledBackUnderManyCalls(t *testing.T) {
	withChangingServer(t, mcp.Revision20260728, mcpclient.Options{}, func(t *testing.T, c *mcpclient.Client, a *changingServer) {
		a.become(mcp.Revision20251125)
		together(20, func() { callText(t, t.Context(), c, "a", "a") })
		initialized, ran := a.seen("initialize")
		discovered, _ := a.seen("server/discover")
		check.Same(t, "times initialized, discovered and called", []int{initialized, discovered, ran}, []int{1, 2, 20})
	})
}

// A call whose server was rolled back while it ran may have run, and is not sent again.
func TestRolledBackDuringACall(t *testing.T) {
	withChangingServer(t, mcp.Revision20260728, mcpclient.Options{}, func(t *testing.T, c *mcpclient.Client, a *changingServer) {
		cut, began := make(chan struct{}), 0
		a.on("slow", func(http.ResponseWriter, *http.Request, message) bool {
			began++
			<-cut
			panic(http.ErrAbortHandler)
		})
		failed := background(func() error { return check.Err(c.CallTool(t.Context(), "slow", nil)) })
		synctest.Wait()
		a.become(mcp.Revision20251125)
		wantUse(t, c, a, mcp.Revision20251125, 1)
		close(cut)
		err := <-failed
		wantError[*transport.BrokenError](t, err)
		check.That(t, !mcpclient.Unsent(err) && began == 1, "got %v after %d calls, want one in doubt", err, began)
	})
}

// A server that refuses unknown methods is not probed after every refusal, and not at all after one that is modern. A server
// that cannot be probed changes nothing.
func TestNotRolledBack(t *testing.T) {
	withChangingServer(t, mcp.Revision20260728, mcpclient.Options{}, func(t *testing.T, c *mcpclient.Client, a *changingServer) {
		broken := false
		a.before = func(w http.ResponseWriter, _ *http.Request, m message) bool {
			switch {
			case m.Method == "subscriptions/listen":
				a.answer(w, http.StatusNotFound, "%s", refusal(m, `-32601,"message":"no"`))
			case m.Params.Name == "odd":
				a.answer(w, http.StatusBadRequest, "%s", refusal(m, `-32000,"message":"odd"`))
			case broken && (m.Method == "initialize" || m.Method == "server/discover"):
				w.WriteHeader(http.StatusBadGateway)
			default:
				return false
			}
			return true
		}
		odd := func() {
			for range 10 {
				check.Equal(t, "", wantError[*mcp.RPCError](t, check.Err(c.CallTool(t.Context(), "odd", nil))).Message, "odd")
			}
		}
		wantCode(t, check.Err(c.Subscribe(t.Context(), onTools)), mcp.CodeMethodNotFound)
		discovered, _ := a.seen("server/discover")
		check.Equal(t, "discovered", discovered, 1)
		odd()
		time.Sleep(time.Minute)
		broken = true
		odd()
		broken = false
		wantUse(t, c, a, mcp.Revision20260728, 1)
		initialized, _ := a.seen("initialize")
		discovered, _ = a.seen("server/discover")
		check.That(t, initialized == 0 && discovered <= 6, "initialized %d times, discovered %d times", initialized, discovered)
	})
}

// With a forced revision the server is not probed for another one.
func TestRolledBackFromAForcedRevision(t *testing.T) {
	withChangingServer(t, mcp.Revision20260728, modern(), func(t *testing.T, c *mcpclient.Client, a *changingServer) {
		a.become(mcp.Revision20251125)
		check.Fails(t, check.Err(c.CallTool(t.Context(), "a", nil)))
		asked, _ := a.seen("initialize")
		check.Equal(t, "times initialized", asked, 0)
	})
}

// One of several instances may refuse a revision that it lists: the request is sent once more,
// even a tool call, because it has not run. If the server keeps refusing, the call fails.
func TestRefusedRevisionThatIsSpoken(t *testing.T) {
	for supported, test := range map[string]struct{ refusals, asked, ran int }{
		`["2026-07-28"]`:              {1, 2, 1},
		`["2026-07-28","2025-11-25"]`: {5, 2, 0},
		`["2031-01-01"]`:              {5, 1, 0},
	} {
		t.Run(supported, func(t *testing.T) {
			withChangingServer(t, mcp.Revision20260728, mcpclient.Options{}, func(t *testing.T, c *mcpclient.Client, a *changingServer) {
				left := test.refusals
				a.on("tools/call", func(w http.ResponseWriter, _ *http.Request, m message) bool {
					if left--; left >= 0 {
						a.answer(w, http.StatusBadRequest, "%s", refusal(m, `-32022,"message":"v","data":{"supported":`+supported+`}`))
					}
					return left >= 0
				})
				err := check.Err(c.CallTool(t.Context(), "a", nil))
				asked, ran := a.seen("tools/call")
				check.Same(t, "requests and tool calls", []int{asked, ran}, []int{test.asked, test.ran})
				if test.ran == 0 {
					wantCode(t, err, mcp.CodeUnsupportedRevision)
				}
			})
		})
	}
}

// While a server is probed, its era is unknown: the server below refuses the probe, and stays modern. What the
// client does meanwhile belongs to the modern era.
func TestUseDuringAProbe(t *testing.T) {
	withChangingServer(t, mcp.Revision20260728, mcpclient.Options{}, func(t *testing.T, c *mcpclient.Client, a *changingServer) {
		asked, probed := make(chan struct{}), make(chan struct{})
		odd := true
		a.before = func(w http.ResponseWriter, _ *http.Request, m message) bool {
			switch {
			case m.Method == "initialize":
				odd = false
				<-probed
				w.WriteHeader(http.StatusBadGateway)
			case m.Params.Name == "slow":
				<-asked
				a.answer(w, http.StatusOK, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"s"}}`, m.ID)
			case m.Params.Name == "odd", m.Method == "server/discover" && odd:
				a.answer(w, http.StatusBadRequest, "%s", refusal(m, `-32000,"message":"odd"`))
			default:
				return false
			}
			return true
		}
		call := func(tool string) <-chan error {
			return background(func() error { return check.Err(c.CallTool(t.Context(), tool, nil, mcpclient.WithManualInput())) })
		}
		slow := call("slow")
		synctest.Wait()
		refused := call("odd")
		synctest.Wait()
		pinged := background(func() error { return c.Ping(t.Context()) })
		subscription := background(func() error { return check.Err(c.Subscribe(t.Context(), onTools)) })
		synctest.Wait()
		close(asked)
		wantError[*mcp.InputRequired](t, <-slow)
		close(probed)
		wantError[*mcp.RPCError](t, <-refused)
		check.Must(t, <-pinged)
		check.Must(t, <-subscription)
		check.Equal(t, "streams", len(a.streams), 1)
	})
}

// A subscription whose late refusal has the server probed takes no longer than another one, even if it is made again.
func TestSubscribeDuringAProbe(t *testing.T) {
	for _, silent := range [][]string{{"server/discover", "initialize"}, {"resources/subscribe"}} {
		withChangingServer(t, mcp.Revision20260728, undeclared(mcpclient.Options{}), func(t *testing.T, c *mcpclient.Client, a *changingServer) {
			a.before = func(w http.ResponseWriter, r *http.Request, m message) bool {
				if slices.Contains(silent, m.Method) {
					<-r.Context().Done()
				}
				if m.Method != "subscriptions/listen" {
					return false
				}
				time.Sleep(20 * time.Second)
				a.become(mcp.Revision20251125)
				a.answer(w, http.StatusBadRequest, "%s", refusal(m, `-32000,"message":"odd"`))
				return true
			}
			start := time.Now()
			check.Is(t, check.Err(c.Subscribe(t.Context(), onResources("a"))), context.DeadlineExceeded)
			within(t, "subscribing", start, 30*time.Second)
		})
	}
}

// A subscription that is refused while another call finds out the era ends as one of another era.
func TestSubscriptionRefusedAsTheEraChanges(t *testing.T) {
	withChangingServer(t, mcp.Revision20260728, mcpclient.Options{}, func(t *testing.T, c *mcpclient.Client, a *changingServer) {
		s := subscribed(t, t.Context(), c, onTools)
		refuse, begin := make(chan struct{}), make(chan struct{})
		a.before = func(_ http.ResponseWriter, _ *http.Request, m message) bool {
			switch m.Method {
			case "subscriptions/listen":
				<-refuse
			case "notifications/initialized":
				<-begin
			}
			return false
		}
		a.become(mcp.Revision20251125)
		time.Sleep(10 * time.Second) // the subscription asks again
		called := goCall(t.Context(), c, "a")
		synctest.Wait()
		close(refuse)
		synctest.Wait()
		close(begin)
		check.Must(t, (<-called).err)
		wantEnded(t, s)
	})
}

// A modern server is not asked to watch a resource, nor to stop that, even if it refuses the session first. What a legacy
// server was to be asked later ends no subscription to it.
func TestSubscribeToAnUpdatedServer(t *testing.T) {
	for name, refuse := range map[string]func(_ *changingServer, w http.ResponseWriter, _ message){
		"-32022": nil,
		"404":    func(_ *changingServer, w http.ResponseWriter, _ message) { w.WriteHeader(http.StatusNotFound) },
	} {
		t.Run(name, func(t *testing.T) {
			opts := undeclared(mcpclient.Options{Limits: mcpclient.Limits{Retries: -1}})
			withChangingServer(t, mcp.Revision20251125, opts, func(t *testing.T, c *mcpclient.Client, a *changingServer) {
				a.outdated = refuse
				before := subscribed(t, t.Context(), c, onResources("file:///a"))
				a.on("resources/subscribe", func(w http.ResponseWriter, _ *http.Request, _ message) bool { w.WriteHeader(503); return true })
				a.become(mcp.Revision20251125)
				ping(t, t.Context(), c)
				a.before = nil
				a.become(mcp.Revision20260728)
				after := subscribed(t, t.Context(), c, onResources("file:///a"))
				time.Sleep(time.Minute)
				_, _, err := after.Next()
				check.NoError(t, err)
				check.Must(t, before.Close())
				check.Must(t, after.Close())
				synctest.Wait()
				for method, want := range map[string]int{"subscriptions/listen": 1, "resources/subscribe": 3, "resources/unsubscribe": 0} {
					asked, _ := a.seen(method)
					check.Equal(t, method, asked, want)
				}
			})
		})
	}
}

// A call that is sent again to an updated server has the headers that the new server wants.
func TestParamHeadersOfAnUpdatedServer(t *testing.T) {
	withChangingServer(t, mcp.Revision20251125, mcpclient.Options{}, func(t *testing.T, c *mcpclient.Client, a *changingServer) {
		a.before = func(w http.ResponseWriter, r *http.Request, m message) bool {
			modern := r.Header.Get("Mcp-Protocol-Version") == mcp.Revision20260728
			switch {
			case modern && m.Method == "tools/list":
				a.answer(w, http.StatusOK, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a","inputSchema":{"properties":{"s":{"type":"string","x-mcp-header":"S"}}}}]}}`, m.ID)
			case modern && m.Method == "tools/call" && r.Header.Get("Mcp-Param-S") == "":
				a.answer(w, http.StatusBadRequest, "%s", refusal(m, `-32020,"message":"S is missing"`))
			default:
				return false
			}
			return true
		}
		a.become(mcp.Revision20260728)
		check.Must(t, check.Err(c.CallTool(t.Context(), "a", map[string]string{"s": "v"})))
	})
}

// An answer is read by the revision of its request, even if the server was rolled back meanwhile.
func TestTaskAnsweredAsTheEraChanges(t *testing.T) {
	withChangingServer(t, mcp.Revision20260728, undeclared(mcpclient.Options{}), func(t *testing.T, c *mcpclient.Client, a *changingServer) {
		rolledBack := make(chan struct{})
		a.on("tasks/get", func(w http.ResponseWriter, _ *http.Request, m message) bool {
			<-rolledBack
			a.answer(w, http.StatusOK, `{"jsonrpc":"2.0","id":%s,"result":{"taskId":"t","status":"completed","result":{"content":[]},"createdAt":"2027-01-01T00:00:00Z","lastUpdatedAt":"2027-01-01T00:00:00Z","ttlMs":null}}`, m.ID)
			return true
		})
		waited := background(func() error { return check.Err(c.Task("t", "a").Wait(t.Context())) })
		synctest.Wait()
		a.become(mcp.Revision20251125)
		callText(t, t.Context(), c, "a", "a")
		close(rolledBack)
		check.Must(t, <-waited)
	})
}

// A modern server is told the log level with each request, a legacy one in each session.
func TestLogLevelOfAnUpdatedServer(t *testing.T) {
	withChangingServer(t, mcp.Revision20251125, undeclared(mcpclient.Options{}), func(t *testing.T, c *mcpclient.Client, a *changingServer) {
		var told, level string
		a.before = func(w http.ResponseWriter, r *http.Request, m message) bool {
			told = string(m.Params.Meta)
			switch {
			case r.Header.Get("Mcp-Protocol-Version") == mcp.Revision20260728 && m.Method == "logging/setLevel":
				a.answer(w, http.StatusNotFound, "%s", refusal(m, `-32601,"message":"no"`))
				return true
			case m.Method == "logging/setLevel":
				level = m.raw
			}
			return false
		}
		check.Must(t, c.SetLogLevel(t.Context(), "error"))
		a.become(mcp.Revision20260728)
		check.Must(t, c.SetLogLevel(t.Context(), "debug"))
		callText(t, t.Context(), c, "a", "a")
		check.Contains(t, "_meta", told, `logLevel":"debug"`)
		time.Sleep(time.Minute)
		a.become(mcp.Revision20251125)
		callText(t, t.Context(), c, "a", "a")
		check.Contains(t, "the level of the new session", level, "debug")
	})
}

// A session of the other era that cannot be finished is replaced before the next call. One whose server only refuses to be told
// the level is finished. A subscription ends with its era at once.
func TestServerRolledBackInPart(t *testing.T) {
	withChangingServer(t, mcp.Revision20260728, mcpclient.Options{LogLevel: "debug"}, func(t *testing.T, c *mcpclient.Client, a *changingServer) {
		s := subscribed(t, t.Context(), c, onTools)
		status := http.StatusForbidden
		a.on("logging/setLevel", func(w http.ResponseWriter, _ *http.Request, _ message) bool {
			w.WriteHeader(status)
			return true
		})
		a.become(mcp.Revision20251125)
		check.Contains(t, "error", check.Err(c.CallTool(t.Context(), "a", nil)).Error(), "HTTP status 403")
		wantEnded(t, s)
		status = http.StatusMethodNotAllowed
		callText(t, t.Context(), c, "a", "a")
		levels, _ := a.seen("logging/setLevel")
		check.Equal(t, "times that the level was sent", levels, 2)
	})
}

// A caller need not wait for a probe.
func TestCallThatGivesUpDuringAProbe(t *testing.T) {
	withChangingServer(t, mcp.Revision20260728, mcpclient.Options{}, func(t *testing.T, c *mcpclient.Client, a *changingServer) {
		probed := make(chan struct{})
		a.on("initialize", func(http.ResponseWriter, *http.Request, message) bool { <-probed; return false })
		a.become(mcp.Revision20251125)
		noticed := background(func() error { return check.Err(c.CallTool(t.Context(), "a", nil)) })
		synctest.Wait()
		check.Is(t, check.Err(c.CallTool(withTimeout(t, time.Second), "a", nil)), context.DeadlineExceeded)
		close(probed)
		check.Must(t, <-noticed)
	})
}
