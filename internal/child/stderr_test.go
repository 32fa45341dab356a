package child

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTail(t *testing.T) {
	line := strings.Repeat("a", 99) + "\n"
	for _, test := range []struct {
		name   string
		writes []string
		want   string
	}{
		{"nothing", nil, ""},
		{"short", []string{"one\n", "two\n"}, "one\ntwo"},
		{"no newline at the end", []string{"one\ntw", "o"}, "one\ntwo"},
		{"whole lines", []string{"first\n" + strings.Repeat(line, 30)}, strings.TrimSpace(strings.Repeat(line, 20))},
		{"in small pieces", strings.SplitAfter(strings.Repeat(line, 500), "\n"), strings.TrimSpace(strings.Repeat(line, 20))},
		{"one long line", []string{strings.Repeat("b", 3*maxTail)}, strings.Repeat("b", maxTail)},
		{"control characters", []string{"\x1b[31mred\x07\r\n\tok"}, "[31mred\n\tok"},
		{"broken UTF-8", []string{"a\xffb"}, "ab"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var tail tail
			for _, w := range test.writes {
				tail.write([]byte(w))
			}
			if got := tail.String(); got != test.want {
				t.Errorf("got %d bytes %.60q, want %d bytes %.60q", len(got), got, len(test.want), test.want)
			}
			if cap(tail.buf) > 8*maxTail {
				t.Errorf("the buffer grew to %d bytes", cap(tail.buf))
			}
		})
	}
}

// A writer that stalls costs one wait, then its output; what comes after it has
// caught up follows a notice.
func TestForwarderStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		release := make(chan struct{})
		f := newForwarder(writerFunc(func(b []byte) (int, error) {
			<-release
			return got.Write(b)
		}))
		began := time.Now()
		chunk := bytes.Repeat([]byte("x"), 100)
		for range forwardQueue + 1 {
			f.forward(chunk)
			synctest.Wait()
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("filling the queue took %v, want no time", took)
		}
		for range 5 {
			f.forward(chunk)
		}
		if took := time.Since(began); took != stallTimeout {
			t.Errorf("a stalled writer cost %v, want %v", took, stallTimeout)
		}
		close(release)
		synctest.Wait()
		f.forward([]byte("end"))
		f.close(time.Minute)
		want := strings.Repeat("x", 100*(forwardQueue+1)) + "\n[500 bytes of stderr lost: the writer is too slow]\nend"
		if got.String() != want {
			t.Errorf("got %d bytes ending in %q, want %d", got.Len(), got.Bytes()[max(0, got.Len()-70):], len(want))
		}
	})
}
