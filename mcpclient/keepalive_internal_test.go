package mcpclient

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

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
