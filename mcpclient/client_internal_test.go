package mcpclient

import (
	"testing"
	"testing/synctest"
	"time"
)

// The first answers of a process have less time than those of a server where a person may have
// to log in.
func TestConnectTimeoutDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, transport := range map[time.Duration]Transport{time.Minute: new(Command), 10 * time.Minute: new(HTTP)} {
			ctx, cancel := (&connector{opts: new(Options), negotiator: negotiator{transport: transport}}).connecting(t.Context())
			defer cancel()
			if end, ok := ctx.Deadline(); !ok || time.Until(end) != want {
				t.Errorf("%T: got %v, want %v", transport, time.Until(end), want)
			}
		}
	})
}
