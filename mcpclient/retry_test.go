package mcpclient_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// busy is a server that fails a number of times before it answers.
type busy struct {
	status, times, got int
	after              string
}

func (b *busy) serve(w http.ResponseWriter, r *http.Request, m message) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if b.got++; b.got <= b.times {
		if b.after != "" {
			w.Header().Set("Retry-After", b.after)
		}
		w.WriteHeader(b.status)
		return
	}
	fmt.Fprint(jsonWriter(w), answerTo(m))
}

// A request whose response broke off is sent again with a new id if that is safe; otherwise the call fails.
func TestLostAnswers(t *testing.T) {
	for _, media := range []string{"text/event-stream", "application/json"} {
		t.Run(media, func(t *testing.T) {
			var ids []string
			h := func(w http.ResponseWriter, r *http.Request, m message) {
				ids = append(ids, string(m.ID))
				if m.Method == "tools/list" && len(ids) == 3 {
					fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, m.ID)
					return
				}
				w.Header().Set("Content-Type", media)
				_, _ = io.WriteString(w, `{"jsonrpc":`)
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
			overModernHTTP(t, h, func(t *testing.T, c *mcpclient.Client) {
				check.NoError(t, listOnce(t.Context(), c))
				check.That(t, len(ids) == 3 && ids[0] != ids[1], "got the requests %q", ids)
				check.Fails(t, check.Err(c.CallTool(t.Context(), "a", nil)), "tool call")
				check.Equal(t, "requests with the tool call", len(ids), 4)
			})
		})
	}
}

func TestRetries(t *testing.T) {
	for name, test := range map[string]struct {
		busy       busy
		max        int
		method     string
		deadline   time.Duration
		ok         bool
		requests   int
		from, upTo time.Duration
	}{
		"once":               {busy{status: 503, times: 1}, 0, "tools/list", 0, true, 2, 250 * time.Millisecond, 500 * time.Millisecond},
		"three times":        {busy{status: 429, times: 3}, 0, "tools/list", 0, true, 4, 1750 * time.Millisecond, 3500 * time.Millisecond},
		"too often":          {busy{status: 500, times: 9}, 0, "tools/list", 0, false, 4, 1750 * time.Millisecond, 3500 * time.Millisecond},
		"408":                {busy{status: 408, times: 1}, 0, "tools/list", 0, true, 2, 250 * time.Millisecond, 500 * time.Millisecond},
		"as asked":           {busy{status: 503, times: 1, after: "7"}, 0, "tools/list", 0, true, 2, 7 * time.Second, 10500 * time.Millisecond},
		"as asked, in time":  {busy{status: 503, times: 1, after: "7"}, 0, "tools/list", 8 * time.Second, true, 2, 7 * time.Second, 7500 * time.Millisecond},
		"asked for too much": {busy{status: 503, times: 1, after: "31"}, 0, "tools/list", 0, false, 1, 0, 0},
		"no time for it":     {busy{status: 503, times: 1, after: "7"}, 0, "tools/list", 5 * time.Second, false, 1, 0, 0},
		"more":               {busy{status: 502, times: 5}, 5, "tools/list", 0, true, 6, 7750 * time.Millisecond, 15500 * time.Millisecond},
		"none":               {busy{status: 503, times: 1}, -1, "tools/list", 0, false, 1, 0, 0},
		"501":                {busy{status: 501, times: 1}, 0, "tools/list", 0, false, 1, 0, 0},
		"400":                {busy{status: 400, times: 1}, 0, "tools/list", 0, false, 1, 0, 0},
		"tool call":          {busy{status: 503, times: 1}, 0, "tools/call", 0, false, 1, 0, 0},
		"custom request":     {busy{status: 503, times: 1}, 0, "acme/do", 0, false, 1, 0, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			o := modern()
			o.Limits.Retries = test.max
			c := connectTo(t, httpServer(t, test.busy.serve), o)
			ctx := t.Context()
			if test.deadline > 0 {
				ctx = withTimeout(t, test.deadline)
			}
			start := time.Now()
			if err := check.Err(c.Call(ctx, test.method, nil)); test.ok {
				check.NoError(t, err)
			} else {
				check.Text(t, err, fmt.Sprint("HTTP status ", test.busy.status))
			}
			check.Equal(t, "requests", test.busy.got, test.requests)
			took := time.Since(start)
			check.That(t, took >= test.from && took <= test.upTo, "it took %v, want %v to %v", took, test.from, test.upTo)
		})
	}
}

