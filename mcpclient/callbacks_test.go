package mcpclient_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/inquiry"
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
				check.Equal(t, "progress", n.Progress, float64(got))
				got++
			}))
			check.Equal(t, "notices when the call returned", got, notices)
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

// A flood of notifications for a slow handler delays no call and does not fill the memory; the log counts the dropped ones.
func TestFloodOfNotifications(t *testing.T) {
	const flood = 200_000
	eachEra(t, func(t *testing.T, era string, opts mcpclient.Options) {
		var seen atomic.Int64
		opts, log := logs(opts, slog.LevelWarn)
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
			kept := inUse() - before
			check.That(t, kept <= 2<<20, "%d notices keep %d bytes, want at most 2 MiB", flood, kept)
			time.Sleep(time.Minute)
			got, text := seen.Load(), log.String()
			check.That(t, got >= 1024 && got <= 1024+2*flood/1000, "the handler got %d notices, want those of 200 ms and 1,024 more", got)
			check.That(t, strings.Contains(text, "dropped notifications") && strings.Count(text, "\n") <= 2,
				"got the log %q, want two lines about what was dropped", text)
		})
	})
}

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

// A server that no longer reads delays neither calls beyond their deadlines nor Close, however large the pending message is.
func TestServerStopsReading(t *testing.T) {
	eachEra(t, func(t *testing.T, era string, opts mcpclient.Options) {
		overLines(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			p.conn.(lines).tap.shut.Store(true)
			args := map[string]string{"a": strings.Repeat("x", 4<<20)}
			for i := range 3 {
				start := time.Now()
				check.Is(t, check.Err(c.CallTool(withTimeout(t, time.Second), "a", args)), context.DeadlineExceeded, "call", i)
				within(t, "the call", start, time.Second)
			}
			pending := goCall(t.Context(), c, "b")
			synctest.Wait()
			start := time.Now()
			check.NoError(t, c.Close())
			check.Is(t, (<-pending).err, mcpclient.ErrClosed, "a call under way")
			within(t, "Close", start, time.Second)
		})
	})
}

// A late answer is dropped. Cancelled calls leave no memory behind, whether they are answered or not.
func TestLateAnswers(t *testing.T) {
	const calls = 2_000
	eachPeer(t, func(t *testing.T, era string, c *mcpclient.Client, p *peer) {
		giveUp := func(answered bool) {
			check.Is(t, check.Err(c.CallTool(t.Context(), "a", nil, mcpclient.WithTimeout(time.Millisecond))), context.DeadlineExceeded)
			m := p.next()
			if p.expect("notifications/cancelled"); answered {
				p.answer(m)
			}
		}
		giveUp(true)
		before := inUse()
		for i := range calls {
			giveUp(i%2 == 0)
		}
		kept := inUse() - before
		check.That(t, kept <= 64<<10, "%d calls that were given up keep %d bytes, want at most 64 KiB", calls, kept)
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
		check.That(t, got <= 64<<10, "the notices keep %d bytes, want at most 64 KiB", got)
		p.ask("7") // also if it was cancelled before it was sent
		m := p.next()
		check.That(t, string(m.ID) == "7" && m.Error == nil, "got %+v, want an answer", m)
	})
}

