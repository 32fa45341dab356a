package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// outcome is one return of Next.
type outcome struct {
	Event Event
	Err   string
}

func message(data string) outcome { return outcome{Event: Event{Type: "message", Data: []byte(data)}} }

var (
	eof    = outcome{Err: io.EOF.Error()}
	broken = outcome{Err: io.ErrUnexpectedEOF.Error()}
)

// drain calls Next until the stream has ended.
func drain(r *Reader) []outcome {
	var out []outcome
	for {
		ev, err := r.Next()
		if err == nil {
			out = append(out, outcome{Event: ev})
			continue
		}
		out = append(out, outcome{ev, err.Error()})
		if !errors.As(err, new(*TooLargeError)) {
			return out
		}
	}
}

var streams = []struct {
	name, in string
	want     []outcome
}{
	{"empty", "", []outcome{eof}},
	{"one event", "data: x\n\n", []outcome{message("x"), eof}},
	{"carriage returns", "data: x\r\rdata: y\r\r", []outcome{message("x"), message("y"), eof}},
	{"both", "data: x\r\n\r\ndata: y\r\n\r\n", []outcome{message("x"), message("y"), eof}},
	{"mixed ends", "data: x\r\n\ndata: y\n\rdata: z\r\n\r", []outcome{message("x"), message("y"), message("z"), eof}},
	{"byte order mark", "\xEF\xBB\xBFdata: x\n\n", []outcome{message("x"), eof}},
	{"two byte order marks", "\xEF\xBB\xBF\xEF\xBB\xBFdata: x\n\n", []outcome{eof}},
	{"byte order mark later", "data: \xEF\xBB\xBFx\n\n", []outcome{message("\xEF\xBB\xBFx"), eof}},
	{"part of a byte order mark", "\xEF\xBB", []outcome{broken}},
	{"only a byte order mark", "\xEF\xBB\xBF", []outcome{eof}},
	{"no space", "data:x\n\n", []outcome{message("x"), eof}},
	{"one space goes", "data:  x \n\n", []outcome{message(" x "), eof}},
	{"a tab stays", "data:\tx\n\n", []outcome{message("\tx"), eof}},
	{"colons in the value", "data: a: b\n\n", []outcome{message("a: b"), eof}},
	{"lines are joined", "data: a\ndata:\ndata: b\n\n", []outcome{message("a\n\nb"), eof}},
	{"no colon", "data\n\n", []outcome{message(""), eof}},
	{"two lines, no colon", "data\ndata\n\n", []outcome{message("\n"), eof}},
	{"empty first line of data", "data\ndata: x\n\n", []outcome{message("\nx"), eof}},
	{"comments", ": hello\n:\n\n:\ndata: x\n: in the middle\ndata: y\n\n: bye\n", []outcome{message("x\ny"), eof}},
	{"a comment breaks off", ": keep-al", []outcome{eof}},
	{"unknown fields", "foo: bar\nfoo\n data: x\nDATA: x\ndatax: x\ndata: y\n\n", []outcome{message("y"), eof}},
	{"blank lines", "\n\n\ndata: x\n\n\n\n", []outcome{message("x"), eof}},
	{"type", "event: endpoint\ndata: /post\n\n", []outcome{{Event: Event{Type: "endpoint", Data: []byte("/post")}}, eof}},
	{"the type is of one event", "event: a\ndata: x\n\ndata: y\n\n", []outcome{{Event: Event{Type: "a", Data: []byte("x")}}, message("y"), eof}},
	{"an empty type", "event: a\nevent:\ndata: x\n\n", []outcome{message("x"), eof}},
	{"a type without data", "event: ping\n\ndata: x\n\n", []outcome{message("x"), eof}},
	{"id", "id: 7\ndata: x\n\n", []outcome{{Event: Event{Type: "message", ID: "7", HasID: true, Data: []byte("x")}}, eof}},
	{"an empty id", "id\ndata: x\n\n", []outcome{{Event: Event{Type: "message", HasID: true, Data: []byte("x")}}, eof}},
	{"an id with NUL", "id: 7\nid: a\x00b\ndata: x\n\n", []outcome{{Event: Event{Type: "message", ID: "7", HasID: true, Data: []byte("x")}}, eof}},
	{"priming event", "id: 1\nretry: 500\ndata:\n\n", []outcome{
		{Event: Event{Type: "message", ID: "1", HasID: true, Data: []byte{}, Retry: 500 * time.Millisecond, HasRetry: true}}, eof}},
	{"id alone", "id: 1\n\n", []outcome{{Event: Event{Type: "message", ID: "1", HasID: true}}, eof}},
	{"retry alone", "retry: 1500\n\n", []outcome{{Event: Event{Type: "message", Retry: 1500 * time.Millisecond, HasRetry: true}}, eof}},
	{"retry of zero", "retry: 0\n\n", []outcome{{Event: Event{Type: "message", HasRetry: true}}, eof}},
	{"retry over the bound", "retry: 3600001\n\nretry: 99999999999999999999999\n\n", []outcome{
		{Event: Event{Type: "message", Retry: time.Hour, HasRetry: true}},
		{Event: Event{Type: "message", Retry: time.Hour, HasRetry: true}}, eof}},
	{"retry that is not a number", "retry: 1s\nretry: -1\nretry: +1\nretry:\nretry:  1\nretry: 1.5\nretry: ١\n\n", []outcome{eof}},
	{"breaks off in a line", "data: x\n\ndata: y", []outcome{message("x"), broken}},
	{"breaks off before the blank line", "data: x\n\nid: 4\ndata: y\n", []outcome{message("x"), broken}},
	{"breaks off after retry", "retry: 10\n", []outcome{
		{Event: Event{Retry: 10 * time.Millisecond, HasRetry: true}, Err: io.ErrUnexpectedEOF.Error()}}},
	{"ends after what means nothing", "foo: bar\n: x\n", []outcome{eof}},
	{"not UTF-8", "data: \xff\n\n", []outcome{message("\xff"), eof}},
}

