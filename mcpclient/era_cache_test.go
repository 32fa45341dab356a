package mcpclient_test

import (
	"encoding/json"
	"fmt"
	"io"
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

// changeable is a transport whose server may change its era between connections.
type changeable struct {
	*peerTransport
	name string

	mu    sync.Mutex
	era   string // "legacy" or "modern"
	asked []string
}

func newChangeable(t *testing.T, name, era string) *changeable {
	s := &changeable{peerTransport: newPeerTransport(t), name: name, era: era}
	s.greet = s.answer
	return s
}

func (s *changeable) Identity() string { return s.name }

// become changes the era of the server's next connections.
func (s *changeable) become(era string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.era = era
}

// answer refuses requests of the other era.
func (s *changeable) answer(p *peer) {
	for m := p.next(); m.Method != ""; m = p.next() {
		s.mu.Lock()
		s.asked = append(s.asked, m.Method)
		fits := (m.Method == initialize) == (s.era == "legacy")
		s.mu.Unlock()
		if !fits {
			p.send("%s", refusal(m, `-32601,"message":"no such method"`))
			continue
		}
		p.send(handshakeAnswer(m))
		if m.Method == initialize {
			p.next()
		}
		return
	}
}

// connects connects a client and checks which requests it needed to find the era.
func (s *changeable) connects(t *testing.T, v *mcpclient.EraCache, want ...string) {
	t.Helper()
	c := connected(t, s, mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: v}})
	_ = c.Close()
	legacy := c.Server().Revision != mcp.Revision20260728
	wrong(t, legacy != (s.era == "legacy"), "got revision %s of a %s server", c.Server().Revision, s.era)
	s.mu.Lock()
	defer s.mu.Unlock()
	check.Same(t, "asked", s.asked, want)
	s.asked = nil
}

// stored returns the cache as another process reads it.
func stored(t *testing.T, v *mcpclient.EraCache) *mcpclient.EraCache {
	t.Helper()
	data, err := json.Marshal(v)
	check.Must(t, err)
	out := new(mcpclient.EraCache)
	check.Must(t, json.Unmarshal(data, out))
	return out
}

const discover, initialize = "server/discover", "initialize"

// A server's era is remembered for other clients and processes, until it proves wrong or is old.
func TestEraCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := new(mcpclient.EraCache)
		s := newChangeable(t, "a", "legacy")
		s.connects(t, v, discover, initialize)
		s.connects(t, v, initialize)
		s.connects(t, nil, discover, initialize)
		newChangeable(t, "b", "legacy").connects(t, v, discover, initialize)
		v = stored(t, v)
		s.connects(t, v, initialize)

		s.era = "modern" // upgraded
		s.connects(t, v, initialize, discover)
		s.connects(t, v, discover)
		s.era = "legacy" // downgraded
		s.connects(t, v, discover, initialize)
		s.connects(t, v, initialize)

		time.Sleep(23 * time.Hour)
		s.connects(t, v, initialize)
		time.Sleep(2 * time.Hour)
		s.connects(t, v, discover, initialize)
		*v = mcpclient.EraCache{}
		s.connects(t, v, discover, initialize)
	})
}

// An unreachable or refusing server does not reveal its era.
func TestEraCacheOutlivesTrouble(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			v := new(mcpclient.EraCache)
			s := new(sessionServer)
			var asked []string
			server := served(t, func(w http.ResponseWriter, r *http.Request, _ message) {
				if m := r.Header.Get("Mcp-Method"); m != "" {
					asked = append(asked, m)
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				s.ServeHTTP(w, r)
			})
			connect := func() error {
				return connectError(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client()}, mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: v}})
			}
			check.Must(t, connect())
			s.broken = status
			e := wantError[*transport.HTTPError](t, connect())
			wrong(t, e.Status != status, "got %v, want status %d", e, status)
			s.broken = 0
			check.NoError(t, connect())
			wrong(t, !slices.Equal(asked, []string{discover}), "status %d: asked %q, want one server/discover", status, asked)
		})
	}
}

// Only a server's answer proves the era wrong: a process that dies is not started again and again.
func TestEraCacheOfTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := new(mcpclient.EraCache)
		s := newChangeable(t, "a", "legacy")
		s.connects(t, v, discover, initialize)
		s.greet = func(p *peer) { p.next(); _ = p.conn.Close() }
		before := s.dialed()
		check.Is(t, check.Err(mcpclient.Connect(t.Context(), s, &mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: v}})), mcpclient.ErrClosed)
		check.Equal(t, "dials", s.dialed()-before, 1)
	})
}

func TestEraCacheAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := new(mcpclient.EraCache)
		for i := range 1030 {
			time.Sleep(time.Second)
			newChangeable(t, fmt.Sprint(i), "legacy").connects(t, v, discover, initialize)
		}
		newChangeable(t, "1029", "legacy").connects(t, v, initialize)
		newChangeable(t, "5", "legacy").connects(t, v, discover, initialize)
		var kept map[string]json.RawMessage
		data, err := json.Marshal(v)
		wrong(t, err != nil || json.Unmarshal(data, &kept) != nil || len(kept) != 1024, "got %d entries, %v, want 1,024", len(kept), err)
	})
}

