package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// received is what came out of a reader, one entry for each message or message error, then how it ended.
type received struct {
	Lines   []string
	Skipped int
	End     string
}

func receiveAll(l *lineReader) (r received) {
	l.skipped.setObserver(func(string) { r.Skipped++ })
	for {
		message, err := l.next()
		if e, ok := errors.AsType[*transport.MessageError](err); ok {
			r.Lines = append(r.Lines, "too long: "+string(e.Prefix[:1]))
			continue
		}
		if err != nil {
			r.End = err.Error()
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
		{"skipped", "Server 1.0\n{}\nnull\n42\n\"text\"\n", received{Lines: []string{"{}"}, Skipped: 4, End: "EOF"}},
		{"a comma at the end", "[10:15:00] started,\n{}\n[1],\n", received{Lines: []string{"[10:15:00] started,", "{}", "[1],"}, End: "EOF"}},
		{"no newline at the end", "{}\n{\"a\":1}", received{Lines: []string{"{}", `{"a":1}`}, End: "EOF"}},
		{"cut off", "{}\n{\"a\":", received{Lines: []string{"{}"}, End: "unexpected EOF"}},
		{"skipped at the end", "{}\nbye", received{Lines: []string{"{}"}, Skipped: 1, End: "EOF"}},
		{"two in the last line", "{}\n{\"a\":1}{\"b\":2}", received{Lines: []string{"{}", `{"a":1}{"b":2}`}, End: "EOF"}},
		{"text in the last line", "{\"a\":1} bye", received{Lines: []string{`{"a":1} bye`}, End: "EOF"}},
		{"a tag in the last line", "{}\n[INFO] bye", received{Lines: []string{"{}", "[INFO] bye"}, End: "EOF"}},
		{"long", long + "\n{}\n" + long + "\n" + long, received{Lines: []string{long, "{}", long, long}, End: "EOF"}},
		{"long and cut off", long[:2*readBuffer], received{End: "unexpected EOF"}},
	} {
		for kind, wrap := range map[string]func(io.Reader) io.Reader{
			"whole":          func(r io.Reader) io.Reader { return r },
			"bytes":          iotest.OneByteReader,
			"data and error": iotest.DataErrReader,
		} {
			t.Run(test.name+"/"+kind, func(t *testing.T) {
				check.Same(t, "", receiveAll(&lineReader{src: wrap(strings.NewReader(test.in)), max: 1 << 20}), test.want)
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
			check.Same(t, "", receiveAll(l), received{Lines: []string{fits, "too long: {", "too long: {", "{}", "too long: [", "{}"}, End: "EOF"})
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

// A line without an end is reported when it passes the bound, not when it ends, and is passed over in constant memory.
func TestLineReaderEndlessLine(t *testing.T) {
	const limit, size = 8 << 20, 100 << 20
	endless := &repeat{'[', size}
	l := &lineReader{src: io.MultiReader(endless, strings.NewReader("\n{}\n")), max: limit}
	got := check.Allocated(func() {
		_, err := l.next()
		e, ok := errors.AsType[*transport.MessageError](err)
		check.Require(t, ok && errors.Is(err, transport.ErrMessageTooLarge) && len(e.Prefix) == readBuffer,
			"got error %v, want a MessageError with %d bytes", err, readBuffer)
		check.Text(t, err, "8388608 bytes")
		check.Text(t, err, "MaxMessage")
		read := size - endless.left
		check.That(t, read <= limit+maxChunk, "reported after %d bytes, want about %d", read, limit)
		wantNext(t, l, "{}")
	})
	check.That(t, got <= 2*limit, "allocated %d bytes in all, want at most %d", got, 2*limit)
}

func wantNext(t *testing.T, l *lineReader, want string) {
	t.Helper()
	check.Equal(t, "message", string(check.Value(l.next())(t)), want)
}

// What was read for a long message is not kept, and the message has no room to spare.
func TestLineReaderKeepsNothing(t *testing.T) {
	l := &lineReader{max: 1 << 30}
	idle := 0
	pause := func([]byte) (int, error) {
		idle++
		check.That(t, len(l.buffer) == readBuffer && (len(l.data) == 0 || &l.data[0] == &l.buffer[0]),
			"while nothing comes, %d bytes are kept beside the buffer of %d", len(l.data), len(l.buffer))
		return 0, io.EOF
	}
	l.src = io.MultiReader(strings.NewReader("["+strings.Repeat("x", 5<<20)+"\n{"), readerFunc(pause), strings.NewReader("}\n"), readerFunc(pause))
	message, err := l.next()
	check.Require(t, err == nil && len(message) == 5<<20+1 && cap(message) <= len(message)+len(message)/8,
		"got %d bytes of %d and error %v, want %d", len(message), cap(message), err, 5<<20+1)
	wantNext(t, l, "{}")
	check.Equal(t, "at the end", check.Err(l.next()), io.EOF)
	check.Equal(t, "reads", idle, 2)
}

func TestLineReaderNoProgress(t *testing.T) {
	check.Is(t, check.Err((&lineReader{src: readerFunc(func([]byte) (int, error) { return 0, nil }), max: 100}).next()), io.ErrNoProgress)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// reference does what a lineReader does, on all of the input at once.
func reference(in []byte, limit int) (r received) {
	r.End = "EOF"
	lines := strings.Split(string(in), "\n")
	for i, line := range lines {
		text := strings.Trim(strings.TrimPrefix(line, "\uFEFF"), blanks)
		begins := text != "" && (text[0] == '{' || text[0] == '[')
		switch {
		case len(line) > limit:
			r.Lines = append(r.Lines, "too long: "+line[:1])
		case text == "":
		case !begins:
			r.Skipped++
			if _, response := jsonrpc.CutResponse([]byte(text)); response != nil {
				r.Lines = append(r.Lines, string(response))
			}
		case i == len(lines)-1 && json.NewDecoder(strings.NewReader(text)).Decode(new(any)) == io.ErrUnexpectedEOF:
			r.End = "unexpected EOF"
		default:
			r.Lines = append(r.Lines, text)
		}
	}
	return r
}

func FuzzLineReader(f *testing.F) {
	f.Add([]byte("{}\n\r\nnoise\n[1,2]\n{\"a\":1}"), uint16(10), uint16(3))
	f.Add([]byte("\uFEFF{}\n\uFEFF{}"), uint16(100), uint16(1))
	f.Add([]byte("a {\"id\":1,\"result\":{}} b\n\x1e{}\x00\n"), uint16(100), uint16(7))
	f.Add([]byte("{"+strings.Repeat("x", 9000)+"\n{}\n"), uint16(8999), uint16(5000))
	f.Add([]byte("{"+strings.Repeat("x", 9000)+"}\n"+strings.Repeat("y", 5000)+"\n{}"), uint16(20000), uint16(1))
	f.Fuzz(func(t *testing.T, in []byte, limit, piece uint16) {
		src := bytes.NewReader(in)
		l := &lineReader{max: int(limit) + 1, src: readerFunc(func(b []byte) (int, error) {
			return src.Read(b[:min(len(b), int(piece)+1)])
		})}
		check.Same(t, "", receiveAll(l), reference(in, l.max))
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