func TestNext(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			check.Same(t, "", drain(NewReader(strings.NewReader(tt.in), 1000)), tt.want)
			check.Same(t, "byte by byte", drain(NewReader(iotest.OneByteReader(strings.NewReader(tt.in)), 1000)), tt.want)
			check.Same(t, "end with the last bytes", drain(NewReader(iotest.DataErrReader(strings.NewReader(tt.in)), 1000)), tt.want)
			for i := range len(tt.in) {
				split := io.MultiReader(strings.NewReader(tt.in[:i]), strings.NewReader(tt.in[i:]))
				check.Same(t, i, drain(NewReader(split, 1000)), tt.want)
			}
		})
	}
}

func TestEndIsRepeated(t *testing.T) {
	for _, in := range []string{"", "data: x", "data: x\n", "retry: 1\n"} {
		r := NewReader(strings.NewReader(in), 10)
		_, first := r.Next()
		check.Equal(t, in, check.Err(r.Next()), first)
	}
}

// An event must not wait for bytes after its blank line.
func TestNextDoesNotReadAhead(t *testing.T) {
	for _, in := range []string{
		"data: x\n\n", "data: x\r\r", "data: x\r\n\r", "data: x\r\n\r\n", "data: x\n\r",
		"\xEF\xBB\xBFdata: x\n\n", ":\r\ndata: x\r\n\r", "\rdata: x\r\r",
	} {
		for i := range len(in) {
			src := io.MultiReader(strings.NewReader(in[:i]), strings.NewReader(in[i:]), iotest.ErrReader(errors.New("read too far")))
			check.Equal(t, fmt.Sprintf("%q split at %d", in, i), string(check.Value(NewReader(src, 100).Next())(t).Data), "x")
		}
	}
}

func TestNextReportsStreamError(t *testing.T) {
	cause := errors.New("connection reset")
	for _, in := range []string{"", "data: x", "data: x\n", ": comment"} {
		r := NewReader(io.MultiReader(strings.NewReader("data: ok\n\n"+in), iotest.ErrReader(cause)), 100)
		check.Equal(t, in, string(check.Value(r.Next())(t).Data), "ok")
		for range 2 {
			check.Equal(t, in, check.Err(r.Next()), cause)
		}
	}
}

type idleReader struct{}

func (idleReader) Read([]byte) (int, error) { return 0, nil }

func TestNextGivesUpOnIdleReader(t *testing.T) {
	check.Equal(t, "", check.Err(NewReader(idleReader{}, 10).Next()), io.ErrNoProgress)
}

