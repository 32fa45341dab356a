package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Every progress notification that precedes a response is delivered before the call returns.
func TestProgressBeforeResponse(t *testing.T) {
	eachEra(t, func(t *testing.T, era string, opts mcpclient.Options) {
		overLines(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			const notices = 100
			go func() {
				m := p.next()
				var all strings.Builder
				for i := range notices {
					fmt.Fprintf(&all, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`+"\n", m.ID, i)
				}
				p.send("%s%s", all.String(), answerTo(m)) // in one write
			}()
			got := 0
			callText(t, t.Context(), c, "a", "a", mcpclient.WithProgress(func(n mcp.Progress) {
				equal(t, "progress", n.Progress, float64(got))
				got++
			}))
			equal(t, "notices when the call returned", got, notices)
		})
	})
}

// inUse returns the bytes on the heap that are reachable.
func inUse() int64 {
	var m runtime.MemStats
	synctest.Wait()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A flood of notifications for a slow handler delays no call and does not fill the memory; the
// log counts the dropped ones.
func TestFloodOfNotifications(t *testing.T) {
	const flood = 200_000
	eachEra(t, func(t *testing.T, era string, opts mcpclient.Options) {
		var seen atomic.Int64
		var log logged
		opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		opts.OnNotification = func(*mcp.Notification) {
			seen.Add(1)
			time.Sleep(time.Millisecond)
		}
		overLines(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			before, start := inUse(), time.Now()
			go func() {
				m := p.next()
				notices := strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`+"\n", 1000)
				for range flood / 1000 {
					p.send("%s", notices)
					time.Sleep(time.Millisecond)
				}
				p.answer(m)
			}()
			callText(t, t.Context(), c, "a", "a")
			within(t, "the call", start, flood/1000*time.Millisecond)
			if got := inUse() - before; got > 2<<20 {
				t.Errorf("%d notices keep %d bytes, want at most 2 MiB", flood, got)
			}
			time.Sleep(time.Minute)
			if got := seen.Load(); got < 1024 || got > 1024+2*flood/1000 {
				t.Errorf("the handler got %d notices, want those of 200 ms and 1,024 more", got)
			}
			if text := log.String(); !strings.Contains(text, "dropped notifications") || strings.Count(text, "\n") > 2 {
				t.Errorf("got the log %q, want two lines about what was dropped", text)
			}
		})
	})
}

// logged is a log to which several goroutines write.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A server that no longer reads delays neither calls beyond their deadlines nor Close, however
// large the pending message is.
func TestServerStopsReading(t *testing.T) {
	eachEra(t, func(t *testing.T, era string, opts mcpclient.Options) {
		overLines(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			p.conn.(lines).tap.shut.Store(true)
			args := map[string]string{"a": strings.Repeat("x", 4<<20)}
			for i := range 3 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				start := time.Now()
				_, err := c.CallTool(ctx, "a", args)
				cancel()
				wrong(t, !errors.Is(err, context.DeadlineExceeded), "call %d: got %v, want %v", i, err, context.DeadlineExceeded)
				within(t, "the call", start, time.Second)
			}
			pending := goCall(t.Context(), c, "b")
			synctest.Wait()
			start := time.Now()
			noError(t, c.Close())
			got := <-pending
			wrong(t, !errors.Is(got.err, mcpclient.ErrClosed), "a call under way: got %v, want %v", got.err, mcpclient.ErrClosed)
			within(t, "Close", start, time.Second)
		})
	})
}

// A late answer is dropped. Cancelled calls leave no memory behind, whether they are answered
// or not.
func TestLateAnswers(t *testing.T) {
	const calls = 2_000
	eachPeer(t, func(t *testing.T, era string, c *mcpclient.Client, p *peer) {
		giveUp := func(answered bool) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			wantIs(t, errOf(c.CallTool(ctx, "a", nil)), context.DeadlineExceeded)
			m := p.next()
			notice := p.next()
			wrong(t, notice.Method != "notifications/cancelled", "got %s, want the notice that the call is cancelled", notice.Method)
			if answered {
				p.answer(m)
			}
		}
		giveUp(true)
		before := inUse()
		for i := range calls {
			giveUp(i%2 == 0)
		}
		got := inUse() - before
		wrong(t, got > 64<<10, "%d calls that were given up keep %d bytes, want at most 64 KiB", calls, got)
		go p.echo()
		callText(t, t.Context(), c, "b", "b")
	})
}