// The connection survives a panic of any callback. A callback on the caller's goroutine panics to the caller.
func TestPanics(t *testing.T) {
	const progressed = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$ID,"progress":1}}`
	for era, opts := range eras() {
		opts.Sampling = mcp.SamplingFunc(func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) { panic("oops") })
		opts.Elicitation = mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { panic("oops") })
		opts.OnNotification = func(*mcp.Notification) { panic("oops") }
		opts.Handlers = map[string]mcpclient.Handler{"x/exit": func(context.Context, *mcpclient.Request) (json.RawMessage, error) {
			runtime.Goexit() // as t.FailNow does
			return nil, nil
		}}
		why := map[string]string{"x/exit": "the handler ended its goroutine (runtime.Goexit, as t.FailNow calls it)"}
		for _, probe := range []struct {
			name, says string // during a call, whose id is $ID
			asks       string // the method of the server's question, or ""
			want       string // how the call ends
		}{
			{"sampling", question(era, "sampling/createMessage", samplingParams), "sampling/createMessage", "<nil>"},
			{"elicitation", question(era, "elicitation/create", askedForm), "elicitation/create", "<nil>"},
			{"exit", question(era, "x/exit", `{}`), "x/exit", "<nil>"},
			{"notification", `{"jsonrpc":"2.0","method":"n"}`, "", "<nil>"},
			{"progress", progressed, "", "panic: oops"},
		} {
			peerBubble(t, era+"/"+probe.name, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
				want := probe.want
				if era == "modern" && probe.asks != "" {
					want = fmt.Sprintf(`call tool "first": %s of the server: %s`, probe.asks, cmp.Or(why[probe.asks], "the handler panicked"))
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
				check.Equal(t, "the call ended with", <-done, want)
				if era == "legacy" && probe.asks != "" {
					p.refused(mcp.CodeInternalError)
				}
				go p.echo()
				callText(t, t.Context(), c, "second", "second")
			})
		}
	}
}

func (p *peer) askIn(call message, era, method, params string) {
	p.send("%s", strings.Replace(question(era, method, params), "$ID", string(call.ID), 1))
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
			go p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":%s}}`, exact)
			res, err := c.CallTool(t.Context(), "a", json.RawMessage(exact))
			check.That(t, err == nil && string(res.StructuredContent) == exact, "got %+v, %v, want %s", res, err, exact)
		})
	})
}

func TestCheckMessages(t *testing.T) {
	text := &mcp.TextContent{Text: "t"}
	use := func(id string) mcp.Content { return &mcp.ToolUseContent{ID: id, Name: "n"} }
	result := func(id string) mcp.Content { return &mcp.ToolResultContent{ToolUseID: id} }
	user := func(c ...mcp.Content) mcp.SamplingMessage { return mcp.SamplingMessage{Role: "user", Content: c} }
	model := func(c ...mcp.Content) mcp.SamplingMessage { return mcp.SamplingMessage{Role: "assistant", Content: c} }
	for _, test := range []struct {
		name     string
		messages []mcp.SamplingMessage
		want     string // "" when the messages are in order
	}{
		{"none", nil, ""},
		{"text", []mcp.SamplingMessage{user(text), model(text, text), user(text)}, ""},
		{"a use and its result", []mcp.SamplingMessage{user(text), model(text, use("a")), user(result("a"))}, ""},
		{"two uses", []mcp.SamplingMessage{model(use("a"), use("b")), user(result("b"), result("a")), model(text)}, ""},
		{"the same id later", []mcp.SamplingMessage{model(use("a")), user(result("a")), model(use("a")), user(result("a"))}, ""},
		{"unknown role", []mcp.SamplingMessage{{Role: "system"}}, `message 0: role "system"`},
		{"result for nothing", []mcp.SamplingMessage{user(result("a"))}, `message 0: tool result for "a"`},
		{"result twice", []mcp.SamplingMessage{model(use("a")), user(result("a"), result("a"))}, `message 1: tool result for "a"`},
		{"result of the model", []mcp.SamplingMessage{model(use("a")), model(result("a"))}, "message 1: tool result in an assistant message"},
		{"use of the user", []mcp.SamplingMessage{user(use("a"))}, "message 0: tool use in a user message"},
		{"use twice", []mcp.SamplingMessage{model(use("a"), use("a"))}, `message 0: tool use id "a" twice`},
		{"mixed", []mcp.SamplingMessage{model(use("a")), user(result("a"), text)}, "message 1: tool results are mixed"},
		{"result missing", []mcp.SamplingMessage{model(use("a"), use("b")), user(result("a"))}, "message 1: 1 tool uses before it have no result"},
		{"text between", []mcp.SamplingMessage{model(use("a")), user(text), user(result("a"))}, "message 1: 1 tool uses before it have no result"},
		{"no result at the end", []mcp.SamplingMessage{model(use("a"))}, "1 tool uses have no result"},
	} {
		err := inquiry.CheckMessages(test.messages)
		check.That(t, strings.HasPrefix(fmt.Sprint(err), cmp.Or(test.want, "<nil>")), "%s: got %v, want %q", test.name, err, test.want)
	}
}