func TestBound(t *testing.T) {
	const limit = 10
	tooLarge := outcome{Event: Event{Type: "message"}, Err: (&TooLargeError{Limit: limit}).Error()}
	after, fits := "\n\ndata: next\n\n", strings.Repeat("x", limit)
	for _, tt := range []struct {
		name, in string
		want     []outcome
	}{
		{"a line as long as the bound", "data: " + fits + after, []outcome{message(fits), message("next"), eof}},
		{"a line too long", "data: x" + fits + after, []outcome{tooLarge, message("next"), eof}},
		{"a line too long, without space", "data:x" + fits + after, []outcome{tooLarge, message("next"), eof}},
		{"lines together as long as the bound", "data: 12345\ndata: 7890" + after, []outcome{message("12345\n7890"), message("next"), eof}},
		{"lines together too long", "data: 12345\ndata: 78901\ndata: more" + after, []outcome{tooLarge, message("next"), eof}},
		{"many empty lines", strings.Repeat("data\n", limit+2) + after, []outcome{tooLarge, message("next"), eof}},
		{"an unknown field too long", "unknown: " + fits + after, []outcome{tooLarge, message("next"), eof}},
		{"a comment has no bound", ":" + strings.Repeat(fits, 5000) + "\ndata: x" + after, []outcome{message("x"), message("next"), eof}},
		{"what is known stays", "id: 5\nevent: t\nretry: 1\ndata: x" + fits + "\nid: 6" + after, []outcome{
			{Event{Type: "t", ID: "5", HasID: true, Retry: time.Millisecond, HasRetry: true}, tooLarge.Err}, message("next"), eof}},
		{"breaks off", "data: x" + fits, []outcome{tooLarge, broken}},
		{"breaks off after the line", "data: x" + fits + "\n", []outcome{tooLarge, broken}},
		{"very long", "data: " + strings.Repeat(fits, 5000) + after, []outcome{tooLarge, message("next"), eof}},
		{"twice", "data: x" + fits + "\n\ndata: y" + fits + after, []outcome{tooLarge, tooLarge, message("next"), eof}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, src := range map[string]io.Reader{
				"whole":        strings.NewReader(tt.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
				"halves":       iotest.HalfReader(strings.NewReader(tt.in)),
			} {
				check.Same(t, name, drain(NewReader(src, limit)), tt.want)
			}
		})
	}
}

// The answer to a line over the bound comes at once, not at the end of a line that may never end.
func TestTooLargeDoesNotWait(t *testing.T) {
	src := io.MultiReader(strings.NewReader("data: 12345"), iotest.ErrReader(errors.New("read too far")))
	check.Same(t, "", check.Err(NewReader(src, 4).Next()), &TooLargeError{Limit: 4})
}

type repeat struct {
	text string
	n    int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	r.n--
	return copy(p, r.text), nil
}

func TestIgnoredInputTakesNoMemory(t *testing.T) {
	for name, text := range map[string]string{
		"comments":         strings.Repeat(": keep-alive\n", 100),
		"one comment":      ":" + strings.Repeat("x", 1000),
		"blank lines":      strings.Repeat("\r", 1000),
		"an event skipped": "data: " + strings.Repeat("x", 1000) + "\n",
	} {
		allocs := testing.AllocsPerRun(1, func() { drain(NewReader(&repeat{text, 2000}, 1<<10)) })
		check.That(t, allocs <= 40, "%s: got %v allocations for 2,000 reads, want a few", name, allocs)
	}
}

func TestDataBelongsToCaller(t *testing.T) {
	long := strings.Repeat("long ", 10000)
	in := "data: first\n\ndata: " + long + "\n\ndata: a\ndata: b\n\ndata: " + long + "\n\ndata: last\n\n"
	got := drain(NewReader(strings.NewReader(in), 1<<20))
	for _, o := range got { // appending to one must not change another
		_ = append(o.Event.Data, bytes.Repeat([]byte("!"), 100)...)
	}
	want := []outcome{message("first"), message(long), message("a\nb"), message(long), message("last"), eof}
	check.That(t, reflect.DeepEqual(got, want), "an event has the bytes of another")
}

