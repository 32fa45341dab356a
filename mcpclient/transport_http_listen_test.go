package mcpclient_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// A server throws away what it has to say before its standalone stream is open.
// Connect waits for that where something might be missed, and not for long.
func TestConnectWaitsForStream(t *testing.T) {
	sampling := samples(legacy(), nil)
	observing := legacy()
	observing.OnNotification = func(*mcpclient.Notification) {}
	for name, test := range map[string]struct {
		opts        mcpclient.Options
		delay, want time.Duration
	}{
		"nothing installed": {legacy(), time.Hour, 0},
		"sampling":          {sampling, 100 * time.Millisecond, 100 * time.Millisecond},
		"notifications":     {observing, 100 * time.Millisecond, 100 * time.Millisecond},
		"slow":              {sampling, time.Hour, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := httpServer(t, func(w http.ResponseWriter, r *http.Request, _ message) {
					select {
					case <-time.After(test.delay):
						stream(w)
						<-r.Context().Done()
					case <-r.Context().Done():
					}
				})
				start := time.Now()
				c, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}, &test.opts)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				if got := time.Since(start); got != test.want {
					t.Errorf("connecting took %v, want %v", got, test.want)
				}
			})
		})
	}
}
