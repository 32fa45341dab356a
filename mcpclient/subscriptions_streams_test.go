package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// If a resource is subscribed again during its unsubscribe request, the subscribe request follows that.
func TestSubscribeAfterUnsubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got diary
		release := make(chan struct{})
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if r.Method != http.MethodPost {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			got.write("%s", m.Method)
			if m.Method == "resources/unsubscribe" {
				<-release
			}
			got.write("%s answered", m.Method)
			_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		})
		c := connectTo(t, s, undeclared(legacy()))
		first := subscribed(t, t.Context(), c, onResources("file:///a"))
		go first.Close()
		synctest.Wait()
		go func() { check.NoError(t, check.Err(c.Subscribe(t.Context(), onResources("file:///a")))) }()
		synctest.Wait()
		close(release)
		want := []string{
			"resources/subscribe", "resources/subscribe answered", "resources/unsubscribe", "resources/unsubscribe answered",
			"resources/subscribe", "resources/subscribe answered",
		}
		check.Same(t, "", got.read(), want)
	})
}

// A notification on the stream of one subscription that names another reaches neither.
func TestNotificationOfAnotherStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		sends := map[string]func(string){} // by id of the request
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			send := stream(w)
			send(acknowledgement(m, `,"notifications":{"toolsListChanged":true}`))
			mu.Lock()
			sends[string(m.ID)] = send
			mu.Unlock()
			<-r.Context().Done()
		})
		o, log := logs(modern(), slog.LevelWarn)
		c := connectTo(t, s, o)
		all := []*mcpclient.Subscription{subscribed(t, t.Context(), c, onTools), subscribed(t, t.Context(), c, onTools)}
		synctest.Wait()
		ids := slices.Collect(maps.Keys(sends))
		changed := func(stream, names string) {
			sends[stream](fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, names))
		}
		changed(ids[0], ids[1])
		synctest.Wait()
		for _, sub := range all {
			wantNoChange(t, sub)
		}
		check.That(t, log.String() != "", "the log has no warning")
		changed(ids[0], ids[0])
		changed(ids[1], ids[1])
		for _, sub := range all {
			wantChanges(t, sub, toolsChanged)
		}
	})
}

// lookedAt is a context that calls a function when something waits for its end.
type lookedAt struct {
	context.Context
	do func()
}

func (l lookedAt) Done() <-chan struct{} {
	l.do()
	return l.Context.Done()
}

// Changes that arrived before the end of a subscription precede its error, even if both arrive just before the reader waits.
func TestChangesPrecedeTheEnd(t *testing.T) {
	for range 20 { // select chooses randomly
		inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
			asked := make(chan message, 1)
			go func() {
				m := p.next()
				p.send("%s", acknowledgement(m, ""))
				asked <- m
			}()
			s := subscribed(t, t.Context(), c, onTools)
			m := <-asked
			ctx := lookedAt{t.Context(), sync.OnceFunc(func() {
				p.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)
				_ = p.conn.Close()
				synctest.Wait()
			})}
			var got []mcp.Change
			var last error
			for change, err := range s.Changes(ctx) {
				if last = err; err == nil {
					got = append(got, change)
				}
			}
			check.Require(t, len(got) != 0 && got[0] == toolsChanged && errors.Is(last, mcpclient.ErrClosed), "got %v, then %v", got, last)
		})
	}
}

// A subscription is not a call: the server is pinged.
func TestKeepAliveOfASubscription(t *testing.T) {
	inBubble(t, kept(modern()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go p.acknowledge() // and is silent from then on
		s := subscribed(t, t.Context(), c, onTools)
		time.Sleep(2 * time.Minute)
		check.Text(t, c.Err(), "server does not respond")
		_ = end(s)
	})
}

