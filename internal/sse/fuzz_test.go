package sse

import (
	"bytes"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcpchain/mcpchain/internal/check"
)

// reference reads a whole stream the slow way.
func reference(in string, maxEvent int) []outcome {
	in = strings.TrimPrefix(in, "\xEF\xBB\xBF")
	lines := regexp.MustCompile("\r\n|\n|\r").Split(in, -1)
	rest := lines[len(lines)-1]
	var (
		out             []outcome
		ev              Event
		begun, skipping bool
	)
	tooLarge := func() {
		ev.Data = nil
		ev.setType()
		out = append(out, outcome{ev, (&TooLargeError{maxEvent}).Error()})
		skipping = true
	}
	overlong := func(line string) bool {
		return !skipping && !strings.HasPrefix(line, ":") && len(line) > maxEvent+len("data: ")
	}
	for _, line := range lines[:len(lines)-1] {
		switch {
		case line == "" && !skipping && ev.useful():
			ev.setType()
			out = append(out, outcome{Event: ev})
			fallthrough
		case line == "":
			ev, begun, skipping = Event{}, false, false
			continue
		case overlong(line):
			tooLarge()
			continue
		case skipping:
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			ev.Type, begun = value, true
		case "id":
			begun = true
			if !strings.Contains(value, "\x00") {
				ev.ID, ev.HasID = value, true
			}
		case "retry":
			begun = true
			if d, ok := parseRetry([]byte(value)); ok {
				ev.Retry, ev.HasRetry = d, true
			}
		case "data":
			begun = true
			data := value
			if ev.Data != nil {
				data = string(ev.Data) + "\n" + value
			}
			if len(data) > maxEvent {
				tooLarge()
				continue
			}
			ev.Data = []byte(data)
		}
	}
	if overlong(rest) {
		tooLarge()
	}
	end := outcome{Err: io.EOF.Error()}
	if begun || skipping || rest != "" && rest[0] != ':' {
		end.Err = io.ErrUnexpectedEOF.Error()
		if !skipping {
			end.Event = Event{Retry: ev.Retry, HasRetry: ev.HasRetry}
		}
	}
	return append(out, end)
}

// chunked splits a stream at random.
type chunked struct {
	r   io.Reader
	rnd *rand.Rand
	max int
}

func (c *chunked) Read(p []byte) (int, error) { return c.r.Read(p[:min(len(p), c.rnd.IntN(c.max))]) }

func FuzzNext(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(s.in), uint16(100), uint64(1))
	}
	f.Add([]byte("data: 123456789\ndata: 0\n\ndata: x\n\n"), uint16(10), uint64(2))
	f.Add([]byte("data: "+strings.Repeat("x", 20000)+"\n\ndata: y\n\n"), uint16(65535), uint64(3))
	f.Fuzz(func(t *testing.T, in []byte, bound uint16, seed uint64) {
		maxEvent := int(bound) + 1
		want := reference(string(in), maxEvent)
		for name, src := range map[string]io.Reader{
			"whole":        bytes.NewReader(in),
			"byte by byte": iotest.OneByteReader(bytes.NewReader(in)),
			"chunked":      &chunked{bytes.NewReader(in), rand.New(rand.NewPCG(seed, 0)), 9},
		} {
			check.Same(t, name, drain(NewReader(src, maxEvent)), want)
		}
	})
}
