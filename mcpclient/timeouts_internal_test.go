package mcpclient

import (
	"context"
	"errors"
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

// Times for later comparison have a monotonic clock reading: if the wall clock is set,
// cached results live neither longer nor shorter.
func TestClockJumps(t *testing.T) {
	c := new(Client)
	c.cache.put(&request{method: "tools/list"}, []byte(`{"ttlMs":60000}`), 0, 1<<20)
	if len(c.cache.entries) != 1 {
		t.Fatal("the result was not kept")
	}
	for _, e := range c.cache.entries {
		wantSteady(t, "the end of a cached result", e.expires)
	}

	rounds := inputRounds{questioner: &gatherer{peer: &peer{life: newLife(t)}}}
	if err := rounds.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSteady(t, "the first time that a call was deferred", rounds.deferred)
}

func wantSteady(t *testing.T, what string, at time.Time) {
	t.Helper()
	if at == at.Round(0) { // Round strips the monotonic reading
		t.Errorf("%s: %v has no monotonic clock reading", what, at)
	}
}

// pingedConn is a connection whose state a test sets.
type pingedConn struct {
	busyAt int           // the check at which it is not idle, counted from 1; 0 for none
	wait   time.Duration // before a ping returns
	err    error         // that it returns

	looks, ended int
}

func (p *pingedConn) idle() bool        { p.looks++; return p.looks != p.busyAt }
func (p *pingedConn) end(time.Duration) { p.ended++ }

func (p *pingedConn) ping(ctx context.Context) error {
	select {
	case <-time.After(p.wait):
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Only an idle connection whose server does not answer in time is ended.
func TestKeepAliveEnds(t *testing.T) {
	for name, test := range map[string]struct {
		conn pingedConn
		want int
	}{
		"answered":     {pingedConn{wait: 29 * time.Second}, 0},
		"refused":      {pingedConn{err: errors.New("no")}, 0},
		"mute":         {pingedConn{wait: time.Hour}, 1},
		"busy":         {pingedConn{wait: time.Hour, busyAt: 1}, 0},
		"busy by then": {pingedConn{wait: time.Hour, busyAt: 2}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 61*time.Second)
				defer cancel()
				keepAlive(ctx, 30*time.Second, func() pinged { return &test.conn })
				if test.conn.ended != test.want {
					t.Errorf("it was ended %d times, want %d", test.conn.ended, test.want)
				}
			})
		})
	}
}
