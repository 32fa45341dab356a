package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// received is what came out of a reader, one entry for each message or
// message error, then how it ended.
type received struct {
	Lines []string
	Noise int
	End   string
}

func receiveAll(next func() ([]byte, error), noise func() (int, string)) (r received) {
	for {
		message, err := next()
		if e, ok := errors.AsType[*MessageError](err); ok {
			r.Lines = append(r.Lines, "too long: "+string(e.Prefix[:1]))
			continue
		}
		if err != nil {
			r.End = err.Error()
			r.Noise, _ = noise()
			return r
		}
		r.Lines = append(r.Lines, string(message))
	}
}

func TestLineReader(t *testing.T) {
	long := `{"long":"` + strings.Repeat("x", 3*readBuffer) + `"}`
	for _, test := range []struct {
		name, in string
		want     received
	}{
		{"nothing", "", received{End: "EOF"}},
		{"two", "{}\n[]\n", received{Lines: []string{"{}", "[]"}, End: "EOF"}},
		{"carriage returns", "{}\r\n\r\n[]\r\n", received{Lines: []string{"{}", "[]"}, End: "EOF"}},
		{"blank lines", "\n  \n\t{} \n\n", received{Lines: []string{"{}"}, End: "EOF"}},
		{"byte order mark", "\uFEFF{}\n{}\n", received{Lines: []string{"{}", "{}"}, End: "EOF"}},
		{"byte order mark on each line", "\uFEFF{}\n\uFEFF{}", received{Lines: []string{"{}", "{}"}, End: "EOF"}},
		{"noise", "Server 1.0\n{}\nnull\n42\n\"text\"\n", received{Lines: []string{"{}"}, Noise: 4, End: "EOF"}},
		{"spread over lines", "{\n  \"a\": [\n    \"}\\\"\"\n\n  ]\r\n}\n{}\n", received{Lines: []string{"{ \"a\": [ \"}\\\"\" ] }", "{}"}, End: "EOF"}},
		{"spread over lines without indents", "{\n\"a\": 1,\n\"b\": [\n]\n}", received{Lines: []string{"{ \"a\": 1, \"b\": [ ] }"}, End: "EOF"}},
		{"spread around noise", "{\nINFO\n  \"a\": 1\n}\n", received{Lines: []string{"{ \"a\": 1 }"}, Noise: 1, End: "EOF"}},
		{"spread and interrupted", "[\n  1,\n{\n{}\n", received{Lines: []string{"[ 1,", "{", "{}"}, End: "EOF"}},
		{"spread and closed too often", "{\n  \"a\": 1 ]}}\n{}\n", received{Lines: []string{"{ \"a\": 1 ]}}", "{}"}, End: "EOF"}},
		{"spread and cut off", "{}\n{\n  \"a\": 1", received{Lines: []string{"{}"}, End: "unexpected EOF"}},
		{"a comma at the end", "[10:15:00] started,\n{}\n[1],\n", received{Lines: []string{"[10:15:00] started,", "{}", "[1],"}, End: "EOF"}},
		{"no newline at the end", "{}\n{\"a\":1}", received{Lines: []string{"{}", `{"a":1}`}, End: "EOF"}},
		{"cut off", "{}\n{\"a\":", received{Lines: []string{"{}"}, End: "unexpected EOF"}},
		{"noise at the end", "{}\nbye", received{Lines: []string{"{}"}, Noise: 1, End: "EOF"}},
		{"long", long + "\n{}\n" + long + "\n" + long, received{Lines: []string{long, "{}", long, long}, End: "EOF"}},
		{"long and cut off", long[:2*readBuffer], received{End: "unexpected EOF"}},
	} {
		for kind, wrap := range map[string]func(io.Reader) io.Reader{
			"whole":          func(r io.Reader) io.Reader { return r },
			"bytes":          iotest.OneByteReader,
			"data and error": iotest.DataErrReader,
		} {
			t.Run(test.name+"/"+kind, func(t *testing.T) {
				l := &lineReader{src: wrap(strings.NewReader(test.in)), max: 1 << 20}
				if diff := cmp.Diff(test.want, receiveAll(l.next, l.noise)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
	}
}

func TestLineReaderBound(t *testing.T) {
	for _, limit := range []int{2, 64, readBuffer - 1, readBuffer, readBuffer + 1, 3*readBuffer + 7} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			fits := "{" + strings.Repeat("x", limit-1)
			in := fits + "\n" + fits + "x\n" + fits + "xx\n{}\n" + strings.Repeat("[", 5*limit) + "\n{}\n"
			l := &lineReader{src: strings.NewReader(in), max: limit}
			want := received{
				Lines: []string{fits, "too long: {", "too long: {", "{}", "too long: [", "{}"},
				End:   "EOF",
			}
			if diff := cmp.Diff(want, receiveAll(l.next, l.noise)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The bound is on the message, however many lines it has, and what is over it is
// passed over up to its end.
func TestLineReaderSpreadBound(t *testing.T) {
	const limit = 100
	long := strings.Repeat("x", 2*limit)
	for name, test := range map[string]struct {
		in   string
		want received
	}{
		"at the bound":    {"[\n \"" + long[:limit-6] + "\"\n]\n", received{Lines: []string{"[ \"" + long[:limit-6] + "\" ]"}, End: "EOF"}},
		"over the bound":  {"[\n \"" + long[:limit-5] + "\"\n]\n{}\n", received{Lines: []string{"too long: [", "{}"}, End: "EOF"}},
		"many lines":      {"{\n" + strings.Repeat("  \"a\": {\n    \"id\": 1\n  },\n", 30) + "\"z\": 1\n}\n{}\n", received{Lines: []string{"too long: {", "{}"}, End: "EOF"}},
		"long lines":      {"{\n  \"a\": \"" + long + "\",\n  \"b\": \"" + long + "\"\n}\n{}\n", received{Lines: []string{"too long: {", "{}"}, End: "EOF"}},
		"long first line": {"{\"a\": \"" + long + "\",\n  \"b\": 1\n}\n{}\n", received{Lines: []string{"too long: {", "{}"}, Noise: 2, End: "EOF"}},
		"interrupted":     {"{\n  \"a\": 1\n{\"b\": \"" + long + "\"}\n  \"c\": 1\n}\n{}\n", received{Lines: []string{"too long: {", "{}"}, Noise: 2, End: "EOF"}},
		"never ends":      {"{\n" + strings.Repeat("  \"a\": 1,\n", limit), received{Lines: []string{"too long: {"}, End: "unexpected EOF"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lineReader{src: strings.NewReader(test.in), max: limit}
			if diff := cmp.Diff(test.want, receiveAll(l.next, l.noise)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(l.spread.text) > limit {
				t.Errorf("%d bytes are kept", len(l.spread.text))
			}
		})
	}
}

// repeat is a reader that gives the same byte again and again.
type repeat struct {
	b    byte
	left int
}

func (r *repeat) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := min(len(b), r.left, 64<<10)
	for i := range b[:n] {
		b[i] = r.b
	}
	r.left -= n
	return n, nil
}

// A line without an end is reported when it passes the bound, not when it
// ends, and is passed over in constant memory.
func TestLineReaderEndlessLine(t *testing.T) {
	const limit, size = 8 << 20, 100 << 20
	endless := &repeat{'[', size}
	l := &lineReader{src: io.MultiReader(endless, strings.NewReader("\n{}\n")), max: limit}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := l.next()
	e, ok := errors.AsType[*MessageError](err)
	if !ok || !errors.Is(err, ErrMessageTooLarge) || len(e.Prefix) != readBuffer {
		t.Fatalf("got error %v, want a MessageError with %d bytes", err, readBuffer)
	}
	if !strings.Contains(err.Error(), "8388608 bytes") || !strings.Contains(err.Error(), "MaxMessage") {
		t.Errorf("error %q names neither the limit nor the field", err)
	}
	if read := size - endless.left; read > limit+maxChunk {
		t.Errorf("reported after %d bytes, want about %d", read, limit)
	}
	if message, err := l.next(); err != nil || string(message) != "{}" {
		t.Errorf("behind the long line: got %q and error %v, want {}", message, err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*limit {
		t.Errorf("allocated %d bytes in all, want at most %d", got, 2*limit)
	}
}

// What was read for a long message is not kept, and the message has no room to
// spare.
func TestLineReaderKeepsNothing(t *testing.T) {
	l := &lineReader{max: 1 << 30}
	idle := false
	l.src = io.MultiReader(strings.NewReader("["+strings.Repeat("x", 5<<20)+"\n{"), strings.NewReader("}\n"), readerFunc(func(b []byte) (int, error) {
		idle = true
		if len(b) > idleBuffer || l.large != nil || cap(l.data) > idleBuffer {
			t.Errorf("%d bytes and a large buffer (%t) are kept while nothing comes, want %d", len(b), l.large != nil, idleBuffer)
		}
		return 0, io.EOF
	}))
	message, err := l.next()
	if err != nil || len(message) != 5<<20+1 || cap(message) > len(message)+len(message)/8 {
		t.Fatalf("got %d bytes of %d and error %v, want %d", len(message), cap(message), err, 5<<20+1)
	}
	if message, err := l.next(); err != nil || string(message) != "{}" {
		t.Errorf("got %q and error %v, want {}", message, err)
	}
	if _, err := l.next(); err != io.EOF || !idle {
		t.Errorf("got %v, want %v after a read", err, io.EOF)
	}
}

func TestLineReaderNoProgress(t *testing.T) {
	l := &lineReader{src: readerFunc(func([]byte) (int, error) { return 0, nil }), max: 100}
	if _, err := l.next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v, want %v", err, io.ErrNoProgress)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// reference does what a lineReader does, on all of the input at once.
func reference(in []byte, limit int) (r received) {
	r.End = "EOF"
	var message string // that is spread over lines
	open, over := 0, false
	tooLong := func(begin string) {
		if !over {
			r.Lines = append(r.Lines, "too long: "+begin[:1])
		}
	}
	lines := strings.Split(string(in), "\n")
	for i, line := range lines {
		last := i == len(lines)-1
		part := open > 0 && line != "" && strings.Contains(" \t\"}]", line[:1])
		switch {
		case len(line) > limit && part:
			tooLong(message)
			over = true
			continue
		case len(line) > limit:
			r.Lines = append(r.Lines, "too long: "+line[:1])
			open, over = 0, false
			continue
		}
		line = strings.TrimPrefix(line, "\uFEFF")
		text := strings.Trim(line, blanks)
		begins := text != "" && (text[0] == '{' || text[0] == '[')
		if last && begins && !json.Valid([]byte(text)) {
			open, r.End = 0, "unexpected EOF"
			break
		}
		part = open > 0 && line != "" && strings.Contains(" \t\"}]", line[:1])
		switch {
		case text == "":
		case part:
			if open = max(0, open+balance(text)); !over && len(message)+1+len(text) > limit {
				tooLong(message)
				over = true
			}
			message += " " + text
			if open == 0 && !over {
				r.Lines = append(r.Lines, message)
			}
			over = over && open > 0
		case !begins:
			r.Noise++
			if answer := jsonrpc.Behind([]byte(text)); answer != nil {
				r.Lines = append(r.Lines, string(answer))
			}
		default:
			if open > 0 && !over {
				r.Lines = append(r.Lines, message)
			}
			open, over = 0, false
			if strings.Contains("{[,", text[len(text)-1:]) && balance(text) > 0 {
				message, open = text, balance(text)
				continue
			}
			r.Lines = append(r.Lines, text)
		}
	}
	if open > 0 {
		r.End = "unexpected EOF"
	}
	return r
}

var stringInLine = regexp.MustCompile(`"(\\.?|[^"\\])*"?`)

// balance is the number of brackets that a line opens, less those it closes.
func balance(line string) (n int) {
	for _, c := range stringInLine.ReplaceAllString(line, "") {
		switch c {
		case '{', '[':
			n++
		case '}', ']':
			n--
		}
	}
	return n
}

func FuzzLineReader(f *testing.F) {
	f.Add([]byte("{}\n\r\nnoise\n[1,2]\n{\"a\":1}"), uint16(10), uint16(3))
	f.Add([]byte("\uFEFF{}\n\uFEFF{}"), uint16(100), uint16(1))
	f.Add([]byte("{\n  \"a\": [\n    \"}\\\"\"\r\n  ],\nINFO\n\"b\": 1\n}\n[\n{\n{}\n"), uint16(100), uint16(7))
	f.Add([]byte("a {\"id\":1,\"result\":{}} b\n\x1e{}\x00\n"), uint16(100), uint16(7))
	f.Add([]byte("{\n  \"a\": \"long enough\",\n  \"b\": 1\n}\n{}\n"), uint16(12), uint16(100))
	f.Add([]byte("{"+strings.Repeat("x", 9000)+"\n{}\n"), uint16(8999), uint16(5000))
	f.Add([]byte("{"+strings.Repeat("x", 9000)+"}\n"+strings.Repeat("y", 5000)+"\n{}"), uint16(20000), uint16(1))
	f.Fuzz(func(t *testing.T, in []byte, limit, piece uint16) {
		src := bytes.NewReader(in)
		l := &lineReader{max: int(limit) + 1, src: readerFunc(func(b []byte) (int, error) {
			return src.Read(b[:min(len(b), int(piece)+1)])
		})}
		if diff := cmp.Diff(reference(in, l.max), receiveAll(l.next, l.noise)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// newTestStream is a stream over a pair of io.Pipes: what is sent comes out of
// the reader, and what is written to the writer is received.
func newTestStream(t *testing.T) (Conn, *io.PipeReader, *io.PipeWriter) {
	t.Helper()
	fromServer, toClient := io.Pipe()
	fromClient, toServer := io.Pipe()
	conn, err := (&IO{Reader: fromServer, Writer: toServer}).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, fromClient, toClient
}

// A sender's deadline holds although nobody reads; the message that was begun
// is finished, and the one that was given up is never begun.
func TestSendDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, server, _ := newTestStream(t)
		big := "{" + strings.Repeat("x", 4<<20) + "}"
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := conn.Send(ctx, []byte(big)); err != nil {
			t.Fatalf("first message: %v", err)
		}
		began := time.Now()
		if err := conn.Send(ctx, []byte(`{"lost":true}`)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("Send took %v, want %v", took, time.Second)
		}
		if err := conn.Send(ctx, []byte("{}")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a context that has ended: got %v, want the deadline", err)
		}
		sent := make(chan error, 1)
		go func() { sent <- conn.Send(t.Context(), []byte(`{"after":true}`)) }()
		l := &lineReader{src: server, max: 8 << 20}
		for _, want := range []string{big, `{"after":true}`} {
			if got, err := l.next(); err != nil || string(got) != want {
				t.Errorf("got %.20q… and error %v, want %.20q…", got, err, want)
			}
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
}

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
		o := &outbox{dst: g}
		_ = o.send(t.Context(), []byte("first"))
		synctest.Wait()
		for range 64 {
			if err := o.send(t.Context(), []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		close(g.pass)
		synctest.Wait()
		want := []string{"first\n", strings.Repeat("{}\n", 64)}
		if diff := cmp.Diff(want, g.writes); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if o.writing {
			t.Error("the writing goroutine is still there")
		}
		if kept := cap(o.next) + cap(o.spare); kept > 2*keptQueue {
			t.Errorf("%d bytes of buffers are kept", kept)
		}
	})
}

// taker is a gate that takes some of what it is offered.
type taker struct {
	gate
	takes   int    // bytes of each offer, at most
	offered func() // is called meanwhile; nil for nothing
}

func (t *taker) offer(b []byte) int {
	if t.offered != nil {
		t.offered()
	}
	n := min(t.takes, len(b))
	t.writes = append(t.writes, "offered "+string(b[:n]))
	return n
}

func TestSendOffers(t *testing.T) {
	for _, test := range []struct {
		name  string
		takes int
		want  []string
	}{
		{"all", 100, []string{"offered first\n", "offered second\n", "offered third\n"}},
		{"some", 2, []string{"offered fi", "rst\n", "second\nthird\n"}},
		{"nothing", 0, []string{"offered ", "first\n", "second\nthird\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := &taker{gate: gate{pass: make(chan struct{})}, takes: test.takes}
				o := &outbox{dst: to, offers: to}
				for _, m := range []string{"first", "second", "third"} {
					if err := o.send(t.Context(), []byte(m)); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				close(to.pass)
				synctest.Wait()
				if diff := cmp.Diff(test.want, to.writes); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if all := test.takes > len("second"); all && o.run != nil {
					t.Error("there was a writing goroutine, want none")
				}
				if o.writing || o.queued != 0 {
					t.Errorf("writing is %v and %d bytes are counted as queued, want an end", o.writing, o.queued)
				}
			})
		})
	}
}

// Messages that come together go out together, and one that comes alone is offered
// again.
func TestSendOffersWhatIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &taker{gate: gate{pass: make(chan struct{})}, takes: 100}
		o := &outbox{dst: to, offers: to}
		send := func(m string) {
			if err := o.send(t.Context(), []byte(m)); err != nil {
				t.Error(err)
			}
		}
		to.offered = func() {
			to.offered = nil
			send("second")
			send("third")
		}
		close(to.pass)
		for _, m := range []string{"first", "fourth", "fifth"} {
			send(m)
			synctest.Wait()
		}
		want := []string{"offered first\n", "second\nthird\n", "fourth\n", "offered fifth\n"}
		if diff := cmp.Diff(want, to.writes); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// What comes while a message is offered follows what was left of that.
func TestSendBehindOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &taker{gate: gate{pass: make(chan struct{})}, takes: 2}
		o := &outbox{dst: to, offers: to}
		to.offered = func() {
			if err := o.send(t.Context(), []byte("second")); err != nil {
				t.Error(err)
			}
		}
		close(to.pass)
		if err := o.send(t.Context(), []byte("first")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := []string{"offered fi", "rst\nsecond\n"}
		if diff := cmp.Diff(want, to.writes); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// The buffer of a large message is not kept, also when Offer took most of it.
func TestSendOffersMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &taker{gate: gate{pass: make(chan struct{})}, takes: 5 * keptQueue}
		close(to.pass)
		o := &outbox{dst: to, offers: to}
		if err := o.send(t.Context(), make([]byte, 5*keptQueue)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(to.writes) != 2 || to.writes[1] != "\n" {
			t.Fatalf("got %d writes, want two, the second of the newline", len(to.writes))
		}
		if o.next != nil || o.spare != nil {
			t.Errorf("buffers of %d and %d bytes are kept, want none: they are parts of a larger one", cap(o.next), cap(o.spare))
		}
	})
}

// What comes while a large message is written has a buffer of its own.
func TestSendBuffersApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		o := &outbox{dst: g}
		large := strings.Repeat("l", 2*keptQueue)
		for i, m := range []string{"first", large, "second", "third"} {
			if err := o.send(t.Context(), []byte(m)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if i != 1 {
				g.pass <- struct{}{}
				synctest.Wait()
			}
		}
		close(g.pass)
		synctest.Wait()
		if got, want := strings.Join(g.writes, ""), "first\n"+large+"\nsecond\nthird\n"; got != want {
			t.Errorf("got %d bytes that end with %q, want %d", len(got), got[max(0, len(got)-20):], len(want))
		}
	})
}

// The wait for the end of writing ends with it, each time.
func TestSendWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		o := &outbox{dst: g}
		for range 2 {
			began := time.Now()
			_ = o.send(t.Context(), []byte("{}"))
			time.AfterFunc(time.Second, func() { g.pass <- struct{}{} })
			o.wait(time.Minute)
			if took := time.Since(began); took != time.Second {
				t.Errorf("waited %v, want %v", took, time.Second)
			}
		}
	})
}

// Nothing is written after an error.
func TestSendNothingAfterError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pass, calls := make(chan struct{}), 0
		o := &outbox{dst: writerFunc(func([]byte) (int, error) { <-pass; calls++; return 0, io.ErrShortWrite })}
		o.failed = func(err error) { o.shut(err) }
		for range 3 {
			_ = o.send(t.Context(), []byte("{}"))
			synctest.Wait()
		}
		close(pass)
		synctest.Wait()
		if calls != 1 || o.queued != 0 || o.next != nil {
			t.Errorf("got %d calls, %d bytes counted as queued and %q, want one call and nothing queued", calls, o.queued, o.next)
		}
	})
}

// What is wrong with a writer is said by its Write.
func TestSendOffersInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		to := &taker{gate: gate{pass: make(chan struct{}), err: broken}}
		o := &outbox{dst: to, offers: to}
		o.failed = func(err error) { o.shut(err) }
		close(to.pass)
		if err := o.send(t.Context(), []byte("first")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := o.send(t.Context(), []byte("second")); err != broken {
			t.Errorf("got error %v, want %v", err, broken)
		}
	})
}