// Cancellations of requests that are not being answered are ignored.
func TestFloodOfCancellations(t *testing.T) {
	inBubble(t, asks(legacy()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		before := inUse()
		for i := range 50_000 {
			p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"%d-%s"}}`, i, "an id that nobody knows")
		}
		got := inUse() - before
		wrong(t, got > 64<<10, "the notices keep %d bytes, want at most 64 KiB", got)
		p.ask("7") // also if it was cancelled before it was sent
		m := p.next()
		wrong(t, string(m.ID) != "7" || m.Error != nil, "got %+v, want an answer", m)
	})
}

// A person may take an hour to answer.
func TestSlowHuman(t *testing.T) {
	eachEra(t, func(t *testing.T, era string, opts mcpclient.Options) {
		opts = samples(opts, func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			time.Sleep(time.Hour)
			return tea(), nil
		})
		overLines(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			go askOnce(p, era)
			callText(t, t.Context(), c, "a", "a")
		})
	})
}

// askOnce sends a sampling request during the next call, and answers the call after the
// response or refusal.
func askOnce(p *peer, era string) {
	call := p.next()
	if era == "modern" {
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"1":%s}}}`, call.ID, samplingQuestion)
		p.echo()
		return
	}
	p.ask("1")
	for m := range p.inbox {
		if string(m.ID) == "1" {
			p.answer(call)
			break
		}
	}
	p.echo()
}

// The connection survives a panic of any callback. A callback on the caller's goroutine panics
// to the caller.
func TestPanics(t *testing.T) {
	const form = `{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}}}`
	const progressed = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$ID,"progress":1}}`
	for era, opts := range eras() {
		opts.Sampling = mcp.SamplingFunc(func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			panic("oops")
		})
		opts.Elicitation = mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { panic("oops") })
		opts.OnNotification = func(*mcp.Notification) { panic("oops") }
		for _, probe := range []struct {
			name, says string // during a call, whose id is $ID
			asks       string // the method of the server's question, or ""
			want       string // how the call ends
		}{
			{"sampling", question(era, "sampling/createMessage", samplingParams), "sampling/createMessage", "<nil>"},
			{"elicitation", question(era, "elicitation/create", form), "elicitation/create", "<nil>"},
			{"notification", `{"jsonrpc":"2.0","method":"n"}`, "", "<nil>"},
			{"progress", progressed, "", "panic: oops"},
		} {
			t.Run(era+"/"+probe.name, func(t *testing.T) {
				inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
					want := probe.want
					if era == "modern" && probe.asks != "" {
						want = fmt.Sprintf(`call tool "first": %s of the server: the handler panicked`, probe.asks)
					}
					done := make(chan string, 1)
					go func() {
						defer func() {
							if p := recover(); p != nil {
								done <- fmt.Sprint("panic: ", p)
							}
						}()
						_, err := c.CallTool(t.Context(), "first", nil, mcpclient.WithProgress(func(mcp.Progress) { panic("oops") }))
						done <- fmt.Sprint(err)
					}()
					m := p.next()
					p.send("%s", strings.ReplaceAll(probe.says, "$ID", string(m.ID)))
					synctest.Wait()
					if len(done) == 0 {
						p.answer(m)
					}
					equal(t, "the call ended with", <-done, want)
					if era == "legacy" && probe.asks != "" {
						p.refused(mcp.CodeInternalError)
					}
					go p.echo()
					callText(t, t.Context(), c, "second", "second")
				})
			})
		}
	}
}

// question returns the server's question in the call with the id $ID.
func question(era, method, params string) string {
	if era == "modern" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"input_required","inputRequests":{"q":{"method":%q,"params":%s}}}}`, method, params)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"q","method":%q,"params":%s}`, method, params)
}

// Integers beyond JavaScript's range arrive unchanged in both directions.
func TestExactIntegers(t *testing.T) {
	const exact = `{"n":9007199254740993,"m":-9223372036854775807,"f":1.10}`
	eachEra(t, func(t *testing.T, era string, opts mcpclient.Options) {
		overLines(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			go func() {
				m := p.next()
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":%s}}`, m.ID, exact)
			}()
			res, err := c.CallTool(t.Context(), "a", json.RawMessage(exact))
			wrong(t, err != nil || string(res.StructuredContent) != exact, "got %+v, %v, want %s", res, err, exact)
		})
	})
}
