package mcpclient_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// overLegacyHTTP runs f with a client whose requests after the handshake go to h.
func overLegacyHTTP(t *testing.T, h func(w http.ResponseWriter, r *http.Request, m message), f func(t *testing.T, c *mcpclient.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, h)
		c := connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), MaxMessage: 1000}, heeding(legacy()))
		f(t, c)
	})
}

// A server may close the stream before the answer any number of times: each connection has a
// new event id, and the client waits as long as the server says.
func TestHTTPPolling(t *testing.T) {
	const polls = 20
	var call message
	h := func(w http.ResponseWriter, r *http.Request, m message) {
		last := r.Header.Get("Last-Event-Id")
		if r.Method == http.MethodGet && last == "" {
			w.WriteHeader(http.StatusMethodNotAllowed) // no standalone stream
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		n, _ := strconv.Atoi(last)
		if r.Method == http.MethodPost {
			call = m
		}
		if n == polls {
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", n+1, answerTo(call))
			return
		}
		fmt.Fprintf(w, "id: %d\nretry: 3000\ndata:\n\n", n+1)
	}
	overLegacyHTTP(t, h, func(t *testing.T, c *mcpclient.Client) {
		start := time.Now()
		callText(t, t.Context(), c, "a", "a")
		got, least := time.Since(start), polls*3*time.Second
		wrong(t, got < least || got > least+polls*time.Second, "got the answer after %v, want about %v", got, least)
	})
}

// An event over the limit is skipped on the standalone stream, but its id and retry time count.
// It ends an exchange, which is not resumed.
func TestHTTPEventTooLarge(t *testing.T) {
	large := strings.Repeat("x", 2000)
	var resumed []string
	var opened []time.Time
	h := func(w http.ResponseWriter, r *http.Request, m message) {
		w.Header().Set("Content-Type", "text/event-stream")
		if r.Method == http.MethodPost {
			fmt.Fprintf(w, "id: of-the-call\ndata: %s\n\n", large)
			return
		}
		resumed = append(resumed, r.Header.Get("Last-Event-Id"))
		opened = append(opened, time.Now())
		if len(resumed) == 1 {
			_, _ = io.WriteString(w, "id: seen\nretry: 7000\ndata: "+large+"\n\n")
			return
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	overLegacyHTTP(t, h, func(t *testing.T, c *mcpclient.Client) {
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if len(resumed) != 2 || resumed[1] != "seen" || opened[1].Sub(opened[0]) < 7*time.Second {
			t.Errorf("got connections after %q at %v", resumed, opened)
		}
		_, err := c.CallTool(t.Context(), "a", nil)
		wantText(t, err, "an event is over 1000 bytes")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		wrong(t, len(resumed) != 2, "got connections after %q: the call was resumed", resumed)
	})
}

// A proxy may cut every connection after a minute in which only comments arrived. That is not a
// failure, however often it happens.
func TestHTTPQuietConnectionsLive(t *testing.T) {
	var call message
	var start time.Time
	h := func(w http.ResponseWriter, r *http.Request, m message) {
		last := r.Header.Get("Last-Event-Id")
		switch {
		case r.Method == http.MethodPost:
			call, start = m, time.Now()
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 1\nretry: 1000\ndata:\n\n")
			return
		case last == "":
			w.WriteHeader(http.StatusMethodNotAllowed) // no standalone stream
			return
		}
		say := stream(w)
		for range 6 {
			fmt.Fprint(w, ": keep-alive\n\n")
			w.(http.Flusher).Flush()
			select {
			case <-time.After(10 * time.Second):
			case <-r.Context().Done():
				return
			}
			if time.Since(start) > 15*time.Minute {
				say(answerTo(call))
				return
			}
		}
	}
	overLegacyHTTP(t, h, func(t *testing.T, c *mcpclient.Client) {
		callText(t, t.Context(), c, "a", "a", mcpclient.WithTimeout(0))
	})
}

// Connections that end at once are failures: the waits grow, and the client gives up in the
// end.
func TestHTTPResumeGivesUp(t *testing.T) {
	var opened []time.Time
	h := func(w http.ResponseWriter, r *http.Request, m message) {
		if r.Method == http.MethodGet && r.Header.Get("Last-Event-Id") == "" {
			w.WriteHeader(http.StatusMethodNotAllowed) // no standalone stream
			return
		}
		opened = append(opened, time.Now())
		w.Header().Set("Content-Type", "text/event-stream")
		if r.Method == http.MethodPost {
			fmt.Fprint(w, "id: 1\ndata:\n\n")
		}
	}
	overLegacyHTTP(t, h, func(t *testing.T, c *mcpclient.Client) {
		_, err := c.CallTool(t.Context(), "a", nil)
		wantText(t, err, "5 attempts brought nothing")
		if len(opened) != 6 {
			t.Fatalf("got %d connections, want 6", len(opened))
		}
		for i, least := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
			got := opened[i+1].Sub(opened[i])
			wrong(t, got < least || got > 2*least, "wait %d: got %v, want %v to %v", i, got, least, 2*least)
		}
	})
}

// The stream of initialize is resumed in the session that its response has named.
func TestHTTPInitializeResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first message
		var resumed []string
		s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
			switch {
			case m.Method == "initialize":
				first = m
				w.Header().Set("Mcp-Session-Id", "s-1")
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "id: 1\nretry: 100\ndata:\n\n")
			case r.Method == http.MethodGet:
				resumed = append(resumed, r.Header.Get("Mcp-Session-Id")+" after "+r.Header.Get("Last-Event-Id"))
				stream(w)(handshakeAnswer(first))
			default:
				w.WriteHeader(http.StatusAccepted)
			}
		})
		connectTo(t, s, legacy())
		same(t, "resumed streams", resumed, []string{"s-1 after 1"})
	})
}

