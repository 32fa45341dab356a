package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// IO is the transport of mcpclient.IO, which documents the fields.
type IO struct {
	Reader     io.Reader
	Writer     io.Writer
	MaxMessage int

	Dialed *atomic.Bool // whether it was dialed; nil: not checked
}

// Dial makes a connection over the reader and the writer. A goroutine reads ahead of Recv if Close
// would not end a Read. If Dialed is set, later calls fail.
func (t *IO) Dial(ctx context.Context) (transport.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t.Reader == nil || t.Writer == nil {
		return nil, errors.New("dial: an IO transport needs a Reader and a Writer")
	}
	if t.Dialed != nil && t.Dialed.Swap(true) {
		return nil, fmt.Errorf("dial an IO transport: %w: make a new one with a new Reader and Writer", transport.ErrDialedOnce)
	}

	c := ioCarrier{t.Reader, t.Writer}
	if !closeEndsRead(t.Reader) {
		c.reader = newPump(t.Reader)
	}
	return newStream(c, c.reader, c.writer, t.MaxMessage), nil
}

// ioCarrier is the [carrier] of an [IO]: its reader and writer. Closing the reader ends a blocked Read.
type ioCarrier struct {
	reader io.Reader
	writer io.Writer
}

// cause returns io.EOF, the regular end, unchanged.
func (s ioCarrier) cause(op string, err error) error {
	if err == io.EOF {
		return err
	}
	return fmt.Errorf("%s: %w", op, err)
}

func (s ioCarrier) closeRead() { _ = closeIfCloser(s.reader) }

func (s ioCarrier) close() error {
	return errors.Join(closeIfCloser(s.writer), closeIfCloser(s.reader))
}

func (s ioCarrier) Kill() {}

func (s ioCarrier) stderr() string { return "" }

func (s ioCarrier) name() string { return "" }

func closeEndsRead(r io.Reader) bool {
	switch r := r.(type) {
	case *io.PipeReader:
		return true
	case interface {
		io.Closer
		SetReadDeadline(time.Time) error
	}:
		return r.SetReadDeadline(time.Time{}) == nil
	}
	return false
}

// closeIfCloser closes v. It waits only a moment for a Close that blocks. It is not an error if v cannot be closed, or is closed
// already, as a reader is that is also the writer.
func closeIfCloser(v any) error {
	var err error
	switch c := v.(type) {
	case *io.PipeReader:
		return c.Close()
	case *io.PipeWriter:
		return c.Close()
	case io.Closer:
		_, err = await.Close(c, closingTime)
	}
	if errors.Is(err, fs.ErrClosed) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) { // EOF: a channel of SSH
		return nil
	}
	return err
}

// pump is a reader whose Read returns when it is closed, even if the reader behind it blocks.
type pump struct {
	*io.PipeReader
	src   io.Reader
	ended chan struct{} // closed when src is not read any more
	once  sync.Once
	err   error // the error of closing src
}

func newPump(src io.Reader) *pump {
	r, w := io.Pipe()
	p := &pump{PipeReader: r, src: src, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_, err := io.CopyBuffer(w, struct{ io.Reader }{src}, make([]byte, readBuffer))
		_ = w.CloseWithError(err)
	}()
	return p
}

// Close closes the source, and gives its Read a moment to return.
func (p *pump) Close() error {
	p.once.Do(func() {
		_ = p.PipeReader.Close()
		p.err = closeIfCloser(p.src)
		await.Closed(p.ended, closingTime)
	})
	return p.err
}