// A request that is sent again in a new session has all its retries there.
func TestRetriesInNextSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, sessions := true, new(sessionServer)
		sessions.on("tools/list", func(w http.ResponseWriter, r *http.Request, _ message) bool {
			if !busy || r.Header.Get("Mcp-Session-Id") != "s-2" {
				return false
			}
			busy = false
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		})
		o := legacy()
		o.Limits.Retries = 1
		c := connectTo(t, serve(t, sessions), o)
		sessions.forget()
		wantTools(t, t.Context(), c, "a")
		check.Equal(t, "still busy in the next session", busy, false)
	})
}

// Subscriptions, standalone streams and resumed answers that are refused for now are asked for when the server says, within 1 h.
func TestStreamsWaitAsAsked(t *testing.T) {
	for after, want := range map[string]time.Duration{"90": 90 * time.Second, "7200": time.Hour} {
		for name, opts := range map[string]mcpclient.Options{"subscription": modern(), "standalone": heeding(legacy()), "answer": legacy()} {
			bubble(t, name+" "+after, func(t *testing.T) {
				var tries []time.Time
				var call message
				refused := map[string]int{"subscription": 1}[name] // which request is refused, from 0
				s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
					if m.Method == "tools/call" {
						call = m
						w.Header().Set("Content-Type", "text/event-stream")
						_, _ = io.WriteString(w, "id: 1\ndata:\n\n")
						return
					}
					switch tries = append(tries, time.Now()); {
					case len(tries) == refused:
						stream(w)(acknowledgement(m, ""))
					case len(tries) == refused+1:
						w.Header().Set("Retry-After", after)
						w.WriteHeader(http.StatusServiceUnavailable)
					case name == "answer":
						stream(w)(answerTo(call))
					default:
						stream(w)(acknowledgement(m, ""))
						<-r.Context().Done()
					}
				})
				c := connectTo(t, s, opts)
				switch name {
				case "subscription":
					subscribed(t, t.Context(), c, onTools)
				case "answer":
					callText(t, t.Context(), c, "a", "a", mcpclient.WithTimeout(0))
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				check.Require(t, len(tries) >= refused+2, "got %d tries", len(tries))
				got := tries[refused+1].Sub(tries[refused])
				check.That(t, got >= want && got <= want+5*time.Second, "came again after %v, want %v and up to 5 s more", got, want)
			})
		}
	}
}

// The answer to a server's request is sent again after a temporary refusal, not after a permanent one.
func TestAnswersAreSentAgain(t *testing.T) {
	for name, test := range map[string]struct {
		busy  busy
		want  int // posts of the answer
		after time.Duration
	}{
		"busy":            {busy{status: 503, times: 2, after: "2"}, 3, 4 * time.Second},
		"refused":         {busy{status: 400, times: 9}, 1, 0},
		"busy forever":    {busy{status: 429, times: 9, after: "1"}, 4, 3 * time.Second},
		"busy for longer": {busy{status: 503, times: 1, after: "31"}, 1, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			var last time.Time
			posted := 0
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if m.Method == "tools/call" {
					stream(w)(aQuestion)
					<-r.Context().Done()
					return
				}
				if r.Method == http.MethodPost && m.Method == "" {
					posted, last = posted+1, time.Now()
					w.Header().Set("Retry-After", test.busy.after)
					if posted <= test.busy.times {
						w.WriteHeader(test.busy.status)
						return
					}
				}
				w.WriteHeader(http.StatusAccepted)
			})
			c := connectTo(t, s, samples(legacy(), answersTea))
			start := time.Now()
			_, _ = c.CallTool(withTimeout(t, time.Minute), "a", nil)
			took := last.Sub(start)
			check.That(t, took >= test.after && took <= 2*test.after, "the last after %v, want about %v", took, test.after)
			check.Equal(t, "posted times", posted, test.want)
		})
	}
}

// If the caller cancels during the wait for a retry, the error has both causes. A refused retry does not prove that nothing was sent.
func TestRetryGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		statuses := []int{503, 503, 429, 429, 429}
		s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(statuses[0])
			statuses = statuses[1:]
		})
		c := connectTo(t, s, modern())
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		err := listOnce(ctx, c)
		check.Is(t, err, context.Canceled)
		wantStatus(t, err, http.StatusServiceUnavailable)
		check.Equal(t, "unsent", mcpclient.Unsent(listOnce(t.Context(), c)), false)
	})
}

// cutter is a server that cuts the connections of some requests.
type cutter struct {
	cut func(r *http.Request, got int) bool
	got []string // methods
}