// Streams are resumed in their own session. If the server has forgotten that session, a newer
// one remains.
func TestHTTPResumeInOwnSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 3
		var mu sync.Mutex
		var known string
		var resumed []string
		sessions := 0
		cut := make(chan struct{})
		s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
			mu.Lock()
			session := r.Header.Get("Mcp-Session-Id")
			lost := session != known
			switch {
			case m.Method == "initialize":
				sessions++
				known = fmt.Sprint("session-", sessions)
				w.Header().Set("Mcp-Session-Id", known)
			case r.Method == http.MethodGet:
				resumed = append(resumed, session)
				lost = true // the server does not know an event of another session
			}
			mu.Unlock()
			switch {
			case m.Method == "initialize":
				_, _ = io.WriteString(jsonWriter(w), handshakeAnswer(m))
			case strings.HasPrefix(m.Method, "notifications/"), r.Method == http.MethodDelete:
				w.WriteHeader(http.StatusAccepted)
			case lost:
				w.WriteHeader(http.StatusNotFound)
			case m.Method == "tools/call":
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "id: 1\nretry: 100\ndata:\n\n")
				w.(http.Flusher).Flush()
				<-cut
			default:
				_, _ = io.WriteString(jsonWriter(w), answerTo(m))
			}
		})
		c := connectTo(t, s, legacy())
		var streaming sync.WaitGroup
		for range calls {
			streaming.Go(func() {
				wantIs(t, errOf(c.CallTool(t.Context(), "slow", nil)), mcpclient.ErrSessionLost)
			})
		}
		synctest.Wait()
		mu.Lock()
		known = ""
		mu.Unlock()
		must(t, c.Ping(t.Context()))
		close(cut)
		streaming.Wait()
		want := slices.Repeat([]string{"session-1"}, calls)
		same(t, "sessions of resumed streams", resumed, want)
		got := c.SessionID()
		wrong(t, sessions != 2 || got != "session-2", "got %d sessions, now %q, want a second one only", sessions, got)
	})
}
