package stdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// closingTime is how long Close waits for queued messages to be written, and for a reader or writer
// that does not return.
const closingTime = time.Second / 5

// stream is a transport.Conn that has one message on each line. It runs no goroutine while it is idle.
type stream struct {
	lines lineReader
	out   writer

	carrier

	closing  sync.Once
	closeErr error

	mu  sync.Mutex
	err error // why the connection ended
}

// carrier is a pair of pipes that a stream runs over: the pipes of a process, or a reader and a writer.
type carrier interface {
	cause(op string, err error) error // explains an error of reading or writing
	closeRead()                       // makes a Read that blocks return
	close() error                     // ends it, and makes a Write return
	Kill()                            // implements [wire.Killer]: makes close return soon
	stderr() string                   // an excerpt of its standard error
	name() string                     // names the server in errors; "" if it has no name
}

// newStream makes a stream over a carrier, whose messages come from r and go to w. They have at
// most maxMessage bytes, by default 32 MiB.
func newStream(c carrier, r io.Reader, w io.Writer, maxMessage int) *stream {
	s := &stream{carrier: c}
	s.lines.src = r
	s.lines.max = cmp.Or(max(maxMessage, 0), wire.DefaultMaxMessage)
	s.out.dst, s.out.onError = w, func(err error) {
		_ = s.end("write", err)
		s.closeRead()
	}
	return s
}

// Send queues a message. It waits while 1 MiB is queued; a larger message waits until it is alone.
// A queued message is written whole, even if the context of its sender has ended.
func (s *stream) Send(ctx context.Context, message []byte) error {
	_, err := s.out.send(ctx, message)
	return err
}

// SendNumbered implements [wire.Numberer].
func (s *stream) SendNumbered(ctx context.Context, message []byte) (number int64, err error) {
	return s.out.send(ctx, message)
}

// Unwritten implements [wire.Numberer].
func (s *stream) Unwritten(number int64) bool { return s.out.unwritten(number) }

// Recv returns the next message. After a [*transport.MessageError] there may be others; another
// error is why the connection ended, the same for every later call.
func (s *stream) Recv() ([]byte, error) {
	message, err := s.lines.next()
	if ended := s.Err(); ended != nil && errors.Is(ended, transport.ErrClosed) {
		return nil, ended
	}
	if _, ok := errors.AsType[*transport.MessageError](err); ok || err == nil {
		return message, err
	}
	return nil, s.end("read", err)
}

// Close gives queued messages a moment to be written, and then closes the carrier. Every call
// returns the error of the first.
func (s *stream) Close() error {
	s.closing.Do(func() {
		s.fail(transport.ErrClosed)
		s.out.wait(closingTime)
		s.closeErr = s.carrier.close()
		s.out.wait(closingTime)
	})
	return s.closeErr
}

// end records why the connection ended, when reading or writing (op) has failed with err, and
// returns it. The first reason stays.
func (s *stream) end(op string, err error) error {
	if ended := s.Err(); ended != nil {
		return ended
	}
	s.out.drop()
	err = s.cause(op, err)
	if skipped := s.lines.skipped.last(); skipped != "" {
		err = &transport.ServerError{Err: err, Skipped: skipped}
	}
	return s.fail(err)
}

// Err implements [wire.Ender].
func (s *stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// fail records err unless there is an earlier one, which it returns then.
func (s *stream) fail(err error) error {
	s.mu.Lock()
	s.err = cmp.Or(s.err, err)
	err = s.err
	s.mu.Unlock()
	s.out.refuse(err)
	return err
}

// OnSkip implements [wire.Skipper].
func (s *stream) OnSkip(skipped func(line string)) { s.lines.skipped.setObserver(skipped) }

// Acknowledged implements [wire.Acknowledger].
func (s *stream) Acknowledged() bool { return false }

// Explain implements [wire.Explainer] by the text of the server that is not a message.
func (s *stream) Explain(err error) error {
	if s.Err() != nil {
		return err
	}
	silent := fmt.Errorf("%w (%s gave no answer)", err, s.name())
	if _, ended := errors.AsType[*transport.ProcessError](err); ended { // the process before
		return silent
	}
	return &transport.ServerError{Err: silent, Stderr: s.stderr(), Skipped: s.lines.skipped.last()}
}