// What was encoded can be decoded again.
func TestMessagesRoundTrip(t *testing.T) {
	one, two := 1.0, &mcp.TextContent{Text: "<b>"}
	for _, test := range []struct {
		value, into any
		want        string
	}{
		{&mcp.PromptMessage{Role: "user", Content: two}, new(mcp.PromptMessage), `{"role":"user","content":{"type":"text","text":"<b>"}}`},
		{&mcp.CallToolResult{Content: []mcp.Content{}}, new(mcp.CallToolResult), `{"content":[]}`},
		{&mcp.CallToolResult{Content: []mcp.Content{two}, IsError: true, StructuredContent: json.RawMessage(`{"a":9007199254740993}`), Meta: json.RawMessage(`{}`)},
			new(mcp.CallToolResult), `{"content":[{"type":"text","text":"<b>"}],"structuredContent":{"a":9007199254740993},"isError":true,"_meta":{}}`},
		{&mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: "h"}}, CostPriority: &one}, new(mcp.ModelPreferences), `{"hints":[{"name":"h"}],"costPriority":1}`},
	} {
		var raw strings.Builder
		e := json.NewEncoder(&raw)
		e.SetEscapeHTML(false)
		check.NoError(t, e.Encode(test.value))
		check.Equal(t, "encoded", strings.TrimSpace(raw.String()), test.want)
		check.NoError(t, json.Unmarshal([]byte(test.want), test.into), test.want)
		check.Same(t, test.want, test.into, test.value, cmpopts.IgnoreUnexported(mcp.CallToolResult{}))
	}
}

// The server gets content that its revision allows; other content is an error.
func TestAnswersOfRevisions(t *testing.T) {
	text, other := &mcp.TextContent{Text: "a"}, &mcp.TextContent{Text: "b"}
	image, audio := &mcp.ImageContent{MIMEType: "image/png"}, &mcp.AudioContent{MIMEType: "audio/wav"}
	use := &mcp.ToolUseContent{ID: "1", Name: "n"}
	const (
		empty      = `"content":{"type":"text","text":""}`
		one, two   = `"content":{"type":"text","text":"a"}`, `"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`
		joined     = `"content":{"type":"text","text":"a\nb"}`
		asImage    = `"content":{"type":"image","data":"","mimeType":"image/png"}`
		asAudio    = `"content":{"type":"audio","data":"","mimeType":"audio/wav"}`
		asUse      = `"content":{"type":"tool_use","id":"1","name":"n","input":{}}`
		unreadable = ""
	)
	for _, test := range []struct {
		content []mcp.Content
		want    [4]string // for the legacy revisions, oldest first
	}{
		{nil, [4]string{empty, empty, empty, empty}},
		{[]mcp.Content{text}, [4]string{one, one, one, one}},
		{[]mcp.Content{text, other}, [4]string{joined, joined, joined, two}},
		{[]mcp.Content{text, image}, [4]string{unreadable, unreadable, unreadable, `"content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"image/png"}]`}},
		{[]mcp.Content{image}, [4]string{asImage, asImage, asImage, asImage}},
		{[]mcp.Content{audio}, [4]string{unreadable, asAudio, asAudio, asAudio}},
		{[]mcp.Content{use}, [4]string{unreadable, unreadable, unreadable, asUse}},
	} {
		for i, revision := range []string{mcp.Revision20241105, mcp.Revision20250326, mcp.Revision20250618, mcp.Revision20251125} {
			synctest.Test(t, func(t *testing.T) {
				transport := newPeerTransport(t)
				transport.greet = func(p *peer) { p.greetWith(revision, `{}`) }
				o, log := logs(speaking(revision), slog.LevelInfo)
				connected(t, transport, samples(o, func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
					return &mcp.CreateMessageResult{Content: test.content}, nil
				}))
				p := <-transport.peers
				p.ask("1")
				m, want := p.next(), ""
				if test.want[i] != unreadable {
					want = `{"role":"assistant",` + test.want[i] + `,"model":""}`
				}
				refused := m.Error != nil && m.Error.Code == mcp.CodeInternalError
				check.That(t, string(m.Result) == want && (want == "") == refused, "%s: got %s, %v, want %s", revision, m.Result, m.Error, want)
				named := regexp.MustCompile(`of type \\"(audio|image|tool_use)`).MatchString(log.String())
				check.That(t, (want == "") == named, "%s: got the log %s, want the type that the server cannot read", revision, log.String())
			})
		}
	}
}

