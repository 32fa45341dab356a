package transport

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

const (
	idleBuffer  = 1 << 10   // what a connection that is idle keeps for reading
	readBuffer  = 4 << 10   // what is read at once while there is more
	maxChunk    = 256 << 10 // a long message is read in pieces of at most this
	maxEmpty    = 100       // reads in a row that give neither bytes nor an error
	closingTime = time.Second / 5
	blanks      = " \t\r\x00\x1e" // which also end and begin messages elsewhere
)

var byteOrderMark = []byte("\uFEFF")

// stream is a Conn that has one message on each line. It runs no goroutine
// while it is idle.
type stream struct {
	lines lineReader
	out   outbox

	carrier

	closing  sync.Once
	closeErr error

	mu  sync.Mutex
	err error // why the connection ended
}

// carrier is what a stream runs over.
type carrier interface {
	cause(op string, err error) error // what an error of reading or writing means
	halt()                            // makes a Read that blocks return
	hangUp() error                    // ends it, and makes a Write return
	Kill()                            // implements Killer: hangUp takes no time
	stderr() string                   // some of what the server wrote there
	name() string                     // of the server, for errors; "" if it has none
}

// newStream makes a stream of messages of at most so many bytes, by default 32 MiB.
func newStream(over carrier, r io.Reader, w io.Writer, maxMessage int) *stream {
	s := &stream{carrier: over}
	s.lines.src, s.lines.max = r, cmp.Or(max(maxMessage, 0), DefaultMaxMessage)
	s.out.offers, _ = over.(offerer)
	s.out.dst, s.out.failed = w, func(err error) {
		_ = s.end("write", err)
		s.halt()
	}
	return s
}

// Send queues a message. It waits while 1 MiB is queued; a larger message waits
// until it is alone. What was queued is written whole, also when the context
// of its sender has ended.
func (s *stream) Send(ctx context.Context, message []byte) error {
	return s.out.send(ctx, message)
}

func (s *stream) Recv() ([]byte, error) {
	message, err := s.lines.next()
	if ended := s.Err(); ended != nil && errors.Is(ended, ErrClosed) {
		return nil, ended
	}
	if _, ok := errors.AsType[*MessageError](err); ok || err == nil {
		return message, err
	}
	return nil, s.end("read", err)
}

// Close gives what is queued a moment to be written.
func (s *stream) Close() error {
	s.closing.Do(func() {
		s.fail(ErrClosed)
		s.out.wait(closingTime)
		s.closeErr = s.hangUp()
		s.out.wait(closingTime)
	})
	return s.closeErr
}

// end records and returns why the connection ended.
func (s *stream) end(op string, err error) error {
	if ended := s.Err(); ended != nil {
		return ended
	}
	err = s.cause(op, err)
	if n, last := s.noise(); n > 0 {
		err = &noiseError{err, n, last}
	}
	return s.fail(err)
}

// Err implements [Ender].
func (s *stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// fail records err unless there is an earlier one, which it returns then.
func (s *stream) fail(err error) error {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	err = s.err
	s.mu.Unlock()
	s.out.shut(err)
	return err
}

// Acknowledged implements [Acknowledger].
func (s *stream) Acknowledged() bool { return false }

// Explain implements [Explainer] by the text of the server that is no
// message.
func (s *stream) Explain(err error) error {
	if s.Err() != nil {
		return err
	}
	if name := s.name(); name != "" {
		err = fmt.Errorf("%w (%s gave no answer)", err, name)
	}
	if _, told := errors.AsType[*ProcessError](err); told {
		return err
	}
	if n, last := s.noise(); n > 0 {
		err = &noiseError{err, n, last}
	}
	if said := s.stderr(); said != "" {
		err = fmt.Errorf("%w; the server%s", err, onStderr(said))
	}
	return err
}

// lineReader finds the messages among the lines of a reader. A line is a
// message when it begins like a JSON object or array, or the first line of one;
// other lines are noise and skipped, up to where they have an answer.
type lineReader struct {
	src     io.Reader
	max     int               // bytes of a line
	small   []byte            // the read buffer of an idle connection
	large   *[readBuffer]byte // that of one that is not; nil for none
	more    bool              // the last read got all that it had room for
	data    []byte            // read but not handed out: part of a buffer, or of what a long line left
	discard bool              // the line that is read next is the rest of one that is too long
	err     error             // of src, after which it is not read again
	spread  spread
	held    []byte // the line that interrupted a spread message

	mu        sync.Mutex
	skipped   func(line string) // is told of noise, if it is set
	noisy     int
	lastNoise string
}

// next returns the next message, in memory of its own.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, owned, err := l.line()
		if err != nil {
			if err = l.interrupted(err); err != nil {
				return nil, err
			}
			continue
		}
		line = bytes.TrimPrefix(line, byteOrderMark)
		text := bytes.Trim(line, blanks)
		switch {
		case len(text) == 0:
		case l.spread.goesOn(line):
			if message, err := l.extend(text); message != nil || err != nil {
				return message, err
			}
		case !beginsMessage(text):
			answer := jsonrpc.Behind(text)
			if l.skip(text[:len(text)-len(answer)]); answer != nil {
				return bytes.Clone(answer), nil
			}
		case l.spread.depth > 0:
			unfinished := l.spread.text
			l.spread, l.held = spread{}, bytes.Clone(line)
			if unfinished != nil {
				return unfinished, nil
			}
		case beginsSpread(text):
			l.spread = spread{bytes.Clone(text), brackets(text)}
		case owned:
			return text, nil
		default:
			return bytes.Clone(text), nil
		}
	}
}

