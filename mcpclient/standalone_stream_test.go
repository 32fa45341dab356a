package mcpclient_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Some servers drop messages until their standalone stream is open. Connect waits for the
// stream if messages could be missed, for a bounded time.
func TestConnectWaitsForStream(t *testing.T) {
	sampling := samples(legacy(), nil)
	for name, test := range map[string]struct {
		opts        mcpclient.Options
		delay, want time.Duration
	}{
		"nothing installed": {legacy(), time.Hour, 0},
		"sampling":          {sampling, 100 * time.Millisecond, 100 * time.Millisecond},
		"notifications":     {heeding(legacy()), 100 * time.Millisecond, 100 * time.Millisecond},
		"slow":              {sampling, time.Hour, 500 * time.Millisecond},
	} {
		bubble(t, name, func(t *testing.T) {
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, _ message) {
				select {
				case <-time.After(test.delay):
					stream(w)
					<-r.Context().Done()
				case <-r.Context().Done():
				}
			})
			start := time.Now()
			connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}, test.opts)
			equal(t, "connecting took", time.Since(start), test.want)
		})
	}
}

// A standalone stream that lasted is opened again soon, even if few events arrived. A stream
// that ends at once is requested ever more slowly. Clients that lost it together do not return
// together.
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
			h := func(w http.ResponseWriter, r *http.Request, _ message) {
				if opened++; opened > 20 {
					waits[time.Since(ended)] = true
				}
				stream(w)
				select {
				case <-time.After(test.lives):
				case <-r.Context().Done():
				}
				ended = time.Now()
			}
			overLegacyHTTP(t, h, func(t *testing.T, c *mcpclient.Client) {
				time.Sleep(time.Hour)
				synctest.Wait()
				wrong(t, opened < test.least || opened > test.most, "got %d connections, want %d to %d", opened, test.least, test.most)
				wrong(t, len(waits) < 10, "got %d different waits, want them to differ", len(waits))
			})
		})
	}
}

// The standalone stream opens when something reads it: with the first subscription, and the
// first call that asks for progress.
func TestStandaloneStreamOnDemand(t *testing.T) {
	for name, heed := range map[string]func(ctx context.Context, c *mcpclient.Client) error{
		"subscription": func(ctx context.Context, c *mcpclient.Client) error {
			_, err := c.Subscribe(ctx, mcp.SubscriptionFilter{ToolsListChanged: true})
			return err
		},
		"progress": func(ctx context.Context, c *mcpclient.Client) error {
			_, err := c.CallTool(ctx, "a", nil, mcpclient.WithProgress(func(mcp.Progress) {}))
			return err
		},
	} {
		bubble(t, name, func(t *testing.T) {
			var opened atomic.Int32
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if r.Method != http.MethodGet {
					_, _ = jsonWriter(w).Write([]byte(answerTo(m)))
					return
				}
				opened.Add(1)
				stream(w)
				<-r.Context().Done()
			})
			c := connectTo(t, s, undeclared(legacy()))
			callText(t, t.Context(), c, "a", "a")
			time.Sleep(time.Hour)
			equal(t, "opened streams while nobody wanted to hear", opened.Load(), 0)
			for range 2 {
				must(t, heed(t.Context(), c))
			}
			synctest.Wait()
			equal(t, "opened streams", opened.Load(), 1)
		})
	}
}

// A server may answer over its standalone stream, in violation of the protocol. The answer
// counts, whichever stream is read first.
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
				res, err := c.CallTool(t.Context(), "a", nil, test.opts...)
				if test.want == "" && (err != nil || res.Text() != "a") {
					t.Errorf("got %v, %v, want the answer", res, err)
				} else if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("got %v, want %q in it", err, test.want)
				}
			})
		})
	}
}