// visitor handles URLs. It accepts all except those that end in "decline".
type visitor struct {
	seen []string
	wait bool // for the completion
	done []<-chan struct{}
}

func (v *visitor) ElicitationCapability() mcp.ElicitationCapability {
	return mcp.ElicitationCapability{URL: true}
}

func (v *visitor) Elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	v.seen, v.done = append(v.seen, p.URL), append(v.done, mcpclient.ElicitationDone(ctx))
	if v.wait {
		<-mcpclient.ElicitationDone(ctx)
	}
	if path.Base(p.URL) == "decline" {
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
}

func visiting(o mcpclient.Options, v *visitor) mcpclient.Options {
	o.Elicitation = v
	return o
}

// wantVisits checks the error of a call that requires visits.
func wantVisits(t *testing.T, err error, why string, urls int) {
	t.Helper()
	wantCode(t, err, mcp.CodeURLElicitationNeeded)
	check.Text(t, err, why)
	check.Text(t, err, fmt.Sprintf("a person must visit URLs first (%d)", urls))
}

func TestURLElicitationError(t *testing.T) {
	person := new(visitor)
	playAll(t, []conversation{{name: "url_legacy", way: "pipe", opts: visiting(legacy(), person), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		start := time.Now()
		callText(t, ctx, c, "t", "done")
		check.Equal(t, "completed visits: took", time.Since(start), 2*time.Second)
		wantVisits(t, check.Err(c.CallTool(ctx, "t", nil)), "answer is decline", 2)
		start = time.Now()
		wantVisits(t, check.Err(c.CallTool(ctx, "t", nil)), "the server asks again", 1)
		check.Equal(t, "no word of completion: took", time.Since(start), 5*time.Minute)
		wantVisits(t, check.Err(c.CallTool(ctx, "t", nil)), "names none that is valid", 0)
		callText(t, ctx, c, "t", "done")
		for i := range person.seen {
			person.seen[i] = path.Base(person.seen[i])
		}
		check.Same(t, "visits", person.seen, []string{"one", "two", "decline", "silent", "one"})
	}}})
	form := asks(legacy())
	form.Sampling, form.Roots = nil, nil
	plain := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		err := check.Err(c.CallTool(ctx, "t", nil))
		check.That(t, !strings.Contains(err.Error(), "a person must visit"), "got %v, want the server's error alone", err)
		wantError[*mcp.RPCError](t, err)
	}
	playAll(t, []conversation{
		{name: "url_unhandled_legacy", opts: form, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			wantVisits(t, check.Err(c.CallTool(ctx, "t", nil)), "no handler for URLs", 1)
		}},
		{name: "url_2025-06-18", opts: visiting(speaking(mcp.Revision20250618), new(visitor)), play: plain},
		{name: "url_modern", opts: visiting(modern(), new(visitor)), play: plain},
	})
}