// A silent stream is opened again; comments keep it alive.
func TestSilentSubscription(t *testing.T) {
	for name, test := range map[string]struct {
		alive time.Duration // how long a comment arrives every minute
		after time.Duration // when the second stream opens; 0 for not within an hour
	}{
		"silent":      {0, 5 * time.Minute},
		"then silent": {20 * time.Minute, 25 * time.Minute},
		"alive":       {2 * time.Hour, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			opened := make(chan time.Time, 100)
			server := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				start := time.Now()
				opened <- start
				stream(w)(acknowledgement(m, ""))
				for r.Context().Err() == nil {
					until(r, time.After(time.Minute))
					if time.Since(start) <= test.alive {
						_, _ = io.WriteString(w, ": alive\n\n")
						w.(http.Flusher).Flush()
					}
				}
			})
			s := subscribed(t, t.Context(), connectTo(t, server, modern()), onTools)
			first := <-opened
			if test.after == 0 {
				time.Sleep(time.Hour)
				wantNoChange(t, s)
				check.That(t, len(opened) == 0, "the stream was opened again")
				return
			}
			wantChanges(t, s, stale)
			took := (<-opened).Sub(first)
			check.That(t, took >= test.after && took <= test.after+time.Second, "the stream was opened again after %v, want %v and up to 1 s", took, test.after)
		})
	}
}

// A standalone stream that opens after the wait for it may have missed messages.
func TestStandaloneStreamOpensLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := 3
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, _ message) {
			if busy--; busy >= 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			stream(w)
			<-r.Context().Done()
		})
		sub := subscribed(t, t.Context(), connectTo(t, s, legacy()), onTools)
		wantChanges(t, sub, stale)
	})
}

// After an interruption, the standalone stream of a legacy server may have missed messages, unless the server can resume it.
func TestStandaloneStreamMissedSomething(t *testing.T) {
	for _, resumable := range []bool{false, true} {
		bubble(t, fmt.Sprint(resumable), func(t *testing.T) {
			cut := make(chan struct{})
			var opened atomic.Int32
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				w.Header().Set("Content-Type", "text/event-stream")
				if resumable {
					_, _ = fmt.Fprintf(w, "id: %d\n\n", opened.Load())
				}
				w.(http.Flusher).Flush()
				opened.Add(1)
				until(r, cut)
			})
			sub := subscribed(t, t.Context(), connectTo(t, s, legacy()), onTools)
			synctest.Wait()
			wantNoChange(t, sub) // nothing is missed at the first opening
			cut <- struct{}{}
			time.Sleep(time.Minute)
			check.Equal(t, "the stream was opened times", opened.Load(), 2)
			if resumable {
				wantNoChange(t, sub)
			} else {
				wantChanges(t, sub, stale)
			}
		})
	}
}

// The stream is opened again once the token is renewed that the server refused meanwhile. Its source is told once, as it may ask
// a person. If the stream is refused for good, subscriptions learn that they miss changes.
func TestStandaloneStreamRefused(t *testing.T) {
	for status, opened := range map[int]int32{http.StatusUnauthorized: 2, http.StatusBadRequest: 1} {
		bubble(t, fmt.Sprint(status), func(t *testing.T) {
			cut, token := make(chan struct{}), new(transport.Bearer)
			var streams, refusals atomic.Int32
			token.Refused = func(context.Context, *transport.Refusal) error {
				refusals.Add(1)
				return errors.New("declined")
			}
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, _ message) {
				if streams.Load() > 0 && r.Header.Get("Authorization") != "Bearer renewed" {
					w.WriteHeader(status)
					return
				}
				streams.Add(1)
				stream(w)
				until(r, cut)
			})
			check.Must(t, token.Renew("expired"))
			sub := subscribed(t, t.Context(), connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), Token: token}, legacy()), onTools)
			cut <- struct{}{}
			time.Sleep(time.Minute)
			check.Must(t, token.Renew("renewed"))
			time.Sleep(time.Minute)
			check.Equal(t, "opened streams", streams.Load(), opened)
			check.Equal(t, "refusals", refusals.Load(), opened-1)
			wantChanges(t, sub, stale)
		})
	}
}

// A subscription may be for tasks. Each era reports them in its own way.
func TestSubscribeToTasks(t *testing.T) {
	playAll(t, bothEras(conversation{name: "subscribe_tasks", way: "pipe", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		s := subscribed(t, t.Context(), c, mcp.SubscriptionFilter{PromptsListChanged: true, Tasks: []string{"t2", "t1", "t2"}})
		check.Same(t, "filter", s.Filter(), mcp.SubscriptionFilter{Tasks: []string{"t1", "t2"}})
		wantChanges(t, s, mcp.Change{Kind: mcp.TaskUpdated, Task: "t2"}, mcp.Change{Kind: mcp.TaskUpdated, Task: "t1"}, stale)
		wantNoChange(t, s)
		_ = s.Close()
	}}))
}