// Lines of every length around the buffers' lengths, in reads of any size.
func TestLongLines(t *testing.T) {
	var in strings.Builder
	var want []outcome
	for _, edge := range []int{minBuffer, 2 * minBuffer, maxBuffer} {
		for n := edge - 9; n <= edge+2; n++ {
			data := strings.Repeat("long ", n/5) + "....."[:n%5]
			in.WriteString(": " + data + "\r\ndata: " + data + "\r\n\r\ndata: short\r\r")
			want = append(want, message(data), message("short"))
		}
	}
	want = append(want, eof)
	for name, src := range map[string]io.Reader{
		"whole":     strings.NewReader(in.String()),
		"in halves": iotest.HalfReader(strings.NewReader(in.String())),
		"chunked":   &chunked{strings.NewReader(in.String()), rand.New(rand.NewPCG(1, 1)), 9000},
	} {
		got := drain(NewReader(src, 1<<20))
		check.Equal(t, name, len(got), len(want))
		for i := range min(len(got), len(want)) {
			check.That(t, reflect.DeepEqual(got[i], want[i]), "%s: event %d has %d bytes of data and error %q, want %d bytes",
				name, i, len(got[i].Event.Data), got[i].Err, len(want[i].Event.Data))
		}
	}
}

// After a large event a stream uses a small buffer again.
func TestIdleReaderIsSmall(t *testing.T) {
	in := "data: " + strings.Repeat("x", 3*maxBuffer) + "\n\n"
	r := NewReader(io.MultiReader(strings.NewReader(in), strings.NewReader("data: small\n\n"), iotest.ErrReader(io.EOF)), 1<<20)
	for range 2 {
		check.Must(t, check.Err(r.Next()))
	}
	check.That(t, len(r.lines.buf) == minBuffer && r.lines.gathered == nil,
		"got a buffer of %d bytes and %d lines kept, want %d and none", len(r.lines.buf), len(r.lines.gathered), minBuffer)
}

func TestLargeEventIsInMemoryTwice(t *testing.T) {
	const size = 10 << 20
	in := "data: " + strings.Repeat("x", size) + "\n\n"
	var ev Event
	var err error
	used := check.Allocated(func() { ev, err = NewReader(strings.NewReader(in), size).Next() })
	if got := float64(used) / size; err != nil || len(ev.Data) != size || got > 2.2 {
		t.Errorf("got %d bytes, %v, and %.2f times the event allocated, want 2", len(ev.Data), err, got)
	}
}

// Next drops an event without its blank line at the end, but Rest returns it.
func TestRest(t *testing.T) {
	for in, want := range map[string]string{
		"data: x\n\ndata: y\n": "y", "data: x\n\ndata: y": "y", "data: x\n\ndata: y\nda": "y",
		"data: x\n\nid: 1\ndata: y\ndata: z": "y\nz", "data: x\n\n": "", "data: x\n\n: y": "",
		"data: x\n\ndata: 1234567890\n": "",
	} {
		for _, src := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			r := NewReader(src, 5)
			drain(r)
			check.Equal(t, in, string(r.Rest()), want)
		}
	}
	r := NewReader(io.MultiReader(strings.NewReader("data: y"), iotest.ErrReader(io.ErrUnexpectedEOF)), 5)
	drain(r)
	got := r.Rest()
	check.That(t, got == nil, "the stream broke: got %q, want nothing", got)
}

func TestAtEnd(t *testing.T) {
	for name, test := range map[string]struct {
		src  io.Reader
		want bool
	}{
		"end with the event":   {iotest.DataErrReader(strings.NewReader("data: x\n\n")), true},
		"end not yet seen":     {strings.NewReader("data: x\n\n"), false},
		"error with the event": {io.MultiReader(strings.NewReader("data: x\n\n"), iotest.ErrReader(io.ErrUnexpectedEOF)), false},
	} {
		r := NewReader(test.src, 100)
		_, err := r.Next()
		check.That(t, err == nil && r.AtEnd() == test.want, "%s: got %v, %v, want %v", name, r.AtEnd(), err, test.want)
	}
}

// A released reader shares no memory with other readers, nor with its own events.
func TestRelease(t *testing.T) {
	first := NewReader(strings.NewReader("data: mine\n\ndata: lost\n\n"), 100)
	ev, err := first.Next()
	first.Release()
	other, otherErr := NewReader(strings.NewReader("data: other\n\n"), 100).Next()
	check.That(t, string(ev.Data) == "mine" && string(other.Data) == "other" && err == nil && otherErr == nil,
		"got %q, %v and %q, %v", ev.Data, err, other.Data, otherErr)
	check.Fails(t, check.Err(first.Next()), "a reader given back")
	first.Release()
}

func TestNewReaderRefusesBound(t *testing.T) {
	defer func() { check.That(t, recover() != nil, "got no panic, want one for a bound of 0") }()
	NewReader(strings.NewReader(""), 0)
}