func (s *cutter) serve(w http.ResponseWriter, r *http.Request, m message) {
	s.got = append(s.got, m.Method)
	if s.cut(r, len(s.got)) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		_ = conn.Close()
		return
	}
	_, _ = io.WriteString(jsonWriter(w), answerTo(m))
}

// A request whose connection fails before the response begins is sent again if that is safe:
// after a wait, or at once if the connection was idle, also over a RoundTripper of the host. A tool call is not.
func TestCutConnections(t *testing.T) {
	first := func(r *http.Request, got int) bool { return got == 1 }
	for name, test := range map[string]struct {
		cut        func(r *http.Request, got int) bool
		fresh      bool // every request has a new connection
		max        int
		method     string
		ok         bool
		got        int
		from, upTo time.Duration
	}{
		"a new one":              {first, true, 0, "tools/list", true, 2, 250 * time.Millisecond, 500 * time.Millisecond},
		"an idle one":            {first, false, -1, "tools/list", true, 2, 0, 0},
		"all":                    {func(*http.Request, int) bool { return true }, true, 0, "tools/list", false, 4, 1750 * time.Millisecond, 3500 * time.Millisecond},
		"a new one, tool call":   {first, true, 0, "tools/call", false, 1, 0, 0},
		"an idle one, tool call": {first, false, 0, "tools/call", false, 1, 0, 0},
		"an idle one, custom":    {first, false, 0, "acme/do", false, 1, 0, 0},
		"an idle one, skills":    {first, false, -1, "skills/list", true, 2, 0, 0},
		"an idle one, one skill": {first, false, -1, "skills/get", true, 2, 0, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			server := &cutter{cut: test.cut}
			s := httpServer(t, server.serve)
			s.Transport().DisableKeepAlives = test.fresh
			o := undeclared(modern())
			o.Limits.Retries = test.max
			c, start := connectedBy(t, s.URL(), &http.Client{Transport: struct{ http.RoundTripper }{s.Client().Transport}}, o), time.Now()
			err := check.Err(c.Call(t.Context(), test.method, nil))
			got := time.Since(start)
			check.That(t, (err == nil) == test.ok, "got %v", err)
			check.That(t, got >= test.from && got <= test.upTo, "got the end after %v, want %v to %v", got, test.from, test.upTo)
			check.That(t, len(server.got) == test.got, "got the requests %q, want %d", server.got, test.got)
		})
	}
}

// A server that is busy in the handshake is asked again when it says, a bounded number of times. That does not count as silence.
func TestBusyHandshake(t *testing.T) {
	for name, tt := range map[string]struct {
		status, busy int // the status, and how often it is returned
		after        string
		posts        int
		want         time.Duration // at least
		fails        bool
	}{
		"429":             {status: 429, busy: 2, after: "10", posts: 3, want: 20 * time.Second},
		"408":             {status: 408, busy: 1, posts: 2},
		"503":             {status: 503, busy: 3, after: "2", posts: 4, want: 6 * time.Second},
		"503 for long":    {status: 503, busy: 100, after: "1", posts: 4, fails: true},
		"503 for minutes": {status: 503, busy: 100, after: "600", posts: 1, fails: true},
		"500":             {status: 500, busy: 1, posts: 1, fails: true},
	} {
		for era, opts := range eras() {
			bubble(t, name+"/"+era, func(t *testing.T) {
				posts, seen := 0, 0
				s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
					if m.Method != "initialize" && m.Method != "server/discover" {
						w.WriteHeader(http.StatusAccepted)
						return
					}
					if posts++; posts <= tt.busy {
						if tt.after != "" {
							w.Header().Set("Retry-After", tt.after)
						}
						w.WriteHeader(tt.status)
						return
					}
					_, _ = io.WriteString(jsonWriter(w), handshakeAnswer(m))
				})
				opts.Middleware = []mcpclient.Middleware{changing(func(r *mcpclient.Request) {
					if !strings.HasPrefix(r.Method, "notifications/") {
						seen++
					}
				})}
				if era == "modern" {
					opts.Protocol.Revision = "" // probe
				}
				start := time.Now()
				err := connectError(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}, opts)
				took := time.Since(start)
				check.That(t, (err != nil) == tt.fails && took >= tt.want, "got %v after %v, want at least %v", err, took, tt.want)
				check.Equal(t, "requests", posts, tt.posts)
				check.Equal(t, "middleware saw handshakes", seen, 1)
			})
		}
	}
}
