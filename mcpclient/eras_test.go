package mcpclient_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// changeable is a transport whose server may change its era between connections.
type changeable struct {
	*peerTransport
	name string

	mu    sync.Mutex
	era   string // "legacy" or "modern"
	asked diary
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
		s.asked.write("%s", m.Method)
		s.mu.Lock()
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

func remembering(v *mcpclient.EraCache) mcpclient.Options {
	return mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: v}}
}

// connects connects a client and checks which requests it needed to find the era.
func (s *changeable) connects(t *testing.T, v *mcpclient.EraCache, want ...string) {
	t.Helper()
	c := connected(t, s, remembering(v))
	_ = c.Close()
	check.Equal(t, s.era+" server speaks", c.Server().Revision, map[string]string{"legacy": mcp.Revision20251125, "modern": mcp.Revision20260728}[s.era])
	check.Same(t, "asked", s.asked.read(), want)
}

const discover, initialize = "server/discover", "initialize"

// A server's era is remembered for other clients, until it proves wrong or is old.
func TestEraCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, s := new(mcpclient.EraCache), newChangeable(t, "a", "legacy")
		s.connects(t, v, discover, initialize)
		s.connects(t, v, initialize)
		s.connects(t, nil, discover, initialize)
		newChangeable(t, "b", "legacy").connects(t, v, discover, initialize)

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
			v, s := new(mcpclient.EraCache), new(sessionServer)
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
				return connectError(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client()}, remembering(v))
			}
			check.Must(t, connect())
			s.broken = status
			wantStatus(t, connect(), status)
			s.broken = 0
			check.NoError(t, connect())
			check.Same(t, status, asked, []string{discover})
		})
	}
}

// Only a server's answer proves the era wrong: a process that dies is not started again and again.
func TestEraCacheOfTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, s := new(mcpclient.EraCache), newChangeable(t, "a", "legacy")
		s.connects(t, v, discover, initialize)
		s.greet = func(p *peer) { p.next(); _ = p.conn.Close() }
		before := s.dialed()
		check.Is(t, connectError(t, s, remembering(v)), mcpclient.ErrClosed)
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
			connected(t, &mcpclient.HTTP{URL: server.URL() + path, Client: server.Client()}, remembering(v))
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
			c := connected(t, transport, remembering(v))
			check.Equal(t, "revision", c.Server().Revision, want)
			check.Equal(t, "transport", c.Transport(), mcpclient.Transport(transport))
			_ = c.Close()
		}
	})
}

// A server that fails, hangs and changes its era at random, also during a probe, ends neither the client nor
// the program. Afterwards calls succeed, whatever it speaks.
func TestServerThatChangesAtRandom(t *testing.T) {
	for seed := range testenv.Pick(25, 2000) {
		bubble(t, fmt.Sprint(seed), func(t *testing.T) {
			random := make(chan uint64)
			go func() {
				for r := rand.NewPCG(uint64(seed), 0); ; {
					select {
					case random <- r.Uint64():
					case <-t.Context().Done():
						return
					}
				}
			}()
			changeAtRandom(t, func(n int) int { return int(<-random % uint64(n)) })
		})
	}
}

func changeAtRandom(t *testing.T, roll func(n int) int) {
	var rough atomic.Bool // false before and after the random part
	revisions := []string{mcp.Revision20251125, mcp.Revision20260728}
	a := &changingServer{sse: roll(2) == 0, speaks: revisions[roll(2)], refuses: refusals[[]string{"400", "-32000", "-32601", "-32022"}[roll(4)]]}
	a.before = func(w http.ResponseWriter, _ *http.Request, _ message) bool {
		time.Sleep(time.Duration(roll(200)) * time.Millisecond)
		if !rough.Load() {
			return false
		}
		switch roll(12) {
		case 0:
			w.WriteHeader([]int{400, 403, 404, 500, 502, 503}[roll(6)])
			return true
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			time.Sleep(time.Duration(roll(20)) * time.Second)
		case 3:
			a.become(revisions[roll(2)])
		}
		return false
	}
	c := connectTo(t, serve(t, a), heeding(mcpclient.Options{LogLevel: []mcp.LogLevel{"", "debug"}[roll(2)], Protocol: mcpclient.Protocol{AllowUndeclared: roll(2) == 0}}))
	use := []func(ctx context.Context){
		func(ctx context.Context) { _, _ = c.CallTool(ctx, "a", nil) },
		func(ctx context.Context) { _, _ = c.CallTool(ctx, "a", nil, mcpclient.WithTask(&mcp.Tool{Name: "a"})) },
		func(ctx context.Context) { _ = c.Task("t", "a").Cancel(ctx) },
		func(ctx context.Context) { _ = c.Ping(ctx) },
		func(ctx context.Context) { _ = c.SetLogLevel(ctx, "info") },
		func(ctx context.Context) { _ = c.Notify(ctx, "notifications/x", nil) },
		func(ctx context.Context) {
			for range c.Tools(ctx) {
			}
		},
		func(ctx context.Context) {
			s, err := c.Subscribe(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, Resources: []string{"file:///a"}})
			if err != nil {
				return
			}
			for range s.Changes(ctx) {
			}
			if roll(2) == 0 {
				_ = s.Close()
			}
		},
	}
	synctest.Wait()
	rough.Store(true)
	together(6, func() {
		for range 25 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+roll(30_000))*time.Millisecond)
			use[roll(len(use))](ctx)
			cancel()
			time.Sleep(time.Duration(roll(3000)) * time.Millisecond)
		}
	})
	time.Sleep(time.Minute)
	rough.Store(false)
	for _, revision := range append(revisions, revisions...) {
		time.Sleep(time.Minute)
		a.become(revision)
		_, _ = c.CallTool(t.Context(), "a", nil) // which may fail if it notices the change
		check.Must(t, check.Err(c.CallTool(t.Context(), "a", nil)))
	}
}