func beginsMessage(line []byte) bool { return line[0] == '{' || line[0] == '[' }

// line returns the next line without its newline. Unless it is owned, it is
// valid until the next call.
func (l *lineReader) line() (line []byte, owned bool, err error) {
	if line, l.held = l.held, nil; line != nil {
		return line, true, nil
	}
	searched := 0
	for {
		if i := bytes.IndexByte(l.data[searched:], '\n'); i >= 0 {
			line, l.data = l.data[:searched+i], l.data[searched+i+1:]
			switch {
			case l.discard:
				l.discard, searched = false, 0
				continue
			case len(line) > l.max:
				return nil, false, l.tooLong(line)
			}
			return line, false, nil
		}
		switch searched = len(l.data); {
		case l.discard:
			l.data, searched = nil, 0
		case searched > l.max:
			err := l.tooLong(l.data)
			l.discard, l.data = true, nil
			return nil, false, err
		case searched >= readBuffer:
			line, err := l.longLine()
			return line, true, err
		}
		if err := l.fill(); err != nil {
			line, l.data = l.data, nil
			line, err = l.lastLine(line, err)
			return line, false, err
		}
	}
}

// fill reads more of a line that is shorter than readBuffer.
func (l *lineReader) fill() error {
	buf := l.buffer()
	n := copy(buf, l.data)
	l.data = buf[:n] // while read blocks, no more is kept
	m, err := l.read(buf[n:])
	l.data, l.more = buf[:n+m], n+m == len(buf)
	return err
}

// largeBuffers are those of connections that are not idle.
var largeBuffers = sync.Pool{New: func() any { return new([readBuffer]byte) }}

// buffer has room for what was read, and for more where more is expected.
func (l *lineReader) buffer() []byte {
	if l.more || len(l.data) >= idleBuffer {
		if l.large == nil {
			l.large = largeBuffers.Get().(*[readBuffer]byte)
		}
		return l.large[:]
	}
	if l.small == nil {
		l.small = make([]byte, idleBuffer)
	}
	l.data = append(l.small[:0], l.data...)
	l.giveBack()
	return l.small
}

// giveBack gives the large buffer back, of which nothing is in use.
func (l *lineReader) giveBack() {
	if l.large != nil {
		largeBuffers.Put(l.large)
		l.large = nil
	}
}

// read reads at least one byte, or returns why there is none.
func (l *lineReader) read(b []byte) (int, error) {
	for range maxEmpty {
		if l.err != nil {
			return 0, l.err
		}
		var n int
		if n, l.err = l.src.Read(b); n > 0 {
			return n, nil
		}
	}
	l.err = io.ErrNoProgress
	return 0, l.err
}

// longLine reads the rest of a line that fills the small buffer, in pieces that
// double, and joins them once: the message has its exact size, and nothing of
// the pieces stays.
func (l *lineReader) longLine() ([]byte, error) {
	chunks := [][]byte{bytes.Clone(l.data)}
	total := len(l.data)
	l.data, l.more = nil, false
	l.giveBack()
	for size := 2 * readBuffer; total <= l.max; size = min(2*size, maxChunk) {
		chunk := make([]byte, min(size, l.max+1-total))
		for n := 0; n < len(chunk); {
			m, err := l.read(chunk[n:])
			if err != nil {
				return l.lastLine(bytes.Join(append(chunks, chunk[:n]), nil), err)
			}
			if i := bytes.IndexByte(chunk[n:n+m], '\n'); i >= 0 {
				l.data, l.more = chunk[n+i+1:n+m], n+m == len(chunk)
				return bytes.Join(append(chunks, chunk[:n+i]), nil), nil
			}
			n += m
		}
		chunks, total = append(chunks, chunk), total+len(chunk)
	}
	l.discard = true
	return nil, l.tooLong(chunks[0])
}

// lastLine returns what remains when nothing more comes, unless that is a part
// of a message.
func (l *lineReader) lastLine(rest []byte, err error) ([]byte, error) {
	text := bytes.Trim(bytes.TrimPrefix(rest, byteOrderMark), blanks)
	switch {
	case len(text) == 0:
		return nil, err
	case !beginsMessage(text) || json.Valid(text):
		return rest, nil
	case err == io.EOF:
		return nil, io.ErrUnexpectedEOF
	}
	return nil, err
}

func (l *lineReader) tooLong(line []byte) error {
	return &MessageError{
		Prefix: bytes.Clone(line[:min(len(line), readBuffer)]),
		Err:    fmt.Errorf("%w: a line is over %d bytes, which MaxMessage of the transport can raise", ErrMessageTooLarge, l.max),
	}
}
