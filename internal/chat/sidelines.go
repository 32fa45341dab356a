package chat

import (
	"bytes"
	"context"
	"io"
)

// sideLines keeps the lines of an event stream that are not fields of an event: some hosts send an error or the
// complete answer as bare JSON.
type sideLines struct {
	r       io.Reader
	lines   []byte
	inLine  bool // the next byte continues a line
	keeping bool // this line is kept
}

// Read reads from the stream and keeps the side lines among the bytes.
func (s *sideLines) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		if !s.inLine {
			s.keeping = !isField(rest[0])
		}
		end := bytes.IndexByte(rest, '\n') + 1
		s.inLine = end == 0
		if s.inLine {
			end = len(rest)
		}
		if s.keeping {
			s.lines = append(s.lines, rest[:end]...)
		}
		rest = rest[end:]
	}
	return n, err
}

// isField reports whether a line with this first byte may be blank, a field or
// a comment of an event stream.
func isField(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == ':' || c == '\r' || c == '\n'
}

// hasError reports whether the lines are an object with an error.
func (s *sideLines) hasError(ctx context.Context) bool {
	w, err := decode(ctx, s.lines).reply()
	return err == nil && hasError(w.error)
}