// Who waits for room is served in order, and one that gives up lets those
// behind it through.
func TestSendQueueBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		o := &outbox{dst: g}
		half := strings.Repeat("h", maxQueued/2)
		_ = o.send(t.Context(), []byte(half))
		giveUp, cancel := context.WithCancel(t.Context())
		results := make([]error, 4)
		for i, m := range []string{"big" + half + half, "1", "big" + half + half, "2"} {
			ctx := t.Context()
			if i == 0 {
				ctx = giveUp
			}
			go func() { results[i] = o.send(ctx, []byte(m)) }()
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		if n := len(o.waiting); n != 2 {
			t.Fatalf("%d messages wait, want 2: the big one, and the one behind it", n)
		}
		close(g.pass)
		synctest.Wait()
		all := strings.Join(g.writes, "")
		if want := half + "\n1\nbig" + half + half + "\n2\n"; all != want {
			t.Errorf("got %d bytes, want %d, in the order of sending", len(all), len(want))
		}
		if !errors.Is(results[0], context.Canceled) || errors.Join(results[1:]...) != nil {
			t.Errorf("got errors %v, want the first to be canceled", results)
		}
		if o.queued != 0 {
			t.Errorf("%d bytes are counted as queued, want none", o.queued)
		}
	})
}

func TestSendRefusesNewline(t *testing.T) {
	conn, _, _ := newTestStream(t)
	if err := conn.Send(t.Context(), []byte("{\n}")); err == nil || !strings.Contains(err.Error(), "newline") {
		t.Errorf("got %v, want an error about the newline", err)
	}
}