// On a shared connection silence does not end a subscription, because the end of the connection
// is noticed. After a lost connection the subscription is made again at once.
func TestSilentSubscriptionOnASharedConnection(t *testing.T) {
	restarting(t, modern(), nil, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
		go p.acknowledge()
		s := subscribed(t, t.Context(), c, onTools)
		time.Sleep(24 * time.Hour)
		p.quiet()
		wantNoChange(t, s)
		_ = p.conn.Close()
		p = <-transport.peers
		start, m := time.Now(), p.expect("subscriptions/listen")
		within(t, "the subscription", start, 0)
		p.send("%s", acknowledgement(m, ""))
		wantChanges(t, s, stale)
	})
}

// A stream that lasted for a while is opened again soon, any number of times, until the server refuses it permanently.
func TestSubscriptionThatIsCutRegularly(t *testing.T) {
	const cuts = 20
	synctest.Test(t, func(t *testing.T) {
		var ended time.Time
		opened := 0
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if opened++; opened > cuts {
				_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no more"}}`, m.ID)
				return
			}
			wait := time.Since(ended)
			check.That(t, opened <= 1 || wait <= time.Second, "opened the %d. time after %v, want at most 1 s", opened, wait)
			stream(w)(acknowledgement(m, ""))
			time.Sleep(31 * time.Second)
			ended = time.Now()
		})
		wantCode(t, end(subscribed(t, t.Context(), connectTo(t, s, modern()), onTools)), mcp.CodeMethodNotFound)
		check.Equal(t, "streams", opened, cuts+1)
	})
}

// Some servers drop messages until their standalone stream is open. If any could be missed, Connect waits for a bounded time.
func TestConnectWaitsForStream(t *testing.T) {
	sampling := samples(legacy(), nil)
	for name, test := range map[string]struct {
		opts                   mcpclient.Options
		handshake, delay, want time.Duration
	}{
		"nothing installed":          {legacy(), 0, time.Hour, 0},
		"sampling":                   {sampling, 0, 100 * time.Millisecond, 100 * time.Millisecond},
		"notifications":              {heeding(legacy()), 0, 100 * time.Millisecond, 100 * time.Millisecond},
		"never":                      {sampling, 0, time.Hour, 500 * time.Millisecond},
		"distant":                    {sampling, time.Second, 2 * time.Second, 3 * time.Second},
		"distant, never":             {sampling, time.Second, time.Hour, 5 * time.Second},
		"a very slow one, and never": {sampling, 10 * time.Second, time.Hour, 15 * time.Second},
	} {
		bubble(t, name, func(t *testing.T) {
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, _ message) {
				until(r, time.After(test.delay))
				stream(w)
				<-r.Context().Done()
			})
			start := time.Now()
			connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), WrapTransport: watched(func(r *http.Request) {
				if r.Method == http.MethodPost && readMessage(r).Method == "initialize" {
					time.Sleep(test.handshake)
				}
			})}, test.opts)
			check.Equal(t, "connecting took", time.Since(start), test.want)
		})
	}
}

// A standalone stream that lasted is opened again soon, even if few events arrived. A stream that
// ends at once is requested ever more slowly. Clients that lost it together do not return together.
func TestStandaloneStreamComesBack(t *testing.T) {
	for name, test := range map[string]struct {
		lives       time.Duration
		least, most int // connections in an hour
	}{
		"lives": {30 * time.Second, 110, 120},
		"ends":  {0, 100, 250},
	} {
		t.Run(name, func(t *testing.T) {
			waits := map[time.Duration]bool{}
			opened := 0
			var ended time.Time
			overLegacyHTTP(t, func(w http.ResponseWriter, r *http.Request, _ message) {
				if opened++; opened > 20 {
					waits[time.Since(ended)] = true
				}
				stream(w)
				until(r, time.After(test.lives))
				ended = time.Now()
			}, func(t *testing.T, c *mcpclient.Client) {
				time.Sleep(time.Hour)
				synctest.Wait()
				check.That(t, opened >= test.least && opened <= test.most, "got %d connections, want %d to %d", opened, test.least, test.most)
				check.That(t, len(waits) >= 10, "got %d different waits, want them to differ", len(waits))
			})
		})
	}
}