// Stored data may come from another version or another clock, or be arbitrary.
func TestEraCacheRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := strings.Repeat("0", 32)
		now := time.Now()
		for name, test := range map[string]struct {
			data string
			want int
		}{
			"good":             {fmt.Sprintf(`{%q:{"revision":"2025-11-25","since":%q}}`, key, now.Format(time.RFC3339)), 1},
			"from the future":  {fmt.Sprintf(`{%q:{"revision":"2025-11-25","since":%q}}`, key, now.Add(time.Hour).Format(time.RFC3339)), 0},
			"old":              {fmt.Sprintf(`{%q:{"revision":"2025-11-25","since":%q}}`, key, now.Add(-25*time.Hour).Format(time.RFC3339)), 0},
			"another revision": {fmt.Sprintf(`{%q:{"revision":"2031-01-01","since":%q}}`, key, now.Format(time.RFC3339)), 0},
			"no key":           {fmt.Sprintf(`{"x":{"revision":"2025-11-25","since":%q}}`, now.Format(time.RFC3339)), 0},
			"nothing":          {`{}`, 0},
			"null":             {`null`, 0},
		} {
			v := new(mcpclient.EraCache)
			var kept map[string]json.RawMessage
			if err := json.Unmarshal([]byte(test.data), v); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if data, err := json.Marshal(v); err != nil || json.Unmarshal(data, &kept) != nil || len(kept) != test.want {
				t.Errorf("%s: got %d entries, %v, want %d", name, len(kept), err, test.want)
			}
		}
		check.Fails(t, json.Unmarshal([]byte(`[1]`), new(mcpclient.EraCache)), "for what is not an object")
	})
}

// A stored entry reveals nothing of a command line or a URL.
func TestEraCacheTellNoSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := new(mcpclient.EraCache)
		server := serve(t, new(sessionServer))
		c := connected(t, &mcpclient.HTTP{URL: server.URL() + "/mcp?key=s3cr3t", Client: server.Client()}, mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: v}})
		_ = c.Close()
		data, err := json.Marshal(v)
		if err != nil || len(data) < 50 || strings.Contains(string(data), "s3cr3t") || strings.Contains(string(data), "mcp?") {
			t.Errorf("got %s, %v", data, err)
		}
	})
}

// Two paths of one origin may be different servers.
func TestEraCacheAreOfURLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		server := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
			switch {
			case m.Method == discover:
				asked = append(asked, r.URL.Path)
				w.WriteHeader(http.StatusNotFound)
			case m.Method == initialize:
				_, _ = io.WriteString(jsonWriter(w), handshakeAnswer(m))
			}
		})
		v := new(mcpclient.EraCache)
		for _, path := range []string{"/a", "/b", "/a", "/b"} {
			c := connected(t, &mcpclient.HTTP{URL: server.URL() + path, Client: server.Client()}, mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: v}})
			_ = c.Close()
		}
		check.Same(t, "probed", asked, []string{"/a", "/b"})
	})
}

// An upgraded legacy server refuses initialize like one without Streamable HTTP, but has it.
func TestEraCacheOfAnUpgradedHTTPServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var modern bool
		server := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
			switch {
			case m.Method == initialize && !modern, m.Method == discover && modern:
				_, _ = io.WriteString(jsonWriter(w), handshakeAnswer(m))
			case strings.HasPrefix(m.Method, "notifications/") && !modern:
				w.WriteHeader(http.StatusAccepted)
			case r.Method == http.MethodPost:
				http.Error(w, "unknown method", http.StatusBadRequest)
			default:
				http.Error(w, "POST only", http.StatusMethodNotAllowed)
			}
		})
		v := new(mcpclient.EraCache)
		transport := &mcpclient.HTTP{URL: server.URL(), Client: server.Client()}
		for _, want := range []string{mcp.Revision20251125, mcp.Revision20260728, mcp.Revision20260728} {
			modern = want == mcp.Revision20260728
			c := connected(t, transport, mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: v}})
			check.Equal(t, "revision", c.Server().Revision, want)
			check.Equal(t, "transport", c.Transport(), mcpclient.Transport(transport))
			_ = c.Close()
		}
	})
}

// A large stored cache is trimmed in one pass.
func TestEraCacheReadMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stored = 100_000
		now := time.Now()
		type entry struct {
			Revision string    `json:"revision"`
			Since    time.Time `json:"since"`
		}
		all := map[string]entry{}
		for i := range stored {
			all[fmt.Sprintf("%032d", i)] = entry{mcp.Revision20251125, now.Add(-time.Duration(stored-i) * time.Millisecond)}
		}
		data, err := json.Marshal(all)
		check.Must(t, err)
		v := new(mcpclient.EraCache)
		var kept map[string]entry
		check.Must(t, json.Unmarshal(data, v))
		if data, err := json.Marshal(v); err != nil || json.Unmarshal(data, &kept) != nil || len(kept) != 1024 {
			t.Fatalf("got %d entries, %v, want 1,024", len(kept), err)
		}
		for key := range kept {
			wrong(t, key < fmt.Sprintf("%032d", stored-1024), "kept %s, which is among the oldest", key)
		}
	})
}
