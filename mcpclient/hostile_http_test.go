package mcpclient_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// neverEnds returns a status with a body that does not end.
func neverEnds(w http.ResponseWriter, r *http.Request, status int) {
	w.Header().Set("Content-Length", "100")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "the reason is")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// endlessStatus returns a test that lists the tools of a server whose first response is
// neverEnds. For status 401 there is another token.
func endlessStatus(status int) func(t *testing.T) {
	return func(t *testing.T) {
		var sessions, lists, asked atomic.Int32
		s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
			switch {
			case m.Method == "initialize":
				w.Header().Set("Mcp-Session-Id", fmt.Sprint("session-", sessions.Add(1)))
				_, _ = io.WriteString(jsonWriter(w), handshakeAnswer(m))
			case m.Method != "tools/list":
				w.WriteHeader(http.StatusAccepted)
			case lists.Add(1) == 1:
				neverEnds(w, r, status)
			default:
				_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, m.ID)
			}
		})
		defer s.Close()
		opts := legacy()
		c := connected(t, &mcpclient.HTTP{
			URL: s.URL(), Client: s.Client(),
			Token: tokenFunc(func(_ context.Context, refused *transport.Refusal) (transport.Token, error) {
				if refused != nil {
					asked.Add(1)
				}
				return transport.Token{Value: fmt.Sprint("token", asked.Load())}, nil
			}),
		}, opts)
		noError(t, errOf(mcpclient.ListPage[mcp.Tool](t.Context(), c, nil)))
		if got := sessions.Load(); (got == 2) != (status == http.StatusNotFound) {
			t.Errorf("got %d sessions", got)
		}
		if got := asked.Load(); (got == 1) != (status == http.StatusUnauthorized) {
			t.Errorf("got %d calls of the hook", got)
		}
		noError(t, c.Close())
	}
}

// A response with status 200 and a wrong header fails at once.
func endlessPage(t *testing.T) {
	s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
		w.Header().Set("Content-Type", "text/html")
		neverEnds(w, r, http.StatusOK)
	})
	defer s.Close()
	c := connectTo(t, s, legacy())
	wantBoth(t, errOf(mcpclient.ListPage[mcp.Tool](t.Context(), c, nil)), mcp.ErrInvalidResult, "the reason is")
	noError(t, c.Close())
}

// Connect continues with the next revision.
func endlessProbe(t *testing.T) {
	s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
		switch m.Method {
		case "server/discover":
			neverEnds(w, r, http.StatusNotFound)
		case "initialize":
			_, _ = io.WriteString(jsonWriter(w), handshakeAnswer(m))
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	defer s.Close()
	c := connectTo(t, s, mcpclient.Options{})
	noError(t, c.Close())
}

// Clients that were told to wait equally long do not return at the same time.
func sentAway(t *testing.T) {
	var mu sync.Mutex
	var back []time.Time
	first := map[string]bool{}
	s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
		mu.Lock()
		defer mu.Unlock()
		if name := r.Header.Get("X-Client"); !first[name] {
			first[name] = true
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		back = append(back, time.Now())
		_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, m.ID)
	})
	defer s.Close()
	const clients = 50
	var lists sync.WaitGroup
	start, opts := time.Now(), modern()
	for i := range clients {
		lists.Go(func() {
			header := http.Header{"X-Client": {fmt.Sprint(i)}}
			c, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), Header: header}, &opts)
			if err != nil {
				t.Error(err)
				return
			}
			noError(t, errOf(mcpclient.ListPage[mcp.Tool](t.Context(), c, nil)))
			noError(t, c.Close())
		})
	}
	lists.Wait()
	slices.SortFunc(back, time.Time.Compare)
	if len(back) != clients || back[0].Sub(start) < time.Second || back[clients-1].Sub(back[0]) < 250*time.Millisecond {
		t.Errorf("got %d clients back from %v to %v, want %d over more than 250 ms after 1 s", len(back), back[0].Sub(start), back[len(back)-1].Sub(start), clients)
	}
}

// Every other request finds its connection cut: lists succeed nevertheless, and tool calls are
// not repeated.
func cutConnections(t *testing.T) {
	server := &cutter{cut: func(_ *http.Request, got int) bool { return got%2 == 1 }}
	s := httpServer(t, server.serve)
	defer s.Close()
	s.Transport().DisableKeepAlives = true
	c := connectTo(t, s, modern())
	const lists = 10
	for range lists {
		noError(t, errOf(mcpclient.ListPage[mcp.Tool](t.Context(), c, nil)))
	}
	fails(t, errOf(c.CallTool(t.Context(), "a", nil)), "tool call")
	equal(t, "requests", len(server.got), 2*lists+1)
	noError(t, c.Close())
}