// Messages of many senders come out whole, whatever their size.
func TestSendConcurrently(t *testing.T) {
	const senders, each = 16, 50
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	never, _ := io.Pipe()
	conn, err := (&IO{Reader: never, Writer: w}).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				m := fmt.Sprintf("[%d,%d,%q]", s, i, strings.Repeat("x", s*i*23))
				if err := conn.Send(t.Context(), []byte(m)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	defer conn.Close()
	defer wg.Wait()
	var next [senders]int
	l := &lineReader{src: r, max: 1 << 20}
	for range senders * each {
		m, err := l.next()
		if err != nil {
			t.Fatal(err)
		}
		var s, i int
		if _, err := fmt.Sscanf(string(m), "[%d,%d,", &s, &i); err != nil {
			t.Fatalf("torn message %.60q: %v", m, err)
		}
		want := fmt.Sprintf("[%d,%d,%q]", s, next[s], strings.Repeat("x", s*next[s]*23))
		if string(m) != want {
			t.Fatalf("got %.60q, want %.60q", m, want)
		}
		next[s]++
	}
}

func TestWriteErrorEndsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, server, _ := newTestStream(t)
		broken := errors.New("broken")
		server.CloseWithError(broken)
		if err := conn.Send(t.Context(), []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Recv(); !errors.Is(err, broken) {
			t.Errorf("Recv: got %v, want %v", err, broken)
		}
		if err := conn.Send(t.Context(), []byte("{}")); !errors.Is(err, broken) {
			t.Errorf("Send: got %v, want %v", err, broken)
		}
	})
}

func TestStreamCloseUnblocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, _, _ := newTestStream(t)
		results := make(chan error, 3)
		go func() { _, err := conn.Recv(); results <- err }()
		if err := conn.Send(t.Context(), bytes.Repeat([]byte("x"), maxQueued)); err != nil {
			t.Fatal(err)
		}
		go func() { results <- conn.Send(t.Context(), []byte("{}")) }()
		synctest.Wait()
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		results <- conn.Send(t.Context(), []byte("{}"))
		for range 3 {
			if err := <-results; !errors.Is(err, ErrClosed) {
				t.Errorf("got %v, want %v", err, ErrClosed)
			}
		}
		if err := conn.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if _, err := conn.Recv(); !errors.Is(err, ErrClosed) {
			t.Errorf("Recv after Close: got %v, want %v", err, ErrClosed)
		}
	})
}

func TestStreamCloseWritesWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, server, _ := newTestStream(t)
		got := make(chan string, 1)
		go func() {
			time.Sleep(closingTime / 2)
			b, _ := io.ReadAll(server)
			got <- string(b)
		}()
		_ = conn.Send(t.Context(), []byte(`{"method":"notifications/cancelled"}`))
		conn.Close()
		if got, want := <-got, "{\"method\":\"notifications/cancelled\"}\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	for _, size := range []int{100, 1 << 20} {
		b.Run(fmt.Sprintf("io.Pipe/%d", size), func(b *testing.B) {
			r1, w1 := io.Pipe()
			r2, w2 := io.Pipe()
			benchmarkRoundTrip(b, size, &IO{Reader: r1, Writer: w2}, &IO{Reader: r2, Writer: w1})
		})
		b.Run(fmt.Sprintf("os.Pipe/%d", size), func(b *testing.B) {
			r1, w1, err1 := os.Pipe()
			r2, w2, err2 := os.Pipe()
			if err := errors.Join(err1, err2); err != nil {
				b.Fatal(err)
			}
			benchmarkRoundTrip(b, size, &IO{Reader: r1, Writer: w2}, &IO{Reader: r2, Writer: w1})
		})
	}
}

// benchmarkRoundTrip measures one message there and back.
func benchmarkRoundTrip(b *testing.B, size int, there, back Transport) {
	client, err1 := there.Dial(b.Context())
	server, err2 := back.Dial(b.Context())
	if err := errors.Join(err1, err2); err != nil {
		b.Fatal(err)
	}
	benchmarkConns(b, size, client, server)
}

func benchmarkConns(b *testing.B, size int, client, server Conn) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			m, err := server.Recv()
			if err != nil {
				return
			}
			_ = server.Send(b.Context(), m)
		}
	})
	message := []byte("[" + strings.Repeat("1", size-2) + "]")
	b.SetBytes(int64(2 * size))
	b.ReportAllocs()
	for b.Loop() {
		if err := client.Send(b.Context(), message); err != nil {
			b.Fatal(err)
		}
		if _, err := client.Recv(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	client.Close()
	server.Close()
	wg.Wait()
}
