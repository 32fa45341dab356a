package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// gate is a writer whose Write waits to be let through.
type gate struct {
	pass   chan struct{}
	mu     sync.Mutex
	writes []string
	err    error
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.pass
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return 0, g.err
	}
	g.writes = append(g.writes, string(b))
	return len(b), nil
}

func TestSendCoalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		w := &writer{dst: g}
		_, _ = w.send(t.Context(), []byte("first"))
		synctest.Wait()
		for range 64 {
			check.Must(t, check.Err(w.send(t.Context(), []byte("{}"))))
		}
		close(g.pass)
		synctest.Wait()
		check.Same(t, "", g.writes, []string{"first\n", strings.Repeat("{}\n", 64)})
		check.Equal(t, "the writing goroutine is still there", w.running, false)
		kept := cap(w.next) + cap(w.spare)
		check.That(t, kept <= 2*maxSpare, "%d bytes of buffers are kept", kept)
	})
}

// What comes while a large message is written has a buffer of its own.
func TestSendBuffersApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		w := &writer{dst: g}
		large := strings.Repeat("l", 2*maxSpare)
		for i, m := range []string{"first", large, "second", "third"} {
			check.Must(t, check.Err(w.send(t.Context(), []byte(m))))
			synctest.Wait()
			if i != 1 {
				g.pass <- struct{}{}
				synctest.Wait()
			}
		}
		close(g.pass)
		synctest.Wait()
		check.Equal(t, "", strings.Join(g.writes, ""), "first\n"+large+"\nsecond\nthird\n")
		kept := max(cap(w.next), cap(w.spare))
		check.That(t, kept <= maxSpare, "a buffer of %d bytes is kept, want %d at most", kept, maxSpare)
	})
}

// The wait for the end of writing ends with it, each time.
func TestSendWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		w := &writer{dst: g}
		for range 2 {
			began := time.Now()
			_, _ = w.send(t.Context(), []byte("{}"))
			time.AfterFunc(time.Second, func() { g.pass <- struct{}{} })
			w.wait(time.Minute)
			check.Equal(t, "waited", time.Since(began), time.Second)
		}
	})
}

// Nothing is written after an error.
func TestSendNothingAfterError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pass, calls := make(chan struct{}), 0
		w := &writer{dst: writerFunc(func([]byte) (int, error) { <-pass; calls++; return 0, io.ErrShortWrite })}
		w.onError = func(err error) { w.refuse(err) }
		for range 3 {
			_, _ = w.send(t.Context(), []byte("{}"))
			synctest.Wait()
		}
		close(pass)
		synctest.Wait()
		check.That(t, calls == 1 && w.queued == 0 && w.next == nil,
			"got %d calls, %d bytes counted as queued and %q, want one call and nothing queued", calls, w.queued, w.next)
	})
}

// Who waits for room is served in order, and one that gives up lets those behind it through.
func TestSendQueueBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		w := &writer{dst: g}
		half := strings.Repeat("h", maxQueued/2)
		_, _ = w.send(t.Context(), []byte(half))
		giveUp, cancel := context.WithCancel(t.Context())
		results := make([]error, 4)
		for i, m := range []string{"big" + half + half, "1", "big" + half + half, "2"} {
			ctx := t.Context()
			if i == 0 {
				ctx = giveUp
			}
			go func() { _, results[i] = w.send(ctx, []byte(m)) }()
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		check.Equal(t, "messages that wait", len(w.waiting), 2) // the big one, and the one behind it
		close(g.pass)
		synctest.Wait()
		all := strings.Join(g.writes, "")
		want := half + "\n1\nbig" + half + half + "\n2\n"
		check.That(t, all == want, "got %d bytes, want %d, in the order of sending", len(all), len(want))
		check.That(t, errors.Is(results[0], context.Canceled) && errors.Join(results[1:]...) == nil,
			"got errors %v, want the first to be canceled", results)
		check.Equal(t, "bytes queued", w.queued, 0)
	})
}

// What was written in part may have arrived; what comes behind it has not.
func TestSendUnwritten(t *testing.T) {
	for name, test := range map[string]struct {
		written int // bytes of the second Write, of the messages 2 to 4
		want    []bool
	}{
		"nothing":      {0, []bool{false, true, true, true, true}},
		"a part":       {1, []bool{false, false, true, true, true}},
		"one":          {3, []bool{false, false, true, true, true}},
		"one and more": {4, []bool{false, false, false, true, true}},
		"all but one":  {8, []bool{false, false, false, false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pass, writes := make(chan struct{}), 0
				w := &writer{}
				w.dst = writerFunc(func(b []byte) (int, error) {
					<-pass
					if writes++; writes == 1 {
						return len(b), nil
					}
					return test.written, io.ErrClosedPipe
				})
				w.onError = func(error) { _, _ = w.send(t.Context(), []byte("{}")) } // before it is refused
				for range 4 {
					_, _ = w.send(t.Context(), []byte("{}"))
					synctest.Wait()
				}
				check.Equal(t, "a message is unwritten that waits to be written", w.unwritten(4), false)
				close(pass)
				synctest.Wait()
				for i, want := range test.want {
					check.Equal(t, fmt.Sprint("unwritten ", i+1), w.unwritten(int64(i+1)), want)
				}
			})
		})
	}
}

// While the last Write continues, nobody knows how much it will have written.
func TestUnwrittenDuringLastWrite(t *testing.T) {
	for takes, want := range map[time.Duration]bool{closingTime / 2: true, 2 * closingTime: false} {
		synctest.Test(t, func(t *testing.T) {
			w := &writer{dst: writerFunc(func([]byte) (int, error) {
				time.Sleep(takes)
				return 0, io.ErrClosedPipe
			}), onError: func(error) {}}
			_, _ = w.send(t.Context(), []byte("{}"))
			synctest.Wait()
			w.drop()
			check.Equal(t, fmt.Sprint("unwritten during a Write of ", takes), w.unwritten(1), want)
			w.wait(takes)
		})
	}
}