// The standalone stream opens when something reads it: with the first subscription, and the first call that asks for progress.
// Each waits until it is open, also one that comes meanwhile.
func TestStandaloneStreamOnDemand(t *testing.T) {
	for name, heed := range map[string]func(ctx context.Context, c *mcpclient.Client) error{
		"subscription": func(ctx context.Context, c *mcpclient.Client) error { return check.Err(c.Subscribe(ctx, onTools)) },
		"progress": func(ctx context.Context, c *mcpclient.Client) error {
			return check.Err(c.CallTool(ctx, "a", nil, mcpclient.WithProgress(func(mcp.Progress) {})))
		},
	} {
		bubble(t, name, func(t *testing.T) {
			var opened atomic.Int32
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if r.Method != http.MethodGet {
					_, _ = jsonWriter(w).Write([]byte(answerTo(m)))
					return
				}
				until(r, time.After(100*time.Millisecond))
				opened.Add(1)
				stream(w)
				<-r.Context().Done()
			})
			c := connectTo(t, s, undeclared(legacy()))
			callText(t, t.Context(), c, "a", "a")
			time.Sleep(time.Hour)
			check.Equal(t, "opened streams while nobody wanted to hear", opened.Load(), 0)
			together(2, func() {
				check.NoError(t, heed(t.Context(), c))
				check.Equal(t, "opened streams", opened.Load(), 1)
			})
		})
	}
}

// A server may answer over its standalone stream, in violation of the protocol. The answer counts, whichever stream is first.
func TestAnswerOverStandaloneStream(t *testing.T) {
	for name, test := range map[string]struct {
		delay time.Duration
		opts  []mcpclient.CallOption
		want  string // in the error
	}{
		"soon":                {delay: 50 * time.Millisecond},
		"soon, with progress": {delay: 50 * time.Millisecond, opts: []mcpclient.CallOption{mcpclient.WithProgress(func(mcp.Progress) {})}},
		"late":                {delay: time.Second, want: "HTTP status 202 without a body"},
		"late, with progress": {delay: time.Second, opts: []mcpclient.CallOption{mcpclient.WithProgress(func(mcp.Progress) {})}, want: "HTTP status 202 without a body"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan string, 1)
			overLegacyHTTP(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if r.Method == http.MethodPost {
					w.WriteHeader(http.StatusAccepted)
					asked <- answerTo(m)
					return
				}
				send := stream(w)
				select {
				case answer := <-asked:
					time.Sleep(test.delay)
					send(answer)
					<-r.Context().Done()
				case <-r.Context().Done():
				}
			}, func(t *testing.T, c *mcpclient.Client) {
				if res, err := c.CallTool(t.Context(), "a", nil, test.opts...); test.want == "" {
					check.Equal(t, "answer", textOf(res, err), "a")
				} else {
					check.Text(t, err, test.want)
				}
			})
		})
	}
}

// Nobody waits for a stream that is opened again, nor for the end of a subscription: no person is asked to sign in for them.
func TestStreamsAreOpenedAgainUnattended(t *testing.T) {
	inEras(t, func(t *testing.T, era string, o mcpclient.Options) {
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if strings.HasPrefix(m.Method, "resources/") {
				_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
				return
			}
			if send := stream(w); m.ID != nil {
				send(acknowledgement(m, ""))
			}
			until(r, time.After(time.Minute))
		})
		var unattended diary
		c := connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), WrapTransport: watched(func(r *http.Request) {
			if backoff.IsUnattended(r.Context()) {
				unattended.write("%s", r.Method)
			}
		})}, undeclared(o))
		sub := subscribed(t, t.Context(), c, onResources("file:///a"))
		check.Equal(t, "unattended requests", len(unattended.read()), 0)
		time.Sleep(2*time.Minute - time.Second)
		check.Must(t, sub.Close())
		synctest.Wait()
		want := map[string][]string{"modern": {"POST"}, "legacy": {"GET", "POST"}} // the stream; and resources/unsubscribe
		check.Same(t, "unattended requests", unattended.read(), want[era])
	})
}