// A URL that runs code or reaches into the person's machine is never shown: the request is refused.
func TestURLsThatNobodyVisits(t *testing.T) {
	for _, url := range []string{"javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "ssh://example.com", "https:", "//example.com", "http://[::1", ""} {
		params := fmt.Sprintf(`{"mode":"url","elicitationId":"e","url":%q,"message":"m"}`, url)
		person := new(visitor)
		inBubble(t, visiting(legacy(), person), func(t *testing.T, c *mcpclient.Client, p *peer) {
			p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":%s}`, params)
			p.refused(mcp.CodeInvalidParams)
		})
		inBubble(t, visiting(modern(), person), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.replyAll(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":%s}}}}`, params)
			check.Is(t, check.Err(c.CallTool(t.Context(), "t", nil)), mcp.ErrInvalidResult, url)
			question := round(t, check.Err(c.CallTool(t.Context(), "t", nil, mcpclient.WithManualInput()))).Requests["k"]
			params, ok := inquiry.Elicitation(&question)
			check.That(t, !ok, "%q: by hand: got %+v, want none", url, params)
		})
		check.That(t, len(person.seen) == 0, "%q: the person was asked about %q", url, person.seen)
	}
}

// A server that asks for such visits without end does not fill the log.
func TestRefusedVisitsDoNotFillTheLog(t *testing.T) {
	wantBoundedLog(t, visiting(legacy(), new(visitor)), func(_ *testing.T, _ *mcpclient.Client, p *peer) {
		for id := range 1000 {
			p.send(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"javascript:x","message":"m"}}`, id)
			p.refused(mcp.CodeInvalidParams)
		}
	})
}

// A handler can wait for the completion itself.
func TestElicitationDone(t *testing.T) {
	playAll(t, []conversation{{name: "url_request_legacy", way: "pipe", opts: visiting(legacy(), &visitor{wait: true}), play: calls("t")}})
	check.That(t, mcpclient.ElicitationDone(t.Context()) == nil, "outside a handler: got a channel, want nil")
	person := new(visitor)
	inBubble(t, visiting(modern(), person), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			p.reply(`{"id":%s,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"https://example.com","message":"m"}}}}}`)
			p.echo()
		}()
		callText(t, t.Context(), c, "t", "t")
		check.That(t, len(person.done) == 1 && person.done[0] == nil, "in the modern era: got %v, want nil once", person.done)
	})
}

const visit = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"visit","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.com/e","message":"m"}]}}}`

// A call that waits for a visit ends with its context and with the client.
func TestVisitGivenUp(t *testing.T) {
	inBubble(t, visiting(legacy(), new(visitor)), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go p.each(func(m message) {
			if m.Method == "tools/call" {
				p.send(visit, m.ID)
			}
		})
		check.Is(t, check.Err(c.CallTool(t.Context(), "t", nil, mcpclient.WithTimeout(time.Second))), context.DeadlineExceeded)
		time.AfterFunc(time.Second, func() { _ = c.Close() })
		check.Is(t, check.Err(c.CallTool(t.Context(), "t", nil)), mcpclient.ErrClosed)
	})
}

// The number of elicitations that the server may report as complete is bounded: the oldest is forgotten.
func TestVisitsBound(t *testing.T) {
	person := new(visitor)
	inBubble(t, visiting(legacy(), person), func(t *testing.T, c *mcpclient.Client, p *peer) {
		for i := range 257 {
			p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","elicitationId":"%d","url":"https://example.com","message":"m"}}`, i)
			p.next()
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"0"}}`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"1"}}`)
		synctest.Wait()
		for i, want := range []bool{false, true, false} {
			got := false
			select {
			case <-person.done[i]:
				got = true
			default:
			}
			check.Equal(t, i, got, want)
		}
	})
}

// If the handler itself waits for completion, the call is repeated at once. A too long id is not remembered, and not reported.
func TestVisitsWithoutAWait(t *testing.T) {
	person := new(visitor)
	opts := visiting(legacy(), person)
	opts.Timeouts.URLElicitation = -1
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			p.reply(visit)
			p.answer(p.next())
		}()
		start := time.Now()
		callText(t, t.Context(), c, "t", "t")
		within(t, "the call", start, 0)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","elicitationId":"%s","url":"https://example.com","message":"m"}}`, strings.Repeat("x", 1<<10+1))
		p.next()
		check.That(t, len(person.done) == 2 && person.done[0] != nil && person.done[1] == nil, "got %v, want a channel for the first only", person.done)
	})
}
